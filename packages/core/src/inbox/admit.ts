/** From an intent to the event it becomes, or why it becomes none. Pure: the holder's state in, a value out. */
import type { Answer, CallId, Digest, Intent, JournalEvent, Limits } from "../vocab/index.ts";

/** What of a session an intent is held against. */
export type Standing = Readonly<{
  turns: number;
  running: boolean;
  closed: boolean;
  limits: Limits;
  question(approval: string): { readonly digest: Digest; readonly answer: Answer | null } | null;
  /** Why this person may not give this answer; null when they may. */
  whyNotAnswer(approval: string, by: string, answer: Answer): string | null;
  isUnknown(call: CallId): boolean;
}>;

export type Admitted = { readonly kind: "event"; readonly event: JournalEvent } | { readonly kind: "refused"; readonly reason: string };

export function admit({ id, by, wish }: Intent, at: Standing): Admitted {
  const event = (e: JournalEvent): Admitted => ({ kind: "event", event: e });
  const refuse = (reason: string): Admitted => ({ kind: "refused", reason });
  if (at.closed) return refuse("the session is closed");
  switch (wish.kind) {
    case "say":
      if (at.running) return refuse("a turn is in progress: steer it, cancel it, or wait for its end");
      return event({ kind: "turn.started", turn: at.turns + 1, input: wish.text, by, limits: at.limits, intent: id });
    case "steer":
      return at.running ? event({ kind: "input.steered", text: wish.text, by, intent: id }) : refuse("there is no turn to steer");
    case "cancel":
      return at.running ? event({ kind: "turn.cancel-asked", by, reason: wish.reason, intent: id }) : refuse("there is no turn to cancel");
    case "answer": {
      const question = at.question(wish.approval);
      if (by.kind !== "user") return refuse("only a person answers a question");
      if (question === null) return refuse(`there is no open question \`${wish.approval}\``);
      if (question.answer !== null) return refuse(`question \`${wish.approval}\` is answered already`);
      if (question.digest !== wish.digest) return refuse("the answer is bound to another action than the one that waits");
      const why = at.whyNotAnswer(wish.approval, by.id, wish.answer);
      if (why !== null) return refuse(why);
      return event({ kind: "approval.answered", approval: wish.approval, by, answer: wish.answer, intent: id });
    }
    case "late":
      if (by.kind !== "system") return refuse("only the runtime reports a late outcome");
      return at.isUnknown(wish.call)
        ? event({ kind: "act.late", call: wish.call, outcome: wish.outcome, intent: id })
        : refuse("that outcome is known already");
  }
}
