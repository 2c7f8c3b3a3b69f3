/**
 * The catalogue of an MCP server as data: read, bounded, named, compared. Pure.
 *
 * T-34 A description is a stranger's: hidden characters are escaped, hidden markup is taken out, and it is cut to a length; where it cannot be
 *      made harmless (in names, in fixed values) its tool is refused. No policy sees a word of it (rule 7).
 * T-32 A tool is `SERVER__NAME` within the rule for names; two that would have one name are both refused.
 * Rule: T-33.
 */
import {
  type Digest,
  digestJson,
  escapeHidden,
  escapeHiddenLines,
  type Hash,
  type Json,
  type JsonObject,
  toCanonicalJson,
} from "@orgate/core";
import { lazily } from "@orgate/core/vocab";
import * as z from "zod";

/** A tool as the server describes it, without fields that nobody uses. */
export type OfferedTool = Readonly<{
  name: string;
  description: string;
  inputSchema: JsonObject;
  outputSchema: JsonObject | null;
  /** The server's own hints (`readOnlyHint`): shown to people, never relied on. */
  hints: JsonObject;
}>;
export type Catalogue = Readonly<{ server: string; tools: readonly OfferedTool[] }>;

export const MAX_TOOLS = 500;
const MAX_NAME = 128;
const MAX_SCHEMA = 64 * 1024;
const MAX_DESCRIPTION = 4_000;
const MAX_FIELD_TEXT = 1_000;
const MAX_DEPTH = 32;

const json: () => z.ZodType<Json> = lazily(() => z.json());
const object = lazily(() => z.record(z.string(), json()));
const listed = lazily(() =>
  z.looseObject({
    name: z.string(),
    title: z.string().optional(),
    description: z.string().optional(),
    inputSchema: object(),
    outputSchema: object().optional(),
    annotations: object().optional(),
  }),
);

/** Untrusted JSON of `tools/list` to a catalogue, by name; a string is the reason for a refusal. */
export function parseCatalogue(server: string, tools: readonly unknown[]): Catalogue | string {
  if (tools.length > MAX_TOOLS) return `it offers ${tools.length} tools, and ${MAX_TOOLS} are the most`;
  const offered: OfferedTool[] = [];
  for (const [i, one] of tools.entries()) {
    const read = listed().safeParse(one);
    if (!read.success)
      return `its tool ${i + 1} is invalid: ${read.error.issues[0]?.path.join(".") ?? ""}: ${read.error.issues[0]?.message ?? ""}`;
    const { name, title, description = title ?? "", inputSchema, outputSchema = null, annotations = {} } = read.data;
    offered.push({ name: name.toWellFormed(), description: description.toWellFormed(), inputSchema, outputSchema, hints: annotations });
  }
  return { server, tools: offered.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)) };
}

/** Covers everything that a person accepts, and nothing else. */
export const offeredDigest = (tool: OfferedTool, hash: Hash): Digest => digestJson(tool, hash);
export const catalogueDigest = ({ tools }: Catalogue, hash: Hash): Digest => digestJson(tools, hash);

// ── names ──

/** `SERVER__NAME`; what a name may not hold becomes `_`, and a long one ends in a digest of itself. */
export function toToolName(server: string, name: string, hash: Hash): string {
  const plain = `${server}__${name.replaceAll(/[^A-Za-z0-9_-]/g, "_")}`;
  return plain.length <= 64 ? plain : `${plain.slice(0, 55)}_${hash(name).slice(0, 8)}`;
}

export type UsableTool = Readonly<{
  kind: "usable";
  name: string;
  description: string;
  inputSchema: JsonObject;
  outputSchema: JsonObject | null;
}>;
/** One offered tool: usable, or the reason why not. */
export type CatalogueEntry = Readonly<{ offered: OfferedTool; digest: Digest; name: string }> &
  (UsableTool | Readonly<{ kind: "refused"; reason: string }>);

/** Every tool of a catalogue: as the model and the gate will know it, or why not. */
export function readCatalogue(catalogue: Catalogue, hash: Hash): readonly CatalogueEntry[] {
  const named = catalogue.tools.map((offered) => ({ offered, name: toToolName(catalogue.server, offered.name, hash) }));
  return named.map(({ offered, name }): CatalogueEntry => {
    const at = { offered, digest: offeredDigest(offered, hash), name };
    const twins = named.filter((other) => other.name === name).map((other) => escapeHidden(other.offered.name));
    if (twins.length > 1)
      return { ...at, kind: "refused", reason: `${twins.length} of its tools would be \`${name}\`: ${twins.join(", ")}` };
    const trouble = troubleIn(offered, name);
    if (trouble !== null) return { ...at, kind: "refused", reason: trouble };
    const description =
      cleanText(offered.description, MAX_DESCRIPTION) || `${escapeHidden(offered.name)}, which its server says nothing about`;
    const inputSchema = cleanSchema(offered.inputSchema);
    const outputSchema = offered.outputSchema === null ? null : cleanSchema(offered.outputSchema);
    return { ...at, kind: "usable", description, inputSchema, outputSchema };
  });
}

const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

function troubleIn({ name, inputSchema, outputSchema }: OfferedTool, ours: string): string | null {
  if (name === "" || name.length > MAX_NAME || escapeHidden(name) !== name) return "its name is empty, too long or holds hidden characters";
  if (!TOOL_NAME.test(ours)) return "its name cannot be made one of ours";
  for (const schema of [inputSchema, outputSchema ?? {}]) {
    if (toCanonicalJson(schema).length > MAX_SCHEMA) return `its schema is larger than ${MAX_SCHEMA} characters`;
    const trouble = hiddenIn(schema, 0);
    if (trouble !== null) return trouble;
  }
  return null;
}

