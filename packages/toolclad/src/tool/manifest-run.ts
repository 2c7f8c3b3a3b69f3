/** One call of a manifest: builds the invocation, runs it, reads its output, keeps the evidence. Secrets are masked in everything it shows. */
import {
  type Digest,
  errorMessage,
  FaultError,
  type fromJsonSchema,
  type Hash,
  type Json,
  type JsonObject,
  type ToolContext,
} from "@orgate/core";
import type { Ambient } from "../contract/command.ts";
import type { Contract, ContractScope } from "../contract/contract.ts";
import { createMask, type Mask, maskJson, type Result, toManifestResult } from "../contract/result.ts";
import type { Invocation, InvocationResult, InvocationRunner } from "../contract/running.ts";

type Secrets = ReadonlyMap<string, string>;
/** Rejects when one of these is missing. */
export type SecretsPort = Readonly<{ take(names: readonly string[]): Promise<Secrets> }>;

export type ManifestContext = Readonly<{
  folder: string;
  read(name: string, maxBytes: number): string | null;
  /** The whole path of what was written. */
  write(name: string, text: string): string;
  close(): void;
}>;

/** Where a call may put what it writes: a folder that is its own, and is gone afterwards. */
export type CallFolders = Readonly<{
  /** Absolute, empty, writable; `close` removes it. */
  open(): ManifestContext;
  /** Keeps what was printed below the project's folder of evidence; its path there. */
  keep(path: string, text: string): string;
}>;

export type ManifestTools = Readonly<{
  world: ContractScope;
  running: InvocationRunner;
  secrets: SecretsPort;
  work: CallFolders;
  hash: Hash;
  base64(text: string): string;
  env: Readonly<Record<string, string>>;
  /** Null: a program may write there. */
  whyNotWrite(path: string): string | null;
  /** Of what a file of the project holds; null: it cannot be read. */
  fileDigest(path: string): Digest | null;
}>;

type Fits = Extract<ReturnType<typeof fromJsonSchema>, { kind: "schema" }>["schema"];

/** A manifest as it was loaded. `fits`: the schema of its output, if it has one. */
type LoadedManifest = Readonly<{ contract: Contract; digest: Digest; fits: Fits | null }>;

export async function runManifest(
  { contract, digest, fits }: LoadedManifest,
  args: JsonObject,
  context: ToolContext,
  ground: ManifestTools,
): Promise<Json> {
  const { tool, secrets: names } = contract.manifest;
  const scanId = context.key.replaceAll(/[^A-Za-z0-9_-]/g, "-");
  const secrets = await ground.secrets.take(names);
  const mask = createMask(secrets, ground.base64);
  const desk = ground.work.open();
  try {
    const around = (secret: (name: string) => string) => ({
      secret,
      scanId,
      env: ground.env,
      ambient: (name: Ambient) => ambientOf(name, desk.folder, scanId),
    });
    const shown = contract.invoke(
      args,
      ground.world,
      around((name) => `{_secret:${name}}`),
    );
    const built = contract.invoke(
      args,
      ground.world,
      around((name) => secrets.get(name) ?? ""),
    );
    if (built.kind === "refused" || shown.kind === "refused") throw new Error(refusal(built.kind === "refused" ? built : shown));
    context.evidence({
      tool: tool.name,
      version: tool.version,
      manifest: digest,
      parameters: args,
      invocation: shownOf(shown.invocation, ground.hash),
    });
    const granted = withDesk(built.invocation, contract, desk.folder);
    mustNotWrite(granted, ground);
    const ran = maskRan(withFile(await start(granted, { secrets, mask }, context, ground), contract, desk), mask);
    const read = await parseOutput(ran, { contract, desk, signal: context.signal }, ground);
    const told = toManifestResult(read.format === null ? contract.manifest : inFormat(contract, read.format), read.ran);
    const masked = told.kind === "done" ? { ...told, output: maskJson(told.output, mask) } : told; // what was written twice over is seen only now
    const result = read.trouble !== null && masked.kind === "done" ? { ...masked, withheld: read.trouble } : masked;
    const hash = ground.hash(result.raw);
    const kept = keepRaw(contract, result.raw, scanId, ground);
    context.evidence({
      exitStatus: "status" in result ? result.status : null,
      outputSha256: hash,
      durationMs: "durationMs" in ran ? ran.durationMs : 0,
      ...(kept === null ? {} : { output: kept }),
    });
    const about = { tool: tool.name, scanId, hash, durationMs: "durationMs" in ran ? ran.durationMs : 0 };
    const output = settle(result, fits, context);
    return output.kind === "withheld" || !contract.manifest.output.envelope ? output.value : envelope(output.value, about);
  } finally {
    desk.close();
  }
}

