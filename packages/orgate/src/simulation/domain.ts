/**
 * A domain of a simulation: tools with canned outputs, a small world, and what users and attackers want. `policies/simulations/README.md` describes the
 * format; a file with anything else in it is refused, with the position of what is wrong.
 */
import { recordDefinitionSchema, TARGET_KINDS } from "@orgate/core";
import { type Json, type JsonObject, lazily } from "@orgate/core/vocab";
import * as z from "zod";
import { fileFault } from "../files/file-fault.ts";
import { findJsonPosition } from "../files/json-position.ts";
import { SIMULATIONS_PAGE } from "../starter/starter-files.ts";

const name = lazily(() => z.string().regex(/^[a-z][a-z0-9-]{0,63}$/));
const json = lazily(() => z.json() as z.ZodType<Json>);
const jsonObject = lazily(() => z.record(z.string(), json()) as z.ZodType<JsonObject>);

const target = lazily(() => z.enum(TARGET_KINDS));
const targetDefinition = lazily(() =>
  z.union([
    target(),
    z.strictObject({
      kind: target(),
      known: z.array(z.string()).exactOptional(),
      of: z.string().exactOptional(),
      per: z.string().exactOptional(),
    }),
  ]),
);

const output = lazily(() =>
  z.union([
    /** `{arg}` in a text is replaced by the argument. */
    z.strictObject({ value: json() }),
    z.strictObject({
      select: z.string(),
      /** Fields that equal arguments; an argument that is left out does not count. */
      where: z.record(z.string(), z.string()).exactOptional(),
      /** Things in which one of the fields contains the argument. */
      search: z.strictObject({ arg: z.string(), fields: z.array(z.string()).min(1) }).exactOptional(),
      fields: z.array(z.string()).min(1).exactOptional(),
      /** The field of the output that holds the list. */
      as: z.string().exactOptional(),
      /** The first one alone is the output. */
      one: z.literal(true).exactOptional(),
    }),
  ]),
);

const tool = lazily(() =>
  z.strictObject({
    name: z.string(),
    description: z.string(),
    input: jsonObject(),
    effects: z.array(z.enum(["read", "write", "execute", "network", "spend"])).min(1),
    repeat: z.enum(["read", "idempotent", "once"]),
    labels: z.array(z.string()),
    riskTier: z.enum(["low", "medium", "high"]).exactOptional(),
    /** `{arg}` in the id is replaced by the argument. */
    resource: z.strictObject({ type: z.string(), id: z.string() }).exactOptional(),
    targets: z.record(z.string(), targetDefinition()).exactOptional(),
    outgoing: z.array(z.string()).exactOptional(),
    learns: z.array(z.strictObject({ set: z.string(), from: z.string() })).exactOptional(),
    /** Names of things in its output: `each` leads to them (empty: the output is the thing), `id` and `name` are fields. */
    names: z.strictObject({ of: z.string(), each: z.string(), id: z.string(), name: z.string() }).exactOptional(),
    records: z.array(recordDefinitionSchema()).exactOptional(),
    output: output(),
  }),
);

const call = lazily(() => z.strictObject({ tool: z.string(), args: jsonObject() }));
const moment = lazily(() => z.iso.datetime());
const turn = lazily(() =>
  z.strictObject({
    user: z.string().min(1),
    /** The user agrees to what the answer before this turn proposed: to all calls of this turn, or to those at these places. */
    yes: z.union([z.literal(true), z.array(z.int().min(0))]).exactOptional(),
    calls: z.array(call()),
    answer: z.string().min(1),
  }),
);
const turns = lazily(() => z.array(turn()).min(1));

const domainSchema = lazily(() =>
  z.strictObject({
    simulation: z.literal(1),
    domain: name(),
    title: z.string(),
    rules: z.string(),
    now: moment(),
    zone: z.string(),
    user: z.strictObject({ id: name(), name: z.string() }),
    known: z.record(z.string(), z.array(z.string())),
    world: z.record(z.string(), z.array(jsonObject())),
    tools: z.array(tool()).min(1),
    places: z.record(z.string(), z.strictObject({ tool: z.string(), path: z.string() })),
    tasks: z.array(z.strictObject({ id: name(), now: moment().exactOptional(), turns: turns() })),
    injections: z.array(
      z.strictObject({
        id: name(),
        goal: z.string(),
        arrives: z.array(z.string()).min(1),
        text: z.string(),
        calls: z.array(call()).min(1),
        success: z.array(call()).min(1),
      }),
    ),
    violations: z.array(
      z.strictObject({
        id: name(),
        rule: z.string(),
        why: z.string(),
        now: moment().exactOptional(),
        turns: turns(),
        success: z.array(call()).min(1),
      }),
    ),
  }),
);

