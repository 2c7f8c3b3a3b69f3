/**
 * Bodies of agents and functions, checked for names and types as far as the file alone can tell.
 *
 * Y-7 what is certainly wrong is refused where it stands: arguments that a function of the file does not take, fields that a type of the file does not have, values of
 * another type than is declared, a `break` outside of a loop, a secret. A name that nothing here explains is a doubt: the model reads it as what it says.
 */
import { suggestNearest } from "@orgate/core/vocab";
import type { Doubt, NamedFunction } from "./procedure.ts";
import type {
  AgentBlock,
  Argument,
  Block,
  Expression,
  FunctionBlock,
  Name,
  RecordField,
  Statement,
  TreePattern,
  TypeDeclaration,
  TypeNode,
} from "./tree.ts";
import { checkBodyTypes, type Fit } from "./type-fit.ts";
import type { Types } from "./types.ts";
import type { Report } from "./values.ts";

export type BodiesOf = Readonly<{
  agent: AgentBlock;
  body: Block | null;
  own: readonly FunctionBlock[];
  shared: readonly FunctionBlock[];
  types: Types;
  report: Report;
}>;
export type CheckedBody = Readonly<{
  /** Functions outside of the agent that its bodies need, and types that they name. */
  functions: readonly FunctionBlock[];
  types: readonly TypeDeclaration[];
  calls: readonly NamedFunction[];
  doubts: readonly Doubt[];
}>;

/** What a name stands for; null: its type is not known. */
export type BodyScope = Map<string, TypeNode | null>;
type Scopes = readonly [BodyScope, ...BodyScope[]];
type Within = Readonly<{ scopes: Scopes; returns: TypeNode | null; isLoop: boolean }>;

/** Words that need no declaration: what may or may not be there, and what went well or did not. */
const CONSTRUCTORS = ["Some", "None", "Ok", "Err", "Error"];

