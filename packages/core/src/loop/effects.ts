/**
 * Effects: announced as events, launched once those are durable, brought home as events again.
 * Nothing here touches the state: a landing is a function that the driver calls when it is its turn.
 */
import { type Acted, act, type FoundTool, messageOf, type Run, reconcile } from "../act/act.ts";
import { targetDigests } from "../gate/arguments/targets.ts";
import type { Begin, Hold } from "../journal/port.ts";
import { cut, observeOutcome } from "../observe/observe.ts";
import type { Permit, Redeem } from "../permit/turnstile.ts";
import { checkReply, parseReply, wholeUsage } from "../reason/parse.ts";
import type { ModelReply, ModelRequest, Preview } from "../reason/port.ts";
import { prompter } from "../reason/prompt.ts";
import { withBelievableUsage } from "../reason/usage.ts";
import {
  type ActionText,
  type CallId,
  costAtMost,
  costOf,
  DELEGATE,
  type Decided,
  type Digest,
  digestOf,
  type Evidence,
  FaultError,
  type JournalEvent,
  type Json,
  type JsonObject,
  label,
  MICROS_PER_CENT,
  type Millis,
  type Outcome,
  type Prices,
  printActionId,
  reconciledEvent,
  seq,
  type Tool,
  UNTRUSTED,
  usageOf,
  type WouldPermit,
} from "../vocab/index.ts";
import { breakersOfTool, classifyCall, classifyModel, reportModel } from "./calls/breakers.ts";
import { openingOf } from "./calls/delegate.ts";
import { noteEvent, proving } from "./calls/notes.ts";
import { calledOff } from "./calls/race.ts";
import type { Choice } from "./calls/recovery.ts";
import { learntFrom } from "./calls/trusted-values.ts";
import { supposing } from "./calls/would-permit.ts";
import type { FactsFor } from "./judge.ts";
import { requestTokens, reservation, roomForOutput, settlement } from "./limits/budgets.ts";
import { recaller } from "./memory/lookup.ts";
import { bound } from "./memory/memory-tools.ts";
import { keep } from "./memory/remember.ts";
import type { Plain, Ready } from "./model/before-model.ts";
import { onReply, onResult } from "./model/middleware.ts";
import { readying, sceneOf } from "./model/prepared-request.ts";
import { type Failed, modelOf, retryAt } from "./model/retry.ts";
import { cleanedOf, sanitisedText, shownOutcome } from "./model/sanitise.ts";
import { summarise } from "./model/summary.ts";
import type { Move } from "./moves.ts";
import type { Live, Ports } from "./ports.ts";
import {
  type Answered,
  type Asking,
  type Call,
  keyOf,
  knowledgeFor,
  modelNow,
  nameOf,
  type State,
  stricter,
  type Turn,
  type Unknown,
} from "./state.ts";

/** What an effect brings home. */
export type Landing = () => readonly JournalEvent[];

/** What the driver lends: the record, the permits, the runway. */
export type Cockpit = Readonly<{
  p: Ports;
  s: State;
  hold: Hold;
  record(event: JournalEvent): void;
  permitFor(action: ActionText): Permit;
  redeem: Redeem;
  /** Fires when the turn is stopped, or the calls of this tool are. */
  stopOf(tool: string | null): AbortSignal;
  /** A session that begins with the batch. */
  begin(one: Begin): void;
  /** Something may have arrived. */
  look(): void;
  time(): Millis;
  /** For what runs in this drive. */
  deadline: Run["deadline"];
  isTurnStopped(): boolean;
  fly(name: string, effect: () => Promise<Landing>): void;
  isFlying(name: string): boolean;
  land(landing: Landing): void;
  /** Watchers: what one of them throws is its own affair. */
  tell(live: Live): void;
  /** A tool's own code that outlives its call: the hold is kept until it has ended. */
  outliving(over: Promise<void>): void;
  toolDigest(tool: Tool): Digest;
  /** What is known when a call is decided, for what it shows. */
  factsFor: FactsFor;
  /** What is to be done about a call that failed. */
  chooseFor(t: Turn, call: Call): Choice | null;
}>;