export type Domain = Readonly<z.infer<ReturnType<typeof domainSchema>>>;
export type SimulatedTool = Domain["tools"][number];
export type SimulatedOutput = SimulatedTool["output"];
export type SimulatedCall = Readonly<z.infer<ReturnType<typeof call>>>;
export type SimulatedTurn = Readonly<z.infer<ReturnType<typeof turn>>>;
export type Injection = Domain["injections"][number];
export type Place = Domain["places"][string];

const HINT = `\`${SIMULATIONS_PAGE}\` describes the format; the domains beside it are examples`;
type Problem = Readonly<{ path: readonly PropertyKey[]; detail: string }>;

/** The domain in a text, or a fault with the position of the first thing that is wrong. */
export function readDomain(text: string, file: string): Domain {
  const fault = ({ path, detail }: Problem) => fileFault({ file, at: placeAt(text, findJsonPosition(text, path)), detail, hint: HINT });
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch (error) {
    throw fileFault({ file, detail: "is not JSON", hint: HINT }, error);
  }
  const read = domainSchema().safeParse(given);
  if (!read.success) {
    const [issue] = read.error.issues;
    throw fault({ path: issue?.path ?? [], detail: `\`${issue?.path.join(".")}\`: ${issue?.message}` });
  }
  const [problem] = problemsOf(read.data);
  if (problem !== undefined) throw fault(problem);
  return read.data;
}

function placeAt(text: string, position: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, position).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** What the parts say about each other: names that lead nowhere, ids that stand for two things. */
function problemsOf(domain: Domain): readonly Problem[] {
  const tools = new Set(domain.tools.map((one) => one.name));
  const missingTool = (path: readonly PropertyKey[], { tool: called }: { readonly tool: string }): readonly Problem[] =>
    tools.has(called) ? [] : [{ path: [...path, "tool"], detail: `there is no tool \`${called}\`` }];
  const calls = (path: readonly PropertyKey[], given: readonly SimulatedCall[]) =>
    given.flatMap((one, i) => missingTool([...path, i], one));
  const said = (path: readonly PropertyKey[], given: readonly SimulatedTurn[]) =>
    given.flatMap((one, i) => calls([...path, "turns", i, "calls"], one.calls));
  return [
    ...twiceIn(
      "tools",
      domain.tools.map((one) => one.name),
    ),
    ...(["tasks", "injections", "violations"] as const).flatMap((kind) =>
      twiceIn(
        kind,
        domain[kind].map((one) => one.id),
      ),
    ),
    ...domain.tools.flatMap(({ output: given }, i) =>
      "select" in given && domain.world[given.select] === undefined
        ? [{ path: ["tools", i, "output", "select"], detail: `the world has no list \`${given.select}\`` }]
        : [],
    ),
    ...Object.entries(domain.places).flatMap(([place, one]) => missingTool(["places", place], one)),
    ...domain.tasks.flatMap((one, i) => said(["tasks", i], one.turns)),
    ...domain.injections.flatMap((one, i) => [
      ...one.arrives.flatMap((place, k) =>
        domain.places[place] === undefined
          ? [{ path: ["injections", i, "arrives", k], detail: `\`places\` has no place \`${place}\`` }]
          : [],
      ),
      ...calls(["injections", i, "calls"], one.calls),
      ...unreached(["injections", i], one.success, one.calls),
    ]),
    ...domain.violations.flatMap((one, i) => [
      ...said(["violations", i], one.turns),
      ...unreached(
        ["violations", i],
        one.success,
        one.turns.flatMap((each) => each.calls),
      ),
    ]),
  ];
}

/** A success that no call of the case can bring about would count every policy set as safe. */
const unreached = (path: readonly PropertyKey[], success: readonly SimulatedCall[], calls: readonly SimulatedCall[]): readonly Problem[] =>
  success.flatMap((one, i) =>
    calls.some((made) => isSameCall(made, one)) ? [] : [{ path: [...path, "success", i], detail: "the case makes no such call" }],
  );

export const isSameCall = (a: SimulatedCall, b: SimulatedCall): boolean => a.tool === b.tool && sortedText(a.args) === sortedText(b.args);

const sortedText = (value: Json): string =>
  JSON.stringify(value, (_, inner: Json) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );

const twiceIn = (kind: string, ids: readonly string[]): readonly Problem[] =>
  ids.flatMap((id, i) => (ids.indexOf(id) === i ? [] : [{ path: [kind, i], detail: `\`${id}\` stands twice in \`${kind}\`` }]));
