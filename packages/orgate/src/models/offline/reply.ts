/** How the offline model answers: the first rule that fits, filled; or the obvious. */
import { estimateTokens, FaultError, type Json, type ModelReply, type ModelRequest, type Preview, type ReplyPart } from "@orgate/core";
import type { Clock } from "@orgate/core/loop";
import { writeAgentDraft } from "./author.ts";
import { draftDefaultReply, type OfflineDraft } from "./default-reply.ts";
import type { CheckedRule } from "./model.ts";
import { asText, fillJson, valueAtPath } from "./template.ts";
import { type OfflineResult, type OfflineTurn, parseResult, readTurnSoFar } from "./turn-so-far.ts";

export type Replying = Readonly<{ id: string; rules: readonly CheckedRule[]; isAuthor: boolean; clock: Clock; delayMs: number }>;

export async function reply(
  { id, rules, isAuthor, clock, delayMs }: Replying,
  request: ModelRequest,
  preview: (preview: Preview) => void,
  signal: AbortSignal,
): Promise<ModelReply> {
  const turn = readTurnSoFar(request.messages);
  const rule = firstFitting(rules, turn);
  const draft = rule !== null ? filled(rule, turn) : isAuthor ? writeAgentDraft(turn) : draftDefaultReply(id, turn, request);
  const { parts, cut } = partsOf(draft, request);
  await stream(parts, preview, { clock, delayMs, signal });
  const calls = parts.some((part) => part.kind === "call");
  const usage = { input: inputTokens(request), output: outputTokens(parts) };
  return { parts, finish: cut ? "length" : calls ? "calls" : "stop", usage, model: id, meta: null };
}

// ─ rules

function firstFitting(rules: readonly CheckedRule[], turn: OfflineTurn): CheckedRule | null {
  const tools = new Set(turn.called.map(({ tool }) => tool));
  const last = turn.results.at(-1);
  const fits = ({ when }: CheckedRule): boolean => {
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

function filled({ when, think, say, answer, calls }: CheckedRule, turn: OfflineTurn): OfflineDraft {
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
