/**
 * A manifest as a contract: what the model is shown, how its arguments are checked, and what is built from them. Pure: files, scope and
 * secrets are handed in.
 * Rule: T-25.
 */
import { type CheckedArgs, type Effect, isPlainKind, type Json, type JsonObject, type Resource, toCanonicalJson } from "@orgate/core/vocab";
import type { ArgValue, ProjectPaths } from "./arg-type.ts";
import { type Ambient, fillCommand } from "./command.ts";
import { readTarget } from "./hosts.ts";
import { fillHttp, needsScope } from "./http.ts";
import { toInputSchema } from "./input-schema.ts";
import type { Arg, Manifest } from "./manifest.ts";
import type { Invocation, PathAccess } from "./running.ts";
import { refuseOutOfScope, type TargetScope } from "./scope.ts";
import type { TemplatePiece } from "./template.ts";

/** Arguments are checked against these. */
export type ContractScope = Readonly<{ scope: TargetScope; places: ProjectPaths }>;

/** Needed to build an invocation, beside the arguments. */
export type InvocationContext = Readonly<{
  /** Its value, or a mask where it is only to be shown. */
  secret(name: string): string;
  ambient(name: Ambient): string;
  /** Of every process: PATH and the like. */
  env: Readonly<Record<string, string>>;
  scanId: string;
}>;

export type BuiltInvocation =
  | Readonly<{ kind: "invocation"; invocation: Invocation }>
  | Readonly<{ kind: "refused"; reason: string; hint: string }>;

export type Contract = Readonly<{
  manifest: Manifest;
  inputSchema: JsonObject;
  effects: readonly Effect[];
  resourceTypes: readonly string[];
  /** Arguments that name whom or what a call is about. */
  targets: readonly string[];
  check(args: Json, world: ContractScope): Exclude<CheckedArgs, { kind: "refused" }>;
  resource(args: JsonObject): Resource;
  /** `args` are those that `check` gave back; they are checked again, since the world may have changed. */
  invoke(args: JsonObject, world: ContractScope, around: InvocationContext): BuiltInvocation;
}>;

export function createContract(manifest: Manifest): Contract {
  const { tool, args, backend } = manifest;
  const about = subjectOf(manifest);
  const reaches = backend.kind === "http" || tool.orgate.hosts.length > 0 || [...args.values()].some((arg) => arg.isHost);
  const plain: readonly Effect[] =
    backend.kind === "http" ? ["network"] : reaches && backend.kind !== "mcp" ? ["execute", "network"] : ["execute"];
  return {
    manifest,
    inputSchema: toInputSchema(args),
    effects: effectsOf(tool.orgate.effects ?? plain, manifest, reaches && backend.kind !== "mcp"),
    resourceTypes: about.types,
    targets: [...args.values()]
      .filter((arg) => (arg.def.target ?? (arg.isHost || arg.def.of !== undefined)) !== false)
      .map((arg) => arg.name),
    check: (given, world) => {
      const read = takeAll(args, given, world);
      return read.kind === "bad" ? { kind: "invalid", issues: read.issues } : { kind: "valid", args: valuesOf(read.taken) };
    },
    resource: about.resource,
    invoke: (given, world, around) => {
      const read = takeAll(args, given, world);
      if (read.kind === "bad") return refused(read.issues.join("; "), "what it was decided on does not hold any more");
      if (toCanonicalJson(valuesOf(read.taken)) !== toCanonicalJson(given))
        return refused("an argument means something else by now", "propose it again");
      return build(manifest, read.taken, world, around);
    },
  };
}

/** T-25 whatever a manifest claims: what reaches a host is `network`, and what runs without a sandbox says so. */
const effectsOf = (claimed: readonly Effect[], manifest: Manifest, reaches: boolean): readonly Effect[] => [
  ...new Set<Effect>([
    ...claimed,
    ...(reaches ? (["network"] as const) : []),
    ...(isUnsandboxed(manifest) ? (["unsandboxed"] as const) : []),
  ]),
];

/** T-29 it must be permitted as such, whatever effects the manifest claims. */
const isUnsandboxed = ({ tool, backend }: Manifest): boolean =>
  tool.orgate.sandbox === "none" && (backend.kind === "command" || backend.kind === "executor");

const refused = (reason: string, hint: string): BuiltInvocation => ({ kind: "refused", reason, hint });

type Value = Extract<ArgValue, { kind: "value" }>;
type TakenArgs = ReadonlyMap<string, Value>;
type Read = Readonly<{ kind: "taken"; taken: TakenArgs }> | Readonly<{ kind: "bad"; issues: readonly string[] }>;

const MAX_ISSUES = 10;

