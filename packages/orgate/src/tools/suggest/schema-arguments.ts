/** The arguments of a tool as places: those inside objects and lists too, each with the words of its name and its type. */
import type { Json, JsonObject } from "@orgate/core/vocab";

export type SchemaArgument = Readonly<{
  /** As a declaration names it: `to`, `passengers[].email`. */
  path: string;
  /** The name in words, in lower case: `order_id` and `orderId` are both order, id. */
  words: readonly string[];
  type: "text" | "number" | "flag" | "other";
  /** Only some values can be given. */
  isChoice: boolean;
  format: string | null;
  /** It has to be there, and so has all that it lies in. */
  isRequired: boolean;
}>;

const MAX_DEPTH = 4;

export function listSchemaArguments(schema: JsonObject): readonly SchemaArgument[] {
  return propertiesOf(schema).flatMap(([name, one]) =>
    argumentsAt(one, { path: name, words: toWords(name), isRequired: isRequiredIn(schema, name) }, 0),
  );
}

type Place = Pick<SchemaArgument, "path" | "words" | "isRequired">;

function argumentsAt(schema: JsonObject, { path, words, isRequired }: Place, depth: number): readonly SchemaArgument[] {
  const items = objectAt(schema["items"]);
  if (items !== null && depth < MAX_DEPTH) {
    // a list of plain values is named by its argument; of objects, by the way into them
    return propertiesOf(items).length === 0
      ? argumentsAt(items, { path, words: words.map(toSingular), isRequired }, depth + 1)
      : argumentsAt(items, { path: `${path}[]`, words, isRequired: true }, depth + 1); // of an item that there is
  }
  const inner = propertiesOf(schema);
  if (inner.length > 0 && depth < MAX_DEPTH)
    return inner.flatMap(([name, one]) => {
      const at = { path: `${path}.${name}`, words: toWords(name), isRequired: isRequired && isRequiredIn(schema, name) };
      return argumentsAt(one, at, depth + 1);
    });
  const isChoice = Array.isArray(schema["enum"]) || schema["const"] !== undefined;
  const format = typeof schema["format"] === "string" ? schema["format"] : null;
  return [{ path, words, type: typeIn(schema), isChoice, format, isRequired: isRequired && !isNullable(schema) }];
}

function typeIn(schema: JsonObject): SchemaArgument["type"] {
  const given = schema["type"];
  const types = (Array.isArray(given) ? given : [given]).filter((one) => one !== "null");
  if (types.length !== 1) return "other";
  if (types[0] === "string") return "text";
  if (types[0] === "number" || types[0] === "integer") return "number";
  return types[0] === "boolean" ? "flag" : "other";
}

const isRequiredIn = ({ required }: JsonObject, name: string): boolean => Array.isArray(required) && required.includes(name);
const isNullable = ({ type }: JsonObject): boolean => Array.isArray(type) && type.includes("null");

const propertiesOf = (schema: JsonObject): readonly (readonly [string, JsonObject])[] =>
  Object.entries(objectAt(schema["properties"]) ?? {}).flatMap(([name, one]) => {
    const found = objectAt(one as Json);
    return found === null ? [] : [[name, found] as const];
  });

function objectAt(value: Json | undefined): JsonObject | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

export const toWords = (name: string): readonly string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");

export const toSingular = (word: string): string =>
  /ies$/.test(word) ? word.replace(/ies$/, "y") : /(?:ss|us|is)$/.test(word) || word.length < 4 ? word : word.replace(/s$/, "");
