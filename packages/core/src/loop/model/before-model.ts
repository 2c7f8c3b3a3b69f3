/**
 * Before the model: the changes that middleware makes to one request. They hold for that call only: the conversation stays as it is, and another attempt is prepared again.
 * H-4 what is sent is valid (a person speaks first, every call is followed by its results), fits what is left of the turn, and is what the digest covers.
 * A hook that takes its time is waited for outside the commit: what ended before it is durable meanwhile, which costs one commit more.
 */

import type { Message, ModelRequest, Words } from "../../reason/port.ts";
import { PER_MESSAGE, type TokenCount } from "../../reason/tokens.ts";
import {
  type Attachment,
  copyFrozen,
  type Digest,
  deepFreeze,
  describeFault,
  type Hash,
  type JournalEvent,
  type Json,
  type JsonObject,
  type Middleware,
  type MiddlewareContext,
  type RequestChange,
  type RequestMessage,
  type RequestView,
  readAttachments,
  type Seq,
  seq,
  type ToolSpec,
  toCanonicalJson,
  toUsage,
  type Usage,
} from "../../vocab/index.ts";
import type { EffectContext } from "../effect-context.ts";
import { roomFor } from "../limits/budgets.ts";
import type { State, Turn } from "../state.ts";
import { assistantMessage, messageTokens, noteMessage, tokenCounter, toToolMessage, userMessage } from "./conversation.ts";
import { fields, isPromise, listHooks, type MiddlewareRun, requireTexts, runStage, type Scene, sceneIn, textual } from "./middleware.ts";

/** A request as the conversation gives it: its tokens as counted, and its reservation. */
export type Plain = Readonly<{ request: ModelRequest; digest: Digest; tokens: number; reserved: Usage }>;
/** As it is sent, and the events that say what was changed: they go with `model.asked`. */
export type Ready = Plain & Readonly<{ events: readonly JournalEvent[] }>;

/** The reservation for a request of this size and the largest reply to it; null when it does not fit. */
type RoomFor = (tokens: number, most: number) => Usage | null;

type Preparing = Readonly<{ all: readonly Middleware[]; at: Scene; plain: Plain; roomFor: RoomFor; count: TokenCount; hash: Hash }>;
/** `failed` events end the turn; they are recorded at once. */
type Prepared = Readonly<{ kind: "ready"; ready: Ready } | { kind: "failed"; events: readonly JournalEvent[] }>;

type Draft = Readonly<{ request: ModelRequest; tokens: number; reserved: Usage; sets: readonly JsonObject[] }>;

/** Made once for each request, however many look at it; the tools once for all requests. */
const views = new WeakMap<ModelRequest, RequestView>();
const offers = new WeakMap<readonly ToolSpec[], readonly ToolSpec[]>();
function viewOf(request: ModelRequest): RequestView {
  const { system, context, messages, temperature, maxOutputTokens } = request;
  const tools = offers.get(request.tools) ?? copyFrozen(request.tools);
  offers.set(request.tools, tools);
  const view =
    views.get(request) ??
    Object.freeze({
      system,
      context: Object.freeze([...context]),
      messages: Object.freeze([...messages]),
      tools,
      temperature,
      maxOutputTokens,
    });
  views.set(request, view);
  return view;
}

const hasBeforeModel = (all: readonly Middleware[]): boolean => all.some((m) => m.beforeModel !== null);

function prepare({ all, at, plain, roomFor, count, hash }: Preparing): Prepared | Promise<Prepared> {
  for (const message of plain.request.messages) if (!Object.isFrozen(message)) deepFreeze(message); // once each: these are the session's own
  const hooks = listHooks(all, "beforeModel").map(({ name, hook }) => ({
    name,
    hook: ({ request }: Draft, context: MiddlewareContext) => hook(viewOf(request), context),
  }));
  const apply = (draft: Draft, given: RequestChange) => changeRequest(draft, given, roomFor, count);
  const ran = runStage({ stage: "before-model", at, hooks, apply }, { ...plain, sets: [] });
  return isPromise(ran) ? ran.then((r) => toPrepared(r, plain, hash)) : toPrepared(ran, plain, hash);
}

function toPrepared({ value, events, failed }: MiddlewareRun<Draft>, plain: Plain, hash: Hash): Prepared {
  if (failed) return { kind: "failed", events };
  if (value.sets.length === 0) return { kind: "ready", ready: { ...plain, events } };
  const digest = hash(toCanonicalJson({ request: plain.digest, sets: value.sets })); // of all that is sent: the request as it was, and what was set instead
  const { request, tokens, reserved } = value;
  return { kind: "ready", ready: { request, digest, tokens, reserved, events } };
}

