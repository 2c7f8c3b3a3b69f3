/**
 * Policies against the tools, by the official validator: what does not exist does not load, and neither does what can never be true.
 *
 * G-6 a test for presence that is true of no request the policy covers is refused, with its place and what may have been meant.
 * G-6 a policy that can never apply is refused, unless only a tool is missing that could still come (it is written ahead of its tools).
 */
import { type Effect, type JsonObject, suggestNearest } from "../../vocab/index.ts";
import { type Parsed, type PolicyFile, type PolicyProblem, problemText, toProblem } from "../problem.ts";
import type { CedarError, Engine, PolicyJson } from "./engine.ts";
import { findHasTest, findRead } from "./policy-text.ts";
import { findPresenceTests, type HasTest, type PresenceTests } from "./presence.ts";
import { isOpaque, isUnder, listAttributes, listNamesUnder, nameChain } from "./reach.ts";
import type { Chain } from "./slice.ts";
import { buildVocabulary, EFFECTS, type PolicyWorld, type Vocabulary, type VocabularyTool } from "./vocabulary.ts";

type Checked = Readonly<{ problems: readonly PolicyProblem[]; warnings: readonly PolicyProblem[] }>;
type Validated = Extract<ReturnType<Engine["validate"]>, { type: "success" }>;

/** Of Cedar's remarks these say that a policy has no effect; the others are about odd characters. */
const isImpossible = ({ message }: CedarError): boolean => /policy is impossible|unable to find an applicable action/.test(message);

export function checkPolicies(
  parsed: readonly Parsed[],
  files: readonly PolicyFile[],
  engine: Engine,
  { vocabulary, cast }: Readonly<{ vocabulary: Vocabulary; cast: PolicyWorld }>,
): Checked {
  const byId = new Map(parsed.map((p) => [p.policy.id, { parsed: p, tested: findPresenceTests(p.policy.json) }]));
  const all = [...byId.values()];
  const probes = probesOf(all, (test) => test.holds);
  const texts = all.map(({ parsed: { policy } }) => [policy.id, policy.text] as const);
  const answer = engine.validate(
    vocabulary.schema,
    Object.fromEntries([...texts, ...[...probes].map(([id, { json }]) => [id, json] as const)]),
  );
  if (answer.type === "failure") return { problems: answer.errors.map((e) => ofTools(files, e)), warnings: [] };

  const errors = answer.validationErrors.filter(({ policyId }) => !probes.has(policyId));
  const bad = new Set(errors.map((e) => e.policyId));
  const isSound = (id: string): boolean => byId.has(id) && !bad.has(id);
  const never = impossibleIn(answer);
  const idle = [...never].filter((id) => isSound(id));
  const ahead = aheadOf(
    idle.flatMap((id) => byId.get(id) ?? []),
    cast,
    engine,
  );
  const empty = [...probes].flatMap(([id, probe]) => (never.has(id) && isSound(probe.of.policy.id) ? [probe] : []));
  const untrue = reachedAmong(empty, engine, vocabulary);

  const untested = new Set(untrue.map(({ of }) => of.policy.id));
  const problems = [
    ...errors.map(({ policyId, error }) => fromEngine(byId.get(policyId), error, vocabulary, cast)),
    ...untrue.map(({ of, test }) => neverTrue(of, test, vocabulary, cast)),
    ...all.flatMap(({ parsed: p, tested }) => (isSound(p.policy.id) ? opaqueReads(p, tested, vocabulary, cast) : [])),
    ...idle.filter((id) => !ahead.has(id) && !untested.has(id)).flatMap((id) => neverApplies(byId.get(id)?.parsed)),
  ];
  const warnings = answer.validationWarnings.flatMap(({ policyId, error }) => {
    const found = byId.get(policyId);
    return found === undefined || !isSound(policyId) || isImpossible(error) ? [] : [problemText(found.parsed, error)];
  });
  return { problems, warnings };
}

