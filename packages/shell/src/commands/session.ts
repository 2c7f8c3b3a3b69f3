/** Commands about sessions, the addressed agent and the server. */

import { FaultError, seq } from "@orgate/core/vocab";
import type { OperationOutput } from "@orgate/protocol";
import { countNoun, durationText, tokensText } from "@orgate/protocol/view";
import type { Shell } from "../contract.ts";
import { describeHalt } from "../server-state.ts";
import { ageText, type Cell } from "../terminal/table.ts";
import { visible } from "../terminal/visible.ts";
import { formatMoney, type ScreenLook } from "../ui/look.ts";
import { fitTable } from "../ui/tables.ts";
import { parseTheme, THEMES } from "../ui/themes.ts";
import type { ShellCommand } from "./command.ts";
import { findSession } from "./find-session.ts";
import type { Renderers } from "./operation-command.ts";

type Summary = OperationOutput<"session">;

const NOBODY = "nothing has been said in this conversation yet";

/** S-3 who names a session to go on in gets that one or none: nothing is said in another by mistake. */
export async function resumeNamed(shell: Shell, text: string): Promise<void> {
  const said: string[] = [];
  const found = await findSession({ unwrap: shell.unwrap, connection: shell.connection, say: (why) => said.push(why) }, text);
  if (found !== null) return void shell.continueIn(found.session, found.agent);
  const [several] = said.filter((why) => why.includes(" means "));
  throw new FaultError(
    several === undefined
      ? { kind: "session-unknown", session: text }
      : { kind: "usage", detail: several, hint: "`orgate shell --list` shows them" },
  );
}

function stateCell({ state, halted }: Summary): Cell {
  if (state === "running" && halted !== null) return { text: "halted", tone: "bad" };
  return { text: state, tone: state === "waiting" ? "warn" : state === "running" ? "accent" : state === "closed" ? "dim" : "plain" };
}

export function sessionTable(items: readonly Summary[], now: number, look: Pick<ScreenLook, "paint" | "columns">): readonly string[] {
  if (items.length === 0) return ["no sessions yet"];
  return fitTable(
    ["session", "state", "agent", "age", "turns", "ending", "id", "title"],
    items.map((s) => [
      s.session,
      stateCell(s),
      s.agent,
      ageText(now - s.lastAt),
      String(s.turns),
      s.ending ?? "-",
      s.external ?? "-",
      s.title ?? "-",
    ]),
    look,
  );
}

async function useAgent(rest: string, shell: Shell): Promise<void> {
  const [verb = "", name = "", ...more] = rest.split(/\s+/);
  if (verb === "clear" && name === "") {
    shell.address(null);
    return shell.say("nobody is addressed: `@agent message` tells one agent");
  }
  if (verb !== "use" || name === "" || more.length > 0) return shell.say("`/agent use NAME` or `/agent clear`");
  await shell.refreshAgents();
  const names = shell.agents().map((agent) => agent.name);
  if (!names.includes(name)) return shell.say(`there is no agent \`${visible(name)}\`; there are: ${names.map(visible).join(", ")}`);
  shell.address(name);
  shell.say(`you talk to ${visible(name)}`);
}

async function resume(rest: string, shell: Shell): Promise<void> {
  if (rest === "") return shell.say("`/resume ID`: `/sessions` lists them");
  const found = await findSession(shell, rest);
  if (found === null) return;
  shell.continueIn(found.session, found.agent);
  if (found.state === "closed") shell.say("this session is closed: it can be read, and `/branch` goes on from it");
}

async function branch(rest: string, shell: Shell): Promise<void> {
  const talk = shell.current();
  if (talk === null) return shell.say(NOBODY);
  const at = /^\d+$/.test(rest) ? { at: seq(Number(rest)) } : {};
  const made = await shell.unwrap(shell.connection.client.call("fork", { params: { session: talk.session }, body: at }));
  if (made === null) return;
  shell.continueIn(made.session, made.agent);
  shell.say(`${made.session} goes on from ${talk.session}${"at" in at ? ` at entry ${rest}` : ""}; the other one stays as it is`);
}

async function figures(_: string, shell: Shell): Promise<void> {
  const talk = shell.current();
  if (talk === null) return shell.say(NOBODY);
  const { totals, turn, turns, model } = talk.view;
  const { input, output, cached } = totals.usage;
  shell.ui.print([
    `${countNoun(turn, "turn")} · ${countNoun(totals.iterations, "iteration")} · ${countNoun(totals.calls, "call")} · ${durationText(totals.activeMs)} at work${turns.at(-1)?.endedAt === null ? "; calls and time of the turn in progress count when it ends" : ""}`,
    `${tokensText(totals)}: ${input} in (${cached} from the cache), ${output} out`,
    totals.micros === null ? `what ${model} costs is not known: \`orgate.toml\` may say its price` : `cost ${formatMoney(totals.micros)}`,
  ]);
}

