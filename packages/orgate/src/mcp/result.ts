/**
 * The answer of an MCP tool as JSON for the journal and the model.
 *
 * T-38 Text is kept, structured content is kept as it is, images, sounds and files are described by kind, size and digest; nothing is larger than
 *      its limit; `isError` is a failure that the tool itself returned.
 */
import { createHash } from "node:crypto";
import { escapeHidden, type Json, type JsonObject, toCanonicalJson } from "@orgate/core";
import { lazily } from "@orgate/core/vocab";
import * as z from "zod";
import { truncate } from "./catalogue.ts";

const json: () => z.ZodType<Json> = lazily(() => z.json());
const block = lazily(() => z.looseObject({ type: z.string() }));
const result = lazily(() =>
  z.looseObject({
    content: z.array(block()).default([]),
    structuredContent: z.record(z.string(), json()).optional(),
    isError: z.boolean().default(false),
  }),
);

export type McpAnswer = Readonly<{ output: Json; isError: boolean; truncated: boolean }>;

/** A string says why it is no answer. */
export function readMcpAnswer(raw: unknown, maxBytes: number, hide: (text: string) => string): McpAnswer | string {
  const read = result().safeParse(raw);
  if (!read.success) return `its answer is invalid: ${read.error.issues[0]?.message ?? ""}`;
  const { content, structuredContent, isError } = read.data;
  const text = hide(content.map(blockText).join("\n").toWellFormed());
  if (structuredContent === undefined || isError) {
    const cut = truncate(text, maxBytes);
    return { output: cut, isError, truncated: cut !== text };
  }
  const structured = hidden(structuredContent, hide);
  if (toCanonicalJson(structured).length <= maxBytes) return { output: structured, isError, truncated: false };
  return { output: truncate(toCanonicalJson(structured), maxBytes), isError, truncated: true };
}

/** In what it calls things too. */
function hidden(value: Json, hide: (text: string) => string): Json {
  if (typeof value === "string") return hide(value.toWellFormed());
  if (Array.isArray(value)) return value.map((one: Json) => hidden(one, hide));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [hide(key.toWellFormed()), hidden(inner, hide)]),
  ) satisfies JsonObject;
}

type Block = z.infer<ReturnType<typeof block>>;
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

function blockText(one: Block): string {
  switch (one.type) {
    case "text":
      return textOf(one["text"]);
    case "image":
    case "audio":
      return bytesText(one.type, textOf(one["mimeType"]), textOf(one["data"]));
    case "resource_link":
      return `[link to ${shown(one["name"])}: ${shown(one["uri"])}]`;
    case "resource":
      return resourceText(one["resource"]);
    default:
      return `[${shown(one.type)}, which is not known here]`;
  }
}

function resourceText(given: unknown): string {
  if (typeof given !== "object" || given === null) return "[a resource that holds nothing]";
  const at = (key: string): unknown => Reflect.get(given, key);
  const name = `resource ${shown(at("uri"))}`;
  const text = at("text");
  return typeof text === "string" ? `[${name}]\n${text}` : bytesText(name, textOf(at("mimeType")), textOf(at("blob")));
}

/** Never the bytes: a description, so that a person can ask for them and compare. */
function bytesText(what: string, mimeType: string, base64: string): string {
  const bytes = Buffer.from(base64, "base64");
  const digest = createHash("sha256").update(bytes).digest("hex").slice(0, 16);
  return `[${what}, ${shown(mimeType) || "of no type"}, ${bytes.length} bytes, sha256 ${digest}…, not shown]`;
}

const shown = (value: unknown): string => truncate(escapeHidden(textOf(value)), 200);