function changeRequest(draft: Draft, given: RequestChange, roomFor: RoomFor, count: TokenCount) {
  const { request } = draft;
  const change = fields(given, ["system", "context", "messages", "dropTools", "temperature", "maxOutputTokens"]) as RequestChange;
  const set: Record<string, Json> = {};
  let { system, context, messages, tools, temperature } = request;
  let most = request.maxOutputTokens;
  let { tokens } = draft;
  if (change.system !== undefined && change.system !== system) {
    const text = textual(change.system, "`system` is no text");
    tokens += count(text) - count(system);
    system = text;
    set["system"] = system;
  }
  if (change.context !== undefined) {
    const texts = Object.freeze([...requireTexts(change.context, "context")]);
    const isSame = texts.length === context.length && texts.every((text, i) => text === context[i]);
    tokens += weigh(texts, count) - weigh(context, count);
    if (!isSame) set["context"] = texts;
    context = texts;
  }
  if (change.messages !== undefined) {
    const next = messagesIn(change.messages, messages, count);
    const isSame = next.length === messages.length && next.every((m, i) => m === messages[i]);
    tokens += weightOfMessages(next) - weightOfMessages(messages);
    if (!isSame) set["messages"] = byPlace(next, messages);
    messages = next;
  }
  if (change.dropTools !== undefined && change.dropTools.length > 0) {
    const dropped = toolsIn(change.dropTools, tools);
    tokens -= dropped.reduce((n, t) => n + count(toCanonicalJson(t)), 0);
    tools = tools.filter((t) => !dropped.includes(t));
    set["dropTools"] = dropped.map((t) => t.name);
  }
  if (change.temperature !== undefined && change.temperature !== temperature) {
    temperature = lower(change.temperature, temperature, 0, "temperature");
    set["temperature"] = temperature;
  }
  if (change.maxOutputTokens !== undefined && change.maxOutputTokens !== most) {
    most = lower(change.maxOutputTokens, most, 1, "maxOutputTokens");
    if (!Number.isSafeInteger(most)) throw new Error("`maxOutputTokens` is no whole number");
    set["maxOutputTokens"] = most;
  }
  if (Object.keys(set).length === 0) return null;
  tokens = Math.max(0, tokens);
  const reserved = roomFor(tokens, most);
  if (reserved === null) throw new Error(`the request does not fit: it has about ${tokens} tokens now`);
  const value: Draft = {
    request: { ...request, system, context, messages, tools, temperature, maxOutputTokens: reserved.output },
    tokens,
    reserved,
    sets: [...draft.sets, set],
  };
  return { value, change: { kind: "request", set } as const };
}

const weigh = (texts: readonly string[], count: TokenCount): number => texts.reduce((n, text) => n + count(text) + PER_MESSAGE, 0);
const weightOfMessages = (messages: readonly Message[]): number => messages.reduce((n, m) => n + m.tokens, 0);

function lower(given: number, most: number, least: number, name: string): number {
  if (typeof given !== "number" || !(given >= least)) throw new Error(`\`${name}\` is no number of at least ${least}`);
  if (given > most) throw new Error(`\`${name}\` can only be lowered: ${given} is more than ${most}`);
  return given;
}

function toolsIn(names: readonly string[], offered: readonly ToolSpec[]): readonly ToolSpec[] {
  return [...new Set(requireTexts(names, "dropTools"))].map((name) => {
    const found = offered.find((t) => t.name === name);
    if (found === undefined) throw new Error(`no tool \`${name}\` is offered`);
    return found;
  });
}

/** Those it was shown as they are, the others as copies that nobody else holds. */
function messagesIn(given: readonly RequestMessage[], shown: readonly Message[], count: TokenCount): readonly Message[] {
  if (!Array.isArray(given)) throw new Error("`messages` is no list");
  const own = new Set<RequestMessage>(shown);
  const messages = given.map((m, i) => (own.has(m) ? (m as Message) : countedMessage(messageIn(copyFrozen(m), i), count)));
  checkUnits(messages);
  return messages;
}

/** It comes from no entry. */
const countedMessage = (words: Words, count: TokenCount): Message => ({ ...words, tokens: messageTokens(words, count), entry: seq(0) });

function messageIn(m: RequestMessage, index: number): Words {
  const role: unknown = (m as RequestMessage | null)?.role;
  const no = (detail: string) => new Error(`message ${index}: ${detail}`);
  switch (m?.role) {
    case "user":
      return userMessage(textual(m.text, `message ${index} has no text`), filesIn(m.files ?? []));
    case "note":
      return noteMessage(textual(m.text, `message ${index} has no text`));
    case "assistant":
      if (!Array.isArray(m.parts) || !m.parts.every(isPart)) throw no("its parts are not text, thinking or calls");
      return assistantMessage(m.parts);
    case "tool":
      return toToolMessage({
        wireId: textual(m.wireId, `message ${index} names no call`),
        tool: textual(m.tool, `message ${index} names no tool`),
        text: textual(m.text, `message ${index} has no text`),
        isError: m.isError === true,
      });
    default:
      throw no(`role \`${String(role)}\``);
  }
}

function filesIn(given: unknown): readonly Attachment[] {
  const read = readAttachments(given);
  if (read.kind === "refused") throw new Error(describeFault(read.fault).message);
  return read.files;
}

function isPart(given: unknown): boolean {
  const part = given as Readonly<Record<string, unknown>> | null;
  if (typeof part !== "object" || part === null || typeof part["text"] !== "string") return false;
  if (part["kind"] !== "call") return part["kind"] === "text" || part["kind"] === "thinking";
  const args = part["args"] as Readonly<Record<string, unknown>> | null | undefined;
  return [part["id"], part["wireId"], part["tool"], args?.["kind"]].every((one) => typeof one === "string");
}

