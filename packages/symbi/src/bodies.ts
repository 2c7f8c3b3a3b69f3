/**
 * Bodies of agents and functions, checked for names and types as far as the file alone can tell.
 *
 * Y-7 what is certainly wrong is refused where it stands: arguments that a function of the file does not take, fields that a type of the file does not have, values of
 * another type than is declared, a `break` outside of a loop, a secret. A name that nothing here explains is a doubt: the model reads it as what it says.
 */
import { suggestNearest } from "@orgate/core/vocab";
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
import { type BodyScope, TypeFit } from "./type-fit.ts";
import type { Types } from "./types.ts";
import type { Report } from "./values.ts";

export type NamedFunction = Readonly<{ name: string; at: number }>;
/** Something that is probably wrong, and not certainly. */
export type Doubt = Readonly<{ at: number; detail: string; hint: string }>;

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

type Scopes = readonly [BodyScope, ...BodyScope[]];
type Within = Readonly<{ scopes: Scopes; returns: TypeNode | null; isLoop: boolean }>;

/** Words that need no declaration: optional values and results. */
const CONSTRUCTORS = ["Some", "None", "Ok", "Err", "Error"];

export const checkBodies = (bodies: BodiesOf): CheckedBody => new BodyCheck(bodies).check();

class BodyCheck {
  readonly #bodies: BodiesOf;
  readonly #shared: readonly FunctionBlock[];
  readonly #types: Types;
  readonly #report: Report;
  readonly #functions: ReadonlyMap<string, FunctionBlock>;
  readonly #fit: TypeFit;
  readonly #needed = new Set<FunctionBlock>();
  readonly #named = new Map<string, TypeDeclaration>();
  readonly #calls = new Map<string, NamedFunction>();
  readonly #doubts = new Map<string, Doubt>();
  /** Functions whose bodies have still to be checked. */
  readonly #left: FunctionBlock[];
  readonly #seen: Set<FunctionBlock>;

  constructor(bodies: BodiesOf) {
    const { own, shared, types, report } = bodies;
    this.#bodies = bodies;
    this.#shared = shared;
    this.#types = types;
    this.#report = report;
    this.#functions = new Map([...shared, ...own].map((one) => [one.name.text, one]));
    this.#fit = new TypeFit({ types, functions: this.#functions, report });
    this.#left = [...own];
    this.#seen = new Set(own);
  }

  check(): CheckedBody {
    const { agent, body } = this.#bodies;
    for (const type of [...agent.params.map((p) => p.type), ...(agent.returns === null ? [] : [agent.returns])]) this.#typeNamed(type);
    if (body !== null) this.#block(body, inside(agent.params, agent.returns));
    for (let next = this.#left.pop(); next !== undefined; next = this.#left.pop()) {
      for (const { type } of next.params) this.#typeNamed(type);
      if (next.returns !== null) this.#typeNamed(next.returns);
      this.#block(next.body, inside(next.params, next.returns));
    }
    return {
      functions: this.#shared.filter((one) => this.#needed.has(one)),
      types: [...this.#named.values()].sort((a, b) => a.at - b.at),
      calls: [...this.#calls.values()],
      doubts: [...this.#doubts.values()].sort((a, b) => a.at - b.at),
    };
  }

  #doubt(name: string, at: number, detail: string, hint: string): void {
    const key = `${detail} ${name}`;
    if (!this.#doubts.has(key)) this.#doubts.set(key, { at, detail, hint });
  }

  // ── names ──

  #typeNamed(type: TypeNode): void {
    if (type.kind === "struct") {
      for (const field of type.fields) this.#typeNamed(field.type);
      return;
    }
    const { text, at } = type.name;
    const found = this.#types.find(text);
    if (found === undefined) this.#doubt(text, at, `there is no type \`${text}\` in this file`, `declare it: type ${text} = { … }`);
    else if (found !== null && !this.#named.has(text)) {
      this.#named.set(text, found);
      this.#typeNamed(found.type);
    }
    for (const one of type.args) this.#typeNamed(one);
  }

  #variable(name: string, at: number, { scopes }: Within): void {
    if (scopes.some((scope) => scope.has(name)) || CONSTRUCTORS.includes(name)) return;
    const used = this.#functions.get(name);
    if (used !== undefined) {
      this.#need(used);
      return;
    }
    const known = [...new Set(scopes.flatMap((scope) => [...scope.keys()]))];
    this.#doubt(
      name,
      at,
      `nothing here is named \`${name}\``,
      known.length === 0 ? `give it a value: let ${name} = …;` : suggestNearest(name, known),
    );
  }

  #need(used: FunctionBlock): void {
    if (this.#shared.includes(used)) this.#needed.add(used);
    if (!this.#seen.has(used)) this.#left.push(used);
    this.#seen.add(used);
  }

  // ── statements ──

  #block({ statements }: Block, around: Within): void {
    const within = { ...around, scopes: [new Map<string, TypeNode | null>(), ...around.scopes] as const };
    for (const one of statements) this.#statement(one, within);
  }

