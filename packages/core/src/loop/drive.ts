/**
 * Performs moves through the ports until the session waits or its turn has ended.
 * L5 append before effect: what a move announces is durable before it is launched (rule 2).
 * L6 two commits per iteration: replied, decided and started; then ended, decided and asked. L7 what a failed append leaves behind is nothing: driving stops.
 * Effects fly; only this loop touches the state. Streaming is a watcher, not a second loop.
 */
import { type Acted, act, messageOf, type Run, reconcile } from "../act/act.ts";
import { toolDigests } from "../gate/request.ts";
import { admit } from "../inbox/admit.ts";
import type { Hold } from "../journal/port.ts";
import { type Permit, type Receipt, turnstile } from "../permit/turnstile.ts";
import { parseReply } from "../reason/parse.ts";
import type { ModelReply, Preview } from "../reason/port.ts";
import { prompter } from "../reason/prompt.ts";
import {
  type ActionId,
  type Answer,
  actionId,
  callKey,
  canonical,
  type Decided,
  digestOf,
  type Evidence,
  FaultError,
  type IntentId,
  type JournalEvent,
  type Json,
  type Limits,
  label,
  millis,
  type Outcome,
  type Stamped,
  seq,
  type Tool,
} from "../vocab/index.ts";
import { evolve, gatedOf } from "./evolve.ts";
import { digestOfAction, judge, questionDigest, whyNotAnswer } from "./judge.ts";
import { idOf, type Move, next, remainingMs, requestTokens, roomForOutput } from "./next.ts";
import type { Ports } from "./ports.ts";
import { stricter } from "./resume.ts";
import type { Call, State, Turn } from "./state.ts";

/** A session in hand: its state, the hold, and what the journal has yet to hear of it (it goes with the first commit). */
export type Held = Readonly<{ state: State; hold: Hold; begin: readonly JournalEvent[] }>;

/** What an effect brings home. Called by the loop, so that it may look at the state. */
type Landing = () => readonly JournalEvent[];

const NOTE_MAX = 16_384;