function describeSession(found: Summary, shell: Shell): readonly string[] {
  const view = shell.conversations.find(found.session)?.view;
  const fields: readonly (readonly [string, string])[] = [
    ["session", found.session],
    ["title", found.title ?? "none"],
    ["agent", found.agent],
    [
      "state",
      found.halted === null ? found.state : `${found.state === "running" ? "halted" : found.state}: ${visible(describeHalt(found.halted))}`,
    ],
    ["entries", String(found.seq)],
    ["turns", `${found.turns}${found.ending === null ? "" : `, the last ended ${found.ending}`}`],
    ["open", `${countNoun(found.openQuestions, "question")}, ${countNoun(found.openUnknowns, "unknown outcome")}`],
    ["children", found.children.length === 0 ? "none" : found.children.join(", ")],
    ...(view === undefined
      ? []
      : ([
          ["labels", view.labels.length === 0 ? "none" : view.labels.join(", ")],
          ["held by", `${view.writer ?? "nobody"} (hold ${view.epoch})`],
          ["running", view.running.length === 0 ? "no call" : view.running.join(", ")],
        ] as const)),
  ];
  return fields.map(([name, value]) => `${shell.ui.look().paint("dim", name.padEnd(9))}${visible(value)}`);
}

export const SESSION_RENDERERS: Renderers = {
  sessions: ({ items }, shell) => sessionTable(items, Date.now(), shell.ui.look()),
  session: describeSession,
  steer: () => [],
  clear: ({ entry }) =>
    entry?.event.kind === "context.cleared"
      ? [`the conversation begins again: the model no longer sees ${countNoun(entry.event.before, "token")} of before`]
      : [],
};

export const SESSION_COMMANDS: readonly ShellCommand[] = [
  {
    name: "agent",
    byHand: "it chooses whom this shell addresses",
    usage: "use NAME | clear",
    summary: "choose whom you talk to",
    more: ["Messages without `@` go there. This shell has one conversation with each agent."],
    takes: [["use", "clear"], "agent"],
    run: useAgent,
  },
  {
    name: "new",
    byHand: "it changes this shell alone",
    usage: "",
    summary: "start another conversation with the addressed agent",
    more: ["The earlier one stays in the journal: `/sessions`, `/resume ID`."],
    async run(_, shell) {
      shell.startNew();
      shell.say("the next message begins a conversation");
    },
  },
  {
    name: "resume",
    byHand: "it moves this shell to another session",
    usage: "ID",
    summary: "continue in another session",
    more: ["Its id, the name that you gave it, or enough of its beginning or end."],
    takes: ["session"],
    run: resume,
  },
  {
    name: "branch",
    byHand: "it forks, and moves this shell to the fork",
    usage: "[ENTRY]",
    summary: "fork this conversation into another session",
    more: ["Up to that entry, if one is given. As `orgate sessions fork`."],
    run: branch,
  },
  {
    name: "stop",
    byHand: "it stops what this shell shows, orchestrations included",
    usage: "[REASON]",
    summary: "cancel the turn in progress, as Esc does",
    more: ["The model call and the tools, really. As `orgate sessions cancel`."],
    async run(rest, shell) {
      if (!(await shell.cancel(rest))) shell.say("nothing is running");
    },
  },
  {
    name: "cost",
    byHand: "it sums up what this shell has received",
    usage: "",
    summary: "show what this conversation has cost: turns, calls, tokens, money",
    more: ["As `orgate sessions show` ends."],
    run: figures,
  },
  {
    name: "tokens",
    byHand: "it sums up what this shell has received",
    usage: "",
    summary: "show how many tokens this conversation has used: in, from the cache, out",
    more: ["The same figures as `/cost`."],
    run: figures,
  },
  {
    name: "attach",
    byHand: "it moves this shell to another server",
    usage: "URL",
    summary: "connect to another server",
    more: [
      "$ORGATE_API_KEY says who you are, else the key is asked for, hidden. As `orgate shell --attach URL`; `/detach` goes back to your own.",
    ],
    async run(rest, shell) {
      if (rest === "") return shell.say("`/attach URL`: http://127.0.0.1:4680");
      await shell.switchServer(rest);
    },
  },
  {
    name: "detach",
    byHand: "it moves this shell to another server",
    usage: "",
    summary: "go back to the local server",
    more: ["Work at the other server goes on there."],
    async run(_, shell) {
      if (shell.connection.isLocal) return shell.say("this is a server of your own already");
      await shell.switchServer(null);
    },
  },
  {
    name: "theme",
    byHand: "it changes how this shell looks",
    usage: THEMES.join(" | "),
    takes: [THEMES],
    summary: "choose the colours, or none",
    more: ["As `orgate shell --theme`."],
    async run(rest, { ui, say }) {
      const theme = parseTheme(rest);
      if (theme === null) return say(`there are: ${THEMES.join(", ")}`);
      ui.setTheme(theme);
      say(`the theme is ${theme}`);
    },
  },
  {
    name: "quit",
    byHand: "it ends this shell",
    usage: "",
    summary: "leave; nothing is lost",
    more: ["A turn in progress is parked and goes on at the next start, or goes on at the server."],
    async run(_, { ui }) {
      ui.leave();
    },
  },
];
