/**
 * From an intent to the events it becomes, by way of middleware: it may rewrite what a person says, and what the model is shown of a late outcome.
 * H-3 a message that a failing middleware was to see is withheld from the model; the journal has it. A message that was to follow a turn is refused then.
 * While a hook takes its time its message stays in the inbox: a lost process neither loses nor doubles it (I-2). Messages are heard in order.
 */

import { toErrorText } from "../../act/act.ts";
import { type Admitted, admit, findRefusals, toRefusal } from "../../inbox/admit.ts";
import type { Arrived } from "../../inbox/port.ts";
import { observeOutcome } from "../../observe/observe.ts";
import {
  type CallView,
  DELEGATE,
  type IntentBody,
  type IntentId,
  type JournalEvent,
  type Limits,
  type Middleware,
  type Outcome,
  type Tool,
  toCanonicalJson,
} from "../../vocab/index.ts";
import { toDelegateOutcome, withConsequences } from "../calls/delegate.ts";
import { doubtEvents, lateRecordEvents } from "../calls/make-records.ts";
import { lateReason } from "../calls/race.ts";
import type { SessionCommits } from "../commit.ts";
import type { EffectContext, EffectResult } from "../effect-context.ts";
import { isPromise, type MiddlewareRun, onResult, onUserMessage, sceneIn } from "../model/middleware.ts";
import { shownOutcome, withCleanedEvents } from "../model/sanitise.ts";
import { callsIn } from "../state.ts";
import { compactNow } from "./conversation-settings.ts";
import { toStanding } from "./may-answer.ts";

type Word = Extract<JournalEvent, { kind: "turn.started" | "input.steered" | "input.queued" }>;
type Late = Extract<JournalEvent, { kind: "act.late" | "child.ended" }>;

export type IntakeContext = Pick<EffectContext, "p" | "s" | "launch" | "stopOf" | "record" | "toolDigest"> &
  Readonly<{ limits: Limits; cancel: AbortSignal; commits: Pick<SessionCommits, "consume" | "isConsumed"> }>;

/** The inbox of one drive: intents are admitted, shown to middleware where it wants to see them, and recorded as events. */
export class Intake {
  readonly #c: IntakeContext;
  readonly #hearing = new Map<IntentId, Heard>();
  #before: Promise<unknown> = Promise.resolve();

  constructor(c: IntakeContext) {
    this.#c = c;
  }

