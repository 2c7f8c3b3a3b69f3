/**
 * The manifests of a project as tools: read, checked, and given what they need to run. Nothing is started here, and no secret is read.
 */
import { join } from "node:path";
import { type Digest, describeFault, FaultError, type Tool } from "@orgate/core";
import type { AskHidden } from "@orgate/shell/terminal";
import type {
  Invocation,
  InvocationResult,
  InvocationRunner,
  ManifestTools,
  McpInvocation,
  ProjectPaths,
  RunOptions,
} from "@orgate/toolclad";
import { type FileProblem, isManifest, type ManifestFile, manifestTool, openCallFolders, type ReadManifests } from "@orgate/toolclad";
import { hostRunning } from "@orgate/toolclad/running";
import type { Config } from "../config/config.ts";
import type { Draft } from "../files/file-overlay.ts";
import { openProjectPaths } from "../files/project-paths.ts";
import { readBytes } from "../files/text-file.ts";
import { findTomlPosition as placeOfSetting } from "../files/toml-text.ts";
import { pathGuard } from "../guard/path-guard.ts";
import { resolvePlaces } from "../guard/protected-paths.ts";
import { openSecrets } from "../identity/secrets.ts";
import { secretStore } from "../identity/secrets-file.ts";
import { type FoundServer, mcpServers } from "../mcp/config.ts";
import { assertArguments, objectWith, text } from "../node/argument-checks.ts";
import { sha256 } from "../node/crypto.ts";
import type { Env } from "../node/env.ts";
import { orgateHome } from "../store/keyring.ts";
import type { ToolFormat } from "./formats/format.ts";
import { readProjectManifests } from "./manifest-source.ts";
import { type FindSecret, type LoadManifestPorts, runnerFromPorts, secretsFromPorts } from "./own-manifest-ports.ts";
import { loadBuildPorts } from "./ports-module.ts";

export type ManifestSettings = Readonly<{
  /** The project's folder. */
  root: string;
  /** Paths and globs below it. */
  tools: readonly string[];
  /** Where journal and secrets lie. */
  directory: string;
  env: Env;
  ask: AskHidden;
  drafts?: readonly Draft[];
  /** In place of the environment and the project's encrypted store, and of the sandbox and the HTTP guard. */
  ports?: LoadManifestPorts | undefined;
}>;

/** Calls a tool of an MCP server, for `[mcp]` manifests. */
export type CallMcp = (invocation: McpInvocation, options: RunOptions) => Promise<InvocationResult>;

export type ProjectManifest = Readonly<{ tool: Tool; file: string; manifest: ManifestFile }>;
export type ProjectManifests = Readonly<{
  read: ReadManifests;
  /** By name. */
  tools: ReadonlyMap<string, ProjectManifest>;
  /** By the name of the tool: why it is unusable. An agent that names one of these is not run. */
  broken: ReadonlyMap<string, FileProblem>;
  /** All that is wrong. */
  problems: readonly FileProblem[];
  context: ManifestTools;
  /** The servers that `[mcp]` manifests name. */
  servers: readonly string[];
  /** From when on `[mcp]` manifests can be run. */
  connect(call: CallMcp): void;
}>;

/** T-16 an unusable tool is reported by name, and the rest can be used. */
export function projectManifests(place: ManifestSettings): ProjectManifests {
  const read = readProjectManifests(place.root, place.tools, place.drafts);
  const mcp: { call: CallMcp | null } = { call: null };
  const context = toManifestContext(place, read, mcp);
  const tools = new Map<string, ProjectManifest>();
  const problems: FileProblem[] = [...read.problems];
  let servers: readonly FoundServer[] | null = null;
  const approvals = (): readonly FoundServer[] => {
    servers ??= mcpServers({ root: place.root, home: orgateHome(place.env) }, sha256).servers;
    return servers;
  };
  for (const manifest of read.manifests) {
    const { file } = manifest;
    const { name } = manifest.contract.manifest.tool;
    const same = read.manifests.filter((one) => one.contract.manifest.tool.name === name && one !== manifest);
    const tool =
      same.length > 0 ? duplicateProblem(manifest, same) : (findLaxerApproval(manifest, approvals()) ?? makeTool(manifest, context));
    if ("detail" in tool) problems.push(tool);
    else tools.set(name, { tool, file, manifest });
  }
  const broken = new Map<string, FileProblem>();
  for (const problem of problems) if (problem.tool !== null && !broken.has(problem.tool)) broken.set(problem.tool, problem);
  for (const name of broken.keys()) tools.delete(name);
  const backends = read.manifests.map(({ contract }) => contract.manifest.backend);
  const named = [...new Set(backends.flatMap((b) => (b.kind === "mcp" ? [b.server] : [])))];
  const connect = (call: CallMcp): void => {
    mcp.call = call;
  };
  return { read, tools, broken, problems, context, servers: named, connect };
}

export const loadManifests = (config: Config, env: Env, ask: AskHidden): ProjectManifests =>
  projectManifests({
    root: config.root,
    tools: config.tools,
    directory: config.journal.directory,
    env,
    ask,
    ports: () => loadBuildPorts(config),
    ...(config.drafts === undefined ? {} : { drafts: config.drafts }),
  });