const inFormat = ({ manifest }: Contract, format: "json") => ({ ...manifest, output: { ...manifest.output, format } });

/** Whatever a runner throws, no secret is in it. */
async function start(
  invocation: Invocation,
  { secrets, mask }: Readonly<{ secrets: Secrets; mask: Mask }>,
  context: ToolContext,
  ground: ManifestTools,
): Promise<InvocationResult> {
  try {
    return await ground.running.run(invocation, { signal: context.signal, onOutput: progress(context, secrets) });
  } catch (error) {
    if (error instanceof FaultError || secrets.size === 0) throw error;
    throw new Error(mask(errorMessage(error)));
  }
}

const refusal = (built: Readonly<{ kind: string; reason?: string; hint?: string }>): string =>
  `not run: ${built.reason ?? ""} (${built.hint ?? ""})`;

const OUTPUT = "output";
function ambientOf(name: Ambient, folder: string, scanId: string): string {
  switch (name) {
    case "_scan_id":
      return scanId;
    case "_evidence_dir":
      return folder;
    case "_output_file":
      return `${folder}/${OUTPUT}`;
  }
}

const usesDesk = ({ manifest: { backend } }: Contract): boolean =>
  backend.kind === "command" && backend.command.ambient.some((name) => name !== "_scan_id");

/** The folder is shown only to a program that has a use for it. */
function withDesk(invocation: Invocation, contract: Contract, folder: string): Invocation {
  if (invocation.kind !== "process" || !usesDesk(contract)) return invocation;
  return { ...invocation, paths: [...invocation.paths, { path: folder, access: "write" }] };
}

function mustNotWrite(invocation: Invocation, ground: ManifestTools): void {
  if (invocation.kind !== "process") return;
  for (const { path, access } of invocation.paths) {
    const why = access === "write" ? ground.whyNotWrite(path) : null;
    if (why !== null) throw new Error(`not run: \`${path}\` is protected: ${why}`);
  }
}

/** The text in `{_output_file}` is the output of the program. */
function withFile(ran: InvocationResult, contract: Contract, desk: ManifestContext): InvocationResult {
  const { backend, tool } = contract.manifest;
  if (ran.kind !== "exited" || backend.kind !== "command" || !backend.command.ambient.includes("_output_file")) return ran;
  const most = tool.orgate.output_bytes;
  const left = desk.read(OUTPUT, most + 1);
  if (left === null) return ran;
  return left.length > most ? { ...ran, stdout: left.slice(0, most), truncated: true } : { ...ran, stdout: left, truncated: false };
}

function maskRan(ran: InvocationResult, mask: Mask): InvocationResult {
  switch (ran.kind) {
    case "exited":
      return { ...ran, stdout: mask(ran.stdout, ran.truncated), stderr: mask(ran.stderr, ran.truncated) };
    case "responded":
      return { ...ran, body: mask(ran.body, ran.truncated) };
    case "answered":
      return { ...ran, output: maskJson(ran.output, mask) };
    case "refused":
      return { ...ran, reason: mask(ran.reason), hint: mask(ran.hint) };
    case "stopped":
      return { ...ran, detail: mask(ran.detail), stdout: mask(ran.stdout, true), stderr: mask(ran.stderr, true) };
  }
}

type Read = Readonly<{ ran: InvocationResult; format: "json" | null; trouble: string | null }>;

