/** Checks that values in bodies have the types that the file declares: only certain mismatches are reported. */
import { suggestNearest } from "@orgate/core/vocab";
import type { Argument, Expression, FunctionBlock, RecordField, Struct, TypeNode } from "./tree.ts";
import { OPTIONAL, type Types, typeText } from "./types.ts";
import type { Report } from "./values.ts";

/** Types of names; null: the type of the name is unknown. */
export type BodyScope = Map<string, TypeNode | null>;
type Scopes = readonly BodyScope[];
/** Fields of a record, and the name of its type in messages. */
type Fields = Readonly<{ fields: readonly RecordField[]; at: number; name: string }>;

/** Kinds of values that a type takes; `any`: all, or unknown. */
type Kind = "text" | "int" | "float" | "bool" | "list" | "record" | "null" | "any";
const KINDS: Readonly<Record<string, Kind>> = {
  String: "text",
  string: "text",
  int: "int",
  Int: "int",
  Integer: "int",
  float: "float",
  Float: "float",
  Number: "float",
  bool: "bool",
  Bool: "bool",
  Boolean: "bool",
  List: "list",
  Array: "list",
  Set: "list",
  Map: "record",
};
const SAID: Readonly<Record<Kind, string>> = {
  text: "a text",
  int: "a whole number",
  float: "a number",
  bool: "true or false",
  list: "a list",
  record: "a record",
  null: "null",
  any: "a value",
};

type FitOptions = Readonly<{ types: Types; functions: ReadonlyMap<string, FunctionBlock>; report: Report }>;

export class TypeFit {
  readonly #types: Types;
  readonly #functions: ReadonlyMap<string, FunctionBlock>;
  readonly #report: Report;

  constructor({ types, functions, report }: FitOptions) {
    this.#types = types;
    this.#functions = functions;
    this.#report = report;
  }

  /** Reports a value that cannot be true or false. */
  condition(e: Expression): void {
    const kinds: readonly Kind[] = ["text", "int", "float", "list", "record", "null"];
    this.#refuse(e, kinds, "is neither true nor false", "compare it with something");
  }

  /** Reports a value that cannot have items. */
  list(e: Expression): void {
    this.#refuse(e, ["text", "int", "float", "bool", "null"], "has no items", "write a list, or a name that holds one");
  }

  instance(e: Extract<Expression, { kind: "instance" }>, scopes: Scopes): void {
    const type = this.#resolved({ kind: "named-type", at: e.at, name: e.type, args: [] });
    if (type.kind === "struct") this.#fitFields({ fields: e.fields, at: e.at, name: `\`${e.type.text}\`` }, type, scopes);
  }