/** Tool manifests as a tool format, bound to a project and its secrets. */
export const manifestFormat = (config: Config, env: Env, ask: AskHidden): ToolFormat => ({
  name: "manifest",
  matches: isManifest,
  async load() {
    const { tools, broken, servers, connect } = loadManifests(config, env, ask);
    return { tools: [...tools.values()], broken, mcp: { servers, connect } };
  },
});

export function problemFault({ file, line, column, detail, hint }: FileProblem, more: number): FaultError {
  const others = more === 0 ? "" : ` (and ${more} more: \`orgate tools validate\` shows all)`;
  return new FaultError({ kind: "file-bad", file, line, column, detail: `${detail}${others}`, hint });
}

function makeTool({ contract, text, file }: ManifestFile, context: ManifestTools): Tool | FileProblem {
  try {
    return manifestTool(contract, text, context);
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    const { message, hint } = describeFault(error.fault);
    // what is checked when the tool is made: its records, and the schema of its output
    const setting =
      error.fault.kind === "tool-invalid" && error.fault.detail.startsWith("`records`")
        ? ["tool", "orgate", "records"]
        : ["output", "schema"];
    return { file, ...placeOfSetting(text, setting), detail: message, hint, tool: contract.manifest.tool.name };
  }
}

/** T-25 an approval that a server's entry requires cannot be avoided by another name. */
function findLaxerApproval({ contract, text, file }: ManifestFile, servers: readonly FoundServer[]): FileProblem | null {
  const { backend, tool } = contract.manifest;
  if (backend.kind !== "mcp" || tool.human_approval) return null;
  const entry = servers.find((one) => one.name === backend.server && one.kind === "usable");
  const said = entry?.kind === "usable" ? { ...entry.server.tools["*"], ...entry.server.tools[backend.tool] } : {};
  if (said.humanApproval !== true) return null;
  return {
    file,
    ...placeOfSetting(text, ["mcp", "tool"]),
    detail: `a person is asked before each call of \`${backend.tool}\`, says the entry of MCP server \`${backend.server}\`, and not by this manifest`,
    hint: "say `human_approval = true` in [tool]",
    tool: tool.name,
  };
}

/** Neither is used: the name is ambiguous. */
function duplicateProblem({ contract, text, file }: ManifestFile, [other]: readonly ManifestFile[]): FileProblem {
  const { name } = contract.manifest.tool;
  const detail = `tool \`${name}\` is defined in ${other?.shown ?? ""} too`;
  return { file, ...placeOfSetting(text, ["tool", "name"]), detail, hint: "rename one of them", tool: name };
}

function toManifestContext(place: ManifestSettings, { scope }: ReadManifests, mcp: { readonly call: CallMcp | null }): ManifestTools {
  const { root, directory, env, ask } = place;
  const guard = pathGuard({ root, also: [directory, ...resolvePlaces(place.tools)] });
  const hidden = [directory, join(root, ".orgate"), join(root, ".env"), orgateHome(env)];
  const places = openProjectPaths(root, hidden);
  const ports: LoadManifestPorts = place.ports ?? (async () => ({}));
  const programs = runnerFromPorts(
    ports,
    hostRunning({ protection: { judge: guard.judge, places: guard.places, alias: guard.alias, hidden } }),
  );
  const running: InvocationRunner = {
    run: (invocation: Invocation, options: RunOptions) =>
      invocation.kind === "mcp" && mcp.call !== null ? mcp.call(invocation, options) : programs.run(invocation, options),
  };
  return {
    world: { scope, places },
    running,
    secrets: secretsFromPorts(ports, openSecrets(secretStore(directory), env, ask)),
    work: openCallFolders(directory),
    hash: sha256,
    base64: (text) => Buffer.from(text, "utf8").toString("base64"),
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8", HOME: "/tmp" },
    fileDigest: (path) => digestFile(places, path),
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
  /** A secrets backend: the value of `{_secret:NAME}`, in place of the environment and the encrypted store. */
  secrets?: FindSecret;
  /** Runs programs and requests, in place of the sandbox and the HTTP guard. */
  running?: InvocationRunner;
}>;

/** For those who embed the runtime: the manifests of a folder as tools. If anything is wrong with one it throws `file-bad` with line and column. `[mcp]` manifests need a project. */
export function manifestTools(options: ManifestToolsOptions): readonly Tool[] {
  const hint = 'such as { root: "." }';
  assertArguments("manifestTools", { options: objectWith({ root: text(hint) }, hint) }, options);
  const { root, directory = join(root, ".orgate"), tools = ["tools/*.clad.toml"], env = process.env, secrets, running } = options;
  const found = projectManifests({
    root,
    tools,
    directory,
    env,
    ask: null,
    ports: async () => ({ ...(secrets === undefined ? {} : { secrets }), ...(running === undefined ? {} : { running }) }),
  });
  const [problem] = found.problems;
  if (problem !== undefined) throw problemFault(problem, found.problems.length - 1);
  return [...found.tools.values()].map(({ tool }) => tool);
}

const MAX_PROGRAM = 64 * 1024 * 1024;

function digestFile(places: ProjectPaths, path: string): Digest | null {
  const place = places.resolve(path, "exist");
  if (place.kind === "refused") return null;
  try {
    return sha256(Buffer.from(readBytes(place.absolute, MAX_PROGRAM)).toString("base64"));
  } catch {
    return null;
  }
}