  #statement(one: Statement, within: Within): void {
    switch (one.kind) {
      case "let":
        this.#expression(one.value, within);
        if (one.type !== null) {
          this.#typeNamed(one.type);
          this.#fit.value(one.value, one.type, `\`${one.name.text}\``, within.scopes);
        }
        within.scopes[0].set(one.name.text, one.type ?? this.#fit.typeOf(one.value, within.scopes));
        return;
      case "assign":
        this.#assignment(one, within);
        return;
      case "if":
      case "while":
        this.#expression(one.condition, within);
        this.#fit.condition(one.condition);
        this.#block(one.body, one.kind === "while" ? { ...within, isLoop: true } : within);
        if (one.kind === "if" && one.otherwise !== null) this.#otherwise(one.otherwise, within);
        return;
      case "if-let":
        this.#expression(one.value, within);
        this.#block(one.body, this.#bound(one.pattern, within));
        if (one.otherwise !== null) this.#otherwise(one.otherwise, within);
        return;
      case "for":
        this.#expression(one.of, within);
        this.#fit.list(one.of);
        this.#block(one.body, { ...this.#binding([one.name], within), isLoop: true });
        return;
      case "match":
        this.#expression(one.subject, within);
        for (const { pattern, body: arm } of one.arms) {
          const held = this.#bound(pattern, within);
          if (arm.kind === "assign") this.#assignment(arm, held);
          else this.#valueOrBlock(arm, held);
        }
        return;
      case "try":
        this.#block(one.body, within);
        for (const { names, handler } of one.catches) this.#block(handler, this.#binding(names.slice(-1), within));
        return;
      case "return":
      case "tail":
        if (one.value === null) return;
        this.#expression(one.value, within);
        if (one.kind === "return" && within.returns !== null) this.#fit.value(one.value, within.returns, "what is returned", within.scopes);
        return;
      case "jump":
        if (!within.isLoop) this.#report(one.at, `\`${one.word}\` stands in no loop`, "take it out, or put it into a `for` or a `while`");
        return;
      case "expression":
        this.#expression(one.value, within);
        return;
    }
  }

  #otherwise(one: Block | Extract<Statement, { kind: "if" | "if-let" }>, within: Within): void {
    if (one.kind === "block") this.#block(one, within);
    else this.#statement(one, within);
  }

  /** A name that is given a value for the first time is one from then on, in the whole body. */
  #assignment({ target, op, value }: Extract<Statement, { kind: "assign" }>, within: Within): void {
    this.#expression(value, within);
    const isNew = target.kind === "ident" && op === "=" && !within.scopes.some((scope) => scope.has(target.name));
    if (isNew) within.scopes.at(-1)?.set(target.name, this.#fit.typeOf(value, within.scopes));
    else this.#expression(target, within);
  }

  #binding(names: readonly Name[], within: Within): Within {
    return { ...within, scopes: [new Map(names.map(({ text }) => [text, null])), ...within.scopes] };
  }

  #bound(pattern: TreePattern, within: Within): Within {
    const names = (one: TreePattern): readonly (readonly [string, null])[] =>
      one.kind === "variant" ? one.args.flatMap(names) : one.kind === "ident" ? [[one.name, null]] : [];
    return { ...within, scopes: [new Map(names(pattern)), ...within.scopes] };
  }

  // ── expressions ──

  #valueOrBlock(one: Expression | Block, within: Within): void {
    if (one.kind === "block") this.#block(one, within);
    else this.#expression(one, within);
  }

  #expression(e: Expression, within: Within): void {
    switch (e.kind) {
      case "ident":
        this.#variable(e.name, e.at, within);
        return;
      case "vault":
        this.#report(
          e.at,
          "a body holds no secret: the model is never given one",
          "a tool takes it by its manifest, a webhook by its `secret`; take it out here",
        );
        return;
      case "call":
        this.#call(e, within);
        return;
      case "instance":
        this.#instance(e, within);
        return;
      case "lambda":
        this.#valueOrBlock(e.body, this.#binding(e.params, within));
        return;
      case "array":
        for (const one of e.items) this.#expression(one, within);
        return;
      case "record":
        this.#fields(e.fields, within);
        return;
      case "choice":
        this.#expression(e.condition, within);
        this.#valueOrBlock(e.then, within);
        this.#valueOrBlock(e.otherwise, within);
        return;
      case "group":
        this.#expression(e.inner, within);
        return;
      case "binary":
        this.#expression(e.left, within);
        this.#expression(e.right, within);
        return;
      case "index":
        this.#expression(e.of, within);
        this.#expression(e.index, within);
        return;
      case "unary":
      case "member":
      case "propagate":
        this.#expression(e.of, within);
        return;
      case "string":
      case "number":
      case "duration":
      case "constant":
        return;
    }
  }

  #call({ of, args, stepAt }: Extract<Expression, { kind: "call" }>, within: Within): void {
    this.#givenOnce(args);
    for (const arg of args) this.#expression(arg.kind === "named-argument" ? arg.value : arg, within);
    if (of.kind !== "ident") {
      this.#expression(of, within);
      return;
    }
    if (within.scopes.some((scope) => scope.has(of.name)) || CONSTRUCTORS.includes(of.name)) return;
    const used = this.#functions.get(of.name);
    if (used === undefined) {
      if (!this.#calls.has(of.name)) this.#calls.set(of.name, { name: of.name, at: of.at });
      return;
    }
    this.#need(used);
    this.#fit.arguments(used, args, stepAt, within.scopes);
  }

  #givenOnce(args: readonly Argument[]): void {
    const seenNames = new Set<string>();
    for (const arg of args) {
      if (arg.kind !== "named-argument") continue;
      if (seenNames.has(arg.name.text)) this.#report(arg.at, `\`${arg.name.text}\` is given twice`, "say it once");
      seenNames.add(arg.name.text);
    }
  }

  #instance(e: Extract<Expression, { kind: "instance" }>, within: Within): void {
    this.#fields(e.fields, within);
    this.#typeNamed({ kind: "named-type", at: e.at, name: e.type, args: [] });
    this.#fit.instance(e, within.scopes);
  }

  #fields(all: readonly RecordField[], within: Within): void {
    for (const { value } of all) this.#expression(value, within);
  }
}

const inside = (params: AgentBlock["params"], returns: TypeNode | null): Within => ({
  scopes: [new Map(params.map((p) => [p.name.text, p.type]))],
  returns,
  isLoop: false,
});
