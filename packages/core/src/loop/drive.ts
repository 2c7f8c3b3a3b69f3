/**
 * Performs moves through the ports until the session waits or its turn has ended.
 * L-9 two commits per iteration: replied, decided and started; then ended, decided and asked. L-6 what a failed append leaves behind is nothing: driving stops.
 * Effects fly; only this loop touches the state. Streaming is a watcher, not a second loop.
 * Rule: L-5.
 */

import { messageOf } from "../act/act.ts";
import { expiry } from "../gate/approvals.ts";
import { AwaitsGate } from "../gate/late.ts";
import { toolDigests } from "../gate/request.ts";
import { type Admitted, admit, refusalOf, refusalsOf } from "../inbox/admit.ts";
import type { Arrived } from "../inbox/port.ts";
import { haltOf, type Orders } from "../journal/orders.ts";
import type { Begin } from "../journal/port.ts";
import { type Permit, type Receipt, turnstile } from "../permit/turnstile.ts";
import {
  type ActionId,
  type ActionText,
  canonical,
  DELEGATE,
  type Decided,
  FaultError,
  type GrantId,
  type Intent,
  type IntentId,
  isFault,
  type JournalEvent,
  type Limits,
  type Millis,
  type Outcome,
  printActionId,
  type Stamped,
  seq,
  type Wish,
} from "../vocab/index.ts";
import { withConsequences, wordOfEnding } from "./calls/delegate.ts";
import { chooser } from "./calls/recovery.ts";
import { nextRetry } from "./calls/recovery-state.ts";
import { type Cockpit, consume, evidence, type Landing, labelsOf, launcher } from "./effects.ts";
import { emptyState, evolve } from "./evolve.ts";
import { digestsOfActions, isDoubtedAsBefore, judge, lapsedGrant, questionDigest, targetsOf } from "./judge.ts";
import { stops } from "./limits/abort-scopes.ts";
import { costOfTurn, remainingMs, settlement, settlementAfter } from "./limits/budgets.ts";
import { counter } from "./limits/session-rate-counters.ts";
import { alarmOf, deadlinesOf, steadyTime } from "./limits/time.ts";
import { RECALLING } from "./memory/lookup.ts";
import { compactedEvent } from "./model/context.ts";
import { PREPARING } from "./model/prepared-request.ts";
import { withCleaned } from "./model/sanitise.ts";
import { askedWith, checkOutput, isAskedWith } from "./model/structured-output.ts";
import { idOf, type Move, next } from "./next.ts";
import type { Held } from "./open.ts";
import { gatedOf } from "./people/approval-state.ts";
import { trimmed } from "./people/conversation-settings.ts";
import { haltOn, haltWaitedFor, heldBack, isBeginning, restsOn, scopesOf } from "./people/halts.ts";
import { ears } from "./people/intake.ts";
import { standing } from "./people/may-answer.ts";
import type { Live, Ports } from "./ports.ts";
import { readState } from "./resume.ts";
import { type Call, type FollowUp, nameOf, type State, stricter, type Turn } from "./state.ts";

