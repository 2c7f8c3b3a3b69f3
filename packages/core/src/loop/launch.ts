/**
 * Effects: announced as events, launched once those are durable, brought home as events again.
 * Nothing here touches the state: a landing is a function that the driver calls when it is its turn.
 */
import { type Acted, act, type Found, messageOf, type Run, reconcile } from "../act/act.ts";
import type { Hold } from "../journal/port.ts";
import type { Permit, Redeem } from "../permit/turnstile.ts";
import { checkReply, parseReply } from "../reason/parse.ts";
import type { ModelReply, Preview } from "../reason/port.ts";
import { prompter } from "../reason/prompt.ts";
import {
  type ActionId,
  actionId,
  type CallId,
  callKey,
  canonical,
  costOf,
  type Decided,
  type Digest,
  digestOf,
  type Evidence,
  FaultError,
  frozenCopy,
  type JournalEvent,
  type Json,
  label,
  MICROS_PER_CENT,
  type Outcome,
  type Prices,
  reconciledEvent,
  type Tool,
} from "../vocab/index.ts";
import { reservation, roomForOutput, settlement } from "./budgets.ts";
import { summaryDigest, summaryFor, summaryRequest, summedEvent } from "./context.ts";
import type { Move } from "./next.ts";
import type { Live, Ports } from "./ports.ts";
import { stricter } from "./resume.ts";
import type { Answered, Asking, Call, State, Turn, Unknown } from "./state.ts";

/** What an effect brings home. */
export type Landing = () => readonly JournalEvent[];

/** What the driver lends: the record, the permits, the runway. */
export type Cockpit = Readonly<{
  p: Ports;
  s: State;
  hold: Hold;
  record(event: JournalEvent): void;
  permitFor(action: ActionId): Permit;
  redeem: Redeem;
  /** Fires when the turn is stopped, or the calls of this tool are. */
  stopOf(tool: string | null): AbortSignal;
  fly(name: string, effect: () => Promise<Landing>): void;
  isFlying(name: string): boolean;
  land(landing: Landing): void;
  /** Watchers: what one of them throws is its own affair. */
  tell(live: Live): void;
  /** A tool's own code that outlives its call: the hold is kept until it has ended. */
  outliving(over: Promise<void>): void;
  toolDigest(tool: Tool): Digest;
}>;

const NOTE_MAX = 16_384;

