/**
 * Events as lines for people: `orgate run` while they happen, `orgate sessions show` afterwards. Pure, and the same words in both.
 *
 * V-3 every event has its line: the decision and its policies, the call and its outcome, the session's holder.
 */
import { type Entry, type EventKind, isEventKind } from "@orgate/core/vocab";
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
  const write = <K extends EventKind>(kind: K, event: EventOf<K>, at: number): readonly Line[] => LINES[kind](event, memory, at);
  return ({ event, at }) => {
    if (!isEventKind(event.kind)) return [unknownKindLine(event)];
    memory.add(event);
    return write(event.kind, event, at);
  };
}
