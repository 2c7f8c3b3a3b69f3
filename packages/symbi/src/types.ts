/**
 * Types of a file as JSON Schemas: what an agent is given, and what it answers with.
 * Rule: Y-9.
 */
import { type JsonObject, suggestNearest } from "@orgate/core/vocab";
import type { Field, Param, TypeDeclaration, TypeNode } from "./tree.ts";
import type { Report } from "./values.ts";

const PLAIN: Readonly<Record<string, JsonObject>> = {
  String: { type: "string" },
  string: { type: "string" },
  int: { type: "integer" },
  Int: { type: "integer" },
  float: { type: "number" },
  Float: { type: "number" },
  bool: { type: "boolean" },
  Bool: { type: "boolean" },
  Integer: { type: "integer" },
  Number: { type: "number" },
  Boolean: { type: "boolean" },
  JSON: {},
  Any: {},
};
const GENERIC: Readonly<Record<string, number>> = { List: 1, Array: 1, Set: 1, Option: 1, Optional: 1, Maybe: 1, Result: 1, Map: 2 };
export const OPTIONAL: readonly string[] = ["Option", "Optional", "Maybe"];
/** Types by name within one that an agent is given or answers with. */
const MOST_NAMED = 500;

export type Types = Readonly<{
  /** Null where something is wrong with it, which was told. */
  schemaOf(type: TypeNode): JsonObject | null;
  fieldsOf(fields: readonly (Field | Param)[]): JsonObject | null;
  /** What stands behind a name that a body uses: declared here, one of the language's own (null), or nothing at all. */
  find(name: string): TypeDeclaration | null | undefined;
  tellUnused(): void;
}>;

export function readTypes(declared: readonly TypeDeclaration[], report: Report): Types {
  const byName = new Map<string, TypeDeclaration>();
  const used = new Set<string>();
  const told = new Set<TypeNode>();
  /** Of the type that is being written out: one that names another twice, which names another twice, has no end in practice. */
  let size = 0;
  for (const one of declared) {
    const { text, at } = one.name;
    if (Object.hasOwn(PLAIN, text) || Object.hasOwn(GENERIC, text)) report(at, `\`${text}\` is a type already`, "give it another name");
    else if (byName.has(text)) report(at, `type \`${text}\` is declared twice`, "rename one of them");
    else byName.set(text, one);
  }

  function wrong(type: TypeNode, at: number, detail: string, hint: string, rests?: "on absence"): null {
    if (!told.has(type)) report(at, detail, hint, rests);
    told.add(type);
    return null;
  }

  function schemaOf(type: TypeNode, within: readonly string[] = []): JsonObject | null {
    if (type.kind === "struct") return fieldsOf(type.fields, within);
    const { text, at } = type.name;
    const places = GENERIC[text];
    if (places !== undefined && Object.hasOwn(GENERIC, text)) return genericOf(type, places, within);
    if (type.args.length > 0) return wrong(type, at, `\`${text}\` takes no types in \`<>\``, "List, Option and Map do");
    const plain = Object.hasOwn(PLAIN, text) ? PLAIN[text] : undefined;
    if (plain !== undefined) return plain;
    const own = byName.get(text);
    if (own === undefined)
      return wrong(
        type,
        at,
        `there is no type \`${text}\``,
        suggestNearest(text, [...byName.keys(), ...Object.keys(PLAIN), ...Object.keys(GENERIC)]),
        "on absence",
      );
    used.add(text);
    size += 1;
    if (size > MOST_NAMED)
      return size > MOST_NAMED + 1
        ? null // told
        : wrong(
            type,
            at,
            `type \`${text}\` stands here too often to be written out`,
            `types within types are at most ${MOST_NAMED} in all`,
          );
    if (within.includes(text)) return wrong(type, at, `type \`${text}\` contains itself`, "an answer has an end: say how deep it goes");
    return schemaOf(own.type, [...within, text]);
  }

  function genericOf(type: Extract<TypeNode, { kind: "named-type" }>, places: number, within: readonly string[]): JsonObject | null {
    const { text, at } = type.name;
    if (type.args.length !== places && !(text === "Result" && type.args.length === 2))
      return wrong(
        type,
        at,
        `\`${text}\` takes ${places === 1 ? "one type" : "two types"} in \`<>\``,
        `write ${text}<${places === 1 ? "String" : "String, int"}>`,
      );
    const [first, second] = type.args;
    if (first === undefined) return null;
    if (text === "Result") return resultOf(first, second, within);
    if (text !== "Map") {
      const of = schemaOf(first, within);
      return of === null ? null : OPTIONAL.includes(text) ? { anyOf: [of, { type: "null" }] } : { type: "array", items: of };
    }
    const key = schemaOf(first, within);
    if (key !== null && key["type"] !== "string") return wrong(type, first.at, "the first type of a Map is String", "write Map<String, …>");
    const of = second === undefined ? null : schemaOf(second, within);
    return of === null ? null : { type: "object", additionalProperties: of };
  }

  /** `{ "ok": … }` or `{ "error": … }`, which is a text unless its type is said. */
  function resultOf(ok: TypeNode, error: TypeNode | undefined, within: readonly string[]): JsonObject | null {
    const [good, bad] = [schemaOf(ok, within), error === undefined ? { type: "string" } : schemaOf(error, within)];
    const only = (name: string, of: JsonObject): JsonObject => ({
      type: "object",
      properties: { [name]: of },
      required: [name],
      additionalProperties: false,
    });
    return good === null || bad === null ? null : { anyOf: [only("ok", good), only("error", bad)] };
  }

  function fieldsOf(fields: readonly (Field | Param)[], within: readonly string[] = []): JsonObject | null {
    const properties = new Map<string, JsonObject>();
    const required: string[] = [];
    let good = true;
    for (const field of fields) {
      const { text, at } = field.name;
      if (properties.has(text)) report(at, `\`${text}\` is declared twice`, "rename one of them");
      const schema = schemaOf(field.type, within);
      good = good && schema !== null && !properties.has(text);
      properties.set(text, schema ?? {});
      if (field.kind === "param" || !field.optional) required.push(text);
    }
    return good ? { type: "object", properties: Object.fromEntries(properties), required, additionalProperties: false } : null;
  }

  return {
    schemaOf: (type) => {
      size = 0;
      return schemaOf(type);
    },
    fieldsOf: (fields) => {
      size = 0;
      return fieldsOf(fields);
    },
    find: (name) => {
      used.add(name);
      return byName.get(name) ?? (Object.hasOwn(PLAIN, name) || Object.hasOwn(GENERIC, name) ? null : undefined);
    },
    tellUnused() {
      for (const { name, type } of byName.values()) {
        if (used.has(name.text)) continue;
        size = 0;
        schemaOf(type, [name.text]);
        report(
          name.at,
          `type \`${name.text}\` is used by nothing`,
          "take it out, or use it: as a parameter of an agent, as what one returns, or in a body",
          "on absence",
        );
      }
    },
  };
}

/** A text is what an agent answers with anyway. */
export const isTextType = (schema: JsonObject): boolean => schema["type"] === "string" && Object.keys(schema).length === 1;

/** As it is told to a model. */
export function typeText(type: TypeNode): string {
  if (type.kind === "struct")
    return `{ ${type.fields.map((f) => `${f.name.text}${f.optional ? "?" : ""}: ${typeText(f.type)}`).join(", ")} }`;
  return type.args.length === 0 ? type.name.text : `${type.name.text}<${type.args.map(typeText).join(", ")}>`;
}
