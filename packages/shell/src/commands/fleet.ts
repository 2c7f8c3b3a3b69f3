/** Commands about the agents, and about work as a whole. */
import { createNarrator } from "@orgate/protocol/view";
import type { Shell } from "../contract.ts";
import { describeHalt } from "../server-state.ts";
import { ageText, count } from "../terminal/table.ts";
import { visible } from "../terminal/visible.ts";
import { monitor } from "../ui/monitor.ts";
import { wrapText } from "../ui/screen.ts";
import { fitTable } from "../ui/tables.ts";
import type { ShellCommand } from "./command.ts";

async function tools(rest: string, shell: Shell): Promise<void> {
  const agent = rest === "" ? shell.addressee() : rest;
  if (agent === null) return shell.say("`/tools AGENT`");
  const found = await shell.unwrap(shell.connection.client.call("agent", { params: { agent } }));
  if (found === null) return;
  if (found.tools.length === 0) return shell.say(`${visible(agent)} has no tools`);
  shell.ui.print(
    fitTable(
      ["tool", "repeat", "effects", "what it does"],
      found.tools.map((tool) => [tool.name, tool.repeat, tool.effects.join(", "), tool.description.split("\n", 1)[0] ?? ""]),
      shell.ui.look(),
    ),
  );
}

/** Entries shown unless a number is given. */
const AUDITED = 20;
async function audit(rest: string, shell: Shell): Promise<void> {
  const most = rest === "" ? AUDITED : Number(rest);
  if (!Number.isInteger(most) || most < 1 || most > 200) return shell.say("`/audit N`, at most 200");
  const talk = shell.current();
  if (talk === null) return shell.say("`/audit` shows the entries of the conversation, and there is none yet");
  const page = await shell.unwrap(shell.link.history({ session: talk.session, before: null, most }));
  if (page === null) return;
  const look = shell.ui.look();
  const tell = createNarrator();
  shell.ui.print(
    page.entries.flatMap((entry) =>
      tell(entry).flatMap((line) =>
        wrapText(
          `${line.mark} ${line.text}`,
          look,
          { first: look.paint("dim", `${String(entry.seq).padStart(5)} `), rest: "      ", indent: 6 },
          line.tone,
        ),
      ),
    ),
  );
}

async function verify(_: string, shell: Shell): Promise<void> {
  const found = await shell.unwrap(shell.connection.client.call("verify", {}));
  if (found === null) return;
  const { paint } = shell.ui.look();
  const what = `${count(found.entries, "entry", "entries")} of ${count(found.streams, "stream")}, ${count(found.commits, "commit")} of ${count(found.writers, "writer")}`;
  shell.ui.print([
    found.ok
      ? `${paint("good", "the journal is what was written")}: ${what}`
      : paint("bad", `the journal is not what was written: ${what}`),
    ...found.problems.map((problem) => paint("bad", `  ${visible(problem)}`)),
    paint("dim", `head ${found.head}`),
  ]);
}

/** `all`, `agent NAME` or `tool NAME`, and why. Null unless both are there: the journal keeps no reason that nobody gave (W-18). */
function scopeIn(rest: string): Readonly<{ scope: string; reason: string }> | null {
  const [, what, named, reason] = /^(?:(all)|(?:agent|tool)[ :](\S+))\s+([\s\S]+)$/.exec(rest) ?? [];
  if (reason === undefined) return null;
  return what === "all" ? { scope: "all", reason } : { scope: `${rest.startsWith("tool") ? "tool" : "agent"}:${named}`, reason };
}
/** Q-15 a name that nobody knows is refused by the server; `--anyway` before the reason says that it is meant. */
async function halt(
  rest: string,
  shell: Shell,
  names = "`/halt all REASON`, `/halt agent NAME REASON` or `/halt tool NAME REASON`",
): Promise<void> {
  const given = scopeIn(rest.replace(/\s--anyway(?=\s)/, ""));
  if (given === null) return shell.say(`${names}: the turns that it ends are told why, and the journal keeps it`);
  const anyway = /^\S+[ :]\S+\s+--anyway\s/.test(rest);
  const made = await shell.unwrap(shell.connection.client.call("halt", { body: { ...given, anyway } }));
  if (made === null) return;
  const back = made.scope === "all" ? "/resume-work all" : `/resume-work ${made.scope.replace(":", " ")}`;
  shell.say(`halted ${visible(made.scope)}: nothing of it begins any more, until \`${visible(back)} REASON\``);
}
async function resumeWork(
  rest: string,
  shell: Shell,
  names = "`/resume-work all REASON`, `/resume-work agent NAME REASON` or `/resume-work tool NAME REASON`",
): Promise<void> {
  const given = scopeIn(rest);
  if (given === null) return shell.say(`${names}: the journal keeps why`);
  const left = await shell.unwrap(shell.connection.client.call("resumeWork", { body: given }));
  if (left !== null)
    shell.say(
      left.items.length === 0 ? "nothing is halted any more" : `still halted: ${left.items.map(({ scope }) => visible(scope)).join(", ")}`,
    );
}

