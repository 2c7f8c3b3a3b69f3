/**
 * What a project brings along that could steer an agent: `AGENTS.md`, skills, MCP servers. Each needs trust on first use, pinned by digest.
 *
 * A22 what is not trusted, or is no longer what was trusted, is not used.
 */
import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type Digest, digest, digestOf, type Entry, type Hash, type JournalEvent, type Principal, readJson } from "@orgate/core";
import { isBelow, readTextFile, realPath } from "../text-file.ts";

export const INSTRUCTIONS = "AGENTS.md";
const MCP_FILE = ".mcp.json";
const SKILLS = "skills";
const MAX_BYTES = 1024 * 1024;

/** `subject` is what people and the journal call it: `AGENTS.md`, `skills/NAME`, `mcp:NAME`. Unreadable: shown, and never trusted. */
export type Candidate = Readonly<
  { subject: string; kind: "readable"; digest: Digest } | { subject: string; kind: "unreadable"; detail: string }
>;

/** All that there is to trust in a project, by name. */
export function trustCandidates(root: string, hash: Hash): readonly Candidate[] {
  return [...instructions(root, hash), ...skills(root, hash), ...servers(root, hash)];
}

/** The text that is to be trusted or not, with its digest; null when there is none. */
export function projectInstructions(root: string, hash: Hash): Readonly<{ text: string; digest: Digest }> | null {
  const file = join(root, INSTRUCTIONS);
  const real = realPath(file);
  if (real === null || !isBelow(real, realPath(root) ?? root)) return null;
  try {
    const text = readTextFile(real, MAX_BYTES);
    return { text, digest: hash(text) };
  } catch {
    return null;
  }
}

function instructions(root: string, hash: Hash): readonly Candidate[] {
  if (!namesIn(root).includes(INSTRUCTIONS)) return [];
  const found = projectInstructions(root, hash);
  return found === null
    ? [{ subject: INSTRUCTIONS, kind: "unreadable", detail: "it is no readable text file of the project" }]
    : [{ subject: INSTRUCTIONS, kind: "readable", digest: found.digest }];
}

/** A skill is its whole folder: text and scripts alike. */
function skills(root: string, hash: Hash): readonly Candidate[] {
  return namesIn(join(root, SKILLS)).map((name): Candidate => {
    const subject = `${SKILLS}/${name}`;
    try {
      return { subject, kind: "readable", digest: digestOf(folderDigests(join(root, SKILLS, name), realPath(root) ?? root), hash) };
    } catch (error) {
      return { subject, kind: "unreadable", detail: error instanceof Error ? error.message : String(error) };
    }
  });
}

function folderDigests(path: string, root: string): Readonly<Record<string, Digest>> {
  const found: Record<string, Digest> = {};
  const visit = (at: string, below: string): void => {
    const real = realPath(at);
    if (real === null || !isBelow(real, root)) throw new Error(`${below || "it"} leads out of the project`);
    const inner = namesIn(real, true);
    if (inner === null)
      found[below] = digest(
        createHash("sha256")
          .update(readTextFile(real, 16 * MAX_BYTES))
          .digest("hex"),
      );
    else for (const name of inner) visit(join(at, name), below === "" ? name : `${below}/${name}`);
  };
  visit(path, "");
  return found;
}

/** Each server by itself, as `.mcp.json` has it. */
function servers(root: string, hash: Hash): readonly Candidate[] {
  if (!namesIn(root).includes(MCP_FILE)) return [];
  try {
    const json = readJson(readTextFile(join(root, MCP_FILE), MAX_BYTES));
    if (json.kind === "not-json") throw new Error(`not JSON: ${json.detail} (line ${json.line})`);
    const listed: unknown = typeof json.value === "object" && json.value !== null ? Reflect.get(json.value, "mcpServers") : null;
    if (typeof listed !== "object" || listed === null || Array.isArray(listed)) throw new Error("there is no `mcpServers` in it");
    return Object.entries(listed)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, server]) => ({ subject: `mcp:${name}`, kind: "readable", digest: digestOf(server, hash) }));
  } catch (error) {
    return [{ subject: MCP_FILE, kind: "unreadable", detail: error instanceof Error ? error.message : String(error) }];
  }
}

function namesIn(folder: string): readonly string[];
function namesIn(folder: string, orFile: true): readonly string[] | null;
function namesIn(folder: string, orFile = false): readonly string[] | null {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    return orFile && error instanceof Error && "code" in error && error.code === "ENOTDIR" ? null : [];
  }
}

// ── what the journal says ──

export type Given = Readonly<{ digest: Digest; by: Principal; at: number }>;
export type Trusted = ReadonlyMap<string, Given>;

/** The `trust` stream, folded. */
export function foldTrust(entries: Iterable<Pick<Entry, "at"> & { readonly event: JournalEvent }>): Trusted {
  const trusted = new Map<string, Given>();
  for (const { at, event } of entries) {
    if (event.kind === "trust.given") trusted.set(event.subject, { digest: event.digest, by: event.by, at });
    else if (event.kind === "trust.withdrawn") trusted.delete(event.subject);
  }
  return trusted;
}

export type Standing = "trusted" | "changed" | "untrusted" | "gone";

/** `gone`: trusted once, and no longer there. */
export function standingOf(subject: string, now: Digest | null, trusted: Trusted): Standing {
  const given = trusted.get(subject);
  if (given === undefined) return "untrusted";
  if (now === null) return "gone";
  return given.digest === now ? "trusted" : "changed";
}
