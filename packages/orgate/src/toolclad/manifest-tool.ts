/**
 * A contract as a tool of the loop. What the model sent is checked by the contract before anything is decided; what runs is built from the
 * manifest once it is permitted; what it showed of itself goes into the evidence, secrets masked.
 */

import {
  canonical,
  type Digest,
  defineTool,
  digestOf,
  FaultError,
  fromJsonSchema,
  type Hash,
  type Json,
  type JsonObject,
  type TargetKind,
  type Tool,
  type ToolContext,
} from "@orgate/core";
import {
  type Ambient,
  type Arg,
  type Contract,
  type Invocation,
  type Mask,
  masker,
  maskJson,
  type Ran,
  type Result,
  type Running,
  resultOf,
  type World,
} from "@orgate/core/contracts";
import type { SecretsPort } from "../identity/secrets.ts";
import type { Secrets } from "../identity/secrets-file.ts";
import { errorMessage } from "../node/error-message.ts";

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
  world: World;
  running: Running;
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

/** Throws `tool-invalid` when its output cannot be checked as it says. */
export function manifestTool(contract: Contract, text: string, ground: ManifestTools): Tool {
  const { tool, output } = contract.manifest;
  const fits = output.schema === null ? null : fromJsonSchema(output.schema);
  if (fits?.kind === "refused")
    throw new FaultError({ kind: "tool-invalid", tool: tool.name, detail: `\`output.schema\` cannot be enforced: ${fits.detail}` });
  const digest = digestOf({ manifest: text }, ground.hash);
  const programs = programsOf(contract, ground);
  const made = defineTool({
    name: tool.name,
    version: tool.version,
    description: tool.description,
    input: schemaOf(contract, ground.world),
    repeat: tool.orgate.repeat,
    effects: contract.effects,
    ...(tool.orgate.labels === undefined ? {} : { labels: tool.orgate.labels }),
    riskTier: tool.risk_tier,
    humanApproval: tool.human_approval,
    resource: (args) => contract.resource(args as JsonObject),
    resourceTypes: contract.resourceTypes,
    targets: targetsOf(contract),
    timeoutMs: tool.timeout_seconds * 1000,
    run: (args, context) => {
      const now = programsOf(contract, ground);
      if (Object.values(now).includes(null) || canonical(now) !== canonical(programs))
        throw new Error("not run: a program of this tool cannot be read, or is not what it was when the tool was loaded");
      return run(contract, digest, fits?.schema ?? null, args as JsonObject, context, ground);
    },
  });
  const isProcess = contract.manifest.backend.kind === "command" || contract.manifest.backend.kind === "executor";
  const { backend } = contract.manifest;
  const server = backend.kind === "mcp" ? backend.server : null; // whose breaker its calls share
  return Object.freeze({
    ...made,
    server,
    sandbox: isProcess ? tool.orgate.sandbox : null,
    basis: basisOf(contract, digest, programs, ground),
  });
}

/** T-25 what a tool is hangs on more than its manifest: custom types, the scope of what reaches hosts, the programs of the project that it runs. */
function basisOf(contract: Contract, manifest: Digest, programs: JsonObject, { world, hash }: ManifestTools): JsonObject {
  const { args, backend } = contract.manifest;
  const defs = [...args.values()].map(({ name, def }) => JSON.stringify([name, def]));
  const reaches = backend.kind === "http" || contract.effects.includes("network");
  const { texts, exclude } = world.scope;
  const excluded = exclude.map((one) => (one.kind === "host" ? one.host.text : one.suffix));
  return {
    manifest,
    arguments: digestOf(defs, hash),
    ...(reaches ? { scope: digestOf({ texts, excluded }, hash) } : {}),
    ...(Object.keys(programs).length === 0 ? {} : { programs }),
  };
}

/** Of the project's own: what is installed on the machine is not ours to watch. */
function programsOf({ manifest: { backend, output } }: Contract, { fileDigest }: ManifestTools): JsonObject {
  const parser = output.parser === null || output.parser.startsWith("builtin:") ? [] : [output.parser.replace(/^custom:/, "")];
  const files = [...(backend.kind === "executor" ? [backend.file] : []), ...parser];
  return Object.fromEntries(files.map((file) => [file, fileDigest(file)]));
}

/** The contract's own check, in the clothes that a definition takes. */
const schemaOf = (contract: Contract, world: World) => ({
  "~standard": {
    version: 1 as const,
    vendor: "orgate",
    validate: (value: unknown) => {
      const checked = contract.check(value as Json, world);
      return checked.kind === "valid" ? { value: checked.args } : { issues: checked.issues.map((message) => ({ message })) };
    },
    jsonSchema: { input: () => contract.inputSchema, output: () => contract.inputSchema },
  },
});