export const FLEET_COMMANDS: readonly ShellCommand[] = [
  {
    name: "agents",
    usage: "",
    summary: "the agents that you may see",
    more: [],
    async run(_, shell) {
      await shell.refreshAgents();
      const rows = shell.agents().map(({ name, model, tools: has, description }) => [name, model, count(has.length, "tool"), description]);
      shell.ui.print(
        rows.length === 0 ? ["there is no agent that you may see"] : fitTable(["agent", "model", "tools", ""], rows, shell.ui.look()),
      );
    },
  },
  { name: "monitor", usage: "", summary: "what each agent is doing, live", more: ["`q` or Esc leaves."], run: monitor },
  { name: "tools", usage: "[AGENT]", takes: ["agent"], summary: "an agent's tools", more: [], run: tools },
  {
    name: "audit",
    usage: "[N]",
    summary: "the last entries of this conversation, as the journal has them",
    more: ["Decisions with their policies, acts with their outcomes."],
    run: audit,
  },
  { name: "verify", usage: "", summary: "prove that the journal is what was written", more: ["As `orgate journal verify`."], run: verify },
  {
    name: "halt",
    usage: "all | agent NAME | tool NAME REASON",
    takes: [["all", "agent", "tool"], "agent"],
    summary: "the kill switch: nothing new begins, what runs is stopped",
    more: ["As `orgate halt`. `/halt agent NAME --anyway REASON` halts a name that is not here yet."],
    run: (rest, shell) => halt(rest, shell),
  },
  {
    name: "resume-work",
    usage: "all | agent NAME | tool NAME REASON",
    takes: [["all", "agent", "tool"], "agent"],
    summary: "let halted work go on",
    more: ["As `orgate resume-work`."],
    run: resumeWork,
  },
  {
    name: "pause",
    usage: "AGENT REASON",
    takes: ["agent", "anything"],
    summary: "halt one agent",
    more: ["As `orgate halt agent NAME`."],
    run: (rest, shell) => halt(`agent ${rest}`, shell, "`/pause AGENT REASON`"),
  },
  {
    name: "resume-agent",
    usage: "AGENT REASON",
    takes: ["agent", "anything"],
    summary: "let one agent go on; what was said to it meanwhile begins",
    more: ["As `orgate resume-work agent NAME`."],
    run: (rest, shell) => resumeWork(`agent ${rest}`, shell, "`/resume-agent AGENT REASON`"),
  },
  {
    name: "status",
    usage: "",
    summary: "whether the server can do its work",
    more: [],
    async run(_, { unwrap, connection, ui }) {
      const found = await unwrap(connection.client.call("health", {}));
      if (found === null) return;
      const halts = (await unwrap(connection.client.call("halts", { query: { limit: 100 } })))?.items ?? [];
      const { paint } = ui.look();
      ui.print([
        `${found.status === "ok" ? paint("good", "ok") : paint("bad", found.status)} · version ${found.version} · up for ${ageText(found.uptimeMs)}`,
        ...halts.map((halt) => `  ${paint("bad", "■")} ${visible(describeHalt(halt))}`),
        ...found.warnings.map((warning) => `  ${paint("warn", "!")} ${visible(warning)}`),
        ...found.checks.map(
          ({ name, ok, detail }) =>
            `  ${ok ? paint("good", "✓") : paint("bad", "✗")} ${name}${detail === "" ? "" : `: ${visible(detail)}`}`,
        ),
      ]);
    },
  },
];
