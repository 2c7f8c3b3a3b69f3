/** Notes of tools and middleware: on record, and of no consequence. What is too long or not JSON is left out with a word, and never stops the drive. */
import { messageOf } from "../act/act.ts";
import { type CallId, canonical, frozenCopy, type JournalEvent, type Json } from "../vocab/index.ts";

const NOTE_MAX = 16_384;

export const noteEvent = (from: string, call: CallId | null, name: string, value: Json): JournalEvent => ({
  kind: "note",
  from,
  call,
  name: messageOf(name).slice(0, 64).toWellFormed(),
  value: fitting(value),
});

function fitting(value: Json): Json {
  try {
    const own = frozenCopy(value);
    return canonical(own).length <= NOTE_MAX ? own : `[left out: a note holds at most ${NOTE_MAX} characters]`;
  } catch {
    return "[left out: a note is JSON]";
  }
}
