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
  /** Null where something is wrong with it, which was reported. */
  schemaOf(type: TypeNode): JsonObject | null;
  fieldsOf(fields: readonly (Field | Param)[]): JsonObject | null;
  /** The declaration of a name that a body uses; null for one of the language's own, undefined for an unknown name. */
  find(name: string): TypeDeclaration | null | undefined;
  tellUnused(): void;
}>;

export const readTypes = (declared: readonly TypeDeclaration[], report: Report): Types => new DeclaredTypes(declared, report);

class DeclaredTypes implements Types {
  readonly #report: Report;
  readonly #byName = new Map<string, TypeDeclaration>();
  readonly #used = new Set<string>();
  readonly #told = new Set<TypeNode>();
  /** Named types written out so far: one that names another twice, which names another twice, has no end in practice. */
  #size = 0;

  constructor(declared: readonly TypeDeclaration[], report: Report) {
    this.#report = report;
    for (const one of declared) {
      const { text, at } = one.name;
      if (Object.hasOwn(PLAIN, text) || Object.hasOwn(GENERIC, text)) report(at, `\`${text}\` is a type already`, "give it another name");
      else if (this.#byName.has(text)) report(at, `type \`${text}\` is declared twice`, "rename one of them");
      else this.#byName.set(text, one);
    }
  }

  schemaOf(type: TypeNode): JsonObject | null {
    this.#size = 0;
    return this.#writeType(type);
  }

  fieldsOf(fields: readonly (Field | Param)[]): JsonObject | null {
    this.#size = 0;
    return this.#writeFields(fields);
  }

  find(name: string): TypeDeclaration | null | undefined {
    this.#used.add(name);
    return this.#byName.get(name) ?? (Object.hasOwn(PLAIN, name) || Object.hasOwn(GENERIC, name) ? null : undefined);
  }

  tellUnused(): void {
    for (const { name, type } of this.#byName.values()) {
      if (this.#used.has(name.text)) continue;
      this.#size = 0;
      this.#writeType(type, [name.text]);
      this.#report(
        name.at,
        `type \`${name.text}\` is used by nothing`,
        "take it out, or use it: as a parameter of an agent, as what one returns, or in a body",
        "on absence",
      );
    }
  }

  /** Reports each type once. */
  #wrong(type: TypeNode, ...problem: Parameters<Report>): null {
    if (!this.#told.has(type)) this.#report(...problem);
    this.#told.add(type);
    return null;
  }

  #writeType(type: TypeNode, within: readonly string[] = []): JsonObject | null {
    if (type.kind === "struct") return this.#writeFields(type.fields, within);
    const { text, at } = type.name;
    const places = GENERIC[text];
    if (places !== undefined && Object.hasOwn(GENERIC, text)) return this.#genericOf(type, places, within);
    if (type.args.length > 0) return this.#wrong(type, at, `\`${text}\` takes no types in \`<>\``, "List, Option and Map do");
    const plain = Object.hasOwn(PLAIN, text) ? PLAIN[text] : undefined;
    if (plain !== undefined) return plain;
    const own = this.#byName.get(text);
    if (own === undefined)
      return this.#wrong(
        type,
        at,
        `there is no type \`${text}\``,
        suggestNearest(text, [...this.#byName.keys(), ...Object.keys(PLAIN), ...Object.keys(GENERIC)]),
        "on absence",
      );
    this.#used.add(text);
    this.#size += 1;
    if (this.#size > MOST_NAMED)
      return this.#size > MOST_NAMED + 1
        ? null // told
        : this.#wrong(
            type,
            at,
            `type \`${text}\` stands here too often to be written out`,
            `types within types are at most ${MOST_NAMED} in all`,
          );
    if (within.includes(text))
      return this.#wrong(type, at, `type \`${text}\` contains itself`, "an answer has an end: say how deep it goes");
    return this.#writeType(own.type, [...within, text]);
  }

  #genericOf(type: Extract<TypeNode, { kind: "named-type" }>, places: number, within: readonly string[]): JsonObject | null {
    const { text, at } = type.name;
    if (type.args.length !== places && !(text === "Result" && type.args.length === 2))
      return this.#wrong(
        type,
        at,
        `\`${text}\` takes ${places === 1 ? "one type" : "two types"} in \`<>\``,
        `write ${text}<${places === 1 ? "String" : "String, int"}>`,
      );
    const [first, second] = type.args;
    if (first === undefined) return null;
    if (text === "Result") return this.#resultOf(first, second, within);
    if (text !== "Map") {
      const of = this.#writeType(first, within);
      return of === null ? null : OPTIONAL.includes(text) ? { anyOf: [of, { type: "null" }] } : { type: "array", items: of };
    }
    const key = this.#writeType(first, within);
    if (key !== null && key["type"] !== "string")
      return this.#wrong(type, first.at, "the first type of a Map is String", "write Map<String, …>");
    const of = second === undefined ? null : this.#writeType(second, within);
    return of === null ? null : { type: "object", additionalProperties: of };
  }

  /** `{ "ok": … }` or `{ "error": … }`, which is a text unless its type is said. */
  #resultOf(ok: TypeNode, error: TypeNode | undefined, within: readonly string[]): JsonObject | null {
    const [good, bad] = [this.#writeType(ok, within), error === undefined ? { type: "string" } : this.#writeType(error, within)];
    const only = (name: string, of: JsonObject): JsonObject => ({
      type: "object",
      properties: { [name]: of },
      required: [name],
      additionalProperties: false,
    });
    return good === null || bad === null ? null : { anyOf: [only("ok", good), only("error", bad)] };
  }

  #writeFields(fields: readonly (Field | Param)[], within: readonly string[] = []): JsonObject | null {
    const properties = new Map<string, JsonObject>();
    const required: string[] = [];
    let good = true;
    for (const field of fields) {
      const { text, at } = field.name;
      if (properties.has(text)) this.#report(at, `\`${text}\` is declared twice`, "rename one of them");
      const schema = this.#writeType(field.type, within);
      good = good && schema !== null && !properties.has(text);
      properties.set(text, schema ?? {});
      if (field.kind === "param" || !field.optional) required.push(text);
    }
    return good ? { type: "object", properties: Object.fromEntries(properties), required, additionalProperties: false } : null;
  }
}

/** A text is what an agent answers with anyway. */
export const isTextType = (schema: JsonObject): boolean => schema["type"] === "string" && Object.keys(schema).length === 1;

/** As a model sees it. */
export function typeText(type: TypeNode): string {
  if (type.kind === "struct")
    return `{ ${type.fields.map((f) => `${f.name.text}${f.optional ? "?" : ""}: ${typeText(f.type)}`).join(", ")} }`;
  return type.args.length === 0 ? type.name.text : `${type.name.text}<${type.args.map(typeText).join(", ")}>`;
}
