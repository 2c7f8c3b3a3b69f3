/**
 * Which actions, principals and resources a Cedar policy covers, by its parsed form, never by its text.
 * S-9 a scope that is not understood counts as covering everything.
 */
import type { LoadedPolicy } from "@orgate/core/gate";

type Json = LoadedPolicy["json"];
type Scope = Json["action"];
type Named = Readonly<{ kind: "any" } | { kind: "ids"; ids: readonly string[] }>;

/** An action as policies see it: its own name, and the groups that it is in. */
export type PolicyAction = Readonly<{ id: string; groups: readonly string[] }>;

/** By its scope, and by what its conditions say of the action itself; what else they say makes no difference. */
export function coversAction({ action, conditions }: Json, doing: PolicyAction): boolean {
  const named = namedIn(action, "Action");
  if (named.kind === "ids" && !isAmong(named.ids, doing)) return false;
  return conditions.every(({ kind, body }) =>
    kind === "unless"
      ? !disjuncts(body).some((one) => isAmong(actionsIn(one) ?? [], doing))
      : conjuncts(body).every((one) => {
          const wanted = actionsIn(one);
          const left = actionsIn(fieldsOf(fieldsOf(one)["!"])["arg"]);
          return (wanted === null || isAmong(wanted, doing)) && (left === null || !isAmong(left, doing));
        }),
  );
}
const isAmong = (ids: readonly string[], { id, groups }: PolicyAction): boolean => ids.some((one) => one === id || groups.includes(one));

/** `action == X`, `action in X`, `action in [X, Y]`; null for anything else. */
function actionsIn(e: unknown): readonly string[] | null {
  const node = fieldsOf(e);
  const { left, right } = fieldsOf(node["=="] ?? node["in"]);
  if (fieldsOf(left)["Var"] !== "action") return null;
  const values = fieldsOf(right)["Set"];
  const ids = (Array.isArray(values) ? values : [right]).map((one) => {
    const uid = fieldsOf(fieldsOf(fieldsOf(one)["Value"])["__entity"]);
    return uid["type"] === "Action" && typeof uid["id"] === "string" ? uid["id"] : null;
  });
  return ids.every((id) => id !== null) ? ids : null;
}

/** No principal is named: `principal`, `principal is Agent`. */
export const allowsAnyPrincipal = ({ principal }: Json): boolean =>
  principal.op === "All" || (principal.op === "is" && principal.in === undefined);

/** Principals named in the scope, groups included. */
export const namedPrincipals = ({ principal }: Json, type: string): readonly string[] => {
  const named = namedIn(principal, type);
  return named.kind === "any" ? [] : named.ids;
};

/** Neither the scope nor a condition restricts the resource. */
export function allowsAnyResource({ resource, conditions }: Json): boolean {
  if (resource.op !== "All" && resource.op !== "is") return false;
  if (resource.op === "is" && resource.in !== undefined) return false;
  return !conditions.some(({ kind, body }) => kind === "when" && conjuncts(body).some(saysOnWhat));
}

function namedIn(scope: Scope, type: string): Named {
  switch (scope.op) {
    case "==":
    case "in":
    case "is":
      if (scope.op === "is" && scope.in === undefined) return { kind: "any" };
      return { kind: "ids", ids: uidsIn(scope).flatMap((uid) => (uid.type === type ? [uid.id] : [])) };
    default:
      return { kind: "any" };
  }
}

function uidsIn(scope: Scope): readonly Readonly<{ type: string; id: string }>[] {
  const all: readonly unknown[] = [
    ...(scope.entities ?? []),
    ...[scope.entity, fieldsOf(scope.in)["entity"]].filter((one) => one !== undefined),
  ];
  return all.flatMap((one) => {
    const outer = fieldsOf(one);
    const uid = fieldsOf(outer["__entity"] ?? outer);
    return typeof uid["type"] === "string" && typeof uid["id"] === "string" ? [{ type: uid["type"], id: uid["id"] }] : [];
  });
}

/** The parts of a conjunction. */
function conjuncts(body: unknown): readonly unknown[] {
  const both = fieldsOf(fieldsOf(body)["&&"]);
  return "left" in both ? [...conjuncts(both["left"]), ...conjuncts(both["right"])] : [body];
}

function disjuncts(body: unknown): readonly unknown[] {
  const either = fieldsOf(fieldsOf(body)["||"]);
  return "left" in either ? [...disjuncts(either["left"]), ...disjuncts(either["right"])] : [body];
}

/** `resource == X`, `resource in X`, `resource.id == "x"`, `resource.id like "x*"`, `["x"].contains(resource.id)`: with something that is written down. */
function saysOnWhat(e: unknown): boolean {
  const node = fieldsOf(e);
  for (const op of ["==", "in"]) {
    const { left, right } = fieldsOf(node[op]);
    if ((isOfResource(left) && isWritten(right)) || (op === "==" && isOfResource(right) && isWritten(left))) return true;
  }
  const like = fieldsOf(node["like"]);
  if (isOfResource(like["left"])) {
    const pattern = like["pattern"];
    return (
      Array.isArray(pattern) && pattern.some((part) => typeof fieldsOf(part)["Literal"] === "string" && fieldsOf(part)["Literal"] !== "")
    );
  }
  const contains = fieldsOf(node["contains"]);
  return isWritten(contains["left"]) && isOfResource(contains["right"]);
}

function isOfResource(e: unknown): boolean {
  const node = fieldsOf(e);
  if (node["Var"] === "resource") return true;
  return "." in node && isOfResource(fieldsOf(node["."])["left"]);
}

function isWritten(e: unknown): boolean {
  const node = fieldsOf(e);
  return "Value" in node || (Array.isArray(node["Set"]) && node["Set"].length > 0 && node["Set"].every(isWritten));
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