/** Every provider accepts this order: a person first, and every call followed by its results. */
function checkUnits(messages: readonly Message[]): void {
  if (messages[0]?.role !== "user" && messages[0]?.role !== "note") throw new Error("the first message is not a person's");
  let due: readonly string[] = [];
  for (const m of messages) {
    if (m.role === "tool") {
      if (m.wireId !== due[0]) throw new Error(`the result of \`${m.wireId}\` does not follow its call`);
      due = due.slice(1);
      continue;
    }
    if (due.length > 0) throw new Error(`the call \`${due[0]}\` is not followed by its result`);
    if (m.role === "assistant") due = m.parts.flatMap((p) => (p.kind === "call" ? [p.wireId] : []));
  }
  if (due.length > 0) throw new Error(`the call \`${due[0]}\` is not followed by its result`);
}

/** Those that were kept as places, `[from, to)`, so that what is journalled does not grow with the conversation. */
function byPlace(messages: readonly Message[], before: readonly Message[]): Json {
  const places = new Map(before.map((m, i) => [m, i]));
  const list: Json[] = [];
  let run: [number, number] | null = null;
  for (const m of messages) {
    const at = places.get(m);
    if (at !== undefined && run !== null && run[1] === at) {
      run[1] = at + 1;
      continue;
    }
    run = at === undefined ? null : [at, at + 1];
    if (run !== null) list.push(run);
    else {
      const { tokens: _, entry: __, ...words } = m;
      list.push(words as unknown as JsonObject);
    }
  }
  return list;
}

// ── one per drive ──

export const BEFORE_MODEL = "before-model";

/** Keeps the one request that middleware has prepared until it is made. Not part of the state: a lost process prepares it again, and nothing was sent. */
export type PreparedRequests = Readonly<{
  prepare(t: Turn): boolean;
  /** Null: middleware has yet to see the request as it is now. */
  ready(t: Turn): Ready | null;
  /** Its turn is to end: the hook is not waited for. */
  abandon(reason: string): void;
}>;

export function createPreparedRequests(c: EffectContext, makePlain: (t: Turn) => Plain): PreparedRequests {
  let latest: { readonly seq: Seq; readonly messages: State["messages"]; readonly plain: Plain } | null = null;
  /** The same as long as nothing has happened; a state that was read again has another list. */
  function plainOf(t: Turn): Plain {
    const { seq, messages } = c.s;
    if (latest?.seq !== seq || latest.messages !== messages) latest = { seq, messages, plain: makePlain(t) };
    return latest.plain;
  }
  let prepared: { readonly key: string; readonly ready: Ready } | null = null;
  let leaving = new AbortController();
  const keyOf = (t: Turn, { digest }: Plain) => `${t.number}.${t.iterations}.${t.attempts}.${digest}`;
  const isWanted = hasBeforeModel(c.p.middleware);

  function take(came: Prepared, t: Turn, key: string): readonly JournalEvent[] {
    if (came.kind === "failed") return c.s.turn?.number === t.number ? came.events : [];
    prepared = { key, ready: came.ready };
    return [];
  }
  return {
    prepare(t) {
      if (!isWanted || c.isInFlight(BEFORE_MODEL)) return false;
      const plain = plainOf(t);
      const key = keyOf(t, plain);
      if (prepared?.key === key) return false;
      const own = linked(c.stopOf(null));
      leaving = own.controller;
      const at: Scene = { ...sceneIn(c, t.iterations + 1), signal: leaving.signal };
      const largest = Math.max(t.limits.contextTokens, plain.tokens); // what must stay may exceed it already
      const fitting = (tokens: number, most: number): Usage | null => {
        const { input, output, short } = roomFor(c.s, t, { tokens, most });
        return short !== null || tokens > largest ? null : toUsage(input, output);
      };
      const came = prepare({ all: c.p.middleware, at, plain, roomFor: fitting, count: tokenCounter(c.s), hash: c.p.hash });
      if (isPromise(came)) {
        c.launch(BEFORE_MODEL, async () => {
          const settled = await came;
          own.unlink();
          return () => take(settled, t, key);
        });
        return false;
      }
      own.unlink();
      const events = take(came, t, key);
      for (const event of events) c.record(event);
      return events.length > 0;
    },
    ready(t) {
      const plain = plainOf(t);
      if (!isWanted) return { ...plain, events: [] };
      return prepared?.key === keyOf(t, plain) ? prepared.ready : null;
    },
    abandon: (reason) => leaving.abort(reason),
  };
}

/** Stops with the other, or by itself. Unlinked when it is over: a turn has many requests. */
function linked(outer: AbortSignal): Readonly<{ controller: AbortController; unlink(): void }> {
  const controller = new AbortController();
  const onStop = () => controller.abort(outer.reason);
  if (outer.aborted) onStop();
  outer.addEventListener("abort", onStop, { once: true });
  return { controller, unlink: () => outer.removeEventListener("abort", onStop) };
}