export type Launcher = Readonly<{
  /** Before a request is announced: middleware looks at it. True: something was recorded, and what comes next has to be asked again. */
  prepare(t: Turn): boolean;
  /** Looks up what is known, where nobody else is asked for it. True: it was recorded. */
  recall(t: Turn): boolean;
  /** Records what a move is about to do, and hands back the doing of it. */
  announce(move: Move): (() => void) | null;
  /** The turn is to end while middleware is still at its request. */
  abandon(why: string): void;
}>;

export function launcher(c: Cockpit): Launcher {
  const prompt = prompter(c.p.hash);
  const requests = readying(c, (t) => plainRequest(c, t, prompt));
  const recalls = recaller(c);
  const followed: Followings = new Map();
  const announce: Launcher["announce"] = (move) => {
    const t = c.s.turn;
    if (move.kind === "settle") return settle(c, move.unknown);
    if (t === null) return null;
    if (move.kind === "follow") return follow(c, move.call, followed);
    if (move.kind === "call-off") return callOff(c, t, move.call, followed);
    if (move.kind === "act" && move.call.gated.kind === "allowed" && move.call.gated.decided.action.kind === "delegate")
      return startDelegate(c, t, move.call, move.call.gated.decided, followed);
    if (move.kind === "recall") return recalls.later(t);
    if (move.kind === "keep") return keep(c, t);
    if (move.kind === "ask-model") return askModel(c, t, requests.ready(t));
    if (move.kind === "summarise") return summarise(c, t);
    if (move.kind === "recover") return lookUp(c, t, move.call);
    if ((move.kind === "act" || move.kind === "reconcile") && move.call.gated.kind === "allowed")
      return startCall(c, t, move.kind, move.call, move.call.gated.decided);
    return null;
  };
  return { prepare: requests.prepare, recall: recalls.now, announce, abandon: requests.abandon };
}

/** The approval or the grant that let it be is used up, or used, in the commit that starts it. */
export function consume({ record }: Pick<Cockpit, "record">, decided: Decided): void {
  const approval = decided.verdict.kind === "allow" ? decided.verdict.approval : null;
  if (approval === null) return;
  if (isGrant(approval)) record({ kind: "grant.used", grant: approval, action: decided.id });
  else record({ kind: "approval.consumed", approval, action: decided.id });
}
const isGrant = (
  id: NonNullable<Extract<Decided["verdict"], { kind: "allow" }>["approval"]>,
): id is Extract<JournalEvent, { kind: "grant.used" }>["grant"] => id.startsWith("g_");

function plainRequest({ p, s }: Cockpit, t: Turn, prompt: ReturnType<typeof prompter>): Plain {
  const { input, output } = roomForOutput(s, t);
  const reserved = usageOf(input, output);
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
    model: modelOf(p, t).id,
    temperature,
    maxOutputTokens: reserved.output,
    attempt: t.attempts + 1,
  });
  return { request, digest, reserved, tokens: requestTokens(s) };
}

const NO_CONTEXT: readonly string[] = Object.freeze([]);

