/**
 * What need not be found out twice (decision 0063). A set, its tables, its tools and this code decide alike every time, so what they were once found to be is
 * remembered by its digest. What is enforced is never remembered: every policy is read from its own text by the engine at every load.
 *
 * A55 a policy that Cedar found fit for the same tools, and a case that the same policies decided as it expects, are not asked about again by the commands that
 *     run agents; whatever failed is, and fails again. `orgate policy check` asks everything.
 */
import { type Digest, digestOf, type Json, type Tool } from "@orgate/core";
import { actionOf, type Case, type CaseResult, type CedarGate, type Engine, type Remark, runCase } from "@orgate/core/gate";
import { type CheckedBefore, sha256 } from "./compose.ts";

const named = (what: Json): Digest => digestOf(what, sha256);

/** For one load: a text that several surfaces share is read once, and what is known to be fit is not validated again. */
export function remembering(engine: Engine, checked: CheckedBefore): Engine {
  const count = once(engine.count);
  const parse = once(engine.parse);
  return { ...engine, count, parse, validate };

  /** Cedar looks at each policy by itself, so those that are new to it can be given to it alone. */
  function validate(schema: unknown, policies: Readonly<Record<string, string>>): ReturnType<Engine["validate"]> {
    const under = sha256(JSON.stringify(schema));
    const all = Object.entries(policies).map(([id, text]) => ({ id, text, digest: named({ under, id, text }) }));
    const known = new Map(all.map(({ id, digest }) => [id, checked.find(digest)] as const));
    const fresh = all.filter(({ id }) => known.get(id) === null);
    const answer: ReturnType<Engine["validate"]> =
      fresh.length === 0 && all.length > 0
        ? { type: "success", validationErrors: [], validationWarnings: [] }
        : engine.validate(schema, Object.fromEntries(fresh.map(({ id, text }) => [id, text])));
    if (answer.type === "failure") return answer;
    const wrong = new Set(answer.validationErrors.map(({ policyId }) => policyId));
    const remarks = (id: string): readonly Remark[] =>
      known.get(id) ?? answer.validationWarnings.filter(({ policyId }) => policyId === id).map(({ error }) => error);
    for (const { id, digest } of fresh) if (!wrong.has(id)) checked.passed(digest, remarks(id).map(plain));
    return { ...answer, validationWarnings: all.flatMap(({ id }) => remarks(id).map((error) => ({ policyId: id, error }))) };
  }
}

/** The engine's own object has more in it than anybody reads. */
const plain = ({ message, help, sourceLocations }: Remark): Remark => ({
  message,
  help: help ?? null,
  ...(sourceLocations === undefined ? {} : { sourceLocations: sourceLocations.map(({ start, end }) => ({ start, end })) }),
});

function once<T>(ask: (text: string) => T): (text: string) => T {
  const told = new Map<string, T>();
  return (text) => {
    const found = told.get(text);
    if (found !== undefined) return found;
    const answer = ask(text);
    told.set(text, answer);
    return answer;
  };
}

/** What the tool's own code makes of the arguments is made again each time, and is part of what a case is known by. */
export function runRemembered(
  c: Case,
  gate: CedarGate,
  tools: readonly Tool[],
  under: Readonly<{ shadow: boolean; idle: boolean }>,
  checked: CheckedBefore,
): Pick<CaseResult, "passed" | "detail"> {
  const { action, refused } = c.user === undefined ? actionOf(c, tools) : { action: null, refused: null };
  if (refused !== null) return runCase(c, gate, tools, sha256);
  const tool = tools.find(({ name }) => `tool:${name}` === c.action);
  const aims = { targets: Object.keys(tool?.targets ?? {}), outgoing: tool?.outgoing ?? [] };
  const digest = named({
    gate: gate.digest,
    ...under,
    case: JSON.stringify(c),
    action: JSON.stringify(action),
    aims: JSON.stringify(aims),
  });
  if (checked.find(digest) !== null) return { passed: true, detail: "" };
  const result = runCase(c, gate, tools, sha256);
  if (result.passed) checked.passed(digest, []);
  return result;
}