/** `leave`: whoever drives is to go. Nothing more is begun, what is in flight lands, and the turn stays open for whoever takes it up next (W-29). */
export async function drive(
  p: Ports,
  { state: s, hold, begin, left }: Held,
  limits: Limits,
  cancel: AbortSignal,
  leave: AbortSignal | null = null,
): Promise<State> {
  const batch: Stamped[] = [];
  const consumed: IntentId[] = [];
  const opening: Begin[] = []; // delegates that begin with the batch
  const telling: Intent[] = []; // what others are to hear with it
  const landed: Landing[] = [];
  const flights = new Map<string, Promise<void>>();
  const decidedAt = new Map<ActionText, Moment>();
  const receipts = new Map<ActionText, Receipt>();
  const stop = stops();
  const toolDigest = toolDigests(p.hash);
  let durable = s.seq;
  let arrived = true;
  let wake = () => {};
  const time = steadyTime(p.clock, s);
  const alarm = alarmOf(p.clock, () => wake()); // rings when the turn's time is up
  const retries = alarmOf(p.clock, () => wake()); // rings when a call is due to run again
  const deadlines = deadlinesOf(p.clock);
  const digestAction = digestsOfActions(s, p.hash);
  const decide = judge(p, { toolDigest, digestAction, now: time });
  const choose = chooser(p, s);
  const counting = counter(p, s);
  const chooseFor = (t: Turn, call: Call) => choose(t, call, time());

  const pass = turnstile(
    async (events) =>
      p.journal.append({
        stream: s.session,
        after: durable,
        hold,
        events,
        consumes: consumed.splice(0),
        unlessHalted: scopesOf(s, events),
        opens: opening.splice(0),
        tells: telling.splice(0),
        ...counting.now(),
      }),
    digestAction,
  );

  function record(event: JournalEvent): void {
    const at = time();
    batch.push({ at, event });
    if (event.kind === "turn.ended") {
      stop.renew();
      alarm.clear();
      listening.turnEnded();
      retries.clear();
    }
    if (event.kind === "turn.cancel-asked" && event.all) listening.cancelledAll();
    evolve(s, { stream: s.session, seq: seq(s.seq + 1), at, event });
    if (event.kind === "turn.ended") telling.push(...wordOfEnding(p, s, at));
    counting.heard(event);
    if (event.kind === "gate.decided") decidedAt.set(event.id, moment());
    for (const more of [...askedWith(p, event), ...settlementAfter(s, event)]) record(more);
  }

  /** What a decision made now has seen: the labels, outcomes and unknowns, the grants and halts, and what is left alone. */
  const moment = (): Moment => ({ changes: s.changes, orders: p.orders.now(), breakers: p.breakers.version() });

  /** A watcher's error is its own: the run does not depend on who looks. */
  function tell(live: Live): void {
    try {
      p.watch(live);
    } catch {
      // whoever handed the watcher in hears of it there
    }
  }

  /** Durable, or it throws and nothing more is done. False: work was halted or a grant revoked at that very moment, and nothing of it was begun. */
  async function flush(): Promise<boolean> {
    if (batch.length === 0) return true;
    const events = batch.splice(0);
    const taken = [...consumed];
    counting.about(events);
    try {
      const receipt = await pass.append(events);
      counting.durable();
      for (const { event } of events) if (event.kind === "gate.decided" && event.verdict.kind === "allow") receipts.set(event.id, receipt);
    } catch (error) {
      const isMoved = isFault(error, "counters-moved");
      if (!isMoved && (durable === 0 || !(isFault(error, "halted") || isFault(error, "grant-revoked")))) throw error;
      const { fault } = error;
      await takeBack(events, taken, fault.kind === "grant-revoked" ? fault.grant : null);
      return false;
    }
    for (const [i, { at, event }] of events.entries())
      tell({ kind: "entry", entry: { stream: s.session, seq: seq(durable + 1 + i), at, event } });
    durable = seq(durable + events.length);
    return true;
  }

  /** Nothing of a refused batch is there. What had happened is recorded again, what was to be begun is not. */
  async function takeBack(events: readonly Stamped[], taken: readonly IntentId[], revoked: GrantId | null): Promise<void> {
    await p.orders.refresh();
    const restsOnCounts = counting.takenBack();
    const [first] = events;
    const before = durable === 0 && first?.event.kind === "session.opened" ? emptyState(s.session, first.event, p.counters) : null;
    Object.assign(s, before ?? (await readState(p, s.session, p)));
    for (const { event } of events)
      if (!isBeginning(event) && !restsOn(event, revoked) && !restsOnCounts(event) && !isAskedWith(event)) record(event);
    decidedAt.clear(); // the order came after these decisions: each is looked at again
    consumed.push(...taken);
  }

  async function drain(): Promise<void> {
    arrived = false;
    await p.orders.refresh();
    await p.breakers.refresh();
    const pending = await p.inbox.pending(s.session);
    for (const [i, one] of pending.entries()) {
      const { intent } = one;
      if (consumed.includes(intent.id) || listening.isHearing(intent.id)) continue;
      const isTakenBack = refusalsOf(intent, pending.slice(i + 1)).some((later) => judged(later).kind === "event");
      const became = isTakenBack ? [refusalOf(intent, "the same person has taken it back since")] : listening.hear(one);
      if (became === null) continue; // middleware takes its time: it stays in the inbox until then
      consumed.push(intent.id);
      for (const event of became) record(event);
    }
  }

  const consequences = (event: JournalEvent, wish: Wish) => [
    ...withCleaned(
      p,
      s,
      withConsequences(s, event, wish, (call, outcome, ms) => evidence({ p, toolDigest }, call, outcome, ms)),
    ),
    ...trimmed(s, event),
  ];

  /** A row that cannot even be looked at is refused like any other: it must not block the session. */
  function judged(one: Arrived): Admitted {
    try {
      if (s.taken.has(one.intent.id)) return { kind: "refused", reason: "it was taken before: a copy of an intent counts for nothing" };
      const genuine = p.authenticate(one.intent);
      const admitted = genuine.kind === "genuine" ? admit(one, standing(p, s, limits, toolDigest)) : genuine;
      if (admitted.kind === "event") canonical(admitted.event); // what cannot be written must not wait to fail the commit
      return admitted;
    } catch (error) {
      return { kind: "refused", reason: `it cannot be understood: ${messageOf(error)}` };
    }
  }

  /** Halts act at once: on the whole turn, or on the calls of one tool. What waits for a person is held, not ended; its sub-agents obey for themselves. */
  function obeyHalts(): void {
    const orders = p.orders.now();
    const halt = haltOn(s, orders);
    const isHeld = heldBack(s, orders).turn !== null;
    if (halt !== null && !isHeld && s.turn !== null && s.turn.halt === null)
      record({ kind: "turn.halted", scope: halt.scope, by: halt.by, reason: halt.reason });
    stop.halt((tool) => orders.halts.has(`tool:${tool}`) || (isHeld && tool !== DELEGATE));
  }

  /** Answers that were to be remembered: given once the answer itself is durable, by this process or the one after it. */
  async function giveGrants(): Promise<void> {
    for (const grant of s.grantsDue.splice(0)) if (!p.orders.now().given.has(grant.grant)) await p.orders.give(grant);
  }

  /** Policies can be replaced while a turn runs. The session then names the new set before the first decision made under it (J-27). */
  function recordDecision(decided: Decided): void {
    const policies = p.gate.digest;
    if (policies !== s.agent.policies) record({ kind: "agent.changed", agent: { ...s.agent, policies } });
    record(decided);
  }

  // ── moves that stay in the process: their events go with the next commit ──

  /** A move whose gate answers later is not launched: it is decided again, on the facts of then, once the answer is there. */
  function performOrAwait(move: Move): boolean | "awaited" {
    try {
      return perform(move);
    } catch (error) {
      if (!(error instanceof AwaitsGate)) throw error;
      const flight = `gate:${error.key}`;
      if (!flights.has(flight)) fly(flight, () => error.answered.then(() => () => []));
      return "awaited";
    }
  }

  function perform(move: Move): boolean {
    const t = s.turn;
    if (move.kind === "gate") {
      recordDecision(decide(s, t, move.action));
      return true;
    }
    if (move.kind === "start") return startNext(move.followUp);
    if (t === null) return false;
    switch (move.kind) {
      case "question":
        return question(t, move.action);
      case "expire":
        record({ kind: "approval.expired", approval: move.question.approval, result: move.question.onExpiry });
        return true;
      case "recover":
        return recover(t, move.call);
      case "give-up":
        giveUp(move.call, "the process that ran it ended before it could say what became of it");
        return true;
      case "end":
        if (flights.has(PREPARING)) {
          abandon(move.ending); // middleware is still at its request: it is told to stop first, and named if it does not
          return false;
        }
        if (flights.has(RECALLING)) {
          stop.stopTurn(move.ending); // what is looked up is not waited for
          return false;
        }
        end(t, move);
        return true;
      case "act":
      case "reconcile":
        return reconsider(t, move.call);
      case "stop":
        stop.stopTurn(move.ending);
        return false;
      case "compact":
        return compact(t, move.how);
      case "summarise":
        return false;
      case "check-output":
        return check(t);
      case "recall":
        return recall(t);
      case "ask-model":
        return reconsiderAnswer(t) || prepare(t);
      case "keep":
      case "settle":
      case "follow":
      case "call-off":
      case "wait":
        return false;
    }
  }

  /** The leave to answer is looked at before every request, and recorded when it is not the one on record. */
  function reconsiderAnswer(t: Turn): boolean {
    if (t.respond.kind !== "allowed") return false;
    const now = decide(s, t, { kind: "respond", iteration: t.iterations + 1 });
    if (isSame(now, t.respond.decided)) return false;
    recordDecision(now);
    return true;
  }

  /** What was said to follow the turn that has ended. Who stops driving, or halted work, leaves it in its place. */
  function startNext({ text: input, files, by, intent }: FollowUp): boolean {
    if (cancel.aborted || haltOf(p.orders.now(), s.agent.name) !== null) return false;
    record({ kind: "turn.started", turn: s.turns + 1, input, files, by, limits, intent });
    return true;
  }

  function check(t: Turn): boolean {
    const event = checkOutput(p, t);
    if (event !== null) record(event);
    return event !== null;
  }

  function compact(t: Turn, how: Extract<Move, { kind: "compact" }>["how"]): boolean {
    const event = compactedEvent(s, t, how);
    if (event !== null) record(event);
    return event !== null;
  }

  function question(t: Turn, id: ActionId): boolean {
    const action = printActionId(id);
    const gated = gatedOf(t, action);
    if (gated?.kind !== "to-ask") return false;
    const { decided, asks, again } = gated;
    const digest = questionDigest(t, decided.action, decided.digest, p.hash);
    const { expiresAt } = expiry(asks, time());
    const why = again ?? lapsedGrant(p, s, t, decided, time());
    const targets = targetsOf(p, decided.action);
    record({
      kind: "approval.asked",
      approval: p.ids.approval(),
      action,
      digest,
      asks,
      expiresAt,
      again: why,
      ...(targets === null ? {} : { targets }),
    });
    return true;
  }

  function end(t: Turn, { ending, output, detail }: Extract<Move, { kind: "end" }>): void {
    if (ending === "completed" && t.respond.kind === "allowed")
      consume({ record }, { ...t.respond.decided, id: printActionId({ kind: "respond", iteration: t.iterations }) });
    const { number: turn, usage, lost, iterations, calls } = t;
    const activeMs = t.activeMs + Math.max(0, time() - s.at);
    record({ kind: "turn.ended", turn, ending, output, detail, usage, lost, micros: costOfTurn(s, t), iterations, calls, activeMs });
  }

  /** False when what stands in has to be read first: that leaves the process. */
  function recover(t: Turn, call: Call): boolean {
    const choice = chooseFor(t, call);
    if (choice?.kind !== "apply") return false;
    record(choice.event);
    return true;
  }

  function giveUp(call: Call, detail: string): void {
    const outcome: Outcome =
      call.repeat === "read" ? { kind: "failed", error: `hold-lost: ${detail}` } : { kind: "unknown", cause: "hold-lost", detail };
    const tool = p.tools.find(nameOf(call));
    for (const event of tool === null ? [] : labelsOf(s, tool, call.proposed.id)) record(event); // should it speak later after all
    if (outcome.kind !== "unknown") for (const event of settlement(s, call.proposed.id, nameOf(call), null)) record(event);
    const proof = evidence({ p, toolDigest }, call, null, 0);
    const recovering = outcome.kind === "failed";
    record({ kind: "act.ended", call: call.proposed.id, outcome, evidence: proof, endsTurn: false, recovering });
  }

  /**
   * A call that waited for a place, or for its process to come back, is looked at again right before it starts:
   * decided anew when what its decision read has changed, given up when its tool may no longer be repeated as it was.
   */
  function reconsider(t: Turn, call: Call): boolean {
    if (call.gated.kind !== "allowed") return false;
    const tool = p.tools.find(nameOf(call));
    if (call.run.kind === "lost" && (tool === null || stricter(call.repeat ?? "once", tool.repeat) !== call.repeat)) {
      giveUp(call, "its tool is gone or may no longer be repeated");
      return true;
    }
    const before = call.gated.decided;
    const action = printActionId(idOf(call));
    const seen = decidedAt.get(action);
    const isCurrent =
      before.action.kind !== "delegate" && // whether there is budget for it changes with every event
      seen?.changes === s.changes &&
      seen.orders === p.orders.now() &&
      seen.breakers === p.breakers.version() &&
      counting.isCurrent(action) &&
      p.gate.digest === s.agent.policies;
    if (isCurrent && isDoubtedAsBefore(p, s, before)) return false; // nothing has happened since, here or in another session
    const now = decide(s, t, idOf(call));
    decidedAt.set(action, moment());
    if (isSame(now, before)) return false;
    receipts.delete(action);
    recordDecision(now);
    return true;
  }

  // ── moves that leave it: announced, made durable, launched ──

  function permitFor(action: ActionText): Permit {
    const receipt = receipts.get(action);
    receipts.delete(action);
    decidedAt.delete(action); // it is looked at again only before it starts: what is kept must not grow with the turn
    if (receipt === undefined) throw new FaultError({ kind: "permit-refused", action, detail: "no durable allow" });
    return pass.issuePermit(receipt, action);
  }

  const cockpit: Cockpit = {
    p,
    s,
    hold,
    record,
    permitFor,
    redeem: pass.redeem,
    stopOf: stop.of,
    fly,
    isFlying: (name) => flights.has(name),
    land,
    begin: (one) => opening.push(one),
    look: () => look(),
    time,
    deadline: deadlines.set,
    isTurnStopped: stop.isTurnStopped,
    tell,
    outliving,
    toolDigest,
    factsFor: decide.factsFor,
    chooseFor,
  };
  const { announce, prepare, recall, abandon } = launcher(cockpit);
  const took = (id: IntentId) => consumed.push(id);
  const listening = ears({ p, s, fly, stopOf: stop.of, limits, cancel, judged, took, consequences });

  function fly(name: string, effect: () => Promise<Landing>): void {
    const { promise: over, resolve } = Promise.withResolvers<void>();
    flights.set(name, over); // before it takes off: a tool may speak in its first breath
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
        resolve();
      });
  }

  function outliving(over: Promise<void>): void {
    left.running += 1;
    void over.finally(() => {
      left.running -= 1;
    });
  }

  function land(landing: Landing): void {
    landed.push(landing);
    wake();
  }

  /** Until something lands, something arrives, what was put off is due (as of when the moves were chosen), the turn's time is up, or the caller cancels. */
  async function idle(seen: Millis): Promise<void> {
    if (landed.length > 0 || arrived || isCancelDue() || leave?.aborted) return; // it may have come while the batch was being written
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    if (!alarm.isSet() && s.turn !== null && !stop.isTurnStopped()) alarm.set(remainingMs(s, s.turn, time()));
    const due = nextRetry(s.turn, seen);
    if (due !== null) retries.set(due - time());
    await woken;
    retries.clear();
    wake = () => {};
  }

  /** S-15 whoever lifts a halt looks for what it held back: what became durable after that look, but was decided on before it, is looked at here. */
  async function isLifted(): Promise<boolean> {
    const halt = () =>
      s.turn !== null ? haltWaitedFor(s, p.orders.now()) : s.followUps.length > 0 ? haltOf(p.orders.now(), s.agent.name) : null;
    if (halt() === null) return false;
    await p.orders.refresh();
    return halt() === null;
  }

  const look = () => {
    arrived = true;
    wake();
  };
  const isCancelDue = () => cancel.aborted && s.turn !== null && s.turn.cancel === null;

  /** What has come since the last look: from the inbox, from effects, from the caller, from whoever may halt. */
  async function hear(): Promise<void> {
    if (arrived) await drain();
    if (!p.counts.areKept(p.gate.lately)) await p.counts.keep(p.gate.lately); // a policy that reads a counter nobody has read yet: nothing is decided before it is there
    for (const landing of landed.splice(0)) for (const event of landing()) record(event);
    if (s.turn !== null && isCancelDue())
      record({ kind: "turn.cancel-asked", by: s.turn.by, reason: String(cancel.reason ?? "cancelled"), all: false, intent: null });
    obeyHalts();
  }

  async function loop(): Promise<State> {
    for (const event of begin) for (const e of await listening.first(event)) record(e);
    for (let passes = 1; ; passes += 1) {
      if (passes > MAX_PASSES) throw new Error("the session does not come to rest"); // a bug: better a turn that fails than a process that spins
      if (leave?.aborted) await Promise.all(flights.values());
      await hear();
      if (leave?.aborted && flights.size === 0 && landed.length === 0 && (await flush())) return s;
      if (leave?.aborted) continue;
      const now = time();
      const moves = next(s, now, heldBack(s, p.orders.now()));
      const results = moves.map(performOrAwait);
      if (results.some((did) => did === true)) continue; // nothing has left the process: same commit, next moves
      const launches = moves.map((move, i) => (results[i] === "awaited" ? null : announce(move)));
      if (!(await flush())) continue;
      passes = 0;
      for (const launch of launches) launch?.();
      if (s.grantsDue.length > 0) await giveGrants();
      await p.breakers.settle();
      if (flights.size > 0 || landed.length > 0 || arrived || isCancelDue() || nextRetry(s.turn, now) !== null) await idle(now);
      else if (!(await isLifted()) && !arrived) return s; // parked or ended: a parked session costs nothing
    }
  }

  const unwatch = [p.inbox.watch(s.session, look), p.orders.watch(look)];
  const onCancel = () => wake();
  cancel.addEventListener("abort", onCancel, { once: true });
  leave?.addEventListener("abort", onCancel, { once: true });
  try {
    return await loop();
  } catch (error) {
    stop.stopTurn("failed"); // nothing more is run; what is in flight is told to stop, and waited for: nobody may take the session before
    await Promise.all(flights.values());
    throw error;
  } finally {
    for (const stopWatching of unwatch) stopWatching();
    counting.leave();
    alarm.clear();
    retries.clear();
    deadlines.clear();
    cancel.removeEventListener("abort", onCancel);
    leave?.removeEventListener("abort", onCancel);
  }
}

/** Moves between two commits are a few for each call of a reply. */
const MAX_PASSES = 1_000;

type Moment = Readonly<{ changes: number; orders: Orders; breakers: number }>;

/** The very same leave: verdict (and the answer or grant it stands on), policies, action, and what was read. */
const isSame = (a: Decided, b: Decided): boolean =>
  a.slice === b.slice && a.digest === b.digest && isAlike(a.verdict, b.verdict) && isAlike(a.read, b.read);
/** A gate that remembers gives the same objects again. */
const isAlike = (a: object, b: object): boolean => a === b || canonical(a) === canonical(b);
