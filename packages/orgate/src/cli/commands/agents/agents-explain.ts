/** Explains an agent's own file: each policy as Cedar, with the rule and the line it comes from; and the procedure that its bodies describe. */

import { FaultError } from "@orgate/core";
import type { Screen } from "@orgate/shell/terminal";
import { EXIT, type RunCommand, visible, visibleLines } from "@orgate/shell/terminal";
import { assertAgentComplete } from "../../../project/agent-settings.ts";
import { problemAt as symbiProblemAt } from "../../../project/symbi/symbi-files.ts";
import type { SymbiOrigin } from "../../../project/symbi/symbi-origin.ts";
import { requireAgent } from "./agents.ts";

export const explainAgent: RunCommand = async (given, screen) => {
  const { agent, symbi } = await requireAgent(given);
  if (symbi === undefined)
    throw new FaultError({
      kind: "usage",
      detail: `agent \`${agent.name}\` is no .symbi file, and says nothing of policies itself`,
      hint: "`orgate policy list` shows the project's, `orgate policy explain` a decision",
    });
  assertAgentComplete(agent); // without what it names its rules are not written, and it may do nothing
  const { policies, origin } = symbi;
  const { file } = origin.source.symbi;
  if (given.json) {
    const labels = origin.draft.isPrivate ? ["private"] : [];
    const procedure = origin.draft.procedure?.text ?? null;
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
  tellProcedure(origin, screen);
  return EXIT.success;
};

/** Prints the procedure that the model reads; none of it runs. */
function tellProcedure({ source: { symbi }, draft: { procedure } }: SymbiOrigin, screen: Screen): void {
  if (procedure === null) return;
  const { line: at } = symbiProblemAt(symbi, procedure.at, "", "");
  screen.line();
  screen.line(
    `${screen.paint("dim", `${symbi.file}:${at}`)} its bodies are a part of its instructions; every call in them is decided when the model proposes it`,
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