/** Whether what its check would find holds, whatever could not be read: it names its actions, and each is a tool that is known or none at all. */
export function isCertain({ policy: { json, text } }: Parsed, { tools, unknown }: PolicyWorld): boolean {
  if (unknown === undefined || (!unknown.more && unknown.named.length === 0)) return true;
  const actions = [...JSON.stringify(json.action).matchAll(/"id":"([^"]*)"/g)].map(([, id = ""]) => id);
  const isKnown = (id: string): boolean => {
    if (!id.startsWith("tool:")) return !EFFECTS.some((effect) => effect === id);
    const name = id.slice("tool:".length);
    return tools.some((tool) => tool.name === name) ? !unknown.named.includes(name) : !unknown.more;
  };
  return actions.length > 0 && actions.every(isKnown) && !(unknown.more && text.includes("calls")); // of tools that may be there
}

const impossibleIn = ({ validationWarnings }: Validated): ReadonlySet<string> =>
  new Set(validationWarnings.flatMap(({ policyId, error }) => (isImpossible(error) ? [policyId] : [])));

type Probe = Readonly<{ of: Parsed; test: HasTest; json: PolicyJson }>;
type WithTests = Readonly<{ parsed: Parsed; tested: PresenceTests }>;

/** By ids that no policy has. */
const probesOf = (all: readonly WithTests[], json: (test: HasTest) => PolicyJson): ReadonlyMap<string, Probe> =>
  new Map(
    all.flatMap(({ parsed, tested }) =>
      tested.tests.map((test, i) => [`${parsed.policy.id}\n${i}`, { of: parsed, test, json: json(test) }] as const),
    ),
  );

/** Those that evaluation comes to: a test behind another that is never true, or about tools that are still to come, is left alone. */
function reachedAmong(probes: readonly Probe[], engine: Engine, { schema }: Vocabulary): readonly Probe[] {
  if (probes.length === 0) return [];
  const answer = engine.validate(schema, Object.fromEntries(probes.map(({ test }, i) => [String(i), test.reached])));
  const unreached = answer.type === "failure" ? new Set() : impossibleIn(answer);
  return probes.filter((_, i) => !unreached.has(String(i)));
}

/** The policies that would apply to a missing tool: with other effects, and the arguments they ask for. Nothing is wrong with them. */
function aheadOf(policies: readonly WithTests[], { tools, subject }: PolicyWorld, engine: Engine): ReadonlySet<string> {
  const written = JSON.stringify(policies.map(({ parsed: { policy } }) => [policy.json.action, policy.json.conditions]));
  const effects = EFFECTS.filter((effect) => written.includes(`"id":"${effect}"`));
  if (effects.length === 0) return new Set();
  const asked = policies.flatMap(({ tested }) => tested.tests);
  const { schema } = buildVocabulary({
    tools: [...tools, ...subsetsOf(effects).map((some) => imagined(some, asked))],
    ...(subject === undefined ? {} : { subject }),
  });
  const texts = policies.map(({ parsed: { policy } }) => [policy.id, policy.text] as const);
  const answer = engine.validate(schema, Object.fromEntries(texts));
  const never = answer.type === "failure" ? null : impossibleIn(answer);
  return new Set(texts.flatMap(([id]) => (never === null || never.has(id) ? [] : [id])));
}

/** Every combination: of seven at the most. */
const subsetsOf = (effects: readonly Effect[]): readonly (readonly Effect[])[] =>
  Array.from({ length: 2 ** effects.length }, (_, bits) => effects.filter((_effect, i) => (bits >> i) % 2 === 1));

/** No tool of a project can have such a name. */
function imagined(effects: readonly Effect[], asked: readonly HasTest[]): VocabularyTool {
  const under = (root: string) =>
    asked.flatMap(({ base, attrs }) => (base?.variable === "context" && base.path[0] === root ? [[...base.path.slice(1), ...attrs]] : []));
  return {
    name: `(${effects.join(" ")})`,
    inputSchema: nestedSchema(under("args")),
    effects,
    resourceTypes: [],
    targets: Object.fromEntries(under("facts").map(([arg = ""]) => [arg, { kind: "id", known: [], of: null }])),
    outgoing: [],
    records: [],
  };
}

