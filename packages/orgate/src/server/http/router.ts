/** From a method and a path to the route of the one table, and its parameters as text. */
import { API, type Method, OPERATION_NAMES, OPERATIONS, type Operation, type OperationName } from "@orgate/protocol";

export type FoundRoute = Readonly<
  | { kind: "route"; name: OperationName; route: Operation; params: Readonly<Record<string, string>> }
  /** The path is there, and not with this method. */
  | { kind: "other-method"; allow: readonly Method[] }
  | { kind: "none" }
>;

type Compiled = Readonly<{ name: OperationName; route: Operation; parts: readonly string[] }>;

export function createRouter(): (method: string, path: string) => FoundRoute {
  const bySize = new Map<number, Compiled[]>();
  for (const name of OPERATION_NAMES) {
    const route: Operation = OPERATIONS[name];
    const parts = partsOf(`${API}${route.path}`);
    bySize.set(parts.length, [...(bySize.get(parts.length) ?? []), { name, route, parts }]);
  }
  return (method, path) => {
    const given = partsOf(path);
    const fitting = (bySize.get(given.length) ?? []).flatMap((one) => {
      const params = paramsOf(one.parts, given);
      return params === null ? [] : [{ ...one, params }];
    });
    const literal = fitting.filter(
      ({ params }) => Object.keys(params).length === Math.min(...fitting.map((f) => Object.keys(f.params).length)),
    );
    const found = literal.find(({ route }) => route.method === method);
    if (found !== undefined) return { kind: "route", name: found.name, route: found.route, params: found.params };
    return literal.length === 0 ? { kind: "none" } : { kind: "other-method", allow: literal.map(({ route }) => route.method) };
  };
}

const partsOf = (path: string): readonly string[] => path.split("/").slice(1);

function paramsOf(parts: readonly string[], given: readonly string[]): Readonly<Record<string, string>> | null {
  const params: Record<string, string> = {};
  for (const [i, part] of parts.entries()) {
    const text = given[i] ?? "";
    if (!part.startsWith("{")) {
      if (part !== text) return null;
      continue;
    }
    const value = decoded(text);
    if (value === null || value === "") return null;
    params[part.slice(1, -1)] = value;
  }
  return params;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
