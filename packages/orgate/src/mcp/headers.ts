/**
 * Arguments that travel as HTTP headers too (`x-mcp-header`, revision 2026-07-28): proxies between a client and a server read them. Pure.
 *
 * T-38 Arguments that an accepted tool marks are sent as `Mcp-Param-NAME` headers with the call, encoded as the protocol has it; nothing else is.
 * T-38 A tool whose marks break the protocol's rules is refused over HTTP, with the reason; the server's other tools go on.
 */
import { escapeHidden, type Json, type JsonObject } from "@orgate/core";
import { truncate } from "./catalogue.ts";

/** An argument, by where it stands in `arguments`, and the header it travels in. */
export type MirroredArgument = Readonly<{ path: readonly string[]; header: string }>;

const MARK = "x-mcp-header";
/** RFC 9110, 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES: ReadonlySet<Json> = new Set(["string", "integer", "boolean"]);
/** Keywords whose value names schemas; those of `properties` lead to arguments. */
const MAPS = new Set(["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"]);
const VALUES = new Set(["enum", "const", "default", "examples", "required"]);

/** A string says which rule the marks break. */
export function mirroredArguments(inputSchema: JsonObject): readonly MirroredArgument[] | string {
  const found: MirroredArgument[] = [];
  /** `path` null: no chain of `properties` leads here. */
  const visit = (schema: Json, path: readonly string[] | null): string | null => {
    if (typeof schema !== "object" || schema === null) return null;
    if (Array.isArray(schema)) return first(schema, (one) => visit(one, null));
    const fields = schema as JsonObject;
    const trouble = Object.hasOwn(fields, MARK) ? marked(fields, path) : null;
    if (trouble !== null) return trouble;
    return first(Object.entries(fields), ([key, inner]) => {
      if (VALUES.has(key) || key === MARK || typeof inner !== "object" || inner === null) return null;
      if (!MAPS.has(key)) return visit(inner, null);
      return first(Object.entries(inner), ([name, one]) => visit(one, key === "properties" && path !== null ? [...path, name] : null));
    });
  };
  const marked = (schema: JsonObject, path: readonly string[] | null): string | null => {
    const header = schema[MARK] ?? null;
    const shown = truncate(escapeHidden(JSON.stringify(header)), 80);
    if (path === null || path.length === 0) return `\`${MARK}\` ${shown} stands where no argument of its own is`;
    const at = escapeHidden(path.join("."));
    if (typeof header !== "string" || !TOKEN.test(header)) return `\`${MARK}\` ${shown} of \`${at}\` is no name of a header`;
    if (!TYPES.has(schema["type"] ?? null)) return `\`${MARK}\` of \`${at}\` marks something else than a string, integer or boolean`;
    if (found.some((one) => one.header.toLowerCase() === header.toLowerCase())) return `\`${MARK}\` ${shown} stands at two arguments`;
    found.push({ path, header });
    return null;
  };
  const trouble = visit(inputSchema, []);
  return trouble ?? found;
}

/** The headers of one call. What is absent or null has none. */
export function mirrorHeaders(
  mirrored: readonly MirroredArgument[],
  args: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    mirrored.flatMap(({ path, header }) => {
      const value = path.reduce<unknown>(
        (at, key) => (typeof at === "object" && at !== null && Object.hasOwn(at, key) ? Reflect.get(at, key) : null),
        args,
      );
      if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return [];
      return [[`Mcp-Param-${header}`, encoded(String(value))]];
    }),
  );
}

/** Plain where a header can hold it and nobody could take it for something encoded. */
function encoded(value: string): string {
  const isPlain = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !/^=\?base64\?.*\?=$/.test(value);
  return isPlain ? value : `=?base64?${Buffer.from(value, "utf8").toString("base64")}?=`;
}

function first<T>(items: readonly T[], look: (item: T) => string | null): string | null {
  for (const item of items) {
    const found = look(item);
    if (found !== null) return found;
  }
  return null;
}