  /** Turns the pending intents into events. An intent that waits for middleware stays in the inbox until then. */
  async drain(): Promise<void> {
    const { p, s, record, commits } = this.#c;
    const pending = await p.inbox.pending(s.session);
    for (const [i, one] of pending.entries()) {
      const { intent } = one;
      if (commits.isConsumed(intent.id) || this.#hearing.has(intent.id)) continue;
      const isTakenBack = findRefusals(intent, pending.slice(i + 1)).some((later) => this.#admit(later).kind === "event");
      const became = isTakenBack ? [toRefusal(intent, "the same person has taken it back since")] : this.#hear(one);
      if (became === null) continue;
      commits.consume(intent.id);
      for (const event of became) record(event);
    }
  }

  /** A message that came in no inbox: the input of a run. */
  first(event: JournalEvent): readonly JournalEvent[] | Promise<readonly JournalEvent[]> {
    if (!isSeen(this.#c.p.middleware, event)) return [event];
    const leaving = new AbortController();
    const now = this.#run(event, leaving);
    if (!isPromise(now)) return heard(event, now);
    return this.#bounded(leaving, () => now).then((ran) => heard(event, ran));
  }

  /** Messages that were to steer the turn are not waited for any longer. */
  turnEnded(): void {
    this.#overtake("input.steered", "the turn that it was to steer has ended");
  }

  /** Nor are messages that were to follow it. */
  cancelledAll(): void {
    this.#overtake("input.queued", "what was to follow the turn was cancelled");
  }

  /** An intent that cannot even be read is refused like any other: it must not block the session. */
  #admit(one: Arrived): Admitted {
    const { p, s, limits, toolDigest } = this.#c;
    try {
      if (s.taken.has(one.intent.id)) return { kind: "refused", reason: "it was taken before: a copy of an intent counts for nothing" };
      const genuine = p.authenticate(one.intent);
      const admitted = genuine.kind === "genuine" ? admit(one, toStanding(p, s, limits, toolDigest)) : genuine;
      if (admitted.kind === "event") toCanonicalJson(admitted.event); // an event that cannot be written must not fail the commit
      return admitted;
    } catch (error) {
      return { kind: "refused", reason: `it cannot be understood: ${toErrorText(error)}` };
    }
  }

  /** Null while middleware takes its time: the events come as the result of an effect then. */
  #hear(one: Arrived): readonly JournalEvent[] | null {
    const { p, launch, cancel, commits } = this.#c;
    const { id } = one.intent;
    const admitted = this.#admit(one);
    if (admitted.kind !== "event" || !isSeen(p.middleware, admitted.event)) return this.#outright(one, admitted);
    const { event } = admitted;
    const leaving = new AbortController();
    const now = this.#hearing.size === 0 ? this.#run(event, leaving) : null;
    if (now !== null && !isPromise(now)) return this.#became(one, now, null);
    const hearing: Heard = { kind: event.kind, leaving, overtaken: null };
    this.#hearing.set(id, hearing);
    const last = this.#before;
    const flight = this.#bounded(leaving, async () => {
      if (now === null) await last;
      return now ?? this.#run(event, leaving);
    });
    this.#before = flight.catch(() => {});
    launch(`hear:${id}`, async (): Promise<EffectResult> => {
      const ran = await flight;
      return () => {
        this.#hearing.delete(id);
        if (event.kind === "input.queued" && ran.failed && cancel.aborted) return []; // it stays in the inbox for the next driver
        commits.consume(id);
        return this.#became(one, ran, hearing.overtaken);
      };
    });
    return null;
  }

  /** Admitted again: while middleware took its time the turn may have ended. */
  #became(one: Arrived, ran: MiddlewareRun<string>, overtaken: string | null): readonly JournalEvent[] {
    const admitted = this.#admit(one);
    if (admitted.kind !== "event" || !isSeen(this.#c.p.middleware, admitted.event)) return this.#outright(one, admitted);
    if (overtaken !== null) return [toRefusal(one.intent, overtaken)];
    const { event } = admitted;
    if (event.kind === "input.queued" && ran.failed) return [toRefusal(one.intent, whyFailed(ran))];
    return heard(event, ran).flatMap((e) => this.#consequences(e, one.intent.wish));
  }

  #outright(one: Arrived, admitted: Admitted): readonly JournalEvent[] {
    return admitted.kind === "event" ? this.#consequences(admitted.event, one.intent.wish) : [toRefusal(one.intent, admitted.reason)];
  }

  /** An event that an intent has become, with the events that follow from it. */
  #consequences(event: JournalEvent, wish: IntentBody): readonly JournalEvent[] {
    const { p, s } = this.#c;
    const events = withConsequences(s, event, wish);
    return [...this.#settledRecords(event), ...withCleanedEvents(p, s, events), ...compactNow(s, event)];
  }

  /** A late outcome says of things what it would have said in time; "it happened" says that they have changed: otherwise policies read what was true before the call. */
  #settledRecords(event: JournalEvent): readonly JournalEvent[] {
    if (event.kind !== "act.late" && event.kind !== "unknown.resolved") return [];
    const action = this.#c.s.unknowns.get(event.call)?.decided.action;
    if (action === undefined) return [];
    if (event.kind === "act.late") return lateRecordEvents(this.#c, event.call, action, event.outcome);
    return event.as === "happened" ? doubtEvents(this.#c, event.call, action, "any") : [];
  }

  #overtake(kind: Heard["kind"], reason: string): void {
    for (const heard of this.#hearing.values()) {
      if (heard.kind !== kind) continue;
      heard.overtaken ??= reason;
      heard.leaving.abort(reason);
    }
  }

  /** Runs for at most as long as a turn may last, or until the driver is cancelled. */
  async #bounded<T>(leaving: AbortController, work: () => T | Promise<T>): Promise<T> {
    const { p, cancel, limits } = this.#c;
    const over = new AbortController();
    const onCancel = () => leaving.abort(cancel.reason);
    if (cancel.aborted) onCancel();
    cancel.addEventListener("abort", onCancel, { once: true });
    void p.clock.sleep(limits.turnMs, over.signal).then(() => {
      if (!over.signal.aborted) leaving.abort("out of time");
    });
    try {
      return await work();
    } finally {
      over.abort("over");
      cancel.removeEventListener("abort", onCancel);
    }
  }