/** Null: it may not be made yet. */
function askModel(c: Cockpit, t: Turn, ready: Ready | null): (() => void) | null {
  const { p, s } = c;
  if (t.model.kind !== "allowed" || ready === null) return null;
  const { request, digest, reserved } = ready;
  const action = t.model.decided.id;
  const [iteration, attempt] = [t.iterations + 1, t.attempts + 1];
  const model = modelOf(p, t);
  const { prices } = modelNow(s.agent, t);
  // Unless the answer may be delivered as it comes, its words are withheld (rule 2): by the gate, or because middleware has yet to see them.
  const speaks = t.respond.kind === "allowed" && p.middleware.every((m) => m.afterModel === null);
  consume(c, t.model.decided);
  for (const event of ready.events) c.record(event);
  c.record({
    kind: "model.asked",
    iteration,
    attempt,
    model: model.id,
    purpose: "reply",
    request: digest,
    reserved,
    reservedMicros: costAtMost(prices, reserved),
  });
  const preview = (words: Preview) =>
    speaks && c.isFlying("model") && c.tell({ kind: "preview", session: s.session, iteration, attempt, preview: words });
  const known = knowledgeFor(t);
  return () => {
    const permit = c.permitFor(action);
    checkHold(c);
    if (known !== null) p.knowledge.used(known.ids, c.time());
    c.fly("model", async () => {
      const allowed = c.redeem(permit);
      if (allowed.kind !== "model" || allowed.model !== model.id)
        throw new FaultError({ kind: "permit-refused", action, detail: "it names another model" });
      const stop = c.stopOf(null);
      const reply = await unlessStopped(stop, request, (signal) => model.ask(request, preview, signal));
      const what = classifyModel(reply, stop.aborted);
      const asked = { iteration, attempt, purpose: "reply" } as const;
      const landing = "error" in reply ? () => [failedEvent(c, t, reply, asked, model.id)] : await repliedLanding(c, reply, asked, prices);
      return () => {
        reportModel(p, model.id, `${s.session}/${action}`, what, "error" in reply ? reply.error : "");
        return landing();
      };
    });
  };
}

/** With what is done about it: chosen when it lands, so that a wait counts from then. */
export function failedEvent(
  { p, s, time }: Pick<Cockpit, "p" | "s" | "time">,
  t: Turn,
  failed: Failed,
  asked: Asked,
  model: string,
): Extract<JournalEvent, { kind: "model.failed" }> {
  const dueAt = retryAt(p, s, t, failed, asked.purpose, time());
  return { kind: "model.failed", ...asked, ...failed, model, dueAt };
}

/** What was said, once middleware has seen it: what that changed comes right before it. */
async function repliedLanding(c: Cockpit, reply: ModelReply, asked: Asked, prices: Prices | null): Promise<Landing> {
  const { middleware } = c.p;
  const replied = repliedEvent(c.s, reply, asked, prices);
  const before = middleware.length === 0 ? [] : await onReply(middleware, sceneOf(c, asked.iteration), replied);
  const misread: readonly JournalEvent[] =
    (reply.misread ?? null) === null ? [] : [{ kind: "calls.misread", iteration: asked.iteration, detail: reply.misread ?? "" }];
  return () => [...before, ...misread, replied];
}

/** A model that does not listen to the signal is not waited for. */
export async function unlessStopped(
  signal: AbortSignal,
  request: ModelRequest,
  ask: (signal: AbortSignal) => Promise<ModelReply>,
): Promise<ModelReply | Failed> {
  let onStop = () => {};
  const stopped = new Promise<Failed>((resolve) => {
    onStop = () => resolve(failedFor(`stopped: ${String(signal.reason)}`));
  });
  if (signal.aborted) onStop();
  signal.addEventListener("abort", onStop, { once: true });
  const asked = Promise.resolve().then(() => ask(signal));
  const reply = await Promise.race([asked.then((given) => toReply(given, request)).catch(failure), stopped]);
  signal.removeEventListener("abort", onStop); // a turn has many model calls: what they leave behind must not grow with it
  return reply;
}

function toReply(given: unknown, request: ModelRequest): ModelReply | Failed {
  const checked = checkReply(given);
  if (checked.kind === "reply") return withBelievableUsage(checked.reply, request);
  return failedFor(`the model's adapter returned something that is no reply: ${checked.detail}`);
}

