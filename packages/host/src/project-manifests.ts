/**
 * The manifests of a project as tools: read, checked, and given what they need to run. Nothing is started here, and no secret is read.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type Digest, describe, FaultError, type Tool } from "@orgate/core";
import type { Invocation, McpInvocation, Places, Ran, Running, RunOptions } from "@orgate/core/contracts";
import {
  type FileProblem,
  hostRunning,
  isManifest,
  type ManifestFile,
  orgateHome,
  pathGuard,
  projectPlaces,
  type ReadManifests,
  readManifests,
  secretStore,
  sha256,
  workplace,
} from "./compose.ts";
import { type ManifestTools, manifestTool } from "./manifest-tool.ts";
import { fileBad } from "./project-modules.ts";
import { type AskHidden, type Env, secretsFrom } from "./secrets.ts";
import { readBytes } from "./text-file.ts";

export type ManifestPlace = Readonly<{
  /** The project's folder. */
  root: string;
  /** Paths and globs below it. */
  tools: readonly string[];
  /** Where journal and secrets lie. */
  directory: string;
  env: Env;
  ask: AskHidden;
}>;

/** Calls a tool of an MCP server, for `[mcp]` manifests. */
export type CallMcp = (invocation: McpInvocation, options: RunOptions) => Promise<Ran>;

export type ProjectManifest = Readonly<{ tool: Tool; file: string; manifest: ManifestFile }>;
export type ProjectManifests = Readonly<{
  read: ReadManifests;
  /** By name. */
  tools: ReadonlyMap<string, ProjectManifest>;
  ground: ManifestTools;
  /** The servers that `[mcp]` manifests name. */
  servers: readonly string[];
  /** From when on `[mcp]` manifests can be run. */
  connect(call: CallMcp): void;
}>;

/** Throws `file-bad` for the first thing that is wrong; `read.problems` of `readManifests` has all of them. */
export function projectManifests(place: ManifestPlace): ProjectManifests {
  const read = readManifests(place.root, place.tools);
  const [problem] = read.problems;
  if (problem !== undefined) throw problemFault(problem, read.problems.length - 1);
  const mcp: { call: CallMcp | null } = { call: null };
  const ground = groundOf(place, read, mcp);
  const tools = new Map<string, ProjectManifest>();
  for (const manifest of read.manifests) {
    const { name } = manifest.contract.manifest.tool;
    const other = tools.get(name);
    if (other !== undefined)
      throw fileBad(manifest.file, null, `tool \`${name}\` is already defined in ${other.file}`, "rename one of them");
    tools.set(name, { tool: made(manifest, ground), file: manifest.file, manifest });
  }
  const backends = read.manifests.map(({ contract }) => contract.manifest.backend);
  const servers = [...new Set(backends.flatMap((b) => (b.kind === "mcp" ? [b.server] : [])))];
  const connect = (call: CallMcp): void => {
    mcp.call = call;
  };
  return { read, tools, ground, servers, connect };
}

export const hasManifests = (patterns: readonly string[]): boolean => patterns.some(isManifest);

export function problemFault({ file, line, column, detail, hint }: FileProblem, more: number): FaultError {
  const others = more === 0 ? "" : ` (and ${more} more: \`orgate tools validate\` shows all)`;
  return new FaultError({ kind: "file-bad", file, line, column, detail: `${detail}${others}`, hint });
}

function made({ contract, text, file }: ManifestFile, ground: ManifestTools): Tool {
  try {
    return manifestTool(contract, text, ground);
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    const { message, hint } = describe(error.fault);
    throw fileBad(file, null, message, hint, error);
  }
}

function groundOf(place: ManifestPlace, { scope }: ReadManifests, mcp: { readonly call: CallMcp | null }): ManifestTools {
  const { root, directory, env, ask } = place;
  const guard = pathGuard({ root, also: [directory, ...place.tools.flatMap(placeOf)] });
  const hidden = [directory, join(root, ".orgate"), join(root, ".env"), ...variablesIn(root), orgateHome(env)];
  const places = projectPlaces(root, hidden);
  const programs = hostRunning({ protection: { judge: guard.judge, places: guard.places, alias: guard.alias, hidden } });
  const running: Running = {
    run: (invocation: Invocation, options: RunOptions) =>
      invocation.kind === "mcp" && mcp.call !== null ? mcp.call(invocation, options) : programs.run(invocation, options),
  };
  return {
    world: { scope, places },
    running,
    secrets: secretsFrom(secretStore(directory), env, ask),
    work: workplace(directory),
    hash: sha256,
    base64: (text) => Buffer.from(text, "utf8").toString("base64"),
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8", HOME: "/tmp" },
    fileDigest: (path) => digestIn(places, path),
    whyNotWrite: (path) => {
      const judged = guard.judge(path);
      return judged.kind === "free" ? null : judged.what;
    },
  };
}

export type ManifestToolsOptions = Readonly<{
  /** The folder that holds `tools/`, `toolclad.toml`, `scope/`: no path of an argument leads out of it. */
  root: string;
  /** Where the journal and the secrets lie; `.orgate` below `root` unless given. */
  directory?: string;
  /** Paths and globs below `root`. */
  tools?: readonly string[];
  /** Where secrets and their passphrase come from; `process.env` unless given. */
  env?: Env;
}>;

/** For those who embed the runtime: the manifests of a folder as tools. Throws `file-bad` with line and column. `[mcp]` manifests need a project. */
export function manifestTools({
  root,
  directory = join(root, ".orgate"),
  tools = ["tools/*.clad.toml"],
  env = process.env,
}: ManifestToolsOptions): readonly Tool[] {
  return [...projectManifests({ root, tools, directory, env, ask: null }).tools.values()].map(({ tool }) => tool);
}

/** Where tools come from, a glob by the folder it looks into: what is put there is run the next time. */
function placeOf(pattern: string): readonly string[] {
  const steps = pattern.split("/");
  const glob = steps.findIndex((step) => /[*?[{]/.test(step));
  const fixed = (glob === -1 ? steps : steps.slice(0, glob)).join("/");
  return fixed === "" || fixed === "." ? [] : [fixed];
}

/** `.env` under its other names. */
const variablesIn = (root: string): readonly string[] =>
  readdirSync(root)
    .filter((name) => /^\.env\./i.test(name))
    .map((name) => join(root, name));

const MAX_PROGRAM = 64 * 1024 * 1024;

function digestIn(places: Places, path: string): Digest | null {
  const place = places.resolve(path, "exist");
  if (place.kind === "refused") return null;
  try {
    return sha256(Buffer.from(readBytes(place.absolute, MAX_PROGRAM)).toString("base64"));
  } catch {
    return null;
  }
}