const PROSE = new Set(["description", "title", "$comment", "examples", "default"]);

/** Names and fixed values reach the model as they are: what hides in one cannot be taken out without changing what it means. */
function hiddenIn(value: Json, depth: number): string | null {
  if (depth > MAX_DEPTH) return `its schema is nested deeper than ${MAX_DEPTH}`;
  if (typeof value === "string")
    return escapeHidden(value) === value ? null : "hidden characters stand in its schema, in a name or a fixed value";
  if (typeof value !== "object" || value === null) return null;
  for (const [key, inner] of Object.entries(value)) {
    if (escapeHidden(key) !== key) return "hidden characters stand in its schema, in a name or a fixed value";
    const trouble = PROSE.has(key) && typeof inner === "string" ? null : hiddenIn(inner, depth + 1);
    if (trouble !== null) return trouble;
  }
  return null;
}

// ── texts ──

const MARKUP = /<!--[\s\S]*?(?:-->|$)|<(script|style|template|noscript)\b[\s\S]*?(?:<\/\1\s*>|$)/gi;
const TAG = /<[a-z][^>]*>/gi;
const HIDING = /\b(?:hidden|display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0)/i;
const LEFT_OUT = "[hidden markup left out]";

/** Removes or shows characters that a person would not see. Cuts first: a longer text takes no longer to clean (T-34). */
export function cleanText(text: string, limit: number): string {
  const shown = truncate(text, limit * 2)
    .replaceAll(MARKUP, LEFT_OUT)
    .replaceAll(TAG, (tag) => (HIDING.test(tag) ? LEFT_OUT : tag));
  return truncate(escapeHiddenLines(shown).trim(), limit);
}

/** Never inside a character. */
export function truncate(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const end = (text.charCodeAt(limit - 1) & 0xfc00) === 0xd800 ? limit - 1 : limit;
  return `${text.slice(0, end)} [${text.length - end} more characters left out]`;
}

/** `description` and `title` of a field are texts like any other; `$comment`, `examples` and the dialect tell a model nothing that it needs. */
function cleanSchema(schema: JsonObject): JsonObject {
  return cleanLevel(schema, true) as JsonObject;
}

/** `isSchema`: its keys are words of JSON Schema, not names of fields. */
function cleanLevel(value: Json, isSchema: boolean): Json {
  if (Array.isArray(value)) return value.map((one: Json) => cleanLevel(one, isSchema));
  if (typeof value !== "object" || value === null) return value;
  const kept: [string, Json][] = [];
  for (const [key, inner] of Object.entries(value)) {
    if (isSchema && DROPPED.has(key)) continue;
    if (isSchema && (key === "description" || key === "title") && typeof inner === "string")
      kept.push([key, cleanText(inner, MAX_FIELD_TEXT)]);
    else if (isSchema && VALUES.has(key)) kept.push([key, typeof inner === "string" ? cleanText(inner, MAX_FIELD_TEXT) : inner]);
    else kept.push([key, cleanLevel(inner, !(isSchema && MAPS.has(key)))]);
  }
  return Object.fromEntries(kept);
}
const DROPPED = new Set(["$schema", "$id", "$comment", "examples"]);
const VALUES = new Set(["enum", "const", "default", "required"]);
const MAPS = new Set(["properties", "patternProperties", "$defs", "definitions"]);

// ── differences ──

export type CatalogueDifference = Readonly<{ tool: string }> &
  Readonly<
    | { kind: "new"; now: OfferedTool }
    | { kind: "changed"; was: OfferedTool; now: OfferedTool /** Which of its parts. */; parts: readonly (keyof OfferedTool)[] }
    | { kind: "removed"; was: OfferedTool }
  >;

/** By name. `accepted` null: nothing was. */
export function compareCatalogues(accepted: Catalogue | null, now: Catalogue, hash: Hash): readonly CatalogueDifference[] {
  const was = new Map((accepted?.tools ?? []).map((tool) => [tool.name, tool]));
  const is = new Map(now.tools.map((tool) => [tool.name, tool]));
  return [...new Set([...was.keys(), ...is.keys()])].sort().flatMap((tool): readonly CatalogueDifference[] => {
    const [before, after] = [was.get(tool), is.get(tool)];
    if (before === undefined) return after === undefined ? [] : [{ kind: "new", tool, now: after }];
    if (after === undefined) return [{ kind: "removed", tool, was: before }];
    if (now.tools.filter(({ name }) => name === tool).length > 1)
      return [{ kind: "changed", tool, was: before, now: after, parts: ["name"] }];
    if (offeredDigest(before, hash) === offeredDigest(after, hash)) return [];
    const parts = PARTS.filter((part) => toCanonicalJson(before[part]) !== toCanonicalJson(after[part]));
    return [{ kind: "changed", tool, was: before, now: after, parts }];
  });
}
const PARTS: readonly (keyof OfferedTool)[] = ["description", "inputSchema", "outputSchema", "hints"];

/** One line each. */
export function differenceText(d: CatalogueDifference): string {
  const name = escapeHidden(d.tool);
  switch (d.kind) {
    case "new":
      return `${name} is new`;
    case "removed":
      return `${name} is gone`;
    case "changed":
      return `${name} has changed: ${d.parts.map((part) => WORDS[part]).join(", ")}`;
  }
}
const WORDS: Readonly<Record<keyof OfferedTool, string>> = {
  name: "it is offered more than once",
  description: "what it says it does",
  inputSchema: "its arguments",
  outputSchema: "its results",
  hints: "its hints",
};
