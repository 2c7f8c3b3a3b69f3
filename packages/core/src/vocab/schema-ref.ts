import type { Json, JsonObject } from "./text/canonical.ts";

/**
 * Resolves a `$ref` within its own document: `#`, or `#` and a JSON pointer (RFC 6901) as a URI fragment writes it. Undefined if nothing is
 * there. The gate and the check of arguments both ask here, so that they cannot read a reference in two ways.
 */
export function resolveSchemaRef(root: JsonObject, ref: string): Json | undefined {
  if (ref === "#") return root;
  if (!ref.startsWith("#/")) return undefined;
  let at: Json | undefined = root;
  for (const step of ref.slice(2).split("/")) {
    const name = decoded(step);
    if (name === null || typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return undefined;
    at = Array.isArray(at) ? at[Number(name)] : (at as JsonObject)[name];
  }
  return at;
}

function decoded(step: string): string | null {
  try {
    return decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return null; // a `%` that encodes nothing
  }
}
