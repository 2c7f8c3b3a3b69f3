/** The actions that a policy's scope covers, and the attributes under it, read from the generated schema. For messages; the validator decides. */
import type { Json, Tool } from "../../vocab/index.ts";
import type { CedarType } from "../arguments/arg-types.ts";
import type { PolicyJson, Uid } from "./engine.ts";
import { type Chain, scopeHolds } from "./slice.ts";
import type { Vocabulary } from "./vocabulary.ts";

type Schema = Vocabulary["schema"];
type Node = Readonly<Record<string, Json | undefined>>;

const node = (value: Json | undefined): Node =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Node) : {};
const action = (id: string): Uid => ({ type: "Action", id });

export const isUnder = ({ action: scope }: PolicyJson, { name, effects }: Pick<Tool, "name" | "effects">): boolean =>
  scopeHolds(scope, { uid: action(`tool:${name}`), parents: effects.map(action) });

/** The actions under a policy's scope. */
export function listNamesUnder(schema: Schema, { action: scope }: PolicyJson): readonly string[] {
  return Object.entries(node(node(schema[""])["actions"])).flatMap(([id, one]) => {
    const groups = node(one)["memberOf"];
    const parents = (Array.isArray(groups) ? groups : []).map((g) => action(String(node(g as Json)["id"])));
    return scopeHolds(scope, { uid: action(id), parents }) ? [id] : [];
  });
}

export const nameChain = ({ variable, path }: Chain): string => [variable, ...path].join(".");

/** Attributes of what a chain leads to, under any of these actions. */
export function listAttributes(schema: Schema, actions: readonly string[], { variable, path }: Chain): readonly string[] {
  const all = node(schema[""]);
  const found = actions.flatMap((id) => rootsOf(all, node(node(node(all["actions"])[id])["appliesTo"]), variable));
  const there = found.flatMap((root) => Object.keys(path.reduce<Node>((at, name) => fieldsOf(all, node(at[name])), fieldsOf(all, root))));
  return [...new Set(there)].sort();
}

function rootsOf(all: Node, applies: Node, variable: Chain["variable"]): readonly Node[] {
  if (variable === "context") return [node(applies["context"])];
  const types = applies[variable === "principal" ? "principalTypes" : "resourceTypes"];
  return variable === "action" || !Array.isArray(types)
    ? []
    : types.map((type) => node(node(node(all["entityTypes"])[String(type)])["shape"]));
}

/** A type that is named once stands in `commonTypes`. */
function fieldsOf(all: Node, type: Node): Node {
  const named = type["type"] === "EntityOrCommon" ? node(node(all["commonTypes"])[String(type["name"])]) : type;
  return node(named["attributes"]);
}

/** Whether the way into a tool's arguments comes to something that can only be tested for. */
export function isOpaque(type: CedarType | undefined, path: readonly string[]): boolean {
  let at = type;
  for (const name of path) {
    at = at?.kind === "record" ? at.fields.get(name)?.type : undefined;
    if (at?.kind === "opaque") return true;
  }
  return false;
}
