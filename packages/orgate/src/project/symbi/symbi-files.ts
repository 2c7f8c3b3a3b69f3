/**
 * Agents as `.symbi` files (`.dsl` is read as the same language), with tools that the project's `tools/` brings.
 * Rule: Y-4.
 */

import {
  type Agent,
  DEFAULT_MODEL,
  defineMiddleware,
  FaultError,
  fromJsonSchema,
  type JsonObject,
  type Middleware,
  readJson,
  suggestNearest,
} from "@orgate/core";
import { errorMessage } from "@orgate/core/vocab";
import type { AgentDraft, SymbiFile, SymbiProblem } from "@orgate/symbi";
import { toProjectPath } from "../../guard/modules.ts";
import { findAgentPrices } from "../../models/agent-prices.ts";
import { unusableTool } from "../../tools/unusable-tool.ts";
import { defineReporting } from "../agent-settings.ts";
import type { FormatInputs, NamedTools } from "../formats/format.ts";
import type { SymbiSource } from "./symbi-origin.ts";

const MAX_BYTES = 1024 * 1024;

export type ReadSource = Readonly<
  | { kind: "source"; source: SymbiSource }
  /** `part`: what can be read of it all the same; `isWhole`: no block of it is missing there. */
  | {
      kind: "problems";
      path: string;
      problems: readonly [SymbiProblem, ...SymbiProblem[]];
      part: SymbiSource | null;
      isWhole: boolean;
    }
>;

export const isSymbi = (path: string): boolean => path.endsWith(".symbi") || path.endsWith(".dsl");

/** All that the project has, whatever is wrong with each. The language is the largest thing there is to load: only where there is a file of it that is not remembered. */
export async function readSymbiFiles(
  patterns: readonly string[],
  inputs: SymbiFileInputs,
  cache: ReadSymbiCache = NEVER_READ,
): Promise<readonly ReadSource[]> {
  const reads: ReadSource[] = [];
  for (const path of inputs.listFiles(patterns)) reads.push(await readSymbiFile(path, inputs, cache));
  return reads;
}

type SymbiFileInputs = Omit<FormatInputs, "report">;

/** Cached form of a text, and a way to store it. */
export type ReadSymbiCache = Readonly<{
  read(text: string, file: string): SymbiFile | null;
  keepRead(text: string, symbi: SymbiFile): void;
}>;
const NEVER_READ: ReadSymbiCache = { read: () => null, keepRead: () => {} };

async function readSymbiFile(path: string, { root, readText }: SymbiFileInputs, cache: ReadSymbiCache): Promise<ReadSource> {
  const file = toProjectPath(root, path);
  const trouble = (detail: string, hint: string): ReadSource => ({
    kind: "problems",
    path,
    problems: [{ file, line: 1, column: 1, detail, hint }],
    part: null,
    isWhole: false,
  });
  if (!/^[\p{L}\p{N}][\p{L}\p{N}._/-]*$/u.test(file))
    return trouble("its name cannot stand in a policy's", "use letters, digits, `.`, `_` and `-`");
  try {
    const text = readText(path, MAX_BYTES);
    const known = cache.read(text, file);
    if (known !== null) return { kind: "source", source: { symbi: known, path } };
    const read = (await import("@orgate/symbi")).readSymbi(text, file);
    if (read.kind === "problems") return { ...read, path, part: read.part === null ? null : { symbi: read.part, path } };
    cache.keepRead(text, read.symbi);
    return { kind: "source", source: { symbi: read.symbi, path } };
  } catch (error) {
    const isUnreadable = error instanceof FaultError && error.fault.kind === "file-bad";
    return trouble(isUnreadable ? error.fault.detail : errorMessage(error), "it must be a readable text file");
  }
}

/** T-16 `unfit`: tools that it names, that are written, and that cannot be used: it is not run without them, and the others are. */
export type UnfitTool = Readonly<{ tool: string; at: number; file: string; line: number; column: number; detail: string; hint: string }>;
export type BuiltAgent = Readonly<
  | { kind: "agent"; agent: Agent; unfit: readonly UnfitTool[] }
  /** `agent`: without what is wrong, for further checks and never to be run. */
  | {
      kind: "problems";
      problems: readonly [SymbiProblem, ...SymbiProblem[]];
      agent: Agent | null;
      unfit: readonly UnfitTool[];
      cause?: unknown;
    }
>;

/** The agent with what it names of the project's tools; what it says of policies and labels comes when all its tools are there. */
export function buildAgent({ symbi }: SymbiSource, draft: AgentDraft, { box, broken, prices, isIncomplete }: NamedTools): BuiltAgent {
  const problems: SymbiProblem[] = [];
  const unfit: UnfitTool[] = [];
  const tools = draft.tools.flatMap(({ name, at }) => {
    const [found, wrong] = [box.get(name), broken.get(name)];
    if (found !== undefined) return [found.tool];
    if (wrong === undefined) {
      if (!isIncomplete) problems.push(problemAt(symbi, at, `there is no tool \`${name}\``, toolHint(name, box)));
      return /^[\w-]{1,64}$/.test(name) ? [unusableTool(name)] : [];
    }
    const { file, line, column, detail, hint } = wrong;
    unfit.push({ tool: name, at, file, line, column, detail, hint });
    return [unusableTool(name)];
  });
  const { definition } = draft;
  const known = findAgentPrices([definition.model ?? DEFAULT_MODEL, ...(definition.fallbacks ?? [])], definition.prices, prices);
  let cause: unknown;
  const agent = defineReporting(
    {
      ...definition,
      ...(known === null ? {} : { prices: known }),
      tools,
      middleware: draft.input === null ? [] : [inputCheck(draft.input)],
    },
    ({ setting, message, hint, error }) => {
      const at = draft.places.get(setting.split(".")[0] ?? "") ?? draft.places.get(setting) ?? draft.at;
      problems.push(problemAt(symbi, at, message, hint));
      cause ??= error;
    },
  );
  const [first, ...rest] = problems;
  if (first !== undefined) return { kind: "problems", problems: [first, ...rest], agent, unfit, cause };
  if (agent === null) throw new Error("an agent that is not made has a problem");
  return { kind: "agent", agent, unfit };
}

const toolHint = (name: string, box: NamedTools["box"]): string =>
  box.size === 0 ? "the project's `tools/` has none" : suggestNearest(name, [...box.keys()].sort());

export function problemAt({ file, text }: SymbiFile, at: number, detail: string, hint: string): SymbiProblem {
  const before = text.slice(0, at);
  return { file, line: before.split("\n").length, column: at - before.lastIndexOf("\n"), detail, hint };
}

/** Y-9 what is said to an agent with parameters is a JSON object that has them; anything else ends the turn before a model is asked. */
function inputCheck(schema: JsonObject): Middleware {
  const made = fromJsonSchema(schema);
  if (made.kind === "refused") throw new Error(`a schema of ours cannot be enforced: ${made.detail}`);
  return defineMiddleware({
    name: "parameters",
    userMessage: (text) => {
      const read = readJson(text);
      if (read.kind === "not-json") throw new Error(`the input is no JSON object with the agent's parameters: ${read.detail}`);
      const checked = made.schema["~standard"].validate(read.value);
      if (checked instanceof Promise) throw new Error("the input cannot be checked");
      const [issue] = checked.issues ?? [];
      if (issue !== undefined)
        throw new Error(`the input does not fit the agent's parameters: ${(issue.path ?? []).join(".")} ${issue.message}`);
      return undefined;
    },
  });
}
