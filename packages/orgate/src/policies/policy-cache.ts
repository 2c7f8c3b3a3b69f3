/**
 * Checks that need not be repeated (decisions 0048, 0051). A set, its tables, its tools and this code decide alike every time, so a result
 * is cached by their digest. The project's folder holds only the fact that a check passed; the engine's form of a policy's text is enforced, and lies with the person.
 *
 * G-37 a policy that Cedar found fit for the same tools, and a case that the same policies decided as it expects, are not asked about again by the commands that
 *     run agents; whatever failed is, and fails again. `orgate policy check` asks everything.
 * R-9 the same of the text of a policy that this engine has read before: it is decided by what was made of it then.
 */
import { isDeepStrictEqual } from "node:util";
import { type Digest, digestJson, type Json, type Tool } from "@orgate/core";
import { type Case, type CaseResult, type CedarError, type CedarGate, type Engine, runCase, toCaseAction } from "@orgate/core/gate";
import type { CheckedCache } from "../files/checked-cache.ts";
import { type FileCache, NO_FILE_CACHE } from "../files/file-cache.ts";
import { sha256 } from "../node/crypto.ts";

const named = (what: Json): Digest => digestJson(what, sha256);

/** Parsed texts, by the person who runs this and by engine. */
export type PolicyTextCache = Readonly<{ remembered: FileCache; cedar: string }>;
export const NO_POLICY_CACHE: PolicyTextCache = { remembered: NO_FILE_CACHE, cedar: "" };

/** For one load: a text that several surfaces share is read once, and what is known to be fit is not validated again. */
export function cachingEngine(engine: Engine, checked: CheckedCache, { remembered, cedar }: PolicyTextCache = NO_POLICY_CACHE): Engine {
  const count = once(before("count", engine.count, (found) => found !== null));
  const parse = once(before("parse", engine.parse, ({ type }) => type === "success"));
  return { ...engine, count, parse, validate };

  /** Only what is good, and comes back as it was. */
  function before<T>(what: string, ask: (text: string) => T, isGood: (answer: T) => boolean): (text: string) => T {
    return (text) => {
      const digest = sha256(JSON.stringify([what, cedar, text]));
      const known = remembered.find(digest);
      if (known !== null) return JSON.parse(known) as T; // our own words, as in `symbi-cache.ts`
      const answer = ask(text);
      const json = JSON.stringify(answer);
      if (isGood(answer) && isDeepStrictEqual(JSON.parse(json), answer)) remembered.keep(digest, json);
      return answer;
    };
  }

  /** Cedar validates each policy by itself, so only the new ones need be given to it. */
  function validate(schema: unknown, policies: Parameters<Engine["validate"]>[1]): ReturnType<Engine["validate"]> {
    const under = sha256(JSON.stringify(schema));
    const all = Object.entries(policies).map(([id, text]) => ({
      id,
      text,
      digest: named({ under, id, text: typeof text === "string" ? text : JSON.stringify(text) }),
    }));
    const known = new Map(all.map(({ id, digest }) => [id, checked.find(digest)] as const));
    const fresh = all.filter(({ id }) => known.get(id) === null);
    const answer: ReturnType<Engine["validate"]> =
      fresh.length === 0 && all.length > 0
        ? { type: "success", validationErrors: [], validationWarnings: [] }
        : engine.validate(schema, Object.fromEntries(fresh.map(({ id, text }) => [id, text])));
    if (answer.type === "failure") return answer;
    const wrong = new Set(answer.validationErrors.map(({ policyId }) => policyId));
    const remarks = (id: string): readonly CedarError[] =>
      known.get(id) ?? answer.validationWarnings.filter(({ policyId }) => policyId === id).map(({ error }) => error);
    for (const { id, digest } of fresh) if (!wrong.has(id)) checked.keep(digest, remarks(id).map(plain));
    return { ...answer, validationWarnings: all.flatMap(({ id }) => remarks(id).map((error) => ({ policyId: id, error }))) };
  }
}

/** The engine's own object has more in it than anybody reads. */
const plain = ({ message, help, sourceLocations }: CedarError): CedarError => ({
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

/** The tool's own code computes the facts of the arguments each time, and they are part of a case's key. */
export function runCaseCached(
  c: Case,
  { gate, tools, checked }: Readonly<{ gate: CedarGate; tools: readonly Tool[]; checked: CheckedCache }>,
  under: Readonly<{ shadow: boolean; idle: boolean }>,
): Pick<CaseResult, "passed" | "detail"> {
  const { action, refused } = c.user === undefined ? toCaseAction(c, tools) : { action: null, refused: null };
  if (refused !== null) return runCase(c, gate, tools, sha256);
  const tool = tools.find(({ name }) => `tool:${name}` === c.action);
  const aims = { targets: tool?.targets ?? {}, outgoing: tool?.outgoing ?? [] };
  const digest = named({
    gate: gate.digest,
    ...under,
    case: JSON.stringify(c),
    action: JSON.stringify(action),
    aims: JSON.stringify(aims),
  });
  if (checked.find(digest) !== null) return { passed: true, detail: "" };
  const result = runCase(c, gate, tools, sha256);
  if (result.passed) checked.keep(digest, []);
  return result;
}
