/**
 * Events as lines for people: `orgate run` while they happen, `orgate sessions show` afterwards. Pure, and the same words in both.
 *
 * V-3 every event has its line: the decision and its policies, the call and its outcome, the session's holder.
 */
import { decisionsIn, type Entry, type EventKind, eventsIn, isEventKind, type JournalEvent, trackProposals } from "@orgate/core/vocab";
import { CALL_LINES } from "./call-lines.ts";
import { GATE_LINES } from "./gate-lines.ts";
import { type EventOf, type Line, type LineTable, NarratorMemory, unknownKindLine } from "./line.ts";
import { MODEL_LINES } from "./model-lines.ts";
import { PROJECT_LINES } from "./project-lines.ts";
import { SESSION_LINES } from "./session-lines.ts";

/** A kind without lines does not compile. */
const LINES: LineTable<EventKind> = { ...SESSION_LINES, ...MODEL_LINES, ...GATE_LINES, ...CALL_LINES, ...PROJECT_LINES };

/** One per session: it remembers which call is which. */
export function createNarrator(): (entry: Entry) => readonly Line[] {
  const memory = new NarratorMemory();
  const proposals = trackProposals();
  const write = <K extends EventKind>(kind: K, event: EventOf<K>, at: number): readonly Line[] => LINES[kind](event, memory, at);
  const tell = (event: JournalEvent, at: number): readonly Line[] => {
    memory.add(event);
    return write(event.kind, event, at);
  };
  return ({ event, at }) => {
    if (!isEventKind(event.kind)) return [unknownKindLine(event)];
    proposals.hear(event);
    return eventsIn(event, proposals.argsOf).flatMap((one) => tell(one, at));
  };
}

/** An entry on one line: its own, and before it the decisions that are part of it. */
export function toEntryLine({ event }: Pick<Entry, "event">, lines: readonly Line[]): Line | undefined {
  const decisions = isEventKind(event.kind) && event.kind !== "gate.decided" ? decisionsIn(event).length : 0;
  const own = lines[decisions];
  return own === undefined
    ? undefined
    : {
        ...own,
        text: lines
          .slice(0, decisions + 1)
          .map(({ text }) => text)
          .join(" · "),
      };
}
