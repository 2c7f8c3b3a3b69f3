/** Open approval requests as rows: written with the events that ask and settle them, rebuilt from the entries if the table is missing. */
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import {
  type ApprovalPage,
  type ExpiredPage,
  type ListedApproval,
  NO_PENDING_APPROVALS,
  type PendingApprovals,
} from "@orgate/core/journal";
import { type ApprovalId, type SessionId, sessionId } from "@orgate/core/vocab";
import {
  type ApprovalMacs,
  type ApprovalProof,
  type ApprovalRequestRow,
  type ApprovalRequestRows,
  questionIn,
} from "../proof/approval-proof.ts";
import { hasTable, makeOnce } from "../side-table.ts";

/** Read from the text that is proved, so that no column can say otherwise. */
const DUE = "json_extract(question, '$.expiresAt')";

/** Positions are never reused: a reader that follows the list asks for those after the last it saw. */
const schemaWith = (mac: string): string => `
CREATE TABLE questions (
  arrival INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, approval TEXT NOT NULL, question TEXT NOT NULL,${mac} UNIQUE (session, approval)
) STRICT;
CREATE INDEX questions_by_id ON questions (approval);
CREATE INDEX questions_by_due ON questions (${DUE}) WHERE ${DUE} IS NOT NULL;
`;
export const QUESTIONS_SCHEMA = schemaWith(" mac TEXT NOT NULL DEFAULT '',");

/** Each has an index that ends in its order: no scan, no sort. */
export const QUESTIONS_SQL = Object.freeze({
  page: "SELECT * FROM questions WHERE arrival > ? ORDER BY arrival LIMIT ?",
  expired: `SELECT * FROM questions WHERE ${DUE} <= ? AND (${DUE}, arrival) > (?, ?) ORDER BY ${DUE}, arrival LIMIT ?`,
  byId: "SELECT * FROM questions WHERE approval = ? ORDER BY arrival",
  ofSession: "SELECT * FROM questions WHERE session = ?",
});

export type ApprovalRequestReader = Readonly<{
  page(page: ApprovalPage): readonly ListedApproval[];
  expired(page: ExpiredPage): readonly ListedApproval[];
  byId(approval: ApprovalId): readonly ListedApproval[];
  ofSession(session: SessionId): PendingApprovals;
}>;

type Row = Record<string, SQLOutputValue>;
/** Walks through the list that are under way at once; more than these are not followed to their end. */
const MOST_WALKS = 1_000;

/** `snapshot` runs statements at one moment of the database. Without a proof (no project keys), rows are believed. */
export function questionReader(db: DatabaseSync, snapshot: <T>(look: () => T) => T, proof: ApprovalProof | null): ApprovalRequestReader {
  const [page, byId, ofSession] = [db.prepare(QUESTIONS_SQL.page), db.prepare(QUESTIONS_SQL.byId), db.prepare(QUESTIONS_SQL.ofSession)];
  const expired = db.prepare(QUESTIONS_SQL.expired);
  const genuine = (rows: Row[]) => (proof === null ? rows : rows.filter(proof.isGenuine));
  /** Positions of readers who started at the list's beginning: at its end it must be whole. Readers who only follow new rows are not among them. */
  const walks = new Set<number>();

  function checkWhole(after: number, rows: readonly Row[], isEnd: boolean): void {
    if (proof === null || (after > 0 && !walks.delete(after))) return;
    const last = Number(rows.at(-1)?.arrival);
    if (!isEnd) {
      if (walks.size >= MOST_WALKS) walks.clear();
      walks.add(last);
    } else if (after <= 0) proof.areAll(rows);
    else proof.check();
  }
  /** A short page is the last: rows that are not shown take no place on it. */
  function readPage(most: number, next: (last: Row | null, room: number) => Row[]): Readonly<{ rows: Row[]; shown: ListedApproval[] }> {
    const rows: Row[] = [];
    const shown: ListedApproval[] = [];
    for (let isEnd = false; !isEnd && shown.length < most; ) {
      const room = most - shown.length;
      const more = next(rows.at(-1) ?? null, room);
      isEnd = more.length < room;
      rows.push(...more);
      shown.push(...genuine(more).map(toListed));
    }
    return { rows, shown };
  }
  return {
    page: ({ after, most }) =>
      snapshot(() => {
        const { rows, shown } = readPage(most, (last, room) => page.all(Number(last?.arrival ?? after), room));
        checkWhole(after, rows, shown.length < most);
        return shown;
      }),
    expired: ({ by, after, most }) =>
      snapshot(() => {
        const next = (last: Row | null, room: number) => {
          const from = last === null ? after : toListed(last);
          return expired.all(by, from?.expiresAt ?? -1, from?.arrival ?? 0, room);
        };
        return readPage(most, next).shown;
      }),
    byId: (approval) =>
      snapshot(() => {
        const rows = byId.all(approval);
        if (rows.length === 0) proof?.check(); // whether it is not there or was taken away
        return genuine(rows).map(toListed);
      }),
    ofSession(session) {
      const rows = snapshot(() => genuine(ofSession.all(session)));
      return rows.length === 0 ? NO_PENDING_APPROVALS : new Map(rows.map(questionIn).map((q) => [q.approval, q]));
    },
  };
}