/** Records what a move is about to do, and hands back the doing of it. */
export function launcher(c: Cockpit): (move: Move) => (() => void) | null {
  const prompt = prompter(c.p.hash);
  return (move) => {
    const t = c.s.turn;
    if (move.kind === "settle") return settle(c, move.unknown);
    if (t === null) return null;
    if (move.kind === "ask-model") return askModel(c, t, prompt);
    if (move.kind === "summarise") return summarise(c, t);
    if ((move.kind === "act" || move.kind === "reconcile") && move.call.gated.kind === "allowed")
      return startCall(c, t, move.kind, move.call, move.call.gated.decided);
    return null;
  };
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

function askModel(c: Cockpit, t: Turn, prompt: ReturnType<typeof prompter>): (() => void) | null {
  const { p, s } = c;
  if (t.model.kind !== "allowed") return null;
  const action = t.model.decided.id;
  const [iteration, attempt] = [t.iterations + 1, t.attempts + 1];
  const { input, output } = roomForOutput(s, t);
  const reserved = { input, output };
  const { messages, window } = s;
  const { temperature } = t.limits;
  const { request, digest } = prompt({
    system: s.agent.instructions,
    messages,
    window,
    tools: p.tools.offered,
    toolsDigest: p.tools.digest,
    model: p.model.id,
    temperature,
    maxOutputTokens: reserved.output,
    attempt,
  });
  const speaks = t.respond.kind === "allowed"; // unless the answer may be delivered, its words are withheld (rule 2)
  consume(c, t.model.decided);
  c.record({
    kind: "model.asked",
    iteration,
    attempt,
    model: p.model.id,
    purpose: "reply",
    request: digest,
    reserved,
    reservedMicros: costOf(s.agent.prices, reserved),
  });
  const preview = (words: Preview) =>
    speaks && c.isFlying("model") && c.tell({ kind: "preview", session: s.session, iteration, attempt, preview: words });
  return () => {
    const permit = c.permitFor(action);
    checkHold(c);
    c.fly("model", async () => {
      const allowed = c.redeem(permit);
      if (allowed.kind !== "model" || allowed.model !== p.model.id)
        throw new FaultError({ kind: "permit-refused", action, detail: "it names another model" });
      const reply = await unlessStopped(c.stopOf(null), (signal) => p.model.ask(request, preview, signal));
      if ("error" in reply) return () => [{ kind: "model.failed", iteration, attempt, purpose: "reply", ...reply }];
      return () => [repliedEvent(s, reply, { iteration, attempt, purpose: "reply" }, s.agent.prices)];
    });
  };
}

/**
 * C5 a model call of its own: gated, reserved, settled and journalled like any other, but no iteration, and never shown while it comes.
 * What it says is put in place in the commit that records it.
 */
function summarise(c: Cockpit, t: Turn): (() => void) | null {
  const { p, s } = c;
  const plan = summaryFor(s, t);
  if (t.summary.gated.kind !== "allowed" || plan === null) return null;
  const { decided } = t.summary.gated;
  const request = summaryRequest(s, t, plan);
  const asked = { iteration: t.iterations + 1, attempt: request.attempt, purpose: "summary" } as const;
  const reserved = { input: plan.room.input, output: plan.room.output };
  const prices = p.summariser.id === p.model.id ? s.agent.prices : null;
  consume(c, decided);
  c.record({
    kind: "model.asked",
    ...asked,
    model: p.summariser.id,
    request: summaryDigest(p.summariser.id, request, p.hash),
    reserved,
    reservedMicros: costOf(prices, reserved),
  });
  return () => {
    const permit = c.permitFor(decided.id);
    checkHold(c);
    c.fly("model", async () => {
      const allowed = c.redeem(permit);
      if (allowed.kind !== "model" || allowed.model !== p.summariser.id)
        throw new FaultError({ kind: "permit-refused", action: decided.id, detail: "it names another model" });
      const reply = await unlessStopped(c.stopOf(null), (signal) => p.summariser.ask(request, () => {}, signal));
      if ("error" in reply) return () => [{ kind: "model.failed", ...asked, ...reply }];
      return () => {
        const said = reply.parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
        const isUsable = reply.finish !== "refused" && reply.finish !== "filtered";
        const put = isUsable ? summedEvent(s, t, plan, said, reply.model) : null;
        return [repliedEvent(s, reply, asked, prices), ...(put === null ? [] : [put])];
      };
    });
  };
}

type Failed = Readonly<{ error: string; broke: boolean; again: boolean }>;

/** A model that does not listen to the signal is not waited for. */
async function unlessStopped(signal: AbortSignal, ask: (signal: AbortSignal) => Promise<ModelReply>): Promise<ModelReply | Failed> {
  let onStop = () => {};
  const stopped = new Promise<Failed>((resolve) => {
    onStop = () => resolve({ error: `stopped: ${String(signal.reason)}`, broke: true, again: false });
  });
  if (signal.aborted) onStop();
  signal.addEventListener("abort", onStop, { once: true });
  const asked = Promise.resolve().then(() => ask(signal));
  const reply = await Promise.race([asked.then(toReply).catch(failure), stopped]);
  signal.removeEventListener("abort", onStop); // a turn has many model calls: what they leave behind must not grow with it
  return reply;
}

function toReply(given: unknown): ModelReply | Failed {
  const checked = checkReply(given);
  return checked.kind === "reply"
    ? checked.reply
    : { error: `the model's adapter returned something that is no reply: ${checked.detail}`, broke: true, again: false };
}

function failure(error: unknown): Failed {
  if (error instanceof FaultError && error.fault.kind === "model-failed")
    return { error: error.fault.detail, broke: error.fault.broke, again: error.fault.again };
  return { error: messageOf(error), broke: true, again: false };
}

type Asked = Pick<Asking, "iteration" | "attempt" | "purpose">;

function repliedEvent(s: State, reply: ModelReply, asked: Asked, prices: Prices | null): JournalEvent {
  const { finish, usage, model, meta } = reply;
  return {
    kind: "model.replied",
    ...asked,
    parts: parseReply(reply.parts, s.replies + 1, s.wireIds),
    finish,
    usage,
    micros: costOf(prices, usage),
    model,
    meta,
  };
}

function startCall(c: Cockpit, t: Turn, how: "act" | "reconcile", call: Call, decided: Decided): (() => void) | null {
  const { p, hold } = c;
  const tool = p.tools.find(call.proposed.tool);
  if (tool === null) return null;
  const bill: Bill = { micros: null };
  const run = runOf(c, call, tool, tool.timeoutMs ?? t.limits.toolMs, bill);
  const { key, start } = run.context;
  if (call.leave === null || !isLeave(call.leave, decided)) consume(c, decided);
  c.record({ kind: "act.started", call: call.proposed.id, key, digest: decided.digest, epoch: hold.epoch, start, repeat: run.repeat });
  if (how === "act") for (const event of reservation(c.s, call.proposed.id, tool.name)) c.record(event);
  return () => {
    const permit = c.permitFor(decided.id);
    checkHold(c);
    const began = p.clock.now();
    const ms = () => p.clock.now() - began;
    if (how === "act") c.fly(call.proposed.id, async () => actLanding(c, await act(permit, c.redeem, run), { call, tool, bill, ms: ms() }));
    else c.fly(call.proposed.id, async () => foundLanding(c, await reconcile(permit, c.redeem, run), { call, tool, bill, ms: ms() }));
  };
}

/** Of this very call, used up when it first started. */
const isLeave = (leave: Answered, { verdict }: Decided): boolean => verdict.kind === "allow" && verdict.approval === leave.approval;

/** What a tool says its call has cost; null while it has said nothing. */
type Bill = { micros: number | null };
/** A call that is over, and what it came to. */
type Done = Readonly<{ call: Call; tool: Tool; bill: Bill; ms: number }>;

function runOf(c: Cockpit, call: Call, tool: Tool, timeoutMs: number, bill: Bill): Run {
  const id = call.proposed.id;
  const note = (name: string, value: Json) => {
    const event = noteEvent(call, name, value); // copied at once: the tool may go on changing it
    if (c.isFlying(id)) c.land(() => [event]);
  };
  const spent = (cents: number) => {
    if (typeof cents !== "number" || !(cents >= 0)) return; // no amount of money: as if nothing was said
    bill.micros = Math.ceil(cents * MICROS_PER_CENT);
    if (cents > tool.maxCents) note("spent-beyond-maximum", { cents, maxCents: tool.maxCents });
  };
  const context = { session: c.s.session, key: callKey(c.s.session, id), epoch: c.hold.epoch, start: call.starts + 1, note, spent };
  return {
    tool,
    repeat: stricter(call.repeat ?? tool.repeat, tool.repeat),
    context,
    timeoutMs,
    stop: c.stopOf(tool.name),
    sleep: c.p.clock.sleep,
  };
}

/** Right before an effect: where a hold can be lost, this is the last look. */
function checkHold({ p, s, hold }: Cockpit): void {
  if (!p.journal.holds(hold)) throw new FaultError({ kind: "hold-lost", session: s.session, epoch: hold.epoch });
}

function actLanding(c: Cockpit, { outcome, late, over }: Acted, done: Done): Landing {
  c.outliving(over);
  void late?.then((o) => (o === null ? undefined : reportLate(c, done.call, o))).catch(() => {}); // nobody is left to tell when the inbox itself fails: it stays unknown, which is the truth
  return () => endedEvents(c, done, outcome);
}

async function reportLate({ p, s }: Cockpit, call: Call, outcome: Outcome): Promise<void> {
  const wish = { kind: "late", call: call.proposed.id, outcome } as const;
  await p.inbox.put(p.signAsWriter({ id: p.ids.intent(), session: s.session, at: p.clock.now(), wish }));
}

const foundOf = (result: Found) => (result.kind === "found" ? result.found : { kind: "cannot-tell" as const, detail: result.detail });

function foundLanding(c: Cockpit, result: Found, done: Done): Landing {
  const found = foundOf(result);
  const detail = found.kind === "cannot-tell" ? found.detail : "";
  const said = reconciledEvent(done.call.proposed.id, found.kind, detail);
  switch (found.kind) {
    case "did-not-happen":
      return () => [said];
    case "happened":
      return () => [said, ...endedEvents(c, done, { kind: "done", output: found.output })];
    case "cannot-tell":
      return () => [said, ...endedEvents(c, done, { kind: "unknown", cause: "not-reconciled", detail })];
  }
}

/** A person wants the tool asked about a call whose outcome is unknown, perhaps of a turn long ago. */
function settle(c: Cockpit, unknown: Unknown): (() => void) | null {
  const name = `reconcile:${unknown.call}`;
  const tool = c.p.tools.find(unknown.tool);
  if (unknown.gated?.kind !== "allowed" || c.isFlying(name)) return null;
  const context = {
    session: c.s.session,
    key: callKey(c.s.session, unknown.call),
    epoch: c.hold.epoch,
    start: 1,
    note: () => {},
    spent: () => {},
  };
  return () => {
    const permit = c.permitFor(actionId(name));
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
              }),
            );
      const detail = found.kind === "cannot-tell" ? found.detail : "";
      const said = reconciledEvent(unknown.call, found.kind, detail);
      return () => [...(tool === null ? [] : labelsOf(c.s, tool, unknown.call)), said];
    });
  };
}