  #refuse(e: Expression, kinds: readonly Kind[], detail: string, hint: string): void {
    const kind = ["group", "ident", "call", "instance"].includes(e.kind) ? "any" : this.#kindOfValue(e, []);
    if (kinds.includes(kind)) this.#report(e.at, `${SAID[kind]} ${detail}`, hint);
  }

  /** Behind names that stand for others. */
  #resolved(type: TypeNode): TypeNode {
    let now = type;
    for (let i = 0; i < MOST_ALIASES && now.kind === "named-type"; i += 1) {
      const found = this.#types.find(now.name.text);
      if (found === undefined || found === null) return now;
      now = found.type;
    }
    return now;
  }

  typeOf(e: Expression, scopes: Scopes): TypeNode | null {
    switch (e.kind) {
      case "ident":
        return scopes.find((scope) => scope.has(e.name))?.get(e.name) ?? null;
      case "group":
        return this.typeOf(e.inner, scopes);
      case "instance":
        return { kind: "named-type", at: e.at, name: e.type, args: [] };
      case "call":
        return e.of.kind === "ident" ? (this.#functions.get(e.of.name)?.returns ?? null) : null;
      case "string":
        return plainType("String", e.at);
      case "number":
        return plainType(e.text.includes(".") ? "float" : "int", e.at);
      case "constant":
        return e.value === null ? null : plainType("bool", e.at);
      default:
        return null;
    }
  }

  value(e: Expression, type: TypeNode, what: string, scopes: Scopes): void {
    const wanted = this.#resolved(type);
    if (e.kind === "group") {
      this.value(e.inner, type, what, scopes);
      return;
    }
    if (wanted.kind === "named-type" && [...OPTIONAL, "Result"].includes(wanted.name.text)) {
      this.#fitsPerhaps(e, wanted, what, scopes);
      return;
    }
    const to = kindOf(wanted);
    if (to === "any") return;
    if (e.kind === "array" && wanted.kind === "named-type" && to === "list") {
      const [of] = wanted.args;
      for (const item of of === undefined ? [] : e.items) this.value(item, of ?? wanted, "what is in it", scopes);
      return;
    }
    if (e.kind === "record" && wanted.kind === "struct") {
      this.#fitFields({ fields: e.fields, at: e.at, name: typeText(type) }, wanted, scopes);
      return;
    }
    if (e.kind === "record" && wanted.kind === "named-type" && to === "record") {
      const of = wanted.args[1];
      for (const { value } of of === undefined ? [] : e.fields) this.value(value, of ?? wanted, "what is in it", scopes);
      return;
    }
    const from = this.#kindOfValue(e, scopes);
    if (from === "any" || from === to || (from === "int" && to === "float")) return;
    this.#report(e.at, `${what} is ${typeText(type)}, and this is ${SAID[from]}`, `write ${SAID[to]}`);
  }

  #kindOfValue(e: Expression, scopes: Scopes): Kind {
    if (e.kind === "array") return "list";
    if (e.kind === "record") return "record";
    if (e.kind === "constant" && e.value === null) return "null";
    const type = this.typeOf(e, scopes);
    if (type === null) return "any";
    const behind = this.#resolved(type);
    return kindOf(behind);
  }

  /** `Some(x)`, `Ok(x)` and `Err(x)` hold the meant value; anything else is the value itself. */
  #fitsPerhaps(e: Expression, wanted: Extract<TypeNode, { kind: "named-type" }>, what: string, scopes: Scopes): void {
    if ((e.kind === "constant" && e.value === null) || (e.kind === "ident" && e.name === "None")) return;
    const [good, bad] = wanted.args;
    const held = e.kind === "call" && e.of.kind === "ident" && /^(?:Some|Ok|Err|Error)$/.test(e.of.name) ? e : null;
    if (held === null) {
      if (good !== undefined && !this.#isOf(e, wanted, scopes)) this.value(e, good, what, scopes);
      return;
    }
    const of = held.of.kind === "ident" && held.of.name.startsWith("Err") ? bad : good;
    const [only] = held.args;
    if (of !== undefined && only !== undefined && only.kind !== "named-argument") this.value(only, of, what, scopes);
  }

  #isOf(e: Expression, wanted: Extract<TypeNode, { kind: "named-type" }>, scopes: Scopes): boolean {
    const type = this.typeOf(e, scopes);
    return type?.kind === "named-type" && type.name.text === wanted.name.text;
  }

  #fitFields({ fields, at, name }: Fields, { fields: declared }: Struct, scopes: Scopes): void {
    for (const { key, value } of fields) {
      const field = declared.find((one) => one.name.text === key.text);
      if (field === undefined)
        this.#report(
          key.at,
          `${name} has no \`${key.text}\``,
          suggestNearest(
            key.text,
            declared.map((one) => one.name.text),
          ),
        );
      else if (!(field.optional && value.kind === "constant" && value.value === null))
        this.value(value, field.type, `\`${key.text}\``, scopes);
    }
    const missing = declared.filter((one) => !one.optional && !fields.some(({ key }) => key.text === one.name.text));
    if (missing.length > 0)
      this.#report(at, `${name} needs ${missing.map((one) => `\`${one.name.text}\``).join(", ")} too`, "give each of its fields a value");
  }

  arguments(called: FunctionBlock, args: readonly Argument[], at: number, scopes: Scopes): void {
    const { params, name } = called;
    const told = `function \`${name.text}\``;
    const names = params.map((p) => p.name.text);
    const given = new Set<string>();
    for (const [i, arg] of args.entries()) {
      const isNamed = arg.kind === "named-argument";
      const param = isNamed ? params.find((p) => p.name.text === arg.name.text) : params[i];
      if (param === undefined)
        this.#report(
          arg.at,
          isNamed
            ? `${told} has no parameter \`${arg.name.text}\``
            : `${told} takes ${params.length === 1 ? "one argument" : `${params.length} arguments`}`,
          isNamed ? suggestNearest(arg.name.text, names) : `write ${name.text}(${names.join(", ")})`,
        );
      else {
        given.add(param.name.text);
        this.value(isNamed ? arg.value : arg, param.type, `\`${param.name.text}\``, scopes);
      }
    }
    const missing = names.filter((one) => !given.has(one));
    if (missing.length > 0 && args.length < params.length)
      this.#report(at, `${told} is not given ${missing.map((one) => `\`${one}\``).join(", ")}`, `write ${name.text}(${names.join(", ")})`);
  }
}

const kindOf = (type: TypeNode): Kind =>
  type.kind === "struct" ? "record" : Object.hasOwn(KINDS, type.name.text) ? (KINDS[type.name.text] ?? "any") : "any";

/** One that stands for itself has no end; it is refused elsewhere. */
const MOST_ALIASES = 20;
const plainType = (text: string, at: number): TypeNode => ({ kind: "named-type", at, name: { kind: "name", at, text }, args: [] });
