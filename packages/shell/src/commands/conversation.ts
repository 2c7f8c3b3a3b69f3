/** Commands that send messages to agents, and manage the model's context. */
import type { Shell } from "../contract.ts";
import type { Conversation } from "../conversations.ts";
import { visible } from "../terminal/visible.ts";
import { formatThousands } from "../ui/frame.ts";
import type { ShellCommand } from "./command.ts";

const NOBODY = "nothing has been said in this conversation yet";

/** `AGENT TEXT`; what is wrong with it has been said. */
async function agentAnd(rest: string, shell: Shell, usage: string): Promise<Readonly<{ agent: string; text: string }> | null> {
  const [, named = "", text = ""] = /^@?(\S+)(?:\s+([\s\S]+))?$/.exec(rest) ?? [];
  if (named === "" || text.trim() === "") {
    shell.say(usage);
    return null;
  }
  return (await isAgent(named, shell)) ? { agent: named, text } : null;
}
async function isAgent(name: string, shell: Shell): Promise<boolean> {
  const has = (): boolean => shell.agents().some((agent) => agent.name === name);
  if (!has()) await shell.refreshAgents(); // it may have come since
  if (has()) return true;
  const names = shell.agents().map((agent) => visible(agent.name));
  shell.say(`there is no agent \`${visible(name)}\`; there are: ${names.join(", ")}`);
  return false;
}

/** Starts an agent: a session of its own, which is talked to from here on. `/spawn NAME`; a description in quotes is for `author.ts`. */
export async function startAgent(name: string, shell: Shell): Promise<void> {
  if (!(await isAgent(name, shell))) return;
  const made = await shell.unwrap(shell.connection.client.call("openSession", { body: { agent: name } }));
  if (made === null) return;
  shell.continueIn(made.session, made.agent);
  shell.say(`${visible(made.agent)} is started: ${made.session}. You talk to it now`);
}

async function run(rest: string, shell: Shell): Promise<void> {
  const wish = await agentAnd(rest, shell, "`/run AGENT TEXT`: one turn, in a session of its own");
  if (wish !== null) await shell.runInNewSession(wish.agent, wish.text);
}
async function ask(rest: string, shell: Shell): Promise<void> {
  const wish = await agentAnd(rest, shell, "`/ask AGENT TEXT`: as `@AGENT TEXT`");
  if (wish !== null) await shell.send(wish.agent, wish.text);
}
async function send(rest: string, shell: Shell): Promise<void> {
  const wish = await agentAnd(rest, shell, "`/send AGENT TEXT`: it works, and nothing of it is shown here");
  if (wish === null) return;
  const { client } = shell.connection;
  const made = await shell.unwrap(client.call("openSession", { body: { agent: wish.agent } }));
  if (made === null) return;
  const said = await shell.unwrap(client.call("say", { params: { session: made.session }, body: { text: wish.text } }));
  if (said !== null) shell.say(`sent to ${visible(wish.agent)}: \`/resume ${made.session}\` shows what comes of it`);
}

async function compact(rest: string, shell: Shell): Promise<void> {
  const talk = shell.current();
  const tokens = Number(rest.replaceAll("_", "").replace(/k$/i, "000"));
  if (rest !== "" && !(Number.isInteger(tokens) && tokens > 0)) return shell.say("`/compact`, or `/compact TOKENS`");
  if (talk === null) return shell.say(NOBODY);
  const params = { session: talk.session };
  const done = await shell.unwrap(shell.connection.client.call("compact", { params, body: rest === "" ? {} : { tokens } }));
  if (done?.entry?.event.kind !== "context.compact-asked") return;
  const wanted = done.entry.event.tokens;
  const after = await shell.unwrap(shell.connection.client.call("events", { params, query: { after: done.entry.seq, limit: 5 } }));
  const steps = (after?.entries ?? []).flatMap(({ event }) => (event.kind === "context.compacted" ? [event] : []));
  const [first, last] = [steps[0], steps.at(-1)];
  if (first !== undefined && last !== undefined)
    return shell.say(`${formatThousands(first.before)} → ${formatThousands(last.after)} tokens`);
  shell.say(
    `nothing had to go at once: what is shown has at most ${formatThousands(wanted)} tokens, or is summed up before the next request`,
  );
}