export function checkBodies({ agent, body, own, shared, types, report }: BodiesOf): CheckedBody {
  const functions = new Map([...shared, ...own].map((one) => [one.name.text, one]));
  const needed = new Set<FunctionBlock>();
  const named = new Map<string, TypeDeclaration>();
  const calls = new Map<string, NamedFunction>();
  const doubts = new Map<string, Doubt>();
  const doubt = (name: string, at: number, detail: string, hint: string): void => {
    if (!doubts.has(`${detail} ${name}`)) doubts.set(`${detail} ${name}`, { at, detail, hint });
  };
  const fit: Fit = checkBodyTypes({ types, functions, report });

  const left: FunctionBlock[] = [...own];
  const seen = new Set<FunctionBlock>(own);
  for (const type of [...agent.params.map((p) => p.type), ...(agent.returns === null ? [] : [agent.returns])]) typeNamed(type);
  if (body !== null) block(body, inside(agent.params, agent.returns));
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    for (const { type } of next.params) typeNamed(type);
    if (next.returns !== null) typeNamed(next.returns);
    block(next.body, inside(next.params, next.returns));
  }
  return {
    functions: shared.filter((one) => needed.has(one)),
    types: [...named.values()].sort((a, b) => a.at - b.at),
    calls: [...calls.values()],
    doubts: [...doubts.values()].sort((a, b) => a.at - b.at),
  };

  function inside(params: AgentBlock["params"], returns: TypeNode | null): Within {
    return { scopes: [new Map(params.map((p) => [p.name.text, p.type]))], returns, isLoop: false };
  }

  // ── names ──

  function typeNamed(type: TypeNode): void {
    if (type.kind === "struct") {
      for (const field of type.fields) typeNamed(field.type);
      return;
    }
    const { text, at } = type.name;
    const found = types.find(text);
    if (found === undefined) doubt(text, at, `there is no type \`${text}\` in this file`, `declare it: type ${text} = { … }`);
    else if (found !== null && !named.has(text)) {
      named.set(text, found);
      typeNamed(found.type);
    }
    for (const one of type.args) typeNamed(one);
  }

  function variable(name: string, at: number, { scopes }: Within): void {
    if (scopes.some((scope) => scope.has(name)) || CONSTRUCTORS.includes(name)) return;
    const used = functions.get(name);
    if (used !== undefined) {
      need(used);
      return;
    }
    const known = [...new Set(scopes.flatMap((scope) => [...scope.keys()]))];
    doubt(
      name,
      at,
      `nothing here is named \`${name}\``,
      known.length === 0 ? `give it a value: let ${name} = …;` : suggestNearest(name, known),
    );
  }

  function need(used: FunctionBlock): void {
    if (shared.includes(used)) needed.add(used);
    if (!seen.has(used)) left.push(used);
    seen.add(used);
  }

  // ── statements ──

  function block({ statements }: Block, around: Within): void {
    const within = { ...around, scopes: [new Map<string, TypeNode | null>(), ...around.scopes] as const };
    for (const one of statements) statement(one, within);
  }

  function statement(one: Statement, within: Within): void {
    switch (one.kind) {
      case "let":
        expression(one.value, within);
        if (one.type !== null) {
          typeNamed(one.type);
          fit.value(one.value, one.type, `\`${one.name.text}\``, within.scopes);
        }
        within.scopes[0].set(one.name.text, one.type ?? fit.typeOf(one.value, within.scopes));
        return;
      case "assign":
        assignment(one, within);
        return;
      case "if":
      case "while":
        expression(one.condition, within);
        fit.condition(one.condition);
        block(one.body, one.kind === "while" ? { ...within, isLoop: true } : within);
        if (one.kind === "if" && one.otherwise !== null) otherwise(one.otherwise, within);
        return;
      case "if-let":
        expression(one.value, within);
        block(one.body, bound(one.pattern, within));
        if (one.otherwise !== null) otherwise(one.otherwise, within);
        return;
      case "for":
        expression(one.of, within);
        fit.list(one.of);
        block(one.body, { ...binding([one.name], within), isLoop: true });
        return;
      case "match":
        expression(one.subject, within);
        for (const { pattern, body: arm } of one.arms) {
          const held = bound(pattern, within);
          if (arm.kind === "assign") assignment(arm, held);
          else valueOrBlock(arm, held);
        }
        return;
      case "try":
        block(one.body, within);
        for (const { names, handler } of one.catches) block(handler, binding(names.slice(-1), within));
        return;
      case "return":
      case "tail":
        if (one.value === null) return;
        expression(one.value, within);
        if (one.kind === "return" && within.returns !== null) fit.value(one.value, within.returns, "what is returned", within.scopes);
        return;
      case "jump":
        if (!within.isLoop) report(one.at, `\`${one.word}\` stands in no loop`, "take it out, or put it into a `for` or a `while`");
        return;
      case "expression":
        expression(one.value, within);
        return;
    }
  }

  function otherwise(one: Block | Extract<Statement, { kind: "if" | "if-let" }>, within: Within): void {
    if (one.kind === "block") block(one, within);
    else statement(one, within);
  }

  /** A name that is given a value for the first time is one from then on, in the whole body. */
  function assignment({ target, op, value }: Extract<Statement, { kind: "assign" }>, within: Within): void {
    expression(value, within);
    const isNew = target.kind === "ident" && op === "=" && !within.scopes.some((scope) => scope.has(target.name));
    if (isNew) within.scopes.at(-1)?.set(target.name, fit.typeOf(value, within.scopes));
    else expression(target, within);
  }

  function binding(names: readonly Name[], within: Within): Within {
    return { ...within, scopes: [new Map(names.map(({ text }) => [text, null])), ...within.scopes] };
  }

  function bound(pattern: TreePattern, within: Within): Within {
    const names = (one: TreePattern): readonly (readonly [string, null])[] =>
      one.kind === "variant" ? one.args.flatMap(names) : one.kind === "ident" ? [[one.name, null]] : [];
    return { ...within, scopes: [new Map(names(pattern)), ...within.scopes] };
  }

  // ── expressions ──

  function valueOrBlock(one: Expression | Block, within: Within): void {
    if (one.kind === "block") block(one, within);
    else expression(one, within);
  }

  function expression(e: Expression, within: Within): void {
    switch (e.kind) {
      case "ident":
        variable(e.name, e.at, within);
        return;
      case "vault":
        report(
          e.at,
          "a body holds no secret: the model is never given one",
          "a tool takes it by its manifest, a webhook by its `secret`; take it out here",
        );
        return;
      case "call":
        call(e, within);
        return;
      case "instance":
        instance(e, within);
        return;
      case "lambda":
        valueOrBlock(e.body, binding(e.params, within));
        return;
      case "array":
        for (const one of e.items) expression(one, within);
        return;
      case "record":
        fields(e.fields, within);
        return;
      case "choice":
        expression(e.condition, within);
        valueOrBlock(e.then, within);
        valueOrBlock(e.otherwise, within);
        return;
      case "group":
        expression(e.inner, within);
        return;
      case "binary":
        expression(e.left, within);
        expression(e.right, within);
        return;
      case "index":
        expression(e.of, within);
        expression(e.index, within);
        return;
      case "unary":
      case "member":
      case "propagate":
        expression(e.of, within);
        return;
      case "string":
      case "number":
      case "duration":
      case "constant":
        return;
    }
  }

  function call({ of, args, stepAt }: Extract<Expression, { kind: "call" }>, within: Within): void {
    givenOnce(args);
    for (const arg of args) expression(arg.kind === "named-argument" ? arg.value : arg, within);
    if (of.kind !== "ident") {
      expression(of, within);
      return;
    }
    if (within.scopes.some((scope) => scope.has(of.name)) || CONSTRUCTORS.includes(of.name)) return;
    const used = functions.get(of.name);
    if (used === undefined) {
      if (!calls.has(of.name)) calls.set(of.name, { name: of.name, at: of.at });
      return;
    }
    need(used);
    fit.arguments(used, args, stepAt, within.scopes);
  }

  function givenOnce(args: readonly Argument[]): void {
    const seenNames = new Set<string>();
    for (const arg of args) {
      if (arg.kind !== "named-argument") continue;
      if (seenNames.has(arg.name.text)) report(arg.at, `\`${arg.name.text}\` is given twice`, "say it once");
      seenNames.add(arg.name.text);
    }
  }

  function instance(e: Extract<Expression, { kind: "instance" }>, within: Within): void {
    fields(e.fields, within);
    typeNamed({ kind: "named-type", at: e.at, name: e.type, args: [] });
    fit.instance(e, within.scopes);
  }

  function fields(all: readonly RecordField[], within: Within): void {
    for (const { value } of all) expression(value, within);
  }
}