/** A parser of the project's own is a program like any other: in the sandbox, without network, shown nothing but what was printed. It prints JSON. */
async function parseOutput(
  ran: InvocationResult,
  { contract, desk, signal }: Readonly<{ contract: Contract; desk: ManifestContext; signal: AbortSignal }>,
  ground: ManifestTools,
): Promise<Read> {
  const { output, tool } = contract.manifest;
  const file = output.parser === null || output.parser.startsWith("builtin:") ? null : output.parser.replace(/^custom:/, "");
  const text = ran.kind === "exited" && ran.code === 0 ? ran.stdout : ran.kind === "responded" ? ran.body : null;
  if (file === null || text === null) return { ran, format: null, trouble: null };
  const place = ground.world.places.resolve(file, "be-a-file");
  if (place.kind === "refused") return { ran, format: "json", trouble: `its parser \`${file}\` ${place.why}` };
  const { memory_mb, processes, file_mb, open_files, output_bytes } = tool.orgate;
  const megabyte = 1024 * 1024;
  const limits = {
    memoryBytes: memory_mb * megabyte,
    processes,
    fileBytes: file_mb * megabyte,
    openFiles: open_files,
    timeMs: tool.timeout_seconds * 1000,
    outputBytes: output_bytes,
  };
  const argv = [place.absolute, desk.write("printed", text)]; // the format hands over a file's name
  const paths = [place.absolute, desk.folder].map((path) => ({ path, access: "read" as const }));
  const again = await ground.running.run(
    { kind: "process", argv, cwd: null, env: ground.env, stdin: null, network: null, paths, tier: "process", limits },
    { signal, onOutput: () => {} },
  );
  if (again.kind !== "exited" || again.code !== 0 || again.truncated) return { ran, format: "json", trouble: "its parser failed" };
  const printed = again.stdout;
  const made = ran.kind === "exited" ? { ...ran, stdout: printed } : ran.kind === "responded" ? { ...ran, body: printed } : ran;
  return { ran: made, format: "json", trouble: null };
}

/** As JSON for the journal: long bodies by their digest. */
function shownOf(invocation: Invocation, hash: Hash): JsonObject {
  switch (invocation.kind) {
    case "process": {
      const { argv, cwd, env, network, paths, tier, limits, stdin } = invocation;
      return {
        kind: "process",
        argv,
        cwd,
        env,
        network,
        paths: paths.map(({ path, access }) => ({ path, access })),
        tier,
        limits,
        stdin: short(stdin, hash),
      };
    }
    case "http": {
      const { method, url, headers, body, allow } = invocation;
      return { kind: "http", method, url, headers, body: short(body, hash), allow };
    }
    case "mcp": {
      const { server, tool, args } = invocation;
      return { kind: "mcp", server, tool, args };
    }
  }
}
const short = (text: string | null, hash: Hash): Json =>
  text === null || text.length <= 4_096 ? text : { sha256: hash(text), characters: text.length };

const MAX_NOTES = 32;
const MAX_NOTE = 4_096;

/** Progress is a courtesy: a little of it, and nothing where a secret could be torn apart and slip through. */
function progress(context: ToolContext, secrets: Secrets): (piece: string) => void {
  let left = MAX_NOTES;
  return (piece) => {
    if (secrets.size > 0 || left === 0 || piece === "") return;
    left -= 1;
    context.note("output", piece.slice(0, MAX_NOTE));
  };
}

/** Only where the manifest names a folder for it. */
function keepRaw({ manifest: { tool } }: Contract, raw: string, scanId: string, ground: ManifestTools): string | null {
  const { output_dir, capture } = tool.evidence;
  if (output_dir === undefined || !capture) return null;
  const path = output_dir.replace(/^\{_?evidence_dir\}\/?/, "").replaceAll(/\{_?scan_id\}/g, scanId);
  return ground.work.keep(`${path === "" ? scanId : path}/${OUTPUT}`, raw);
}

type Settled = Readonly<{ kind: "output" | "withheld"; value: Json }>;

/** Throws when the call failed, or its outcome is unknown. */
function settle(result: Result, fits: Fits | null, context: ToolContext): Settled {
  if (result.kind === "failed") throw new Error(result.error);
  if (result.kind === "unknown") throw new FaultError({ kind: "outcome-unknown", cause: result.cause, detail: result.detail });
  const why = result.withheld ?? (fits === null ? null : unfit(result.output, fits));
  if (why === null) return { kind: "output", value: result.output };
  context.note("output-withheld", { why });
  return { kind: "withheld", value: { done: true, output: `withheld: ${why}` } };
}

type About = Readonly<{ tool: string; scanId: string; hash: Digest; durationMs: number }>;

const envelope = (results: Json, { tool, scanId, hash, durationMs }: About): Json => ({
  status: "success",
  tool,
  scan_id: scanId,
  duration_ms: durationMs,
  output_hash: `sha256:${hash}`,
  results,
});

function unfit(output: Json, fits: Fits): string | null {
  const checked = fits["~standard"].validate(output);
  if ("then" in checked) return "its schema answers too late";
  if (checked.issues === undefined) return null;
  const [issue] = checked.issues;
  const at = (issue?.path ?? []).map((step) => String(typeof step === "object" ? step.key : step)).join(".");
  return `it does not fit \`output.schema\`${at === "" ? "" : ` at ${at}`}: ${issue?.message ?? ""}`;
}