function takeAll(args: Manifest["args"], given: Json, world: ContractScope): Read {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return { kind: "bad", issues: ["arguments must be an object"] };
  const fields = given as JsonObject;
  const issues: string[] = [];
  for (const name of Object.keys(fields)) if (!args.has(name)) issues.push(`there is no argument \`${name.slice(0, 64)}\``);
  const taken = new Map<string, Value>();
  for (const arg of args.values()) {
    const value = Object.hasOwn(fields, arg.name) && !isNothing(fields[arg.name] ?? null) ? (fields[arg.name] ?? null) : arg.fallback;
    if (value === null) {
      if (arg.def.required) issues.push(`${arg.name}: is missing`);
      continue;
    }
    const one = arg.take(value, world.places);
    const why = one.kind === "bad" ? one.why : arg.isScoped && one.host !== null ? refuseOutOfScope(one.host, world.scope) : null;
    if (why !== null) issues.push(`${arg.name}: ${why}`);
    else if (one.kind === "value") taken.set(arg.name, one);
  }
  return issues.length > 0 ? { kind: "bad", issues: issues.slice(0, MAX_ISSUES) } : { kind: "taken", taken };
}

/** An argument that is not given is undefined, null or an empty text. */
const isNothing = (value: Json): boolean => value === null || (typeof value === "string" && value.trim() === "");

const valuesOf = (taken: TakenArgs): JsonObject => Object.fromEntries([...taken].map(([name, { value }]) => [name, value]));

/** A plain text or a number says what is done, and nothing is touched by it. */
const isAimed = ({ def: { target } }: Arg): boolean => target === true || (typeof target === "string" && !isPlainKind(target));

type Subject = Readonly<{ types: readonly string[]; resource(args: JsonObject): Resource }>;

/** The resource that policies decide about: the host or file that the first such argument names, or the host of a request that is the manifest's own; else the tool itself. */
function subjectOf({ tool, args, backend }: Manifest): Subject {
  const inOrder = [...args.values()].sort((a, b) => (a.def.position ?? MANY) - (b.def.position ?? MANY));
  const arg = inOrder.find((one) => one.isHost) ?? inOrder.find((one) => isPath(one)) ?? inOrder.find((one) => isAimed(one)) ?? null;
  const fixed = backend.kind === "http" ? backend.http.host : null;
  if (fixed !== null) {
    const host: Resource = { type: tool.cedar.resource ?? "Host", id: fixed.text };
    return { types: [host.type], resource: () => host };
  }
  const own: Resource = { type: tool.cedar.resource ?? "Tool", id: tool.name };
  const type = tool.cedar.resource ?? (arg === null ? "Tool" : arg.isHost ? "Host" : isPath(arg) ? "File" : "Tool");
  const resource = (given: JsonObject): Resource => {
    const value = arg === null ? undefined : given[arg.name];
    if (arg === null || typeof value !== "string" || value === "") return own;
    return { type, id: arg.type === "url" ? (URL.parse(value)?.hostname ?? value) : value };
  };
  return { types: [...new Set([type, own.type])].sort(), resource };
}
const MANY = Number.MAX_SAFE_INTEGER;
const isPath = ({ type }: Arg): boolean => type === "path" || type === "credential_file";

function build(manifest: Manifest, taken: TakenArgs, world: ContractScope, around: InvocationContext): BuiltInvocation {
  const { tool, backend } = manifest;
  const timeMs = tool.timeout_seconds * 1000;
  const outputBytes = tool.orgate.output_bytes;
  switch (backend.kind) {
    case "mcp": {
      const args = Object.fromEntries([...taken].map(([name, { value }]) => [backend.fields[name] ?? name, value]));
      return { kind: "invocation", invocation: { kind: "mcp", server: backend.server, tool: backend.tool, args, timeMs, outputBytes } };
    }
    case "http": {
      const textOf = (name: string): string | null => taken.get(name)?.text ?? null;
      const filled = fillHttp(backend.http, { textOf, jsonOf: (name) => taken.get(name)?.value ?? null, secret: around.secret });
      if (filled.kind === "refused") return refused(filled.why, "propose it with other arguments");
      const { host, ...request } = filled.request;
      const why = needsScope(host) ? refuseOutOfScope(host, world.scope) : null;
      if (why !== null) return refused(`\`${host.text}\` is an address inside this network and ${why}`, "name it in scope/scope.toml");
      const allow = [host.text, ...addressesIn(world.scope), ...excludedIn(world.scope)];
      return { kind: "invocation", invocation: { kind: "http", method: backend.http.method, ...request, allow, timeMs, outputBytes } };
    }
    case "command": {
      const filled = fillCommand(backend.command, (name) => taken.get(name)?.text ?? null, around.ambient);
      return filled.kind === "refused"
        ? refused(filled.why, "propose it with other arguments")
        : processInvocation(manifest, { argv: filled.argv, own: {} }, { taken, world, around });
    }
    case "executor": {
      const file = world.places.resolve(backend.file, "be-a-file");
      if (file.kind === "refused") return refused(`\`${backend.file}\` ${file.why}`, "`executor` names a program in the project");
      const env = Object.fromEntries([...taken].map(([name, { text }]) => [`TOOLCLAD_ARG_${name.toUpperCase()}`, text]));
      const own = { ...env, TOOLCLAD_SCAN_ID: around.scanId };
      const made = processInvocation(manifest, { argv: [file.absolute], own }, { taken, world, around });
      if (made.kind === "refused" || made.invocation.kind !== "process") return made;
      const paths = [...made.invocation.paths, { path: file.absolute, access: "read" as const }]; // what is run is seen
      return { kind: "invocation", invocation: { ...made.invocation, paths } };
    }
  }
}

