/**
 * How a model of a provider's gives a structured answer and makes its calls.
 *
 * M-25 natively where the provider has it: constrained by the schema, strictly where the provider can be strict about it. Where an answer by a schema
 *      and tools do not go together, or there is no such thing, by a call.
 * M-26 a model that is said to have no calls of its own makes them in words (`tools: "prompted"`); said to have none at all (`"none"`), it is given
 *      no agent with tools, which is refused where it is defined.
 */
import { randomBytes } from "node:crypto";
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import {
  answersByCall,
  FaultError,
  isFault,
  type Json,
  type JsonObject,
  type Model,
  type ModelRequest,
  promptedCalls,
  toModelIdentity,
} from "@orgate/core";

/** `native`: by the provider's own means, beside tools too. `alone`: so where no tools are offered. `call`: by a call. */
export type AnswerWay = "native" | "alone" | "call";
export type AnswerWays = Readonly<{
  tools: "native" | "prompted" | "none";
  answers: AnswerWay;
  /** A tool that a package may add for the answer, whatever other tool has the name: an agent with such a tool answers by a call of ours. */
  answerTool: string | null;
}>;
export const NATIVE: AnswerWays = { tools: "native", answers: "native", answerTool: null };

export function withAnswerWay(model: Model, { tools, answers, answerTool }: AnswerWays): Model {
  const calling = tools === "prompted" ? promptedCalls(model, { mark: randomBytes(8).toString("hex") }) : advising(model);
  const byCall = ({ tools: offered }: ModelRequest): boolean =>
    answers === "call" ||
    (offered.length > 0 && (answers === "alone" || tools === "prompted")) ||
    offered.some(({ name }) => name === answerTool);
  return answersByCall(calling, byCall);
}

/** The error itself is never derived from these words, only the advice: an unknown wording goes without it. */
const TOOLLESS = /does not support tools|endpoints found that support tool use/i;

function advising(model: Model): Model {
  return Object.freeze({
    ...toModelIdentity(model),
    async ask(...given: Parameters<Model["ask"]>) {
      try {
        return await model.ask(...given);
      } catch (error) {
        if (!isFault(error, "model-failed") || error.fault.kind !== "model-failed") throw error;
        const { detail, status } = error.fault;
        if ((status !== 400 && status !== 404) || given[0].tools.length === 0 || !TOOLLESS.test(detail)) throw error;
        const advice = 'with `modelOptions: { tools: "prompted" }` it is asked to make its calls in words';
        throw new FaultError({ ...error.fault, detail: `${detail}; ${advice}` });
      }
    },
  });
}

/** M-11 the schema as it is sent: an object that names its fields has no others. What fits it fits the one that was given, which is what counts. */
export function closeObjects(schema: JsonObject): JsonObject {
  return objectOf(close(schema, false));
}

const MAPS: ReadonlySet<string> = new Set(["properties", "$defs", "definitions", "patternProperties"]);
const VALUES: ReadonlySet<string> = new Set(["const", "enum", "default", "examples", "required", "type"]);

/** `isMap`: of names, each a schema. */
function close(value: Json, isMap: boolean): Json {
  if (typeof value !== "object" || value === null) return value;
  if (isList(value)) return value.map((one) => close(one, false));
  const inner = Object.entries(value).map(([key, one]): [string, Json] => {
    if (isMap) return [key, close(one, false)];
    return [key, VALUES.has(key) ? one : close(one, MAPS.has(key))];
  });
  const made: JsonObject = Object.fromEntries(inner);
  const isOpen = made.type === "object" && made.properties !== undefined && made.additionalProperties === undefined;
  return !isMap && isOpen && made.patternProperties === undefined ? { ...made, additionalProperties: false } : made;
}

/** Whether a provider that follows a schema to the letter can follow this one: every object closed, every field required. */
export function isStrict(schema: Json, isMap = false): boolean {
  if (typeof schema !== "object" || schema === null) return true;
  if (isList(schema)) return schema.every((one) => isStrict(one));
  if (isMap) return Object.values(schema).every((one: Json) => isStrict(one));
  if (schema.type === "object" || schema.properties !== undefined) {
    const required: readonly Json[] = Array.isArray(schema.required) ? schema.required : [];
    if (schema.additionalProperties !== false || schema.patternProperties !== undefined) return false;
    if (Object.keys(objectOf(schema.properties)).some((name) => !required.includes(name))) return false;
  }
  if (LOOSE.some((key) => schema[key] !== undefined) || (schema.format !== undefined && !FORMATS.includes(String(schema.format))))
    return false;
  return Object.entries(schema).every(([key, one]: [string, Json]) => VALUES.has(key) || isStrict(one, MAPS.has(key)));
}
/** Keywords that such a provider refuses. */
const LOOSE =
  "allOf oneOf not if propertyNames minProperties maxProperties uniqueItems contains prefixItems minLength maxLength default examples".split(
    " ",
  );
const FORMATS = "date-time time date duration email hostname ipv4 ipv6 uuid".split(" ");

/** The package knows its options by this name. */
export function toStrictSchema(key: string | null, options: LanguageModelV4CallOptions): LanguageModelV4CallOptions {
  const { responseFormat, providerOptions } = options;
  if (key === null || responseFormat?.type !== "json" || responseFormat.schema === undefined) return options;
  const strictJsonSchema = isStrict(JSON.parse(JSON.stringify(responseFormat.schema)) as Json);
  return { ...options, providerOptions: { ...providerOptions, [key]: { strictJsonSchema, ...providerOptions?.[key] } } };
}

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);
const objectOf = (value: Json | undefined): JsonObject => (typeof value === "object" && value !== null && !isList(value) ? value : {});
