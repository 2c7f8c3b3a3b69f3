/** Reading a journal: asynchronous, in pieces, so that a long history does not block the event loop. */
import type { Entry } from "@orgate/core/vocab";
import type { SqliteReader } from "./sqlite/reader.ts";
import type { JournalReads } from "./store.ts";

export function journalReads(reader: SqliteReader): JournalReads {
  return {
    async read(stream, after, most) {
      const entries: Entry[] = [];
      for (let from = after; entries.length < most; ) {
        const chunk = reader.chunk(stream, from, most - entries.length);
        for (const entry of chunk.entries) entries.push(entry);
        if (chunk.end) break;
        from = entries.at(-1)?.seq ?? from;
        if (entries.length < most) await yieldToEventLoop(); // a long history does not keep others waiting
      }
      return entries;
    },
    hashAt: async (stream, at) => reader.hashAt(stream, at),
    session: async (session) => reader.session(session),
    find: async (external) => reader.find(external),
    sessions: async (page) => reader.sessions(page),
    questions: async (page) => reader.questions.page(page),
    expired: async (page) => reader.questions.expired(page),
    question: async (approval) => reader.questions.byId(approval),
    unknownsLike: (sought) => reader.unknowns.like(sought),
    counted: (sought) => reader.counted(sought),
    isKnown: (set, values, cased) => reader.known.has(set, values, cased),
    recorded: (type, key) => reader.known.record(type, key),
    known: async (page) => reader.known.page(page),
    deadLetters: async (page) => reader.deadLetters.page(page),
    streams: async (prefix) => reader.streams(prefix),
    async tail(after, most) {
      const found = reader.tail(after, most);
      if (found.length === most) await yieldToEventLoop(); // whoever reads on in a long journal does not keep others waiting
      return found;
    },
    position: async () => reader.position(),
    positionOf: async (stream, at) => reader.positionOf(stream, at),
  };
}

export const yieldToEventLoop = (): Promise<void> => new Promise((resume) => setImmediate(resume));

export function orNull<T>(look: () => T): T | null {
  try {
    return look();
  } catch {
    return null; // the file cannot be read: the error that led here is the one to report
  }
}
