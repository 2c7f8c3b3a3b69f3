/** A line for people, and the parts of its text that several groups of events share. */
import {
  type ActionText,
  type ApprovalId,
  type CallId,
  type EventKind,
  escapeHidden,
  escapeHiddenLines,
  isRefusal,
  type JournalEvent,
  MICROS_PER_CENT,
  type Reservation,
  type Resource,
} from "@orgate/core/vocab";
import { countNoun } from "../text-width.ts";
import type { Tone } from "../tone.ts";

export type Line = Readonly<{
  /** One column wide. */
  mark: string;
  tone: Tone;
  text: string;
  /** Below it, indented. */
  more: readonly string[];
  /** Shown while a turn runs; the others only in a full account. */
  live: boolean;
}>;

export type EventOf<K extends EventKind> = Extract<JournalEvent, { kind: K }>;

/** By kind of event, its lines. `at` is the entry's own time. */
export type LineTable<K extends EventKind> = Readonly<{
  [Kind in K]: (event: EventOf<Kind>, memory: NarratorMemory, at: number) => readonly Line[];
}>;

export const line = (mark: string, tone: Tone, text: string): Line => ({ mark, tone, text, more: [], live: false });
export const live = (mark: string, tone: Tone, text: string): Line => ({ mark, tone, text, more: [], live: true });

/** An entry that a newer version wrote is named by its kind, and nothing of it is read. */
export const unknownKindLine = (event: unknown): Line =>
  line("?", "warn", `an entry of a kind that this version does not know: ${escapeHidden(String(Object(event).kind))}`);

/** Facts from earlier entries of a session that later lines need. */
export class NarratorMemory {
  readonly #tools = new Map<CallId, string>();
  readonly #touched = new Map<ActionText, string>();
  /** Approval requests without an answer, with the action that each is about. */
  readonly #waiting = new Map<ApprovalId, ActionText>();
  #isInTurn = false;

  get isInTurn(): boolean {
    return this.#isInTurn;
  }

  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  nameOf(call: CallId): string {
    return `${this.#tools.get(call) ?? "call"} ${call}`;
  }

  touchedText(action: ActionText): string {
    const resource = this.#touched.get(action);
    return resource === undefined ? "" : ` · touches ${resource}`;
  }

  add(e: JournalEvent): void {
    switch (e.kind) {
      case "turn.started":
        this.#isInTurn = true;
        return;
      case "turn.ended":
        this.#isInTurn = false;
        this.#waiting.clear();
        return;
      case "model.replied":
        for (const part of e.parts) if (part.kind === "call") this.#tools.set(part.id, escapeHidden(part.tool));
        return;
      case "gate.decided":
        for (const [approval, action] of this.#waiting) if (action === e.id) this.#waiting.delete(approval);
        if (e.action.kind === "call") this.#touched.set(e.id, resourceText(e.action.resource));
        return;
      case "approval.asked":
        this.#waiting.set(e.approval, e.action);
        return;
      case "approval.answered":
        if (isRefusal(e.answer)) this.#waiting.delete(e.approval);
        return;
      case "approval.expired":
        this.#waiting.delete(e.approval);
        return;
      default: // no later line needs the others
    }
  }
}

/** A resource as a policy writes it. */
export const resourceText = ({ type, id }: Resource): string => escapeHidden(`${type}::${JSON.stringify(id)}`);

export const allotmentText = (a: Reservation): string =>
  `${countNoun(a.iterations, "iteration")}, ${countNoun(a.tokens, "token")}, ${countNoun(a.calls, "call")}${a.micros === null ? "" : `, ${(a.micros / MICROS_PER_CENT).toFixed(2)} cents`}`;

export const textLines = (text: string | null): readonly string[] =>
  text === null || text === "" ? [] : escapeHiddenLines(text).split("\n");

/** Arguments and results are cut to this many characters. */
export const SHOWN_CHARS = 100;
