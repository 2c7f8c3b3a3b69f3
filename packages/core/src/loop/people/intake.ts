/**
 * From what arrived to the events it becomes, by way of middleware: what a person says may be rewritten, and so may what the model is shown of an outcome that came late.
 * H-3 a word that a failing middleware was to see is withheld from the model; the journal has it. What was to follow a turn is refused then.
 * Where a hook takes its time the word stays in the inbox until it has: a lost process neither loses nor doubles it (I-2). Words are heard in order.
 */
import { messageOf } from "../../act/act.ts";
import { type Admitted, refusalOf } from "../../inbox/admit.ts";
import type { Arrived } from "../../inbox/port.ts";
import { observeOutcome } from "../../observe/observe.ts";
import { DELEGATE, type IntentId, type JournalEvent, type Limits, type Middleware, type Wish } from "../../vocab/index.ts";
import { outcomeOf } from "../calls/delegate.ts";
import { lateness } from "../calls/race.ts";
import type { Cockpit, Landing } from "../effects.ts";
import { isPromise, type MiddlewareRun, onResult, onUserMessage } from "../model/middleware.ts";
import { sceneOf } from "../model/prepared-request.ts";
import { shownOutcome } from "../model/sanitise.ts";

type Word = Extract<JournalEvent, { kind: "turn.started" | "input.steered" | "input.queued" }>;
type Late = Extract<JournalEvent, { kind: "act.late" | "child.ended" }>;

export type Ears = Readonly<{
  isHearing(id: IntentId): boolean;
  /** What it became; null while middleware takes its time: it lands then. */
  hear(one: Arrived): readonly JournalEvent[] | null;
  /** A word that came in no inbox: the input of a run. */
  first(event: JournalEvent): readonly JournalEvent[] | Promise<readonly JournalEvent[]>;
  /** Nobody waits any longer for what was to steer it. */
  turnEnded(): void;
  /** Nor for what was to follow it. */
  cancelledAll(): void;
}>;

export type Listening = Pick<Cockpit, "p" | "s" | "fly" | "stopOf"> &
  Readonly<{ limits: Limits; cancel: AbortSignal; judged(one: Arrived): Admitted; took(id: IntentId): void; consequences: Consequences }>;
/** What else follows from an event that a wish has become. */
type Consequences = (event: JournalEvent, wish: Wish) => readonly JournalEvent[];