async function model(rest: string, shell: Shell): Promise<void> {
  const agent = shell.addressee();
  if (agent === null) return shell.say("whose? `/agent use NAME` addresses one");
  const found = await shell.agentDetail(agent);
  if (found === null) return;
  const models = [found.model, ...found.fallbacks];
  const now = chosenIn(shell.current()) ?? found.model;
  if (rest === "") {
    const { paint } = shell.ui.look();
    shell.ui.print(models.map((one) => (one === now ? paint("accent", `▸ ${visible(one)}`) : `  ${visible(one)}`)));
    return shell.say(
      models.length === 1
        ? "it has no other: `fallbacks` of its definition name more"
        : "`/model NAME` takes another, from the next turn on",
    );
  }
  const fitting = models.includes(rest) ? [rest] : models.filter((one) => one.includes(rest));
  const [one, ...others] = fitting;
  if (one === undefined || others.length > 0)
    return shell.say(`${one === undefined ? "there is no such model" : "that means several"}: ${models.map(visible).join(", ")}`);
  const talk = await shell.ensureConversation();
  if (talk === null) return;
  const done = await shell.unwrap(shell.connection.client.call("chooseModel", { params: { session: talk.session }, body: { model: one } }));
  if (done !== null) shell.say(`from the next turn on: ${visible(one)}`);
}
const chosenIn = (talk: Conversation | null): string | null => talk?.chosenModel() ?? null;

async function context(_: string, shell: Shell): Promise<void> {
  const { contextTokens: tokens, contextLimit } = shell.footer();
  if (tokens === 0) return shell.say(NOBODY);
  const of = contextLimit === null ? "" : ` of ${formatThousands(contextLimit)} (${Math.round((tokens / contextLimit) * 100)} %)`;
  shell.say(
    `the last request and its reply were ${formatThousands(tokens)}${of} tokens; the next one begins with them. \`/compact\` makes room, \`/clear\` empties it`,
  );
}

const MOST_EARLIER = 400;
async function history(rest: string, shell: Shell): Promise<void> {
  const most = rest === "" ? MOST_EARLIER : Number(rest);
  if (!Number.isInteger(most) || most < 1) return shell.say("`/history`, or `/history N`");
  const lines = shell.earlierLines(most);
  if (lines.length === 0) return shell.say("all of this conversation stands above");
  shell.ui.print(lines);
}

export const CONVERSATION_COMMANDS: readonly ShellCommand[] = [
  {
    name: "compact",
    byHand: "it reads the entries after it, to say before and after",
    usage: "[TOKENS]",
    summary: "show the model less of the conversation",
    more: ["Half of what may be, unless given; by the agent's own plan. Prints before → after. As `orgate sessions compact`."],
    run: compact,
  },
  {
    name: "context",
    byHand: "it reads what this shell has received",
    usage: "",
    summary: "show how full the model's context is",
    more: [],
    run: context,
  },
  {
    name: "model",
    byHand: "it lists the agent's models, and opens a conversation if there is none",
    usage: "[MODEL]",
    summary: "show the model, or choose another from the next turn on",
    more: ["One of those that the agent names: its own, or a fallback. As `orgate sessions model`."],
    takes: ["model"],
    run: model,
  },
  {
    name: "history",
    byHand: "it prints what this shell has received",
    usage: "[N]",
    summary: "print older messages of this conversation",
    more: [],
    run: history,
  },
  {
    name: "run",
    byHand: "it opens a session and shows its turn",
    usage: "AGENT TEXT",
    summary: "run one turn in a new session, shown here",
    more: ["As `orgate run AGENT --input TEXT`. Your conversation with it is another."],
    takes: ["agent", "file"],
    run,
  },
  {
    name: "ask",
    byHand: "it sends a message as `@AGENT TEXT` does",
    usage: "AGENT TEXT",
    summary: "tell one agent, in your conversation with it",
    more: ["As `@AGENT TEXT`."],
    takes: ["agent", "file"],
    run: ask,
  },
  {
    name: "send",
    byHand: "it opens a session and sends a message there",
    usage: "AGENT TEXT",
    summary: "tell one agent, and do not wait",
    more: ["In a new session that is not shown here; `/resume ID` shows it, `/approvals` its requests."],
    takes: ["agent", "file"],
    run: send,
  },
];
