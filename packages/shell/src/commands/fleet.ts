/** Commands about the agents, and about work as a whole. */
import type { OperationOutput } from "@orgate/protocol";
import { createNarrator } from "@orgate/protocol/view";
import type { Shell } from "../contract.ts";
import { describeHalt } from "../server-state.ts";
import { ageText, count } from "../terminal/table.ts";
import { visible } from "../terminal/visible.ts";
import { monitor } from "../ui/monitor.ts";
import { wrapText } from "../ui/screen.ts";
import { fitTable } from "../ui/tables.ts";
import type { ShellCommand } from "./command.ts";
import type { Renderers } from "./operation-command.ts";

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

const describeVerification = (found: OperationOutput<"verify">, shell: Shell): readonly string[] => {
  const { paint } = shell.ui.look();
  const what = `${count(found.entries, "entry", "entries")} of ${count(found.streams, "stream")}, ${count(found.seals, "seal")} of ${count(found.writers, "writer")}`;
  return [
    found.ok
      ? `${paint("good", "the journal is what was written")}: ${what}`
      : paint("bad", `the journal is not what was written: ${what}`),
    ...found.problems.map((problem) => paint("bad", `  ${visible(problem)}`)),
    ...(found.unsealed === 0 ? [] : [paint("warn", `${count(found.unsealed, "entry is", "entries are")} not sealed yet`)]),
    paint("dim", `head ${found.head}`),
  ];
};

/** Commands that lift this halt, as somebody types them. */
const liftText = (scope: string): string => (scope === "all" ? "/resume-work all" : `/resume-work ${scope.replace(":", " ")}`);

export const WORK_RENDERERS: Renderers = {
  agent: ({ name, tools }, shell) =>
    tools.length === 0
      ? [`${visible(name)} has no tools`]
      : fitTable(
          ["tool", "repeat", "effects", "what it does"],
          tools.map((tool) => [tool.name, tool.repeat, tool.effects.join(", "), tool.description.split("\n", 1)[0] ?? ""]),
          shell.ui.look(),
        ),
  verify: describeVerification,
  halt: ({ scope }) => [`halted ${visible(scope)}: nothing of it begins any more, until \`${visible(liftText(scope))} REASON\``],
  resumeWork: ({ items }) => [
    items.length === 0 ? "nothing is halted any more" : `still halted: ${items.map(({ scope }) => visible(scope)).join(", ")}`,
  ],
  setBreaker: ({ breaker, state }) => [`${visible(breaker)} is ${state}`],
};

export const FLEET_COMMANDS: readonly ShellCommand[] = [
  {
    name: "agents",
    byHand: "it refreshes the list that completion uses",
    usage: "",
    summary: "list the agents that you may see",
    more: [],
    async run(_, shell) {
      await shell.refreshAgents();
      const rows = shell.agents().map(({ name, model, tools: has, description }) => [name, model, count(has.length, "tool"), description]);
      shell.ui.print(
        rows.length === 0 ? ["there is no agent that you may see"] : fitTable(["agent", "model", "tools", ""], rows, shell.ui.look()),
      );
    },
  },
  {
    name: "monitor",
    byHand: "it takes the screen and the keys",
    usage: "",
    summary: "watch what each agent is doing",
    more: ["`q` or Esc leaves."],
    run: monitor,
  },
  {
    name: "audit",
    byHand: "it reads a session backwards, which the link does and no operation",
    usage: "[N]",
    summary: "print the last entries of this conversation, as the journal has them",
    more: ["Decisions with their policies, acts with their outcomes."],
    run: audit,
  },
  {
    name: "status",
    byHand: "it calls two operations",
    usage: "",
    summary: "check whether the server can work",
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
