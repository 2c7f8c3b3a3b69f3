/** Explains an agent's own file: each policy as Cedar, with the rule and the line it comes from; and the procedure that its bodies describe. */

import { FaultError } from "@orgate/core";
import type { Screen } from "@orgate/shell/terminal";
import { EXIT, type RunCommand, visible, visibleLines } from "@orgate/shell/terminal";
import { toProjectPath } from "../../../guard/modules.ts";
import { assertAgentComplete } from "../../../project/agent-settings.ts";
import type { ProjectAgent } from "../../../project/formats/format.ts";
import { openGivenProject } from "../project/project.ts";
import { requireAgent } from "./agents.ts";

export const explainAgent: RunCommand = async (given, screen) => {
  const found = await requireAgent(given);
  const { agent, about } = found;
  const policies = found.rules ?? toRules(found);
  if (found.rules === undefined && policies.length === 0)
    throw new FaultError({
      kind: "usage",
      detail: `the file of agent \`${agent.name}\` contains no policies`,
      hint: "`orgate policy list` shows the project's, `orgate policy explain` a decision",
    });
  assertAgentComplete(agent); // without what it names its rules are not written, and it may do nothing
  const file = toProjectPath(openGivenProject(given).root, found.file);
  if (given.json) {
    const { labels = [] } = about ?? {};
    const procedure = about?.procedure?.text ?? null;
    const tools = agent.tools.map((t) => t.name);
    screen.line(JSON.stringify({ agent: agent.name, file, policies, limits: agent.limits, labels, tools, procedure }));
    return EXIT.success;
  }
  const { paint } = screen;
  screen.line(`${paint("strong", agent.name)} ${paint("dim", file)}`);
  if (policies.length === 0) screen.line("its file has no policies: the project's alone decide");
  for (const { line, block, rule, cedar, shadow, id } of policies) {
    screen.line();
    screen.line(`${paint("dim", `${file}:${line}`)} ${visible(rule)}${block === null ? "" : paint("dim", `  (policy ${visible(block)})`)}`);
    for (const text of laidOut(cedar)) screen.line(`  ${visible(text)}`);
    screen.line(`  ${paint("dim", shadow ? `recorded as ${id}, never enforced` : `decides as ${id}`)}`);
  }
  showProcedure(found, file, screen);
  return EXIT.success;
};

/** Prints the procedure that the model reads; none of it runs. */
/** Policies of a format that lists no rules of its own: each as its own text. */
const toRules = ({ agent }: ProjectAgent): NonNullable<ProjectAgent["rules"]> =>
  agent.policies.flatMap(({ pieces, shadow }) =>
    pieces.map(({ id, text }) => ({ id, line: 1, column: 1, block: null, rule: id, cedar: text, shadow })),
  );

/** The model reads the bodies as instructions; nothing of them runs. */
function showProcedure({ about }: ProjectAgent, file: string, screen: Screen): void {
  const procedure = about?.procedure ?? null;
  if (procedure === null) return;
  screen.line();
  screen.line(
    `${screen.paint("dim", `${file}:${procedure.line}`)} its bodies are a part of its instructions; every call in them is decided when the model proposes it`,
  );
  for (const text of visibleLines(procedure.text).split("\n")) screen.line(`  ${text}`);
}

/** One annotation a line, and conditions on theirs. */
function laidOut(cedar: string): readonly string[] {
  const head = /^(?:@\w+\("(?:[^"\\]|\\.)*"\) )*/.exec(cedar)?.[0] ?? "";
  const annotations = [...head.matchAll(/@\w+\("(?:[^"\\]|\\.)*"\)/g)].map(([one]) => one);
  const [scope = "", ...when] = cedar.slice(head.length).split(/, resource\) when \{ /);
  return when.length === 0
    ? [...annotations, scope]
    : [...annotations, `${scope}, resource)`, `when { ${when.join(", resource) when { ")}`];
}
