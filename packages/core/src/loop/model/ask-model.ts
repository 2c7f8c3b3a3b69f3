import { toErrorText } from "../../act/act.ts";
import { checkReply, parseReply, wholeUsage } from "../../reason/parse.ts";
import type { ModelReply, ModelRequest } from "../../reason/port.ts";
import { prompter } from "../../reason/prompt.ts";
import { withBelievableUsage } from "../../reason/usage.ts";
import { computeCost, FaultError, type JournalEvent, maxCost, onAbort, type Preview, type Prices, toUsage } from "../../vocab/index.ts";
import { classifyModel, reportModel } from "../calls/breakers.ts";
import { checkHold, consume, type EffectContext } from "../effect-context.ts";
import { requestTokens, roomForOutput } from "../limits/budgets.ts";
import { type Asking, knowledgeFor, modelNow, type State, type Turn } from "../state.ts";
import type { Plain, Ready } from "./before-model.ts";
import { onReply, sceneIn } from "./middleware.ts";
import { currentModel, type Failed, retryAt } from "./retry.ts";
/**
 * Asking the model for a reply: the request is announced with its reservation, made once that is durable, and its reply or failure recorded.
 * A model that ignores the abort signal is not waited for.
 */
/** Builds the next request as the conversation gives it. One per drive: the prompter keeps the digests of what was sent before. */
export function createRequestMaker(c: EffectContext): (t: Turn) => Plain {
  const prompt = prompter(c.p.hash);
  return (t) => plainRequest(c, t, prompt);
}

function plainRequest({ p, s }: EffectContext, t: Turn, prompt: ReturnType<typeof prompter>): Plain {
  const { input, output } = roomForOutput(s, t);
  const reserved = toUsage(input, output);
  const { messages, window } = s;
  const beside = knowledgeFor(t);
  const { temperature } = t.limits;
  const { request, digest } = prompt({
    system: s.agent.instructions,
    context: beside === null ? NO_CONTEXT : [beside.text],
    messages,
    window,
    tools: p.tools.offered,
    toolsDigest: p.tools.digest,
    output: t.output?.spec ?? null,
    model: currentModel(p, t).id,
    temperature,
    maxOutputTokens: reserved.output,
    attempt: t.attempts + 1,
  });
  return { request, digest, reserved, tokens: requestTokens(s) };
}

const NO_CONTEXT: readonly string[] = Object.freeze([]);

/** Null: the request may not be made yet. */
export function askModel(c: EffectContext, t: Turn, ready: Ready | null): (() => void) | null {
  const { p, s } = c;
  if (t.model.kind !== "allowed" || ready === null) return null;
  const { request, digest, reserved } = ready;
  const action = t.model.decided.id;
  const [iteration, attempt] = [t.iterations + 1, t.attempts + 1];
  const model = currentModel(p, t);
  const { prices } = modelNow(s.agent, t);
  // Unless the answer may be delivered as it comes, its words are withheld (rule 2): by the gate, or because middleware has yet to see them.
  const speaks = t.respond.kind === "allowed" && p.middleware.every((m) => m.afterModel === null);
  consume(c, t.model.decided);
  for (const event of ready.events) c.record(event);
  c.record({
    attempt, // in canonical order: written as it stands
    decisions: [],
    iteration,
    kind: "model.asked",
    model: model.id,
    purpose: "reply",
    request: digest,
    reserved,
    reservedMicros: maxCost(prices, reserved),
  });
  const preview = (words: Preview) =>
    speaks && c.isInFlight("model") && c.tell({ kind: "preview", session: s.session, iteration, attempt, preview: words });
  const known = knowledgeFor(t);
  return () => {
    const permit = c.permitFor(action);
    checkHold(c);
    if (known !== null) p.knowledge.used(known.ids, c.time());
    c.launch("model", async () => {
      const allowed = c.redeem(permit);
      if (allowed.kind !== "model" || allowed.model !== model.id)
        throw new FaultError({ kind: "permit-refused", action, detail: "it names another model" });
      const stop = c.stopOf(null);
      const reply = await askUnlessStopped(stop, request, (signal) => model.ask(request, preview, signal));
      const what = classifyModel(reply, stop.aborted);
      const asked = { iteration, attempt, purpose: "reply" } as const;
      const replied = "error" in reply ? null : repliedEvent(s, reply, asked, prices);
      // middleware sees the reply first: the events of its changes come right before it
      const before = replied === null || p.middleware.length === 0 ? [] : await onReply(p.middleware, sceneIn(c, iteration), replied);
      return () => {
        reportModel(p, model.id, `${s.session}/${action}`, { what, reason: "error" in reply ? reply.error : "" });
        if ("error" in reply) return [failedEvent(c, t, reply, { ...asked, model: model.id })];
        return replied === null ? [] : [...before, ...misreadEvents(reply, iteration), replied];
      };
    });
  };
}