const targetsOf = ({ targets, manifest }: Contract): Readonly<Record<string, TargetKind>> =>
  Object.fromEntries(
    targets.flatMap((name) => (kindOf(manifest.args.get(name)) === null ? [] : [[name, kindOf(manifest.args.get(name)) ?? "id"]])),
  );

/** Numbers and flags name nobody. */
function kindOf(arg: Arg | undefined): TargetKind | null {
  if (arg === undefined || arg.type === "integer" || arg.type === "number" || arg.type === "port" || arg.type === "boolean") return null;
  if (arg.isHost) return "host";
  return arg.type === "path" || arg.type === "credential_file" ? "path" : "id";
}

type Fits = Extract<ReturnType<typeof fromJsonSchema>, { kind: "schema" }>["schema"];

async function run(
  contract: Contract,
  digest: Digest,
  fits: Fits | null,
  args: JsonObject,
  context: ToolContext,
  ground: ManifestTools,
): Promise<Json> {
  const { tool, secrets: names } = contract.manifest;
  const scanId = context.key.replaceAll(/[^A-Za-z0-9_-]/g, "-");
  const secrets = await ground.secrets.take(names);
  const mask = masker(secrets, ground.base64);
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
    const ran = maskRan(withFile(await started(granted, context, secrets, mask, ground), contract, desk), mask);
    const read = await parsed(ran, contract, desk, context, ground);
    const told = resultOf(read.format === null ? contract.manifest : inFormat(contract, read.format), read.ran);
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
    return settled(contract, result, fits, { scanId, hash, durationMs: "durationMs" in ran ? ran.durationMs : 0 }, context);
  } finally {
    desk.close();
  }
}

const inFormat = ({ manifest }: Contract, format: "json") => ({ ...manifest, output: { ...manifest.output, format } });

/** Whatever a runner throws, no secret is in it. */
async function started(
  invocation: Invocation,
  context: ToolContext,
  secrets: Secrets,
  mask: (text: string) => string,
  ground: ManifestTools,
): Promise<Ran> {
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

/** What a program left in `{_output_file}` is its output. */
function withFile(ran: Ran, contract: Contract, desk: ManifestContext): Ran {
  const { backend, tool } = contract.manifest;
  if (ran.kind !== "exited" || backend.kind !== "command" || !backend.command.ambient.includes("_output_file")) return ran;
  const most = tool.orgate.output_bytes;
  const left = desk.read(OUTPUT, most + 1);
  if (left === null) return ran;
  return left.length > most ? { ...ran, stdout: left.slice(0, most), truncated: true } : { ...ran, stdout: left, truncated: false };
}

function maskRan(ran: Ran, mask: Mask): Ran {
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

type Read = Readonly<{ ran: Ran; format: "json" | null; trouble: string | null }>;

/** A parser of the project's own is a program like any other: in the sandbox, without network, shown nothing but what was printed. It prints JSON. */
async function parsed(ran: Ran, contract: Contract, desk: ManifestContext, context: ToolContext, ground: ManifestTools): Promise<Read> {
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
    { signal: context.signal, onOutput: () => {} },
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

type About = Readonly<{ scanId: string; hash: Digest; durationMs: number }>;

function settled(contract: Contract, result: Result, fits: Fits | null, about: About, context: ToolContext): Json {
  if (result.kind === "failed") throw new Error(result.error);
  if (result.kind === "unknown") throw new FaultError({ kind: "outcome-unknown", cause: result.cause, detail: result.detail });
  const why = result.withheld ?? (fits === null ? null : unfit(result.output, fits));
  if (why !== null) {
    context.note("output-withheld", { why });
    return { done: true, output: `withheld: ${why}` };
  }
  if (!contract.manifest.output.envelope) return result.output;
  const { tool } = contract.manifest;
  return {
    status: "success",
    tool: tool.name,
    scan_id: about.scanId,
    duration_ms: about.durationMs,
    output_hash: `sha256:${about.hash}`,
    results: result.output,
  };
}

function unfit(output: Json, fits: Fits): string | null {
  const checked = fits["~standard"].validate(output);
  if ("then" in checked) return "its schema answers too late";
  if (checked.issues === undefined) return null;
  const [issue] = checked.issues;
  const at = (issue?.path ?? []).map((step) => String(typeof step === "object" ? step.key : step)).join(".");
  return `it does not fit \`output.schema\`${at === "" ? "" : ` at ${at}`}: ${issue?.message ?? ""}`;
}
