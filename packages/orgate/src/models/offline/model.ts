/**
 * The offline model: no key, no network, no chance. It follows the rules that come with the agent as data, and without a rule that fits
 * does the obvious: calls the tool whose name the request names, with what stands in quotes; tells what a tool answered; or says what it is.
 *
 * M-2 The same request gets the same reply, always.
 * M-2 What it says is streamed before it is returned, and it stops at once when the signal fires.
 * M-2 Rules are tried in order; the first that fits answers. One that names no earlier call fits only before the turn's first call.
 * M-2 It says which files it was shown, by name, type and size; `{{files}}` is that in a rule.
 * M-2 Without a rule it never invents an argument: a value comes from the request, or it says what is missing.
 */
import { hash } from "node:crypto";
import { appendFileSync } from "node:fs";
import {
  estimateTokens,
  FaultError,
  type Json,
  type JsonObject,
  lowerFirst,
  type Model,
  type ModelReply,
  type ModelRequest,
  type Preview,
  type ReplyPart,
} from "@orgate/core";
import type { Clock } from "@orgate/core/loop";
import { lazily } from "@orgate/core/vocab";
import * as z from "zod";
import { writeAgentDraft } from "./author.ts";
import { draftDefaultReply, type OfflineDraft } from "./default-reply.ts";
import { asText, fillJson, findTemplateFlaw, valueAtPath } from "./template.ts";
import { type OfflineResult, type OfflineTurn, parseResult, readTurnSoFar } from "./turn-so-far.ts";

const regularExpression = lazily(() => z.string().refine(isPattern, "is no regular expression"));

const ruleSchema = lazily(() =>
  z.strictObject({
    when: z
      .strictObject({
        /** A regular expression on what the user said last, case ignored. Its groups are `{{1}}`, `{{name}}`. */
        says: regularExpression().optional(),
        /** A regular expression on the latest result. */
        result: regularExpression().optional(),
        /** Whether the latest result is an error or a refusal. */
        failed: z.boolean().optional(),
        /** Tools that were called in this turn, every one; and tools that were not. */
        called: z.array(z.string()).optional(),
        notCalled: z.array(z.string()).optional(),
      })
      .default({}),
    think: z.string().optional(),
    say: z
      .string()
      .superRefine((text, refused) => {
        const flaw = findTemplateFlaw(text);
        if (flaw !== null) refused.addIssue({ code: "custom", message: flaw });
      })
      .optional(),
    /** The structured answer, said as JSON. */
    answer: z.json().optional(),
    calls: z.array(z.strictObject({ tool: z.string(), args: z.record(z.string(), z.json()).default({}) })).default([]),
  }),
);

const optionsSchema = lazily(() =>
  z.strictObject({
    rules: z
      .array(
        ruleSchema().refine(
          ({ say, answer, calls }) => say !== undefined || answer !== undefined || calls.length > 0,
          "says nothing and calls nothing",
        ),
      )
      .default([]),
    /** Whether it authors agents, policies and tools where no rule fits: for the shell's agent. */
    author: z.boolean().default(false),
    /** Between words, so that a demo can be watched. */
    delayMs: z.int().min(0).max(10_000).default(0),
    /** A file that gets a line for each request before it is answered: for drills that count requests where a killed process cannot lie. */
    log: z.string().min(1).optional(),
  }),
);

/** As an agent's `modelOptions` hold it. */
export type OfflineOptions = z.input<ReturnType<typeof optionsSchema>>;
export type OfflineRule = z.input<ReturnType<typeof ruleSchema>>;
type Rule = z.output<ReturnType<typeof ruleSchema>>;

export function offlineModel(given: OfflineOptions & Readonly<{ name: string }>, clock: Clock): Model {
  const { name, ...options } = given;
  return following(`offline/${name}`, options, clock);
}

function following(id: string, options: unknown, clock: Clock): Model {
  const read = optionsSchema().safeParse(options);
  if (!read.success) throw new FaultError({ kind: "model-unknown", model: id, detail: `its options are wrong: ${issueText(read.error)}` });
  const { rules, delayMs, log } = read.data;
  const isAuthor = read.data.author || id === AUTHOR;

  async function ask(request: ModelRequest, preview: (preview: Preview) => void, signal: AbortSignal): Promise<ModelReply> {
    if (log !== undefined) appendFileSync(log, requestLine(request));
    const turn = readTurnSoFar(request.messages);
    const rule = firstFitting(rules, turn);
    const draft = rule !== null ? filled(rule, turn) : isAuthor ? writeAgentDraft(turn) : draftDefaultReply(id, turn, request);
    const { parts, cut } = partsOf(draft, request);
    await stream(parts, preview, { clock, delayMs, signal });
    const calls = parts.some((part) => part.kind === "call");
    const usage = { input: inputTokens(request), output: outputTokens(parts) };
    return { parts, finish: cut ? "length" : calls ? "calls" : "stop", usage, model: id, meta: null };
  }
  return Object.freeze({ id, ask });
}

/** The shell's, without a model that has to be paid for. */
const AUTHOR = "offline/author";

/** The same request gives the same line except for its process: a repeat can be recognised. */
function requestLine({ system, messages, attempt }: ModelRequest): string {
  const said = messages.map((message) => JSON.stringify(message)).join("\n");
  return `${JSON.stringify({ request: hash("sha256", `${system}\n${said}`, "hex"), messages: messages.length, attempt, pid: process.pid })}\n`;
}

/**
 * `offline/name` to a model; other providers are in `models/`.
 * `options` is what the agent's definition says beside the name.
 */