export type ApprovalRequestWriter = Readonly<{
  keep(session: SessionId, changes: ApprovalRequestRows): void;
  forget(session: SessionId): void;
}>;

/** Inside the writer's transaction. */
export function questionWriter(db: DatabaseSync): ApprovalRequestWriter {
  const put = db.prepare(
    `INSERT INTO questions (session, approval, question, mac) VALUES (?, ?, ?, ?)
     ON CONFLICT (session, approval) DO UPDATE SET question = excluded.question, mac = excluded.mac`,
  );
  const drop = db.prepare("DELETE FROM questions WHERE session = ? AND approval = ?");
  const dropAll = db.prepare("DELETE FROM questions WHERE session = ?");
  return {
    keep(session, { gone, put: rows }) {
      for (const approval of gone) drop.run(session, approval);
      for (const { approval, question, mac } of rows) put.run(session, approval, question, mac);
    },
    forget: (session) => void dropAll.run(session),
  };
}

/**
 * Makes the table where there is none, and its keyed hashes where it has none, from the sessions whose turn is not over. `waiting` reads what is proved; a
 * session that cannot be read is named when it is taken up. Without the key no hash can be made: a process with the key does so.
 */
export function rebuildQuestions(db: DatabaseSync, macs: ApprovalMacs | null, waiting: (session: SessionId) => PendingApprovals): void {
  const hasMacs = (): boolean => db.prepare("SELECT 1 FROM pragma_table_info('questions') WHERE name = 'mac'").get() !== undefined;
  makeOnce(
    db,
    () => hasTable(db, "questions") && (macs === null || hasMacs()),
    () => {
      if (!hasTable(db, "questions")) db.exec(macs === null ? schemaWith("") : QUESTIONS_SCHEMA);
      else db.exec("ALTER TABLE questions ADD COLUMN mac TEXT NOT NULL DEFAULT ''");
      refill(db, macs, waiting);
    },
  );
}

/** Rows that are there keep their places; those that no session waits for go. */
function refill(db: DatabaseSync, macs: ApprovalMacs | null, waiting: (session: SessionId) => PendingApprovals): void {
  const names = db.prepare("SELECT session FROM sessions WHERE state IN ('waiting', 'running') UNION SELECT session FROM questions").all();
  const toRow = (q: Parameters<ApprovalMacs["toRow"]>[0]): ApprovalRequestRow =>
    macs?.toRow(q) ?? { approval: q.approval, question: JSON.stringify(q), mac: "" };
  const there = db.prepare("SELECT approval FROM questions WHERE session = ?");
  const add = db.prepare("INSERT OR IGNORE INTO questions (session, approval, question) VALUES (?, ?, ?)");
  const drop = db.prepare("DELETE FROM questions WHERE session = ? AND approval = ?");
  const change = macs === null ? null : db.prepare("UPDATE questions SET question = ?, mac = ? WHERE session = ? AND approval = ?");
  for (const { session } of names) {
    const rows = [...waiting(sessionId(String(session))).values()].map(toRow);
    const gone = there.all(session ?? null).filter(({ approval }) => !rows.some((row) => row.approval === approval));
    for (const { approval } of gone) drop.run(session ?? null, approval ?? null);
    for (const { approval, question, mac } of rows) {
      add.run(session ?? null, approval, question);
      change?.run(question, mac, session ?? null, approval);
    }
  }
}

const toListed = (row: Row): ListedApproval => ({ ...questionIn(row), arrival: Number(row.arrival) });