export function ears(c: Listening): Ears {
  const { p, s, limits, judged } = c;
  const hearing = new Map<IntentId, Heard>();
  let before: Promise<unknown> = Promise.resolve();

  /** For so long as a turn may last, or until whoever drives stops. */
  async function bounded<T>(leaving: AbortController, work: () => T | Promise<T>): Promise<T> {
    const over = new AbortController();
    const onCancel = () => leaving.abort(c.cancel.reason);
    if (c.cancel.aborted) onCancel();
    c.cancel.addEventListener("abort", onCancel, { once: true });
    void p.clock.sleep(limits.turnMs, over.signal).then(() => {
      if (!over.signal.aborted) leaving.abort("out of time");
    });
    try {
      return await work();
    } finally {
      over.abort("over");
      c.cancel.removeEventListener("abort", onCancel);
    }
  }

  const run = (event: Word | Late, { signal }: AbortController): MiddlewareRun<string> | Promise<MiddlewareRun<string>> => {
    const at = { ...sceneOf(c, s.turn?.iterations ?? 0), signal };
    if (event.kind === "child.ended") return onDelegate(event, at);
    if (event.kind !== "act.late") return onUserMessage(p.middleware, at, textIn(event));
    const unknown = s.unknowns.get(event.call);
    const action = unknown?.decided.action;
    const tool = unknown?.tool ?? "the call";
    const limit = s.turn?.limits.observationChars ?? limits.observationChars;
    const call = { id: event.call, tool, args: action?.kind === "call" ? action.args : null };
    const made = p.tools.find(tool);
    const { text } = observeOutcome(tool, shownOutcome(event.outcome, made?.markup ?? "clean"), limit);
    return onResult(p.middleware, { ...at, call: event.call }, { call, outcome: event.outcome, text, limit });
  };

  /** What a delegate brings is a result like any other. */
  const onDelegate = (event: Extract<Late, { kind: "child.ended" }>, at: ReturnType<typeof sceneOf>) => {
    const made = s.turn?.calling.find((c) => c.proposed.id === event.call);
    const outcome = outcomeOf(made, event, lateness(s.turn, made));
    const limit = s.turn?.limits.observationChars ?? limits.observationChars;
    const action = made?.run.kind === "running" ? made.run.decided.action : null;
    const call = { id: event.call, tool: DELEGATE, args: action?.kind === "delegate" ? action.args : null };
    const { text } = observeOutcome(DELEGATE, shownOutcome(outcome, "clean"), limit);
    return onResult(p.middleware, { ...at, call: event.call }, { call, outcome, text, limit });
  };

  const refused = ({ intent }: Arrived, reason: string): JournalEvent => refusalOf(intent, reason);
  const outright = (one: Arrived, admitted: Admitted): readonly JournalEvent[] =>
    admitted.kind === "event" ? c.consequences(admitted.event, one.intent.wish) : [refused(one, admitted.reason)];

  /** Judged again: while middleware took its time the turn may have ended. */
  function became(one: Arrived, ran: MiddlewareRun<string>, overtaken: string | null): readonly JournalEvent[] {
    const admitted = judged(one);
    if (admitted.kind !== "event" || !isSeen(p.middleware, admitted.event)) return outright(one, admitted);
    if (overtaken !== null) return [refused(one, overtaken)];
    const { event } = admitted;
    if (event.kind === "input.queued" && ran.failed) return [refused(one, whyFailed(ran))];
    return heard(event, ran).flatMap((e) => c.consequences(e, one.intent.wish));
  }

  function overtake(kind: Heard["kind"], why: string): void {
    for (const heard of hearing.values()) {
      if (heard.kind !== kind) continue;
      heard.overtaken ??= why;
      heard.leaving.abort(why);
    }
  }

  return {
    isHearing: (id) => hearing.has(id),
    hear(one) {
      const { id } = one.intent;
      const admitted = judged(one);
      if (admitted.kind !== "event" || !isSeen(p.middleware, admitted.event)) return outright(one, admitted);
      const { event } = admitted;
      const leaving = new AbortController();
      const now = hearing.size === 0 ? run(event, leaving) : null;
      if (now !== null && !isPromise(now)) return became(one, now, null);
      const heard: Heard = { kind: event.kind, leaving, overtaken: null };
      hearing.set(id, heard);
      const last = before;
      const flight = bounded(leaving, async () => {
        if (now === null) await last;
        return now ?? run(event, leaving);
      });
      before = flight.catch(() => {});
      c.fly(`hear:${id}`, async (): Promise<Landing> => {
        const ran = await flight;
        return () => {
          hearing.delete(id);
          if (event.kind === "input.queued" && ran.failed && c.cancel.aborted) return []; // it stays in the inbox: whoever drives next hears it
          c.took(id);
          return became(one, ran, heard.overtaken);
        };
      });
      return null;
    },
    first(event) {
      if (!isSeen(p.middleware, event)) return [event];
      const leaving = new AbortController();
      const now = run(event, leaving);
      if (!isPromise(now)) return heard(event, now);
      return bounded(leaving, () => now).then((ran) => heard(event, ran));
    },
    turnEnded: () => overtake("input.steered", "the turn that it was to steer has ended"),
    cancelledAll: () => overtake("input.queued", "what was to follow the turn was cancelled"),
  };
}
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
  return `middleware \`${failed?.middleware ?? ""}\` failed: ${messageOf(failed?.error ?? "")}`;
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