export function modelFor(id: string, options: JsonObject, clock: Clock): Model {
  const slash = id.indexOf("/");
  const [provider, name] = slash < 0 ? [id, ""] : [id.slice(0, slash), id.slice(slash + 1)];
  if (provider !== "offline" || name === "") {
    const detail = `\`${provider}\` is no offline model; available: offline/NAME, where NAME is any name, offline/echo for one`;
    throw new FaultError({ kind: "model-unknown", model: id, detail });
  }
  return following(id, options, clock);
}

// ─ rules

function firstFitting(rules: readonly Rule[], turn: OfflineTurn): Rule | null {
  const tools = new Set(turn.called.map(({ tool }) => tool));
  const last = turn.results.at(-1);
  const fits = ({ when }: Rule): boolean => {
    const looksBack = when.result !== undefined || when.failed !== undefined || when.called !== undefined;
    if (!looksBack && turn.called.length > 0) return false; // else a rule that calls would call for ever
    if (when.says !== undefined && !new RegExp(when.says, "iu").test(turn.input)) return false;
    if (when.result !== undefined && (last === undefined || !new RegExp(when.result, "iu").test(last.text))) return false;
    if (when.failed !== undefined && last?.isError !== when.failed) return false;
    if (when.called?.some((tool) => !tools.has(tool))) return false;
    return !when.notCalled?.some((tool) => tools.has(tool));
  };
  return rules.find(fits) ?? null;
}

function filled({ when, think, say, answer, calls }: Rule, turn: OfflineTurn): OfflineDraft {
  const groups = when.says === undefined ? null : new RegExp(when.says, "iu").exec(turn.input);
  const fill = (template: Json): Json => fillJson(template, (key) => lookUp(key, turn, groups));
  const text = (template: string | undefined) => (template === undefined ? null : asText(fill(template)));
  const words = answer === undefined ? text(say) : JSON.stringify(fill(answer));
  return { think: text(think), say: words, calls: calls.map(({ tool, args }) => ({ tool, args: fill(args) })) };
}

/** `input`, `files`, `result`, `result.total`, `results.TOOL.items.0.name`, or a group of `says` by number or name. A missing value is empty. */
function lookUp(key: string, turn: OfflineTurn, groups: RegExpExecArray | null): Json {
  const [head = "", ...path] = key.split(".");
  if (head === "input") return turn.input;
  if (head === "files") return turn.files;
  if (head === "result") return at(turn.results.at(-1), path);
  if (head === "results")
    return at(
      turn.results.findLast(({ tool }) => tool === path[0]),
      path.slice(1),
    );
  return (/^\d+$/.test(head) ? groups?.[Number(head)] : groups?.groups?.[head]) ?? "";
}

function at(result: OfflineResult | undefined, path: readonly string[]): Json {
  if (result === undefined) return "";
  return path.length === 0 ? result.text : valueAtPath(parseResult(result.text), path);
}

// ─ sending

function partsOf(
  { think, say, calls }: OfflineDraft,
  { maxOutputTokens, messages }: ModelRequest,
): { readonly parts: readonly ReplyPart[]; readonly cut: boolean } {
  const cut = say !== null && estimateTokens(say) > maxOutputTokens;
  const text = cut ? say.slice(0, maxOutputTokens).toWellFormed() : say; // at least a character a token
  const before = readTurnSoFar(messages).callsBefore;
  const made = cut ? [] : calls; // a call cut in half is no call
  const parts: ReplyPart[] = made.map(({ tool, args }, i) => ({
    kind: "call",
    id: `offline_${before + i}`,
    tool,
    text: JSON.stringify(args),
    meta: null,
  }));
  if (text !== null && text !== "") parts.unshift({ kind: "text", text, meta: null });
  if (think !== null) parts.unshift({ kind: "thinking", text: think, meta: null });
  return { parts, cut };
}

type Pace = Readonly<{ clock: Clock; delayMs: number; signal: AbortSignal }>;

async function stream(parts: readonly ReplyPart[], preview: (preview: Preview) => void, { clock, delayMs, signal }: Pace): Promise<void> {
  stopIf(signal);
  const offsets = { text: 0, thinking: 0 };
  for (const part of parts) {
    if (part.kind === "call") continue;
    for (const word of part.text.match(/\S+\s*|\s+/g) ?? []) {
      preview({ part: part.kind, offset: offsets[part.kind], text: word });
      offsets[part.kind] += word.length;
      if (delayMs > 0) await clock.sleep(delayMs, signal);
      stopIf(signal);
    }
  }
}

function stopIf(signal: AbortSignal): void {
  if (signal.aborted) throw new FaultError({ kind: "model-failed", detail: "stopped", again: false, broke: false });
}

const inputTokens = ({ system, context, messages, tools }: ModelRequest): number =>
  estimateTokens(system) +
  context.reduce((n, text) => n + estimateTokens(text), 0) +
  messages.reduce((sum, { tokens }) => sum + tokens, 0) +
  (tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools)));

const outputTokens = (parts: readonly ReplyPart[]): number =>
  parts.reduce((sum, part) => sum + estimateTokens(part.text) + (part.kind === "call" ? estimateTokens(part.tool) : 0), 0);

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, "iu") instanceof RegExp;
  } catch {
    return false;
  }
}

function issueText(error: z.ZodError): string {
  const [issue] = error.issues;
  if (issue === undefined) return "not understood";
  const message = lowerFirst(issue.message);
  return issue.path.length === 0 ? message : `\`${issue.path.join(".")}\` ${message}`;
}