/** An object that has all of these paths. */
function nestedSchema(paths: readonly (readonly string[])[]): JsonObject {
  const deeper = paths.filter((path) => path.length > 0);
  if (deeper.length === 0) return {};
  const names = [...new Set(deeper.map(([name = ""]) => name))];
  const inside = (name: string) => nestedSchema(deeper.flatMap(([first, ...rest]) => (first === name ? [rest] : [])));
  return { type: "object", properties: Object.fromEntries(names.map((name) => [name, inside(name)])) };
}

// ── reports ──

const ofTools = (files: readonly PolicyFile[], { message, help }: CedarError): PolicyProblem => ({
  file: files[0]?.path ?? "policies",
  line: 1,
  column: 1,
  detail: `the tools cannot be described to Cedar: ${message}`,
  hint: help ?? "look at the names in the tools' resourceTypes",
});

function neverApplies(parsed: Parsed | undefined): readonly PolicyProblem[] {
  if (parsed === undefined) return [];
  const what = parsed.policy.json.effect === "permit" ? "permits nothing" : "forbids nothing";
  return [
    toProblem(parsed, 0, `it ${what}: no request that there can be makes it true`, "mend its scope or its conditions, or take it out"),
  ];
}

function fromEngine(
  found: WithTests | undefined,
  error: CedarError,
  { untyped, schema, ...vocabulary }: Vocabulary,
  cast: PolicyWorld,
): PolicyProblem {
  if (found === undefined) return { file: "", line: 1, column: 1, detail: error.message, hint: error.help ?? "" };
  const { parsed, tested } = found;
  const problem = problemText(parsed, error);
  const action = /^unrecognized action `Action::"(.*)"`/.exec(problem.detail)?.[1];
  // the engine's own suggestion is often a word of another kind
  if (action !== undefined) return { ...problem, hint: suggestNearest(action, actionNames(schema)) };
  if (problem.detail.includes("OrgateOpaque")) {
    const [read] = opaqueIn(parsed, tested.reads, { untyped, schema, ...vocabulary }, cast);
    if (read !== undefined) return opaqueRead(parsed, read);
  }
  const hole = untyped.find((u) => problem.detail.includes(`\`${u.path}\``));
  return hole === undefined ? problem : { ...problem, hint: `${hole.path} of ${hole.tool} cannot be read by a policy: ${hole.why}` };
}

const actionNames = (schema: Vocabulary["schema"]): readonly string[] => Object.keys((schema[""] as { actions: object }).actions);

type OpaqueRead = Readonly<{ chain: Chain; tools: readonly string[]; why: string }>;

/** Reads of what can only be tested for, with the tools that have it so. */
function opaqueIn(
  { policy }: Parsed,
  reads: readonly Chain[],
  { args, untyped }: Vocabulary,
  { tools }: PolicyWorld,
): readonly OpaqueRead[] {
  return reads.flatMap((chain) => {
    const [root, ...path] = chain.path;
    if (chain.variable !== "context" || root !== "args") return [];
    const found = tools.filter((t) => isUnder(policy.json, t) && isOpaque(args.get(t.name), path)).map(({ name }) => name);
    const why = untyped.find((u) => found.includes(u.tool) && [chain.path.join("."), `${chain.path.join(".")}[]`].includes(u.path))?.why;
    return found.length === 0 ? [] : [{ chain, tools: found, why: why ?? "Cedar has no type for it" }];
  });
}

