/** Dead letters as rows: written with the events that make and settle them, made again where the table is missing. */
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import {
  type ApprovalPage,
  computeDeadLetterChanges,
  type DeadLetter,
  type DeadLetterChanges,
  type ListedDeadLetter,
  type Records,
  type SessionSummary,
} from "@orgate/core/journal";
import type { SessionId } from "@orgate/core/vocab";
import { eventsOfStream, hasTable, makeOnce } from "./side-table.ts";

/** Positions are never reused: a reader that follows the list asks for those after the last it saw. */
export const DEAD_LETTERS_SCHEMA = `
CREATE TABLE dead_letters (
  arrival INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, call TEXT NOT NULL, letter TEXT NOT NULL, UNIQUE (session, call)
) STRICT;
`;

/** Each has an index that ends in its order: no scan, no sort. */
export const DEAD_LETTERS_SQL = Object.freeze({
  page: "SELECT arrival, letter FROM dead_letters WHERE arrival > ? ORDER BY arrival LIMIT ?",
});

export type DeadLetterReader = Readonly<{ page(page: ApprovalPage): readonly ListedDeadLetter[] }>;

export function deadLetterReader(db: DatabaseSync, safely: <T>(read: () => T) => T): DeadLetterReader {
  const page = db.prepare(DEAD_LETTERS_SQL.page);
  return { page: ({ after, most }) => safely(() => page.all(after, most)).map(toListed) };
}

export type DeadLetterWriter = Readonly<{ keep(session: SessionId, changes: DeadLetterChanges): void; forget(session: SessionId): void }>;

/** Inside the writer's transaction. */
export function deadLetterWriter(db: DatabaseSync): DeadLetterWriter {
  const put = db.prepare(
    "INSERT INTO dead_letters (session, call, letter) VALUES (?, ?, ?) ON CONFLICT (session, call) DO UPDATE SET letter = excluded.letter",
  );
  const drop = db.prepare("DELETE FROM dead_letters WHERE session = ? AND call = ?");
  const dropAll = db.prepare("DELETE FROM dead_letters WHERE session = ?");
  return {
    keep(session, { gone, put: rows }) {
      for (const call of gone) drop.run(session, call);
      for (const letter of rows) put.run(session, letter.call, JSON.stringify(letter));
    },
    forget: (session) => void dropAll.run(session),
  };
}

/** Makes the table where there is none, and fills it from the sessions in which a failure was recovered. */
export function rebuildDeadLetters(db: DatabaseSync, records: () => Records): void {
  makeOnce(
    db,
    () => hasTable(db, "dead_letters"),
    () => {
      db.exec(DEAD_LETTERS_SCHEMA);
      const writer = deadLetterWriter(db);
      const sessions = db.prepare(
        "SELECT summary FROM sessions WHERE session IN (SELECT s.stream FROM appends AS a JOIN streams AS s ON s.no = a.stream WHERE a.body LIKE '%recovery.applied%') ORDER BY opened_at",
      );
      for (const row of sessions.all()) {
        const { session, agent } = JSON.parse(String(row.summary)) as SessionSummary;
        const changes = computeDeadLetterChanges(session, agent, [...eventsOfStream(session, records())], () => []);
        writer.keep(session, changes);
      }
    },
  );
}

const toListed = (row: Record<string, SQLOutputValue>): ListedDeadLetter => ({
  ...(JSON.parse(String(row.letter)) as DeadLetter),
  arrival: Number(row.arrival),
});
