/**
 * Agents in `.symbi` files for those who embed the runtime, beside those of `defineAgent`.
 * Y-4 a file means the same here as in a project: its rules decide, or the runtime does not start. What needs a project (schedules, webhooks) is refused with its place.
 */

import { type Agent, equipAgent, NO_RESOURCES, type ProjectResources, type Skill, type Tool } from "@orgate/core";
import type { Config } from "../../config/config.ts";
import { assertArguments, objectWith, text } from "../../node/argument-checks.ts";
import { assertAgentComplete } from "../agent-settings.ts";
import { openInputs, throwProblem, toProblemsFault } from "../formats/inputs.ts";
import { findPublicDelegates, finishAgent } from "./project-symbi.ts";
import { buildAgent, readSymbiFiles, problemAt as symbiProblemAt } from "./symbi-files.ts";
import { toSymbiInputs } from "./symbi-inputs.ts";
import type { SymbiOrigin, SymbiSource } from "./symbi-origin.ts";

const ROOT_HINT = "such as { root: import.meta.dirname }";

export type SymbiAgentsOptions = Readonly<{
  /** The folder they lie in: a verdict names a file by its path below it. */
  root: string;
  /** Paths and globs below `root`; `agents/*.symbi` and `agents/*.dsl` unless said. */
  files?: readonly string[];
  /** Tools that their capabilities can name. */
  tools?: readonly Tool[];
  skills?: readonly Skill[];
  /** As for `cedarPolicies`: whom `user in "…"` can name. */
  groups?: Partial<Config["groups"]>;
  /** Model prices, where a file has none. */
  prices?: ProjectResources["prices"];
}>;

const FILES = ["agents/*.symbi", "agents/*.dsl"];

/** The agents of the files, each with all that it says. Throws `file-bad` with line and column. Give them to `cedarPolicies` too: what they say of policies is decided there. */
export async function symbiAgents(options: SymbiAgentsOptions): Promise<readonly Agent[]> {
  assertArguments("symbiAgents", { options: objectWith({ root: text(ROOT_HINT) }, ROOT_HINT) }, options);
  const { root, files = FILES, tools = [], skills = [], groups = {}, prices = {} } = options;
  const sources = (await readSymbiFiles(files, openInputs({ root }, "agents", throwProblem))).map((read) => {
    if (read.kind === "problems") throw toProblemsFault(read.path, read.problems);
    return read.source;
  });
  const { compileAgent } = await import("./symbi-compile.ts");
  const origins = indexOrigins(sources);
  const box = new Map(tools.map((tool) => [tool.name, { tool }]));
  const agents = [...origins.values()].map((origin) => {
    const { source, draft } = origin;
    const built = buildAgent(source, draft, { box, broken: new Map(), prices, isIncomplete: false });
    if (built.kind === "problems") throw toProblemsFault(source.path, built.problems, built.cause);
    const agent = equipAgent(built.agent, { ...NO_RESOURCES, skills, prices });
    assertAgentComplete(agent);
    const made = finishAgent(agent, origin, () => compileAgent(origin, toSymbiInputs(agent, { users: {}, ...groups })));
    if (made.kind === "problems") throw toProblemsFault(source.path, made.problems);
    return made.agent;
  });
  const [open] = findPublicDelegates(origins);
  if (open !== undefined) throw toProblemsFault(open.origin.source.path, [open.problem]);
  return agents;
}

function indexOrigins(sources: readonly SymbiSource[]): ReadonlyMap<string, SymbiOrigin> {
  const origins = new Map<string, SymbiOrigin>();
  for (const source of sources) {
    const { symbi, path } = source;
    const [needy] = [...symbi.schedules, ...symbi.webhooks];
    if (needy !== undefined) {
      const hint = "`orgate up` runs schedules and webhooks: put it into a file of the project, or take it out";
      const { file, line, column } = needy.place;
      throw toProblemsFault(path, [{ file, line, column, detail: `\`${needy.name}\` needs a project: nobody would start it here`, hint }]);
    }
    for (const draft of symbi.agents) {
      const other = origins.get(draft.name);
      if (other !== undefined) {
        const there = symbiProblemAt(other.source.symbi, other.draft.at, "", "");
        const detail = `agent \`${draft.name}\` is already defined in ${there.file}:${there.line}`;
        throw toProblemsFault(path, [symbiProblemAt(symbi, draft.at, detail, "rename one of them")]);
      }
      origins.set(draft.name, { source, draft });
    }
  }
  return origins;
}
