/** `.symbi` files of a project made whole: agents with all their tools, and the policies that the files say. */

import {
  type Agent,
  type AgentFile,
  type AgentPolicies,
  type JsonObject,
  type Label,
  label,
  suggestNearest,
  withAgentFile,
} from "@orgate/core";
import type { AgentDraft, Compiled, CompiledPolicy, SymbiFile, SymbiProblem } from "@orgate/symbi";
import { problemAt as symbiProblemAt } from "./symbi-files.ts";
import type { SymbiOrigin } from "./symbi-origin.ts";

export const PRIVATE = label("private");

export type Finished = Readonly<
  | { kind: "agent"; agent: Agent; policies: readonly CompiledPolicy[] }
  | { kind: "problems"; problems: readonly [SymbiProblem, ...SymbiProblem[]] }
>;

/** Its rules may be about what it lacks: they are not compiled. */
export const hasMissingParts = ({ missing, missingServers, missingTools }: Agent): boolean =>
  missing.length + missingServers.length + missingTools.length > 0;

/** Once all of its tools are there: what the file says of policies and labels. `compile` is asked unless it lacks any. */
export function finishAgent(agent: Agent, { source: { symbi }, draft }: SymbiOrigin, compile: () => Compiled): Finished {
  const saying = (policies: readonly AgentPolicies[], labels: readonly Label[]): AgentFile => ({
    policies,
    labels,
    get basis() {
      return { tree: withoutPlaces(symbi.tree) } as JsonObject;
    },
  });
  if (hasMissingParts(agent)) {
    const lacking = withAgentFile(agent, saying([forbidAll(symbi, draft)], []));
    return { kind: "agent", agent: lacking, policies: [] };
  }
  const made = compile();
  if (made.kind === "problems") return made;
  return {
    kind: "agent",
    agent: withAgentFile(agent, saying(made.files, draft.isPrivate ? [PRIVATE] : [])),
    policies: made.policies,
  };
}

/** An agent that lacks a tool which its rules may be about does not run, so its rules are not written; it is denied everything, whatever other policies permit. */
function forbidAll({ file }: SymbiFile, { name }: AgentDraft): AgentPolicies {
  const id = `lacking-${name}`;
  const text = `@id("${id}") @reason("the agent lacks what its file names") forbid(principal == Agent::"${name}", action, resource);`;
  return { path: file, name: file, agent: name, text: `${text}\n`, shadow: false, pieces: [{ id: `${file}/${id}`, text }] };
}

const PLACES = new Set(["at", "open", "opAt", "stepAt"]);
/** The value without positions, for comparing meanings. */
export function withoutPlaces(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPlaces);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).flatMap(([key, one]) => (PLACES.has(key) ? [] : [[key, withoutPlaces(one)]])));
}

/** Y-7 names in an agent's procedure that neither its file nor its tools explain: the model reads them as what they say, and somebody may have misspelt one. */
export function findProcedureDoubts({ tools }: Agent, { source: { symbi }, draft }: SymbiOrigin): readonly SymbiProblem[] {
  const names = tools.map(({ name }) => name);
  const unknown = (draft.procedure?.calls ?? []).filter(({ name }) => !names.includes(name));
  return [
    ...(draft.procedure?.doubts ?? []).map(({ at, detail, hint }) => symbiProblemAt(symbi, at, detail, hint)),
    ...unknown.map(({ name, at }) => {
      const meant = names.length === 0 ? "" : suggestNearest(name, names);
      const hint = meant.startsWith("did you mean")
        ? meant
        : "the agent does it by itself, as its name says; for a tool, name one of its capabilities";
      return symbiProblemAt(symbi, at, `\`${name}\` is no tool of agent \`${draft.name}\`, and no function of this file`, hint);
    }),
  ].sort((a, b) => a.line - b.line || a.column - b.column);
}

/** Y-12 the answer of a private agent's delegate is private too: the delegate's session has to say so itself. */
export function findPublicDelegates(
  origins: ReadonlyMap<string, SymbiOrigin>,
): readonly Readonly<{ origin: SymbiOrigin; problem: SymbiProblem }>[] {
  const hint = 'give it `with privacy = "high" { }` too, or take one of the two out';
  return [...origins.values()].flatMap((origin) => {
    const { source, draft } = origin;
    const open = draft.isPrivate ? draft.delegates.filter(({ name }) => origins.get(name)?.draft.isPrivate !== true) : [];
    return open.map(({ name, at }) => ({
      origin,
      problem: symbiProblemAt(source.symbi, at, `what delegate \`${name}\` answers would not be private`, hint),
    }));
  });
}