const misreadEvents = ({ misread = null }: ModelReply, iteration: number): readonly JournalEvent[] =>
  misread === null ? [] : [{ kind: "calls.misread", iteration, detail: misread }];

/** With what is done about it: chosen when it lands, so that a wait counts from then. */
export function failedEvent(
  { p, s, time }: Pick<EffectContext, "p" | "s" | "time">,
  t: Turn,
  failed: Failed,
  asked: Asked & Readonly<{ model: string }>,
): Extract<JournalEvent, { kind: "model.failed" }> {
  const dueAt = retryAt({ p, s, t, now: time() }, failed, asked.purpose);
  return { kind: "model.failed", ...asked, ...failed, dueAt };
}

/** A model that does not listen to the signal is not waited for. */
export function askUnlessStopped(
  signal: AbortSignal,
  request: ModelRequest,
  ask: (signal: AbortSignal) => Promise<ModelReply>,
): Promise<ModelReply | Failed> {
  return new Promise((resolve) => {
    const stopListening = onAbort(signal, () => resolve(failedFor(`stopped: ${String(signal.reason)}`)));
    const replied = (reply: ModelReply | Failed): void => {
      stopListening(); // a turn has many model calls: what they leave behind must not grow with it
      resolve(reply);
    };
    void toReplied(request, () => ask(signal)).then(replied);
  });
}

async function toReplied(request: ModelRequest, ask: () => Promise<ModelReply>): Promise<ModelReply | Failed> {
  try {
    return toReply(await ask(), request);
  } catch (error) {
    return failure(error);
  }
}

function toReply(given: unknown, request: ModelRequest): ModelReply | Failed {
  const checked = checkReply(given);
  if (checked.kind === "reply") return withBelievableUsage(checked.reply, request);
  return failedFor(`the model's adapter returned something that is no reply: ${checked.detail}`);
}

function failure(error: unknown): Failed {
  if (!(error instanceof FaultError) || error.fault.kind !== "model-failed") return failedFor(toErrorText(error));
  const { detail, broke, again, transient = false, status = null, retryAfterMs = null } = error.fault;
  return { error: detail, broke, again, transient, status, retryAfterMs };
}

/** For good, and what it used is not known. */
const failedFor = (error: string): Failed => ({ error, broke: true, again: false, transient: false, status: null, retryAfterMs: null });

type Asked = Pick<Asking, "iteration" | "attempt" | "purpose">;

export function repliedEvent(
  s: State,
  reply: ModelReply,
  asked: Asked,
  prices: Prices | null,
): Extract<JournalEvent, { kind: "model.replied" }> {
  const { finish, usage, model, meta } = reply;
  return {
    kind: "model.replied",
    ...asked,
    parts: parseReply(reply.parts, s.replies + 1, s.wireIds),
    finish,
    usage: wholeUsage(usage),
    micros: computeCost(prices, { ...wholeUsage(usage), cacheWrite: usage.cacheWrite ?? 0 }),
    model,
    meta,
  };
}