export async function drive(p: Ports, { state: s, hold, begin }: Held, limits: Limits, cancel: AbortSignal): Promise<State> {
  const batch: Stamped[] = [];
  const consumed: IntentId[] = [];
  const landed: Landing[] = [];
  const flights = new Set<string>();
  const receipts = new Map<ActionId, Receipt>();
  let stop = new AbortController(); // of the turn: cancel, or its time is up
  const toolDigest = toolDigests(p.hash);
  const decide = judge(p, toolDigest);
  const prompt = prompter(p.hash);
  let alarm: AbortController | null = null;
  let durable = s.seq;
  let arrived = true;
  let wake = () => {};

  const pass = turnstile(
    async (events) => p.journal.append({ stream: s.session, after: durable, hold, events, consumes: consumed.splice(0) }),
    digestOfAction(s, p.hash),
  );

  function record(event: JournalEvent): void {
    const at = millis(Math.max(p.clock.now(), s.at));
    batch.push({ at, event });
    if (event.kind === "turn.started") {
      stop = new AbortController();
      clearAlarm();
    }
    evolve(s, { stream: s.session, seq: seq(s.seq + 1), at, event });
  }

  /** Durable, or it throws and nothing more is done. */
  async function flush(): Promise<void> {
    if (batch.length === 0) return;
    const events = batch.splice(0);
    const receipt = await pass.append(events);
    for (const [i, { at, event }] of events.entries()) {
      if (event.kind === "gate.decided" && event.verdict.kind === "allow") receipts.set(event.id, receipt);
      p.watch({ kind: "entry", entry: { stream: s.session, seq: seq(durable + 1 + i), at, event } });
    }
    durable = seq(durable + events.length);
  }

  async function drain(): Promise<void> {
    arrived = false;
    for (const intent of await p.inbox.pending(s.session)) {
      if (consumed.includes(intent.id)) continue;
      const genuine = p.authenticate(intent);
      const admitted = genuine.kind === "genuine" ? admit(intent, standing(p, s, limits)) : genuine;
      consumed.push(intent.id);
      if (admitted.kind === "event") record(admitted.event);
      else record({ kind: "intent.refused", intent: intent.id, by: intent.by, wish: intent.wish.kind, reason: admitted.reason });
    }
  }

  // ── moves that stay in the process: their events go with the next commit ──

  function perform(move: Move): boolean {
    const t = s.turn;
    if (t === null) return false;
    switch (move.kind) {
      case "gate":
        record(decide(s, t, move.action));
        return true;
      case "question":
        return question(t, move.action);
      case "give-up":
        giveUp(move.call, "hold-lost", "the process that ran it ended before it could say what became of it");
        return true;
      case "end":
        end(t, move);
        return true;
      case "act":
      case "reconcile":
        return reconsider(t, move.call);
      case "stop":
        stop.abort(move.ending);
        return false;
      case "ask-model":
      case "wait":
        return false;
    }
  }

  function question(t: Turn, action: ActionId): boolean {
    const gated = gatedOf(t, action);
    if (gated?.kind !== "to-ask") return false;
    const { decided, asks } = gated;
    record({
      kind: "approval.asked",
      approval: p.ids.approval(),
      action,
      digest: questionDigest(t, decided.action, decided.digest, p.hash),
      asks,
    });
    return true;
  }

  function end(t: Turn, { ending, output, detail }: Extract<Move, { kind: "end" }>): void {
    const approval = t.respond.kind === "allowed" && t.respond.decided.verdict.kind === "allow" ? t.respond.decided.verdict.approval : null;
    if (ending === "completed" && approval !== null)
      record({ kind: "approval.consumed", approval, action: actionId(`respond:${t.iterations}`) });
    const { number: turn, usage, lost, iterations, calls } = t;
    const activeMs = t.activeMs + Math.max(0, p.clock.now() - s.at);
    record({ kind: "turn.ended", turn, ending, output, detail, usage, lost, iterations, calls, activeMs });
  }

  function giveUp(call: Call, cause: "hold-lost" | "not-reconciled", detail: string): void {
    const outcome: Outcome = call.repeat === "read" ? { kind: "failed", error: `${cause}: ${detail}` } : { kind: "unknown", cause, detail };
    record({ kind: "act.ended", call: call.proposed.id, outcome, evidence: evidence(call, null, 0), endsTurn: false });
  }

  /**
   * A call that waited for a place, or for its process to come back, is looked at again right before it starts:
   * decided anew when what its decision read has changed, given up when its tool may no longer be repeated as it was.
   */
  function reconsider(t: Turn, call: Call): boolean {
    if (call.gated.kind !== "allowed") return false;
    const tool = p.tools.find(call.proposed.tool);
    if (call.run.kind === "lost" && (tool === null || stricter(call.repeat ?? "once", tool.repeat) !== call.repeat)) {
      giveUp(call, "hold-lost", "its tool is gone or may no longer be repeated");
      return true;
    }
    if (!receipts.has(idOf(call))) return false; // decided in this very batch
    const before = call.gated.decided;
    const now = decide(s, t, idOf(call));
    if (
      now.verdict.kind === "allow" &&
      now.slice === before.slice &&
      now.digest === before.digest &&
      canonical(now.read) === canonical(before.read)
    )
      return false;
    receipts.delete(idOf(call));
    record(now);
    return true;
  }

  // ── moves that leave it: announced, made durable, launched ──

  function announce(move: Move): (() => void) | null {
    const t = s.turn;
    if (t === null) return null;
    if (move.kind === "ask-model") return announceModel(t);
    if ((move.kind === "act" || move.kind === "reconcile") && move.call.gated.kind === "allowed")
      return announceCall(move.kind, move.call, move.call.gated.decided);
    return null;
  }

  function consume(decided: Decided): void {
    if (decided.verdict.kind === "allow" && decided.verdict.approval !== null)
      record({ kind: "approval.consumed", approval: decided.verdict.approval, action: decided.id });
  }

  function permitFor(action: ActionId): Permit {
    const receipt = receipts.get(action);
    receipts.delete(action);
    if (receipt === undefined) throw new FaultError({ kind: "permit-refused", action, detail: "no durable allow" });
    return pass.issuePermit(receipt, action);
  }

  function announceModel(t: Turn): (() => void) | null {
    if (t.model.kind !== "allowed") return null;
    const action = t.model.decided.id;
    const [iteration, attempt] = [t.iterations + 1, t.attempts + 1];
    const reserved = { input: requestTokens(s), output: roomForOutput(s, t) };
    const { messages, window } = s;
    const { temperature } = t.limits;
    const parts = {
      system: s.agent.instructions,
      messages,
      window,
      tools: p.tools.offered,
      toolsDigest: p.tools.digest,
      model: p.model.id,
      temperature,
      maxOutputTokens: reserved.output,
      attempt,
    };
    const { request, digest } = prompt(parts);
    const speaks = t.respond.kind === "allowed"; // unless the answer may be delivered, its words are withheld (rule 2)
    consume(t.model.decided);
    record({ kind: "model.asked", iteration, attempt, model: p.model.id, request: digest, reserved });
    return () => {
      const permit = permitFor(action);
      fly("model", async () => {
        const allowed = pass.redeem(permit);
        if (allowed.kind !== "model" || allowed.model !== p.model.id)
          throw new FaultError({ kind: "permit-refused", action, detail: "it names another model" });
        const { signal } = stop;
        let onStop = () => {};
        const stopped = new Promise<string>((resolve) => {
          onStop = () => resolve(String(signal.reason));
        });
        signal.addEventListener("abort", onStop, { once: true });
        const preview = (words: Preview) => speaks && p.watch({ kind: "preview", session: s.session, iteration, attempt, preview: words });
        const asked = Promise.resolve().then(() => p.model.ask(request, preview, signal));
        const reply = await Promise.race([asked.catch((error: unknown) => failure(error)), stopped]);
        signal.removeEventListener("abort", onStop); // a turn has many model calls: what they leave behind must not grow with it
        if (typeof reply === "string")
          return () => [{ kind: "model.failed", iteration, attempt, error: `stopped: ${reply}`, broke: true, again: false }];
        if ("error" in reply) return () => [{ kind: "model.failed", iteration, attempt, ...reply }];
        return () => [repliedEvent(s, reply, iteration, attempt)];
      });
    };
  }

  function announceCall(how: "act" | "reconcile", call: Call, decided: Decided): (() => void) | null {
    const tool = p.tools.find(call.proposed.tool);
    if (tool === null) return null;
    const [id, key, start] = [call.proposed.id, callKey(s.session, call.proposed.id), call.starts + 1];
    const repeat = stricter(call.repeat ?? tool.repeat, tool.repeat);
    consume(decided);
    record({ kind: "act.started", call: id, key, digest: decided.digest, epoch: hold.epoch, start, repeat });
    const timeoutMs = tool.timeoutMs ?? s.turn?.limits.toolMs ?? 30_000;
    const context = {
      session: s.session,
      key,
      epoch: hold.epoch,
      start,
      note: (name: string, value: Json) => land(() => [noteEvent(call, name, value)]),
    };
    const run: Run = { tool, repeat, context, timeoutMs, stop: stop.signal, sleep: p.clock.sleep };
    return () => {
      const permit = permitFor(decided.id);
      const began = p.clock.now();
      if (!p.journal.holds(hold)) throw new FaultError({ kind: "hold-lost", session: s.session, epoch: hold.epoch });
      if (how === "act") fly(id, async () => actLanding(await act(permit, pass.redeem, run), call, tool, began));
      else fly(id, async () => foundLanding(await reconcile(permit, pass.redeem, run), call, tool, began));
    };
  }

  function actLanding({ outcome, late }: Acted, call: Call, tool: Tool, began: number): Landing {
    const ms = p.clock.now() - began;
    void late?.then(reportLate(call)).catch(() => {}); // nobody is left to tell when the inbox itself fails: it stays unknown, which is the truth
    return () => endedEvents(call, tool, outcome, ms);
  }

  function foundLanding(result: Awaited<ReturnType<typeof reconcile>>, call: Call, tool: Tool, began: number): Landing {
    const ms = p.clock.now() - began;
    const found = result.kind === "found" ? result.found : { kind: "cannot-tell" as const, detail: result.detail };
    const detail = found.kind === "cannot-tell" ? found.detail : "";
    const said: JournalEvent = { kind: "recovery.applied", call: call.proposed.id, found: found.kind, detail };
    switch (found.kind) {
      case "did-not-happen":
        return () => [said];
      case "happened":
        return () => [said, ...endedEvents(call, tool, { kind: "done", output: found.output }, ms)];
      case "cannot-tell":
        return () => [said, ...endedEvents(call, tool, { kind: "unknown", cause: "not-reconciled", detail }, ms)];
    }
  }

  const reportLate = (call: Call) => async (outcome: Outcome) => {
    const wish = { kind: "late", call: call.proposed.id, outcome } as const;
    await p.inbox.put(p.signAsWriter({ id: p.ids.intent(), session: s.session, at: p.clock.now(), wish }));
  };

  function endedEvents(call: Call, tool: Tool, outcome: Outcome, durationMs: number): readonly JournalEvent[] {
    const fresh = tool.labels.filter((l) => !s.labels.has(l));
    const ended: JournalEvent = {
      kind: "act.ended",
      call: call.proposed.id,
      outcome,
      evidence: evidence(call, outcome, durationMs),
      endsTurn: tool.endsTurn && outcome.kind === "done",
    };
    const labels: JournalEvent = { kind: "labels.added", labels: fresh.map(label), from: call.proposed.id };
    return fresh.length === 0 ? [ended] : [labels, ended];
  }

  function evidence(call: Call, outcome: Outcome | null, durationMs: number): Evidence {
    const tool = p.tools.find(call.proposed.tool);
    const decided = call.run.kind === "running" || call.run.kind === "lost" ? call.run.decided : null;
    const output = outcome?.kind === "done" ? digestOf(outcome.output, p.hash) : null;
    const none = () => digestOf(null, p.hash);
    return {
      toolDigest: tool === null ? none() : toolDigest(tool),
      actionDigest: decided?.digest ?? none(),
      outputDigest: output,
      durationMs,
      starts: call.starts,
    };
  }

  function fly(name: string, effect: () => Promise<Landing>): void {
    flights.add(name);
    void effect()
      .catch(
        (error: unknown): Landing =>
          () => {
            throw error; // a bug or a refused permit: it surfaces in the loop, which stops driving
          },
      )
      .then((landing) => {
        flights.delete(name);
        land(landing);
      });
  }

  function land(landing: Landing): void {
    landed.push(landing);
    wake();
  }

  /** Rings when the turn's time is up. One for the whole drive: all of its time counts, so the hour does not move. */
  function setAlarm(t: Turn): void {
    const mine = new AbortController();
    alarm = mine;
    void p.clock.sleep(Math.max(0, remainingMs(s, t, p.clock.now())), mine.signal).then(() => {
      if (alarm !== mine) return;
      alarm = null; // should there be time left after all (a clock that was set back), it is set again
      wake();
    });
  }

  function clearAlarm(): void {
    alarm?.abort("over");
    alarm = null;
  }

  /** Until something lands, something arrives, the turn's time is up, or the caller cancels. */
  async function idle(): Promise<void> {
    if (landed.length > 0 || arrived || isCancelDue()) return; // it may have come while the batch was being written
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    if (alarm === null && s.turn !== null && !stop.signal.aborted) setAlarm(s.turn);
    await woken;
    wake = () => {};
  }

  const unwatch = p.inbox.watch(s.session, () => {
    arrived = true;
    wake();
  });
  const isCancelDue = () => cancel.aborted && s.turn !== null && s.turn.cancel === null;
  const onCancel = () => wake();
  cancel.addEventListener("abort", onCancel, { once: true });
  try {
    for (const event of begin) record(event);
    for (;;) {
      if (arrived) await drain();
      for (const landing of landed.splice(0)) for (const event of landing()) record(event);
      if (s.turn !== null && isCancelDue())
        record({ kind: "turn.cancel-asked", by: s.turn.by, reason: String(cancel.reason ?? "cancelled"), intent: null });

      const moves = next(s, p.clock.now());
      if (moves.map(perform).some(Boolean)) continue; // nothing has left the process: same commit, next moves
      const launches = moves.map(announce);
      await flush();
      for (const launch of launches) launch?.();
      if (flights.size === 0 && landed.length === 0 && !arrived) return s; // parked or ended: a parked session costs nothing
      await idle();
    }
  } catch (error) {
    stop.abort("failed"); // nothing more is run; what is in flight is told to stop
    throw error;
  } finally {
    unwatch();
    clearAlarm();
    cancel.removeEventListener("abort", onCancel);
  }
}