function failure(error: unknown): Failed {
  if (!(error instanceof FaultError) || error.fault.kind !== "model-failed") return failedFor(messageOf(error));
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
    micros: costOf(prices, { ...wholeUsage(usage), cacheWrite: usage.cacheWrite ?? 0 }),
    model,
    meta,
  };
}

function startCall(c: Cockpit, t: Turn, how: "act" | "reconcile", call: Call, decided: Decided): (() => void) | null {
  const { p, hold } = c;
  const found = p.tools.find(nameOf(call));
  if (found === null) return null;
  let startedAt = c.s.seq;
  const tool = bound(c, found, () => startedAt);
  const bill: Bill = { micros: null, proof: null };
  const wouldPermit = supposing(p, decided, c.toolDigest, c.factsFor(c.s, t, decided.id));
  const run = runOf(c, call, tool, tool.timeoutMs ?? t.limits.toolMs, bill, wouldPermit);
  const { key, start } = run.context;
  if (call.leave === null || !isLeave(call.leave, decided)) consume(c, decided);
  c.record({
    kind: "act.started",
    call: call.proposed.id,
    key,
    digest: decided.digest,
    epoch: hold.epoch,
    start,
    repeat: run.repeat,
    ...actingOn(c, tool, decided),
  });
  startedAt = c.s.seq;
  if (how === "act") for (const event of reservation(c.s, call.proposed.id, tool.name)) c.record(event);
  return () => {
    const permit = c.permitFor(decided.id);
    checkHold(c);
    const began = p.clock.now();
    const ms = () => p.clock.now() - began;
    const done = (): Done => ({ call, tool, bill, ms: ms() });
    if (how === "act") c.fly(call.proposed.id, async () => actLanding(c, await act(permit, c.redeem, run), done(), run.stop.aborted));
    else c.fly(call.proposed.id, async () => foundLanding(c, await reconcile(permit, c.redeem, run), done()));
  };
}

/** Announced with its delegate's first entries; what flies is the driving of that session, which any process may take over. */
function startDelegate(c: Cockpit, t: Turn, call: Call, decided: Decided, followed: Followings): (() => void) | null {
  const { p, s, hold } = c;
  const id = call.proposed.id;
  const opening = openingOf(p, s, t, call, decided.action, c.time());
  if (opening === null) return null;
  consume(c, decided);
  const key = keyOf(s, call);
  c.record({
    kind: "act.started",
    call: id,
    key,
    digest: decided.digest,
    epoch: hold.epoch,
    start: 1,
    repeat: "idempotent",
    tool: DELEGATE,
    values: {},
  });
  for (const event of opening.events) c.record(event);
  c.begin(opening.begin);
  return () => {
    const permit = c.permitFor(decided.id);
    checkHold(c);
    c.redeem(permit); // used up by the start: from here on the delegate is a session like any other
    follow(c, call, followed)?.();
  };
}

/** When it was last seen to: while it was wanted, or after it or the turn was stopped. `off` stops this one alone. */
type Followed = Readonly<{ as: "driven" | "stopped"; off: AbortController }>;
type Followings = Map<CallId, Followed>;

/** Once in a drive, and once more when the turn is stopped: a delegate that waits for a person is taken up by whoever brings the answer. */
function follow(c: Cockpit, call: Call, followed: Followings): (() => void) | null {
  const { child, proposed } = call;
  const before = followed.get(proposed.id);
  const off = before?.off ?? new AbortController();
  const as = c.isTurnStopped() || off.signal.aborted ? "stopped" : "driven";
  if (child === null || c.isFlying(proposed.id) || before?.as === as || before?.as === "stopped") return null;
  followed.set(proposed.id, { as, off });
  return () =>
    c.fly(proposed.id, async () => {
      const stop = eitherOf(c.stopOf(DELEGATE), off.signal);
      await c.p.children.drive(child.session, child.agent, stop.signal).finally(stop.forget);
      c.look(); // the word of its ending came with it
      return () => [];
    });
}