function endedEvents(c: Cockpit, { call, tool, bill, ms }: Done, outcome: Outcome): readonly JournalEvent[] {
  const endsTurn = tool.endsTurn && outcome.kind === "done";
  const ended: JournalEvent = {
    kind: "act.ended",
    call: call.proposed.id,
    outcome,
    evidence: evidence(c, call, outcome, ms),
    endsTurn,
  };
  const settled = outcome.kind === "unknown" ? [] : settlement(c.s, call.proposed.id, tool.name, bill.micros);
  return [...labelsOf(c.s, tool, call.proposed.id), ...settled, ended];
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
  const tool = p.tools.find(call.proposed.tool);
  const decided = call.run.kind === "running" || call.run.kind === "lost" ? call.run.decided : null;
  const outputDigest = outcome?.kind === "done" ? digestOf(outcome.output, p.hash) : null;
  const none = () => digestOf(null, p.hash);
  return {
    toolDigest: tool === null ? none() : toolDigest(tool),
    actionDigest: decided?.digest ?? none(),
    outputDigest,
    durationMs,
    starts: call.starts,
  };
}

/** A tool's note is its own: what is too long or not JSON is left out with a word, and never stops the drive. */
function noteEvent(call: Call, name: string, value: Json): JournalEvent {
  return {
    kind: "note",
    from: call.proposed.tool,
    call: call.proposed.id,
    name: messageOf(name).slice(0, 64).toWellFormed(),
    value: fitting(value),
  };
}

function fitting(value: Json): Json {
  try {
    const own = frozenCopy(value);
    return canonical(own).length <= NOTE_MAX ? own : `[left out: a note holds at most ${NOTE_MAX} characters]`;
  } catch {
    return "[left out: a note is JSON]";
  }
}
