/** What waits for a person, as rows: written with the events that ask and settle it, made again from the entries where the table is missing. */
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import {
  decodePayload,
  foldQuestions,
  type ListedQuestion,
  NOTHING_WAITS,
  type QuestionChanges,
  type QuestionPage,
  type Records,
  type SessionSummary,
  type Waiting,
  type WaitingQuestion,
} from "@orgate/core/journal";
import type { ApprovalId, SessionId } from "@orgate/core/vocab";

/** Places are never given twice: whoever follows the list asks for what came after the last one seen. */
export const QUESTIONS_SCHEMA = `
CREATE TABLE questions (
  arrival INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, approval TEXT NOT NULL, question TEXT NOT NULL, UNIQUE (session, approval)
) STRICT;
CREATE INDEX questions_by_id ON questions (approval);
`;

/** Each has an index that ends in its order: no scan, no sort. */
export const QUESTIONS_SQL = Object.freeze({
  page: "SELECT arrival, question FROM questions WHERE arrival > ? ORDER BY arrival LIMIT ?",
  byId: "SELECT arrival, question FROM questions WHERE approval = ? ORDER BY arrival",
  ofSession: "SELECT arrival, question FROM questions WHERE session = ?",
});

export type QuestionReader = Readonly<{
  page(page: QuestionPage): readonly ListedQuestion[];
  byId(approval: ApprovalId): readonly ListedQuestion[];
  ofSession(session: SessionId): Waiting;
}>;

export function questionReader(db: DatabaseSync, safely: <T>(read: () => T) => T): QuestionReader {
  const [page, byId, ofSession] = [db.prepare(QUESTIONS_SQL.page), db.prepare(QUESTIONS_SQL.byId), db.prepare(QUESTIONS_SQL.ofSession)];
  return {
    page: ({ after, most }) => safely(() => page.all(after, most)).map(toListed),
    byId: (approval) => safely(() => byId.all(approval)).map(toListed),
    ofSession(session) {
      const rows = safely(() => ofSession.all(session));
      return rows.length === 0 ? NOTHING_WAITS : new Map(rows.map(toQuestion).map((q) => [q.approval, q]));
    },
  };
}

export type QuestionWriter = Readonly<{ keep(session: SessionId, changes: QuestionChanges): void; forget(session: SessionId): void }>;

/** Inside the writer's transaction. */
export function questionWriter(db: DatabaseSync): QuestionWriter {
  const put = db.prepare(
    "INSERT INTO questions (session, approval, question) VALUES (?, ?, ?) ON CONFLICT (session, approval) DO UPDATE SET question = excluded.question",
  );
  const drop = db.prepare("DELETE FROM questions WHERE session = ? AND approval = ?");
  const dropAll = db.prepare("DELETE FROM questions WHERE session = ?");
  return {
    keep(session, { gone, put: rows }) {
      for (const approval of gone) drop.run(session, approval);
      for (const q of rows) put.run(session, q.approval, JSON.stringify(q));
    },
    forget: (session) => void dropAll.run(session),
  };
}

/** Makes the table where there is none, and fills it from the sessions whose turn is not over. */
export function mendQuestions(db: DatabaseSync, records: () => Records): void {
  const isThere = (): boolean => db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'questions'").get() !== undefined;
  if (isThere()) return;
  db.exec("BEGIN IMMEDIATE");
  try {
    if (!isThere()) {
      db.exec(QUESTIONS_SCHEMA);
      const writer = questionWriter(db);
      for (const row of db.prepare("SELECT summary FROM sessions WHERE state IN ('waiting', 'running')").all()) {
        const summary = JSON.parse(String(row.summary)) as SessionSummary;
        writer.keep(summary.session, { gone: [], put: [...rebuilt(summary, records()).values()] });
      }
    }
    db.exec("COMMIT");
  } finally {
    if (db.isTransaction) db.exec("ROLLBACK");
  }
}

/** What cannot be read is named when its session is taken up; a list need not know. */
function rebuilt({ session, agent }: SessionSummary, records: Records): Waiting {
  const events = [...records.entries(session)].flatMap(({ at, kind, payload }) => {
    const read = payload === null ? null : decodePayload(kind, payload, records.blob);
    return read?.kind === "event" ? [{ at, event: read.event }] : [];
  });
  return foldQuestions(NOTHING_WAITS, session, agent, events);
}

const toQuestion = (row: Record<string, SQLOutputValue>): WaitingQuestion => JSON.parse(String(row.question)) as WaitingQuestion;
const toListed = (row: Record<string, SQLOutputValue>): ListedQuestion => ({ ...toQuestion(row), arrival: Number(row.arrival) });
