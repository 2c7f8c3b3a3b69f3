/**
 * A project's decision table as a JSON file: `[{ "id", "action", "verdict", … }]`, first matching row decides.
 *
 * A20 A table that cannot be read, is not JSON, or holds a row that is not understood is refused whole, with file, line and column.
 */
import { readFileSync } from "node:fs";
import { FaultError, position, type Row, readJson } from "@orgate/core";
import * as z from "zod";
import { locate } from "../json-place.ts";

export { locate };

const HINT = "see docs/guide/project.md for the rows of a decision table";
const MAX_BYTES = 1024 * 1024;

/** What a row may name: everything, one action, or a beginning of names followed by `*`. A pattern that can match nothing is a mistake. */
const ACTION = /^(?:\*|model|respond|tool:(?:\*|[A-Za-z0-9_-]{1,64}\*?))$/;

const rowSchema = z.strictObject({
  id: z.string().regex(/^[A-Za-z0-9][\w.:-]{0,99}$/, "must be 1 to 100 letters, digits, `_`, `.`, `:` and `-`, a letter or digit first"),
  action: z.string().regex(ACTION, "must be `model`, `respond`, `tool:NAME`, `tool:BEGINNING*` or `*`"),
  labels: z.array(z.string().min(1)).optional(),
  callsBelow: z.int().min(1).optional(),
  verdict: z.enum(["allow", "deny", "ask"]),
  say: z.string().min(1).max(1_000).optional(),
});
const tableSchema = z.array(rowSchema);

export function loadTable(file: string): readonly Row[] {
  const text = readText(file);
  const json = readJson(text);
  if (json.kind === "not-json") throw bad(file, json, `not JSON: ${json.detail}`);
  const read = tableSchema.safeParse(json.value);
  if (!read.success) {
    const { path, detail } = issueOf(read.error, json.value);
    throw bad(file, position(text, locate(text, path)), detail);
  }
  for (const [i, { id }] of read.data.entries()) {
    const first = read.data.findIndex((row) => row.id === id);
    if (first < i) throw bad(file, position(text, locate(text, [i, "id"])), `row \`${id}\` stands twice: a decision could not name it`);
  }
  return read.data.map(toRow);
}

/** An absent setting stays absent, so that the table's digest does not depend on how it was written. */
function toRow({ id, action, verdict, labels, callsBelow, say }: z.output<typeof rowSchema>): Row {
  return {
    id,
    action,
    verdict,
    ...(labels === undefined ? {} : { labels }),
    ...(callsBelow === undefined ? {} : { callsBelow }),
    ...(say === undefined ? {} : { say }),
  };
}

function issueOf(error: z.ZodError, table: unknown): { readonly path: readonly PropertyKey[]; readonly detail: string } {
  const [issue] = error.issues;
  if (issue === undefined) return { path: [], detail: "not understood" };
  const row = typeof issue.path[0] === "number" ? `row ${issue.path[0] + 1}: ` : "";
  const field = issue.path.slice(1).join(".");
  if (issue.code === "unrecognized_keys") {
    const [key = ""] = issue.keys;
    return { path: [...issue.path, key], detail: `${row}there is no field \`${key}\`` };
  }
  if (field !== "" && isAbsent(table, issue.path)) return { path: issue.path.slice(0, 1), detail: `${row}\`${field}\` is missing` };
  const message = issue.message.charAt(0).toLowerCase() + issue.message.slice(1);
  return { path: issue.path, detail: `${row}${field === "" ? "" : `\`${field}\` `}${message}` };
}

function isAbsent(value: unknown, path: readonly PropertyKey[]): boolean {
  let inner = value;
  for (const step of path) {
    if (typeof inner !== "object" || inner === null || !Object.hasOwn(inner, step)) return true;
    inner = Reflect.get(inner, step);
  }
  return false;
}

function readText(file: string): string {
  try {
    const bytes = readFileSync(file);
    if (bytes.length > MAX_BYTES) throw new Error(`larger than ${MAX_BYTES} bytes`);
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    const detail =
      code === "ENOENT"
        ? "there is no such file"
        : code === "EISDIR"
          ? "is a folder"
          : `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
    throw bad(file, null, detail, "mend `table` under `[policy]` in orgate.toml", error);
  }
}

type Place = Readonly<{ line: number; column: number }>;
function bad(file: string, place: Place | null, detail: string, hint = HINT, cause?: unknown): FaultError {
  return new FaultError({ kind: "file-bad", file, line: place?.line ?? null, column: place?.column ?? null, detail, hint }, cause);
}