/** Where Cedar itself finds nothing wrong with it: two opaque values are of one type, and nobody can say whether they are equal. */
function opaqueReads(parsed: Parsed, { reads }: PresenceTests, vocabulary: Vocabulary, cast: PolicyWorld): readonly PolicyProblem[] {
  const covered = cast.tools.filter((t) => isUnder(parsed.policy.json, t));
  const isEverywhere = ({ chain, tools }: OpaqueRead): boolean =>
    covered.every(
      (t) =>
        tools.includes(t.name) ||
        listAttributes(vocabulary.schema, [`tool:${t.name}`], { ...chain, path: chain.path.slice(0, -1) }).indexOf(
          chain.path.at(-1) ?? "",
        ) === -1,
    );
  return opaqueIn(parsed, reads, vocabulary, cast)
    .filter(isEverywhere)
    .map((read) => opaqueRead(parsed, read));
}

function opaqueRead(parsed: Parsed, { chain, tools, why }: OpaqueRead): PolicyProblem {
  const test = nameChain(chain).replace(/\.([^.]+)$/, " has $1");
  const detail = `\`${nameChain(chain)}\` of ${tools.join(", ")} cannot be read: ${why}`;
  return toProblem(
    parsed,
    findRead(parsed.piece.text, chain.path.at(-1) ?? ""),
    detail,
    `a policy can ask whether it is given: \`${test}\``,
  );
}

function neverTrue(parsed: Parsed, { base, attrs, nth }: HasTest, vocabulary: Vocabulary, cast: PolicyWorld): PolicyProblem {
  const at = findHasTest(parsed.piece.text, attrs, nth);
  const asked = `${base === null ? "…" : nameChain(base)} has ${attrs.join(".")}`;
  const { why, hint } =
    base === null
      ? { why: "there is no such attribute", hint: "look at what stands before `has`" }
      : missing(parsed, { base, attrs }, vocabulary, cast);
  return toProblem(parsed, at, `\`${asked}\` is never true: ${why}`, hint);
}

/** The first step that leads nowhere, and what there is instead. */
function missing(
  { policy }: Parsed,
  { base, attrs }: Readonly<{ base: Chain; attrs: readonly string[] }>,
  { schema, args }: Vocabulary,
  cast: PolicyWorld,
): { readonly why: string; readonly hint: string } {
  const actions = listNamesUnder(schema, policy.json);
  const namesAt = (steps: number) => listAttributes(schema, actions, { ...base, path: [...base.path, ...attrs.slice(0, steps)] });
  const step = attrs.findIndex((name, i) => !namesAt(i).includes(name));
  const known = namesAt(Math.max(0, step));
  const name = attrs[Math.max(0, step)] ?? "";
  const hint = known.length === 0 ? "there is nothing to ask for" : suggestNearest(name, known);
  const [root, ...deeper] = base.variable === "context" ? [...base.path, ...attrs.slice(0, Math.max(0, step))] : [];
  const covered = cast.tools.filter((t) => isUnder(policy.json, t));
  if (root === "args" && deeper.length === 0) return { why: `no tool under this policy takes an argument \`${name}\``, hint };
  if (root === "facts" && deeper.length === 0) {
    const takes = covered.some((t) => args.get(t.name)?.fields.has(name));
    const ask = `ask \`context.args has ${name}\`, or mark \`${name}\` as a target or as outgoing where the tool is defined`;
    return { why: `no tool under this policy marks \`${name}\` as a target or as outgoing`, hint: takes ? ask : hint };
  }
  if ((root === "records" || root === "allRecords") && deeper.length === 0)
    return {
      why: `no tool under this policy has a target that stands for a recorded \`${name}\``,
      hint: known.length === 0 ? RECORDS_HINT : hint,
    };
  if (root === "subject" && deeper.length === 0) return { why: `nothing gives the subject an attribute \`${name}\``, hint };
  if (root === "calls" && deeper.length === 0) return { why: `there is no tool \`${name}\` to count`, hint };
  return { why: `there is no such attribute under this policy`, hint };
}
const RECORDS_HINT =
  'declare `records` on the tool that reads it, and `targets: { ARGUMENT: { kind: "id", of: TYPE } }` on the one that acts on it';
