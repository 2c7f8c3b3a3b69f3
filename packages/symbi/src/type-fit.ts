/** Whether a value in a body is of the type that the file declares for it: only what is certain either way is told. */
import { suggestNearest } from "@orgate/core/vocab";
import type { BodyScope } from "./bodies.ts";
import type { Argument, Expression, FunctionBlock, RecordField, Struct, TypeNode } from "./tree.ts";
import { OPTIONAL, type Types, typeText } from "./types.ts";
import type { Report } from "./values.ts";

type Scopes = readonly BodyScope[];
export type Fit = Readonly<{
  value(value: Expression, type: TypeNode, what: string, scopes: Scopes): void;
  /** Null: nobody knows. */
  typeOf(value: Expression, scopes: Scopes): TypeNode | null;
  /** That it can be true or false. */
  condition(value: Expression): void;
  /** That it can have items. */
  list(value: Expression): void;
  arguments(called: FunctionBlock, args: readonly Argument[], at: number, scopes: Scopes): void;
  instance(value: Extract<Expression, { kind: "instance" }>, scopes: Scopes): void;
}>;

/** What kinds of values a type takes; `any`: all, or nobody knows. */
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

export function checkBodyTypes({
  types,
  functions,
  report,
}: Readonly<{ types: Types; functions: ReadonlyMap<string, FunctionBlock>; report: Report }>): Fit {
  /** Behind names that stand for others. */
  function resolved(type: TypeNode): TypeNode {
    let now = type;
    for (let i = 0; i < MOST_ALIASES && now.kind === "named-type"; i += 1) {
      const found = types.find(now.name.text);
      if (found === undefined || found === null) return now;
      now = found.type;
    }
    return now;
  }

  const kindOf = (type: TypeNode): Kind =>
    type.kind === "struct" ? "record" : Object.hasOwn(KINDS, type.name.text) ? (KINDS[type.name.text] ?? "any") : "any";

  function typeOf(e: Expression, scopes: Scopes): TypeNode | null {
    switch (e.kind) {
      case "ident":
        return scopes.find((scope) => scope.has(e.name))?.get(e.name) ?? null;
      case "group":
        return typeOf(e.inner, scopes);
      case "instance":
        return { kind: "named-type", at: e.at, name: e.type, args: [] };
      case "call":
        return e.of.kind === "ident" ? (functions.get(e.of.name)?.returns ?? null) : null;
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

  function fit(e: Expression, type: TypeNode, what: string, scopes: Scopes): void {
    const wanted = resolved(type);
    if (e.kind === "group") {
      fit(e.inner, type, what, scopes);
      return;
    }
    if (wanted.kind === "named-type" && [...OPTIONAL, "Result"].includes(wanted.name.text)) {
      fitsPerhaps(e, wanted, what, scopes);
      return;
    }
    const to = kindOf(wanted);
    if (to === "any") return;
    if (e.kind === "array" && wanted.kind === "named-type" && to === "list") {
      const [of] = wanted.args;
      for (const item of of === undefined ? [] : e.items) fit(item, of ?? wanted, "what is in it", scopes);
      return;
    }
    if (e.kind === "record" && wanted.kind === "struct") {
      fitFields(e.fields, wanted, e.at, typeText(type), scopes);
      return;
    }
    if (e.kind === "record" && wanted.kind === "named-type" && to === "record") {
      const of = wanted.args[1];
      for (const { value } of of === undefined ? [] : e.fields) fit(value, of ?? wanted, "what is in it", scopes);
      return;
    }
    const from = kindOfValue(e, scopes);
    if (from === "any" || from === to || (from === "int" && to === "float")) return;
    report(e.at, `${what} is ${typeText(type)}, and this is ${SAID[from]}`, `write ${SAID[to]}`);
  }

  function kindOfValue(e: Expression, scopes: Scopes): Kind {
    if (e.kind === "array") return "list";
    if (e.kind === "record") return "record";
    if (e.kind === "constant" && e.value === null) return "null";
    const type = typeOf(e, scopes);
    if (type === null) return "any";
    const behind = resolved(type);
    return kindOf(behind);
  }

  /** `Some(x)`, `Ok(x)` and `Err(x)` hold what is meant; what is none of these is the value itself. */
  function fitsPerhaps(e: Expression, wanted: Extract<TypeNode, { kind: "named-type" }>, what: string, scopes: Scopes): void {
    if ((e.kind === "constant" && e.value === null) || (e.kind === "ident" && e.name === "None")) return;
    const [good, bad] = wanted.args;
    const held = e.kind === "call" && e.of.kind === "ident" && /^(?:Some|Ok|Err|Error)$/.test(e.of.name) ? e : null;
    if (held === null) {
      if (good !== undefined && !isOf(e, wanted, scopes)) fit(e, good, what, scopes);
      return;
    }
    const of = held.of.kind === "ident" && held.of.name.startsWith("Err") ? bad : good;
    const [only] = held.args;
    if (of !== undefined && only !== undefined && only.kind !== "named-argument") fit(only, of, what, scopes);
  }

  const isOf = (e: Expression, wanted: Extract<TypeNode, { kind: "named-type" }>, scopes: Scopes): boolean => {
    const type = typeOf(e, scopes);
    return type?.kind === "named-type" && type.name.text === wanted.name.text;
  };

  function fitFields(fields: readonly RecordField[], { fields: declared }: Struct, at: number, name: string, scopes: Scopes): void {
    for (const { key, value } of fields) {
      const field = declared.find((one) => one.name.text === key.text);
      if (field === undefined)
        report(
          key.at,
          `${name} has no \`${key.text}\``,
          suggestNearest(
            key.text,
            declared.map((one) => one.name.text),
          ),
        );
      else if (!(field.optional && value.kind === "constant" && value.value === null)) fit(value, field.type, `\`${key.text}\``, scopes);
    }
    const missing = declared.filter((one) => !one.optional && !fields.some(({ key }) => key.text === one.name.text));
    if (missing.length > 0)
      report(at, `${name} needs ${missing.map((one) => `\`${one.name.text}\``).join(", ")} too`, "give each of its fields a value");
  }

  function fitArguments(called: FunctionBlock, args: readonly Argument[], at: number, scopes: Scopes): void {
    const { params, name } = called;
    const told = `function \`${name.text}\``;
    const names = params.map((p) => p.name.text);
    const given = new Set<string>();
    for (const [i, arg] of args.entries()) {
      const isNamed = arg.kind === "named-argument";
      const param = isNamed ? params.find((p) => p.name.text === arg.name.text) : params[i];
      if (param === undefined)
        report(
          arg.at,
          isNamed
            ? `${told} has no parameter \`${arg.name.text}\``
            : `${told} takes ${params.length === 1 ? "one argument" : `${params.length} arguments`}`,
          isNamed ? suggestNearest(arg.name.text, names) : `write ${name.text}(${names.join(", ")})`,
        );
      else {
        given.add(param.name.text);
        fit(isNamed ? arg.value : arg, param.type, `\`${param.name.text}\``, scopes);
      }
    }
    const missing = names.filter((one) => !given.has(one));
    if (missing.length > 0 && args.length < params.length)
      report(at, `${told} is not given ${missing.map((one) => `\`${one}\``).join(", ")}`, `write ${name.text}(${names.join(", ")})`);
  }

  const told = (e: Expression, kinds: readonly Kind[], detail: string, hint: string): void => {
    const kind = e.kind === "group" ? "any" : e.kind === "ident" || e.kind === "call" || e.kind === "instance" ? "any" : kindOfValue(e, []);
    if (kinds.includes(kind)) report(e.at, `${SAID[kind]} ${detail}`, hint);
  };
  return {
    value: fit,
    typeOf,
    condition: (e: Expression) =>
      told(e, ["text", "int", "float", "list", "record", "null"], "is neither true nor false", "compare it with something"),
    list: (e: Expression) => told(e, ["text", "int", "float", "bool", "null"], "has no items", "write a list, or a name that holds one"),
    arguments: fitArguments,
    instance: (e: Extract<Expression, { kind: "instance" }>, scopes: Scopes) => {
      const type = resolved({ kind: "named-type", at: e.at, name: e.type, args: [] });
      if (type.kind === "struct") fitFields(e.fields, type, e.at, `\`${e.type.text}\``, scopes);
    },
  };
}

/** One that stands for itself has no end; it is refused elsewhere. */
const MOST_ALIASES = 20;
const plainType = (text: string, at: number): TypeNode => ({ kind: "named-type", at, name: { kind: "name", at, text }, args: [] });