/** What drives it here is told to stop; where nobody does, it is taken up to be cancelled. That it is to stop follows from what is durable already. */
function callOff(c: Cockpit, t: Turn, call: Call, followed: Followings): (() => void) | null {
  const id = call.proposed.id;
  const before = followed.get(id) ?? { as: "driven", off: new AbortController() };
  if (before.off.signal.aborted) return follow(c, call, followed);
  const why = calledOff(t);
  followed.set(id, before);
  return () => {
    before.off.abort(why);
    follow(c, call, followed)?.();
  };
}

/** A turn may have many delegates: what listens for one is taken away with it. */
function eitherOf(...signals: readonly AbortSignal[]): Readonly<{ signal: AbortSignal; forget(): void }> {
  const both = new AbortController();
  const stops = signals.map((signal) => {
    const onAbort = () => both.abort(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    return () => signal.removeEventListener("abort", onAbort);
  });
  const forget = (): void => {
    for (const stop of stops) stop();
  };
  return { signal: both.signal, forget };
}

/** What runs, and on what: what is counted of it. */
function actingOn(
  { p }: Cockpit,
  tool: Tool,
  { action }: Decided,
): Pick<Extract<JournalEvent, { kind: "act.started" }>, "tool" | "values"> {
  return { tool: tool.name, values: action.kind === "call" ? targetDigests(tool, action.args, p.hash) : {} };
}

/** Of this very call, used up when it first started. */
const isLeave = (leave: Answered, { verdict }: Decided): boolean => verdict.kind === "allow" && verdict.approval === leave.approval;

/** What a tool says its call has cost and shows as proof of it; null while it has said nothing. */
type Bill = { micros: number | null; proof: JsonObject | null };
/** A call that is over, and what it came to. */
type Done = Readonly<{ call: Call; tool: Tool; bill: Bill; ms: number }>;

function runOf(c: Cockpit, call: Call, tool: Tool, timeoutMs: number, bill: Bill, wouldPermit: WouldPermit): Run {
  const id = call.proposed.id;
  const note = (name: string, value: Json) => {
    const event = noteEvent(nameOf(call), id, name, value); // copied at once: the tool may go on changing it
    if (c.isFlying(id)) c.land(() => [event]);
  };
  const spent = (cents: number) => {
    if (typeof cents !== "number" || !(cents >= 0)) return; // no amount of money: as if nothing was said
    bill.micros = Math.ceil(cents * MICROS_PER_CENT);
    if (cents > tool.maxCents) note("spent-beyond-maximum", { cents, maxCents: tool.maxCents });
  };
  const context = {
    session: c.s.session,
    key: keyOf(c.s, call),
    epoch: c.hold.epoch,
    start: call.starts + 1,
    note,
    spent,
    evidence: proving(bill),
    wouldPermit,
  };
  return {
    tool,
    repeat: stricter(call.repeat ?? tool.repeat, tool.repeat),
    context,
    timeoutMs,
    stop: c.stopOf(tool.name),
    sleep: c.p.clock.sleep,
    deadline: c.deadline,
  };
}

/** Right before an effect: where a hold can be lost, this is the last look. */
export function checkHold({ p, s, hold }: Cockpit): void {
  if (!p.journal.holds(hold)) throw new FaultError({ kind: "hold-lost", session: s.session, epoch: hold.epoch });
}

async function actLanding(c: Cockpit, { outcome, late, over }: Acted, done: Done, stopped: boolean): Promise<Landing> {
  c.outliving(over);
  void late?.then((o) => (o === null ? undefined : reportLate(c, done.call, o))).catch(() => {}); // nobody is left to tell when the inbox itself fails: it stays unknown, which is the truth
  const reason = outcome.kind === "done" ? "" : outcome.kind === "failed" ? outcome.error : `${outcome.cause}: ${outcome.detail}`;
  const landing = await endedLanding(c, done, outcome);
  return () => {
    const key = `${c.s.session}/${done.call.proposed.id}`;
    for (const breaker of breakersOfTool(done.tool))
      c.p.breakers.report(breaker, key, classifyCall(breaker, outcome, stopped), cut(reason, 500));
    return landing();
  };
}

async function reportLate({ p, s }: Cockpit, call: Call, outcome: Outcome): Promise<void> {
  const wish = { kind: "late", call: call.proposed.id, outcome } as const;
  await p.inbox.put(p.signAsWriter({ id: p.ids.intent(), session: s.session, at: p.clock.now(), wish }));
}

function foundOf(result: FoundTool) {
  const found = result.kind === "found" ? result.found : { kind: "cannot-tell" as const, detail: result.detail };
  return found.kind === "cannot-tell" ? { ...found, detail: sanitisedText(found.detail, "clean") } : found; // it is told to the model as it is
}

/** What a tool says of an earlier run is no run: its place to try, if it had one, is free again. */
function leaveBreakers({ p, s }: Cockpit, tool: Tool | null, action: string): void {
  for (const breaker of tool === null ? [] : breakersOfTool(tool)) p.breakers.report(breaker, `${s.session}/${action}`, null, "");
}

async function foundLanding(c: Cockpit, result: FoundTool, done: Done): Promise<Landing> {
  leaveBreakers(c, done.tool, done.call.proposed.id);
  const found = foundOf(result);
  const detail = found.kind === "cannot-tell" ? found.detail : "";
  const said = reconciledEvent(done.call.proposed.id, found.kind, detail);
  if (found.kind === "did-not-happen") return () => [said];
  if (found.kind === "cannot-tell" && done.call.mending?.stage === "ask-tool") return () => [said]; // it failed, and is not run again
  const outcome: Outcome =
    found.kind === "happened" ? { kind: "done", output: found.output } : { kind: "unknown", cause: "not-reconciled", detail };
  const landing = await endedLanding(c, done, outcome);
  return () => [said, ...landing()];
}

/** A result that stands in is read from the journal, and journalled again with where it comes from. */
function lookUp(c: Cockpit, t: Turn, call: Call): (() => void) | null {
  const name = `recover:${call.proposed.id}`;
  const choice = c.isFlying(name) ? null : c.chooseFor(t, call);
  if (choice?.kind !== "look") return null;
  const { at, event } = choice;
  return () =>
    c.fly(name, async () => {
      const [entry] = await c.p.journal.read(c.s.session, seq(at - 1), 1);
      const outcome = entry?.event.kind === "act.ended" ? entry.event.outcome : null;
      if (outcome?.kind !== "done") throw new FaultError({ kind: "entry-bad", stream: c.s.session, seq: at, detail: "it holds no result" });
      const seen = await middlewareOn(c, call, outcome);
      return () => {
        if (c.s.turn !== t || call.run.kind !== "failed") return []; // it ended meanwhile
        const tool = c.p.tools.find(call.proposed.tool);
        const known = tool === null ? [] : [...labelsOf(c.s, tool, event.call), ...cleanedOf(tool, event.call, outcome)];
        return [...known, ...seen, { ...event, output: outcome.output }];
      };
    });
}

/** A person wants the tool asked about a call whose outcome is unknown, perhaps of a turn long ago. */
function settle(c: Cockpit, unknown: Unknown): (() => void) | null {
  const name = printActionId({ kind: "reconcile", call: unknown.call });
  const tool = c.p.tools.find(unknown.tool);
  if (unknown.gated?.kind !== "allowed" || c.isFlying(name)) return null;
  const context = {
    session: c.s.session,
    key: unknown.key,
    epoch: c.hold.epoch,
    start: 1,
    note: () => {},
    spent: () => {},
    evidence: () => {},
    wouldPermit: () => "no" as const, // asked what became of a call, it shows nothing new
  };
  return () => {
    const permit = c.permitFor(name);
    checkHold(c);
    c.fly(name, async () => {
      const found: ReturnType<typeof foundOf> =
        tool?.reconcile == null
          ? { kind: "cannot-tell", detail: "this tool cannot be asked what became of a call" }
          : foundOf(
              await reconcile(permit, c.redeem, {
                tool,
                repeat: "reconcile",
                context,
                timeoutMs: tool.timeoutMs ?? 30_000,
                stop: c.stopOf(tool.name),
                sleep: c.p.clock.sleep,
                deadline: c.deadline,
              }),
            );
      const detail = found.kind === "cannot-tell" ? found.detail : "";
      const said = reconciledEvent(unknown.call, found.kind, detail);
      leaveBreakers(c, tool, name);
      return () => [...(tool === null ? [] : labelsOf(c.s, tool, unknown.call)), said];
    });
  };
}

/** What ended, once middleware has seen it. */
async function endedLanding(c: Cockpit, done: Done, outcome: Outcome): Promise<Landing> {
  const seen = await middlewareOn(c, done.call, outcome);
  return () => endedEvents(c, done, outcome, seen);
}

async function middlewareOn(c: Cockpit, call: Call, outcome: Outcome): Promise<readonly JournalEvent[]> {
  const { middleware } = c.p;
  const t = c.s.turn;
  if (middleware.length === 0 || t === null) return [];
  const { id } = call.proposed;
  const tool = nameOf(call);
  const action = "decided" in call.run ? call.run.decided.action : null;
  const limit = t.limits.observationChars;
  const made = c.p.tools.find(tool);
  const isUntrusted = made?.labels.includes(UNTRUSTED) ?? true;
  const { text } = observeOutcome(tool, isUntrusted ? shownOutcome(outcome, made?.markup ?? "clean") : outcome, limit);
  const result = { call: { id, tool, args: action?.kind === "call" ? action.args : null }, outcome, text, limit };
  return (await onResult(middleware, { ...sceneOf(c, t.iterations), call: id }, result)).events;
}

function endedEvents(c: Cockpit, { call, tool, bill, ms }: Done, outcome: Outcome, seen: readonly JournalEvent[]): readonly JournalEvent[] {
  const endsTurn = tool.endsTurn && outcome.kind === "done";
  const ended: JournalEvent = {
    kind: "act.ended",
    call: call.proposed.id,
    outcome,
    evidence: { ...evidence(c, call, outcome, ms), proof: bill.proof },
    endsTurn,
    recovering: outcome.kind === "failed",
  };
  const settled = outcome.kind === "unknown" ? [] : settlement(c.s, call.proposed.id, tool.name, bill.micros);
  const learnt = learntFrom(tool, call, outcome);
  return [...labelsOf(c.s, tool, call.proposed.id), ...settled, ...learnt, ...cleanedOf(tool, call.proposed.id, outcome), ...seen, ended];
}

/** Whatever words of a tool reach the model, its labels come with them. */
export function labelsOf(s: State, tool: Tool, from: CallId): readonly JournalEvent[] {
  const fresh = tool.labels.filter((l) => !s.labels.has(l));
  return fresh.length === 0 ? [] : [{ kind: "labels.added", labels: fresh.map(label), from }];
}

export function evidence(
  { p, toolDigest }: Pick<Cockpit, "p" | "toolDigest">,
  call: Call,
  outcome: Outcome | null,
  durationMs: number,
): Evidence {
  const tool = p.tools.find(nameOf(call));
  const decided = call.run.kind === "running" || call.run.kind === "lost" ? call.run.decided : null;
  const outputDigest = outcome?.kind === "done" ? digestOf(outcome.output, p.hash) : null;
  const none = () => digestOf(null, p.hash);
  return {
    toolDigest: tool === null ? none() : toolDigest(tool),
    actionDigest: decided?.digest ?? none(),
    outputDigest,
    durationMs,
    starts: call.starts,
    proof: null,
  };
}
