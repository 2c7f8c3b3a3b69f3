/**
 * Which policies can decide an action, and what they can read. Worked out from the policies' JSON form, exactly: principal and action are known
 * when a slice is made, so their scopes are proven true or false; what is left reads only what its conditions name.
 * A record used whole, or a bare `context`, means all of it.
 */
import type { Need } from "../arguments/arg-types.ts";
import type { EngineScope, PolicyJson, Uid } from "./engine.ts";

export type Member = Readonly<{ uid: Uid; parents: readonly Uid[] }>;

export type Reads = Readonly<{
  context: Need;
  /** Mentioned in a condition, so that its entity must be there. */
  principal: boolean;
  action: boolean;
  /** Decides by which resource it is. */
  resource: boolean;
  /** Entities written out in a condition that reads their attributes or parents. */
  literals: readonly Uid[];
}>;

/** Does this scope hold for somebody whose groups are all known? Scopes cannot err. */
export function scopeHolds(scope: EngineScope, member: Member): boolean {
  const isIn = (uid: Uid): boolean => isSameUid(uid, member.uid) || member.parents.some((p) => isSameUid(p, uid));
  switch (scope.op) {
    case "All":
      return true;
    case "==":
      return isSameUid(uidOf(scope.entity), member.uid);
    case "in":
      return (scope.entities ?? [scope.entity]).some((e) => isIn(uidOf(e)));
    case "is": {
      if (scope.entity_type !== member.uid.type) return false;
      const within = (scope.in as { entity?: unknown } | undefined)?.entity;
      return within === undefined || isIn(uidOf(within));
    }
    default:
      throw new Error(`a scope of an unknown form: ${scope.op}`);
  }
}

export const isSameUid = (a: Uid, b: Uid): boolean => a.type === b.type && a.id === b.id;

function uidOf(given: unknown): Uid {
  const outer = given as { __entity?: Uid; type?: string; id?: string } | null | undefined;
  const uid = outer?.__entity ?? outer;
  if (typeof uid?.type !== "string" || typeof uid.id !== "string") throw new Error("an entity of an unknown form in a scope");
  return { type: uid.type, id: uid.id };
}

const ANY: EngineScope = { op: "All" };

/** The policy without the scopes that are proven; null when they are proven false. */
export function reducePolicy(policy: PolicyJson, principal: Member, action: Member): PolicyJson | null {
  if (!scopeHolds(policy.principal, principal) || !scopeHolds(policy.action, action)) return null;
  return { ...policy, principal: ANY, action: ANY };
}

export const newNeed = (whole = false): Need => ({ whole, fields: new Map() });

export function collectReads(policies: Iterable<PolicyJson>): Reads {
  const found: Found = { context: newNeed(), principal: false, action: false, resource: false, literals: [] };
  for (const policy of policies) {
    if (policy.resource.op !== "All") found.resource = true;
    for (const { body } of policy.conditions) walk(body, found);
  }
  if (found.literals.length > 0) {
    // such an entity may be the one that asks, that is asked about, or that is acted for
    for (const variable of ["principal", "action", "resource"] as const) mark(variable, [], found);
    mark("context", ["onBehalfOf"], found);
  }
  return found;
}

type Found = { readonly context: Need; principal: boolean; action: boolean; resource: boolean; readonly literals: Uid[] };
type Variable = "context" | "principal" | "action" | "resource";

/** A policy that cannot be followed exactly; it does not load. */
export class UntraceablePolicy extends Error {
  override readonly name = "Unfollowed";
  readonly hint: string;
  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

const OPERANDS = ["left", "right", "arg", "if", "then", "else", "in"];
/** These compare entities and look into none. */
const COMPARES = new Set(["==", "!=", "contains", "containsAll", "containsAny"]);

/** Everything an expression can look at. An attribute chain that starts at a variable is one read; anything else is looked through. */
function walk(expr: unknown, found: Found): void {
  const chain = toChain(expr);
  if (chain === null) for (const inner of insideOf(expr, found)) walk(inner, found);
  else mark(chain.variable, chain.path, found);
}

/** The expressions inside one; a form that is not known fails the load (closed by default). */
function insideOf(expr: unknown, found: Found): readonly unknown[] {
  const [only, ...more] = Object.entries(typeof expr === "object" && expr !== null ? expr : {});
  if (only === undefined || more.length > 0) throw new Error("an expression of an unknown form");
  const [op, body] = only as [string, unknown];
  if (op === "Value") return insideOfValue(body, found);
  if (op === "has") return insideOfHas(body as { left: unknown; attr: string | readonly string[] }, found);
  if (op === "Record") return Object.values(body as object);
  if (op === "Set") return (body as readonly unknown[]).filter((e) => literalOf(e) === null); // nothing is ever taken out of a set
  if (Array.isArray(body)) return body; // the arguments of an extension function
  const operands = OPERANDS.filter((name) => Object.hasOwn(body as object, name));
  if (operands.length === 0) throw new Error(`an expression of an unknown form: ${op}`);
  return operands
    .filter((name) => !isCompared(op, name) || literalOf((body as Record<string, unknown>)[name]) === null)
    .map((name) => (body as Record<string, unknown>)[name]);
}

/** `x in E` asks for what x is in; E is only compared with. */
const isCompared = (op: string, operand: string): boolean =>
  COMPARES.has(op) || (op === "in" && operand === "right") || (op === "is" && operand === "in");

function insideOfValue(body: unknown, found: Found): readonly unknown[] {
  if (typeof body === "number" && !Number.isSafeInteger(body))
    throw new UntraceablePolicy("a whole number of this size cannot be compared exactly", `stay within ±${Number.MAX_SAFE_INTEGER}`);
  const literal = literalOf({ Value: body });
  if (literal !== null) found.literals.push(literal);
  else if (typeof body === "object") throw new Error("a literal of an unknown form");
  return [];
}

function literalOf(expr: unknown): Uid | null {
  const entity = (expr as { Value?: { __entity?: unknown } } | null)?.Value?.__entity;
  return entity === undefined ? null : uidOf(entity);
}

function insideOfHas(
  { left, attr }: { readonly left: unknown; readonly attr: string | readonly string[] },
  found: Found,
): readonly unknown[] {
  const base = toChain(left);
  if (base === null) return [left];
  mark(base.variable, [...base.path, ...(typeof attr === "string" ? [attr] : attr)], found, "presence");
  return [];
}

/** An attribute chain that starts at a variable: `context.args.path`. Null for any other expression. */
export type Chain = Readonly<{ variable: Variable; path: readonly string[] }>;
export function toChain(expr: unknown): Chain | null {
  const path: string[] = [];
  for (let at = expr; ; ) {
    if (typeof at !== "object" || at === null) return null;
    const { Var: variable, ".": dot } = at as { Var?: unknown; "."?: { left: unknown; attr: string } };
    if (isVariable(variable)) return { variable, path: path.reverse() };
    if (dot === undefined || typeof dot.attr !== "string") return null;
    path.push(dot.attr);
    at = dot.left;
  }
}

const isVariable = (value: unknown): value is Variable =>
  value === "context" || value === "principal" || value === "action" || value === "resource";

/** A test for presence looks at nothing inside: what is there may be shown empty. */
function mark(variable: Variable, path: readonly string[], found: Found, reads: "value" | "presence" = "value"): void {
  if (variable !== "context") {
    found[variable] = true;
    return;
  }
  let need = found.context;
  for (const name of path) {
    const inner = need.fields.get(name) ?? newNeed();
    need.fields.set(name, inner);
    need = inner;
  }
  if (reads === "value") need.whole = true;
}
