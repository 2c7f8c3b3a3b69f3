/**
 * Agents as small TOML files: `name`, `instructions`, `model`, `fallbacks`, `tools` by name, `limits`, `recover`, `retry`, `breaker`, `groups`, `delegates`, `maxDepth`,
 * `skills`, `mcp`, `knowledge`, `projectInstructions`, `modelOptions`, `output` (a JSON Schema, or the path of a file that holds one), `outputRepairs`. Their tools are what the project's `tools/*.ts` export and its `tools/*.clad.toml` describe.
 *
 * A-1 an agent in TOML is an agent like any other; an unknown or wrong setting, and a tool that nobody exports, is refused with file, line
 *     and column.
 * M-25 an agent in TOML answers by a JSON Schema, as a table or as a file beside it; a mistake in it is reported with its place.
 */

import { existsSync, realpathSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import {
  type AgentDefinition,
  DEFAULT_MODEL,
  FaultError,
  type JsonObject,
  type KnowledgeDefinition,
  lowerFirst,
  type RecoveryDefinition,
  readJson,
  suggestNearest,
} from "@orgate/core";
import * as z from "zod";
import { fileFault } from "../../files/file-fault.ts";
import { findTomlPosition, readToml, type TextPosition } from "../../files/toml-text.ts";
import { type OnLoadFault, reportFault } from "../../guard/modules.ts";
import { findAgentPrices } from "../../models/agent-prices.ts";
import { unusableTool } from "../../tools/unusable-tool.ts";
import { defineReporting } from "../agent-settings.ts";
import type { AgentFormat, FormatAgent, FormatContext, NamedTools } from "./format.ts";

const HINT = "see docs/guide/agents.md for every setting";

const priceSchema = z.strictObject({
  input: z.number(),
  output: z.number(),
  cachedInput: z.number().exactOptional(),
  cacheWrite: z.number().exactOptional(),
});
const agentSchema = z.strictObject({
  name: z.string(),
  instructions: z.string(),
  model: z.string().optional(),
  fallbacks: z.array(z.string()).default([]),
  tools: z.array(z.string()).default([]),
  groups: z.array(z.string()).default([]),
  delegates: z.array(z.string()).default([]),
  maxDepth: z.int().default(3),
  skills: z.array(z.string()).default([]),
  mcp: z.array(z.string()).default([]),
  projectInstructions: z.boolean().default(false),
  recover: z.union([z.string(), z.array(z.union([z.string(), z.record(z.string(), z.json())])), z.record(z.string(), z.json())]).optional(),
  breaker: z.record(z.string(), z.number()).optional(),
  retry: z.record(z.string(), z.number()).exactOptional(),
  limits: z.record(z.string(), z.number()).default({}),
  prices: z.union([priceSchema, z.record(z.string(), priceSchema)]).exactOptional(),
  tokenizer: z.string().exactOptional(),
  context: z
    .discriminatedUnion("kind", [
      z.strictObject({ kind: z.literal("window") }),
      z.strictObject({ kind: z.literal("mask"), keep: z.number().exactOptional() }),
      z.strictObject({ kind: z.literal("own"), plan: z.string() }),
      z.strictObject({ kind: z.literal("summarise"), keep: z.number().exactOptional(), model: z.string().exactOptional() }),
    ])
    .exactOptional(),
  output: z.union([z.string(), z.record(z.string(), z.json())]).optional(),
  outputRepairs: z.int().exactOptional(),
  knowledge: z.union([z.boolean(), z.record(z.string(), z.json())]).optional(),
  modelOptions: z.record(z.string(), z.json()).default({}),
  /** Read by the server of the project, with all the others. */
  schedules: z.record(z.string(), z.record(z.string(), z.json())).exactOptional(),
  webhooks: z.record(z.string(), z.record(z.string(), z.json())).exactOptional(),
});

export const tomlFormat: AgentFormat = {
  name: "toml",
  matches: (path) => path.endsWith(".toml"),
  async load(patterns, context) {
    const { root, readText } = context;
    const files = context.listFiles(patterns);
    if (files.length === 0) return { agents: [] };
    const tools = await context.tools();
    const trouble: OnLoadFault = (fault) =>
      context.report(fault, fault.fault.kind === "file-bad" && fault.fault.file.endsWith(".toml") ? undefined : "tools");
    const agents: FormatAgent[] = [];
    for (const file of files)
      agents.push(...((await reportFault(async () => readAgent(file, { root, tools, trouble, readText }), trouble)) ?? []));
    if (agents.length < files.length) context.markUnread("agents");
    return { agents };
  },
};

type AgentInputs = Pick<FormatContext, "root" | "readText"> & Readonly<{ tools: NamedTools; trouble: OnLoadFault }>;

/** Reports everything that is wrong with a file and goes on with the rest; empty if the rest makes no agent. */
function readAgent(file: string, { root, tools: named, trouble, readText }: AgentInputs): readonly FormatAgent[] {
  const { box, broken, isIncomplete } = named;
  const text = readText(file);
  const toml = readToml(text);
  if (toml.kind === "not-toml") throw fileFault({ file, at: toml, detail: `not TOML: ${toml.detail}`, hint: HINT });
  const written = readSettings(toml.value, (path, detail) =>
    trouble(fileFault({ file, at: findTomlPosition(text, path), detail, hint: HINT })),
  );
  if (written === null) return [];
  const { tools, recover, breaker, model, output, prices: own, knowledge, schedules, webhooks, ...rest } = written;
  const unfit: NonNullable<FormatAgent["unfit"]>[number][] = [];
  const found = tools.flatMap((name, i) => {
    const [known, wrong] = [box.get(name), broken.get(name)];
    if (known !== undefined) return [known.tool];
    const hint = box.size === 0 ? "the project's `tools/` has none" : suggestNearest(name, [...box.keys()].sort());
    if (wrong !== undefined) unfit.push({ ...wrong, tool: name });
    else if (!isIncomplete)
      trouble(fileFault({ file, at: findTomlPosition(text, ["tools", i]), detail: `there is no tool \`${name}\``, hint }));
    return /^[\w-]{1,64}$/.test(name) ? [unusableTool(name)] : [];
  });
  const prices = findAgentPrices([model ?? DEFAULT_MODEL, ...rest.fallbacks], own, named.prices);
  const agent = defineReporting(
    {
      ...rest,
      ...(model === undefined ? {} : { model }),
      ...(prices === null ? {} : { prices }),
      ...(recover === undefined ? {} : { recover: recover as RecoveryDefinition }),
      ...(breaker === undefined ? {} : { breaker }),
      ...(knowledge === undefined ? {} : { knowledge: knowledge as KnowledgeDefinition }),
      ...readOutputSetting(output, { file, root, text, trouble, readText }),
      ...(schedules === undefined ? {} : { schedules: schedules as unknown as NonNullable<AgentDefinition["schedules"]> }),
      ...(webhooks === undefined ? {} : { webhooks: webhooks as unknown as NonNullable<AgentDefinition["webhooks"]> }),
      tools: found,
    }, // which checks what is said of failures like all the rest
    ({ setting, message, hint, error }) =>
      trouble(fileFault({ file, at: findTomlPosition(text, toSettingPath(setting)), detail: message, hint }, error)),
  );
  return agent === null ? [] : [{ agent, file, unfit, locate: (setting) => findTomlPosition(text, [setting]) }];
}

type Written = z.infer<typeof agentSchema>;

/** The settings that are right; null where these make no agent. */
function readSettings(value: unknown, tell: (path: readonly PropertyKey[], detail: string) => void): Written | null {
  const read = agentSchema.safeParse(value);
  if (read.success) return read.data;
  const issues = listIssues(read.error);
  for (const { path, detail } of issues) tell(path, detail);
  const left = structuredClone(value);
  for (const { path } of issues) leaveOut(left, path);
  const again = agentSchema.safeParse(typeof left === "object" ? { instructions: "(none)", ...left } : left);
  return again.success ? again.data : null;
}

function leaveOut(value: unknown, path: readonly PropertyKey[]): void {
  const [key, ...deeper] = path;
  if (typeof value !== "object" || value === null || key === undefined) return;
  const inner: unknown = Reflect.get(value, key);
  if (deeper.length > 0 && typeof inner === "object" && inner !== null && !Array.isArray(inner)) leaveOut(inner, deeper);
  else Reflect.deleteProperty(value, key);
}

function readOutputSetting(
  output: Written["output"],
  { file, root, text, trouble, readText }: Omit<AgentInputs, "tools"> & Readonly<{ file: string; text: string }>,
): Pick<AgentDefinition, "output"> {
  if (typeof output !== "string") return output === undefined ? {} : { output };
  try {
    return { output: readSchema(output, { file, root, readText, at: findTomlPosition(text, ["output"]) }) };
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    trouble(error);
    return {};
  }
}

/** A path from the agent's own file, within the project. */
function readSchema(
  path: string,
  { file, root, readText, at }: Pick<FormatContext, "root" | "readText"> & Readonly<{ file: string; at: TextPosition }>,
): JsonObject {
  const hint = "name a file of the project that holds a JSON Schema, from this one's folder on; or write the schema as a table";
  const there = resolve(dirname(file), path);
  const found = existsSync(there) ? realpathSync(there) : null;
  if (found === null) throw fileFault({ file, at, detail: `\`output\`: there is no file \`${path}\``, hint });
  if (relative(root, found).startsWith("..")) throw fileFault({ file, at, detail: `\`output\`: \`${path}\` is outside the project`, hint });
  const read = readJson(readText(found));
  if (read.kind === "not-json") throw fileFault({ file: found, at: read, detail: `not JSON: ${read.detail}`, hint });
  if (typeof read.value !== "object" || read.value === null || Array.isArray(read.value))
    throw fileFault({ file: found, detail: "a JSON Schema is an object", hint });
  return read.value as JsonObject;
}

/** A limit stands below `limits`; others say where they stand. */
function toSettingPath(setting: string): readonly string[] {
  const path = setting.split(".");
  return Object.hasOwn(agentSchema.shape, path[0] ?? "") ? path : ["limits", ...path];
}

const listIssues = (error: z.ZodError): readonly Readonly<{ path: readonly PropertyKey[]; detail: string }>[] =>
  error.issues.flatMap((issue) => {
    if (issue.code === "unrecognized_keys")
      return issue.keys.map((key) => ({ path: [...issue.path, key], detail: unknownSetting([...issue.path, key]) }));
    const name = issue.path.join(".");
    const message = lowerFirst(issue.message);
    const missing = issue.code === "invalid_type" && message.endsWith("received undefined");
    return [{ path: issue.path, detail: missing ? `\`${name}\` is missing` : `\`${name}\`: ${message}` }];
  });

function unknownSetting(path: readonly PropertyKey[]): string {
  const meant = path.length === 1 ? suggestNearest(String(path[0]), Object.keys(agentSchema.shape)) : "";
  return `there is no setting \`${path.join(".")}\`${meant.startsWith("did you mean") ? `; ${meant}` : ""}`;
}
