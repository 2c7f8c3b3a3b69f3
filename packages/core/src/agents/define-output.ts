/**
 * A turn's structured output, made from any schema. Providers and tools take objects only: any other value becomes the field `value` of one.
 *
 * M-23 an output is any Standard Schema that can describe itself, or a JSON Schema; one that cannot be checked whole is refused where
 *      it stands.
 */
import {
  type CheckedOutput,
  copyFrozen,
  digestJson,
  FaultError,
  type Hash,
  type Json,
  type JsonObject,
  type Output,
  type OutputSpec,
} from "../vocab/index.ts";
import { fromJsonSchema } from "./schemas/json-schema.ts";
import { type Refuse, type Schema, toJsonSchema, toStandardSchema, validateValue, withoutDialect } from "./schemas/schemas.ts";
import { isStandardSchema, type StandardSchema } from "./schemas/standard-schema.ts";

/** Type of an answer that fits its schema. */
export type AnswerOf<S extends Schema | undefined> = S extends StandardSchema<infer _I, infer O> ? O : Json;

/** An output that has no digest yet. */
export type AgentOutput = Readonly<{ schema: JsonObject; wrapped: boolean; repairs: number; check(value: Json): CheckedOutput }>;

export const DEFAULT_REPAIRS = 2;
const MAX_REPAIRS = 10;

export function readOutput(given: Schema, repairs: number | undefined, refuse: Refuse): AgentOutput {
  const own = toStandardSchema(given, "output", refuse);
  const json = isStandardSchema(given) ? toJsonSchema(given, "output", refuse) : withoutDialect(given);
  const { schema, wrapped } = asObject(json, refuse);
  const most = repairs ?? DEFAULT_REPAIRS;
  if (!Number.isSafeInteger(most) || most < 0 || most > MAX_REPAIRS)
    throw refuse(`\`outputRepairs\` must be a whole number of 0 to ${MAX_REPAIRS}`);
  return Object.freeze({ schema, wrapped, repairs: most, check: (value: Json) => looked(wrapped ? inside(value) : { value }, own) });
}

export const withDigest = (output: AgentOutput, hash: Hash): Output => {
  const { schema, wrapped, repairs, check } = output;
  return Object.freeze({ schema, wrapped, repairs, digest: digestJson({ schema, wrapped }, hash), check });
};

/** As it is journalled. */
export const toOutputSpec = ({ schema, digest, wrapped, repairs }: OutputSpec): OutputSpec => ({ schema, digest, wrapped, repairs });

/** The output of one run, in place of the agent's own. */
export function readRunOutput(given: Schema, repairs: number | undefined, agent: string, hash: Hash): Output {
  const refuse: Refuse = (detail) =>
    new FaultError({
      kind: "agent-invalid",
      where: `this run of \`${agent}\``,
      detail,
      hint: "the guide's page on structured output has examples",
    });
  return withDigest(readOutput(given, repairs, refuse), hash);
}

/** M-23 by the journal alone: its JSON Schema is checked whole, or nothing is delivered. */
export function checkBySpec({ schema, wrapped }: OutputSpec, value: Json): CheckedOutput {
  const made = fromJsonSchema(schema);
  if (made.kind === "refused")
    return {
      kind: "broken",
      detail: `the schema that it was asked for with is not here, and its JSON Schema cannot be enforced: ${made.detail}`,
    };
  const checked = looked({ value }, made.schema);
  return checked.kind === "fits" && wrapped ? { kind: "fits", value: Object(checked.value).value } : checked;
}

function looked(given: Readonly<{ value: Json }> | null, schema: StandardSchema): CheckedOutput {
  if (given === null) return { kind: "misfit", issues: ["value: it is missing"] };
  const checked = validateValue(given.value, schema);
  if (checked.kind === "fits") return checked;
  const [first = "it failed"] = checked.issues;
  return checked.broken === true ? { kind: "broken", detail: first } : { kind: "misfit", issues: checked.issues };
}

const isObject = (value: Json | undefined): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);

/** Nothing else stands beside it. */
function inside(value: Json): Readonly<{ value: Json }> | null {
  if (!isObject(value) || Object.keys(value).some((key) => key !== "value")) return null;
  return value.value === undefined ? null : { value: value.value };
}

function asObject(json: JsonObject, refuse: Refuse): Readonly<{ schema: JsonObject; wrapped: boolean }> {
  if (json.type === "object") return { schema: json, wrapped: false };
  const { $defs, definitions, ...rest } = json;
  if (refsIn(rest).some((ref) => !ref.startsWith("#/$defs/") && !ref.startsWith("#/definitions/")))
    throw refuse("`output` refers to itself as a whole, and is no object: put it into a field of an object");
  const schema: JsonObject = {
    type: "object",
    properties: { value: rest },
    required: ["value"],
    additionalProperties: false,
    ...($defs === undefined ? {} : { $defs }),
    ...(definitions === undefined ? {} : { definitions }),
  };
  return { schema: copyFrozen(schema), wrapped: true };
}

function refsIn(value: Json): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]: [string, Json]) =>
    key === "$ref" && typeof inner === "string" ? [inner] : refsIn(inner),
  );
}