/** An excluded host stays excluded wherever a name or a redirect leads. */
const excludedIn = (scope: TargetScope): readonly string[] =>
  scope.exclude.map((one) => (one.kind === "host" ? `!${one.host.text}` : `!*${one.suffix}`));

/** Addresses and ranges that the scope opens by name: only they may be reached inside this network. */
const addressesIn = (scope: TargetScope): readonly string[] =>
  scope.targets.flatMap((t) => (t.kind === "host" && t.host.kind !== "name" ? [t.host.text] : []));

type Call = Readonly<{ taken: TakenArgs; world: ContractScope; around: InvocationContext }>;

/** `own`: variables beside those of the manifest. */
function processInvocation(
  { tool, env, stdin, args }: Manifest,
  { argv, own }: Readonly<{ argv: readonly string[]; own: Readonly<Record<string, string>> }>,
  { taken, world, around }: Call,
): BuiltInvocation {
  const { orgate } = tool;
  const text = (pieces: readonly TemplatePiece[]): string =>
    pieces.map((p) => (p.kind === "text" ? p.text : p.kind === "value" ? (taken.get(p.name)?.text ?? "") : around.secret(p.name))).join("");
  const outside = hostsOf(orgate.hosts, world.scope);
  if (typeof outside === "string") return refused(outside, "name it in scope/scope.toml");
  const named = [...taken.values()].flatMap(({ host }) => (host === null ? [] : [host.text]));
  const paths: PathAccess[] = [...taken].flatMap(([name, { path }]) =>
    path === null ? [] : [{ path, access: orgate.writes.includes(`{${name}}`) ? ("write" as const) : ("read" as const) }],
  );
  const fixed = [
    ...orgate.reads.map((path) => ({ path, access: "read" as const })),
    ...orgate.writes.filter((path) => !isArgument(path)).map((path) => ({ path, access: "write" as const })),
  ];
  let cwd: string | null = null;
  for (const { path, access } of fixed) {
    const place = world.places.resolve(path, "exist");
    if (place.kind === "refused") return refused(`\`${path}\` ${place.why}`, "`reads` and `writes` name folders and files of the project");
    paths.push({ path: place.absolute, access });
    if (place.real === ".") cwd = place.absolute;
  }
  const reaches = [...args.values()].some((arg) => arg.isHost) || outside.length > 0;
  return {
    kind: "invocation",
    invocation: {
      kind: "process",
      argv,
      cwd,
      env: { ...around.env, ...own, ...Object.fromEntries(env.map(([name, pieces]) => [name, text(pieces)])) },
      stdin: stdin === null ? null : text(stdin),
      network: reaches ? [...new Set([...named, ...outside, ...addressesIn(world.scope), ...excludedIn(world.scope)])] : null,
      paths,
      tier: orgate.sandbox,
      limits: {
        memoryBytes: orgate.memory_mb * 1024 * 1024,
        processes: orgate.processes,
        fileBytes: orgate.file_mb * 1024 * 1024,
        openFiles: orgate.open_files,
        timeMs: tool.timeout_seconds * 1000,
        outputBytes: orgate.output_bytes,
      },
    },
  };
}

const isArgument = (path: string): boolean => /^\{[A-Za-z][A-Za-z0-9_]*\}$/.test(path);

function hostsOf(hosts: readonly string[], scope: TargetScope): readonly string[] | string {
  for (const text of hosts) {
    const read = readTarget(text);
    const why = read.kind === "bad" ? read.why : refuseOutOfScope(read.host, scope);
    if (why !== null) return `\`${text}\` ${why}`;
  }
  return hosts;
}
