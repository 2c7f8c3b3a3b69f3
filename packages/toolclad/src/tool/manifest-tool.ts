/**
 * A contract as a tool of the loop. What the model sent is checked by the contract before anything is decided; what runs is built from the
 * manifest once it is permitted; what it showed of itself goes into the evidence, secrets masked.
 */

import {
  type Digest,
  defineTool,
  digestJson,
  FaultError,
  fromJsonSchema,
  type Json,
  type JsonObject,
  type RecordDefinition,
  type TargetDefinition,
  type TargetKind,
  type Tool,
  toCanonicalJson,
} from "@orgate/core";
import { lazily } from "@orgate/core/vocab";
import type { Contract, ContractScope } from "../contract/contract.ts";
import type { Arg } from "../contract/manifest.ts";
import type { ManifestTools } from "./manifest-run.ts";

/** Loaded with the first call of any manifest's tool. */
const running = lazily(() => import("./manifest-run.ts"));

/** Throws `tool-invalid` when its output cannot be checked as it says. */
export function manifestTool(contract: Contract, text: string, ground: ManifestTools): Tool {
  const { tool, output } = contract.manifest;
  const fits = output.schema === null ? null : fromJsonSchema(output.schema);
  if (fits?.kind === "refused")
    throw new FaultError({ kind: "tool-invalid", tool: tool.name, detail: `\`output.schema\` cannot be enforced: ${fits.detail}` });
  const digest = digestJson({ manifest: text }, ground.hash);
  const programs = programsOf(contract, ground);
  const made = defineTool({
    name: tool.name,
    version: tool.version,
    description: tool.description,
    input: schemaOf(contract, ground.world),
    repeat: tool.orgate.repeat,
    effects: contract.effects,
    ...(tool.orgate.labels === undefined ? {} : { labels: tool.orgate.labels }),
    ...(tool.orgate.records === undefined ? {} : { records: tool.orgate.records as unknown as readonly RecordDefinition[] }), // read strictly there
    riskTier: tool.risk_tier,
    humanApproval: tool.human_approval,
    resource: (args) => contract.resource(args as JsonObject),
    resourceTypes: contract.resourceTypes,
    targets: targetsOf(contract),
    timeoutMs: tool.timeout_seconds * 1000,
    run: async (args, context) => {
      const { runManifest } = await running();
      const now = programsOf(contract, ground);
      if (Object.values(now).includes(null) || toCanonicalJson(now) !== toCanonicalJson(programs))
        throw new Error("not run: a program of this tool cannot be read, or is not what it was when the tool was loaded");
      return runManifest({ contract, digest, fits: fits?.schema ?? null }, args as JsonObject, context, ground);
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
    arguments: digestJson(defs, hash),
    ...(reaches ? { scope: digestJson({ texts, excluded }, hash) } : {}),
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
const schemaOf = (contract: Contract, world: ContractScope) => ({
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

const targetsOf = ({ targets, manifest }: Contract): Readonly<Record<string, TargetDefinition>> =>
  Object.fromEntries(
    targets.flatMap((name): [string, TargetDefinition][] => {
      const arg = manifest.args.get(name);
      const kind = kindOf(arg);
      const { of, target_per: per, target } = arg?.def ?? {};
      if (of !== undefined) return [[name, { kind: typeof target === "string" ? target : "id", of }]];
      return kind === null ? [] : [[name, { kind, ...(per === undefined ? {} : { per }) }]];
    }),
  );

/** Numbers and flags name nobody, unless the manifest says what they are. */
function kindOf(arg: Arg | undefined): TargetKind | null {
  if (typeof arg?.def.target === "string") return arg.def.target;
  if (arg === undefined || arg.type === "integer" || arg.type === "number" || arg.type === "port" || arg.type === "boolean") return null;
  if (arg.isHost) return "host";
  return arg.type === "path" || arg.type === "credential_file" ? "path" : "id";
}