  #run(event: Word | Late, { signal }: AbortController): MiddlewareRun<string> | Promise<MiddlewareRun<string>> {
    const { p, s } = this.#c;
    const at = { ...sceneIn(this.#c, s.turn?.iterations ?? 0), signal };
    if (event.kind !== "act.late" && event.kind !== "child.ended") return onUserMessage(p.middleware, at, textIn(event));
    const { call, outcome, markup } = event.kind === "act.late" ? this.#lateCall(event) : this.#delegation(event);
    const limit = s.turn?.limits.observationChars ?? this.#c.limits.observationChars;
    const { text } = observeOutcome(call.tool, shownOutcome(outcome, markup), limit);
    return onResult(p.middleware, { ...at, call: event.call }, { call, outcome, text, limit });
  }

  #lateCall(event: Extract<Late, { kind: "act.late" }>): LateOutcome {
    const { p, s } = this.#c;
    const unknown = s.unknowns.get(event.call);
    const action = unknown?.decided.action;
    const tool = unknown?.tool ?? "the call";
    const call = { id: event.call, tool, args: action?.kind === "call" ? action.args : null };
    return { call, outcome: event.outcome, markup: p.tools.find(tool)?.markup ?? "clean" };
  }

  /** The output of a sub-agent is a result like any other. */
  #delegation(event: Extract<Late, { kind: "child.ended" }>): LateOutcome {
    const { s } = this.#c;
    const made = callsIn(s.turn).find((one) => one.proposed.id === event.call);
    const action = made?.run.kind === "running" ? made.run.decided.action : null;
    const call = { id: event.call, tool: DELEGATE, args: action?.kind === "delegate" ? action.args : null };
    return { call, outcome: toDelegateOutcome(made, event, lateReason(s.turn, made)), markup: "clean" };
  }
}

type LateOutcome = Readonly<{ call: CallView; outcome: Outcome; markup: Tool["markup"] }>;
type Heard = { readonly kind: JournalEvent["kind"]; readonly leaving: AbortController; overtaken: string | null };

function isSeen(all: readonly Middleware[], event: JournalEvent): event is Word | Late {
  switch (event.kind) {
    case "turn.started":
    case "input.steered":
    case "input.queued":
      return all.some((m) => m.userMessage !== null);
    case "act.late":
    case "child.ended":
      return all.some((m) => m.afterTool !== null);
    default:
      return false;
  }
}

const textIn = (event: Word): string => (event.kind === "turn.started" ? event.input : event.text);
const withText = (event: Word, text: string): Word => (event.kind === "turn.started" ? { ...event, input: text } : { ...event, text });

const lastOf = ({ events }: MiddlewareRun<string>) => {
  const last = events.at(-1);
  return last?.kind === "middleware.failed" ? last : null;
};
const whyFailed = (ran: MiddlewareRun<string>): string => {
  const failed = lastOf(ran);
  return `middleware \`${failed?.middleware ?? ""}\` failed: ${toErrorText(failed?.error ?? "")}`;
};

/** The event holds the words as rewritten, and beside it stands what they were. */
function heard(event: Word | Late, ran: MiddlewareRun<string>): readonly JournalEvent[] {
  if (event.kind === "act.late" || event.kind === "child.ended") return [...ran.events, event];
  const failed = lastOf(ran);
  if (failed === null) return [withText(event, ran.value), ...ran.events];
  const was: JournalEvent = {
    kind: "middleware.applied",
    middleware: failed.middleware,
    stage: "user-message",
    call: null,
    change: { kind: "input", before: ran.value, files: event.files },
  };
  return [{ ...withText(event, `[withheld: middleware ${failed.middleware} failed]`), files: [] }, ...ran.events.slice(0, -1), was, failed];
}