function repliedEvent(s: State, reply: ModelReply, iteration: number, attempt: number): JournalEvent {
  const { finish, usage, model, meta } = reply;
  return {
    kind: "model.replied",
    iteration,
    attempt,
    parts: parseReply(reply.parts, s.replies + 1, s.wireIds),
    finish,
    usage,
    model,
    meta,
  };
}

function failure(error: unknown): { error: string; broke: boolean; again: boolean } {
  if (error instanceof FaultError && error.fault.kind === "model-failed")
    return { error: error.fault.detail, broke: error.fault.broke, again: error.fault.again };
  return { error: messageOf(error), broke: true, again: false };
}

function noteEvent(call: Call, name: string, value: Json): JournalEvent {
  const fits = canonical(value).length <= NOTE_MAX;
  return {
    kind: "note",
    from: call.proposed.tool,
    call: call.proposed.id,
    name,
    value: fits ? value : `[left out: a note holds at most ${NOTE_MAX} characters]`,
  };
}

const standing = (p: Pick<Ports, "gate">, s: State, limits: Limits) => ({
  turns: s.turns,
  running: s.turn !== null,
  closed: s.closed,
  limits,
  question: (approval: string) => [...(s.turn?.questions.values() ?? [])].find((q) => q.approval === approval) ?? null,
  whyNotAnswer: (approval: string, by: string, answer: Answer) => whyNotAnswer(p, s, approval, { by, answer }),
  isUnknown: (call: string) => [...s.unknowns.keys()].some((c) => c === call),
});
