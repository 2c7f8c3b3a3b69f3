/**
 * The list of sessions as rows, and how many there are of each kind: both are written in the transaction of the append that changes them.
 * J-26 counting sessions, open approval requests and open unknowns costs the same however many there are: nobody goes through the rows.
 */
import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import type { SessionPage, SessionSummary } from "@orgate/core/journal";
import type { SessionId } from "@orgate/core/vocab";
import type { Tally } from "../../store.ts";
import { hasTable, makeOnce } from "../side-table.ts";

const COUNTS_SCHEMA = `
CREATE TABLE session_counts (
  agent TEXT NOT NULL, state TEXT NOT NULL, sessions INTEGER NOT NULL, questions INTEGER NOT NULL, unknowns INTEGER NOT NULL, PRIMARY KEY (agent, state)
) STRICT, WITHOUT ROWID;
`;
export const SESSIONS_SCHEMA = `
CREATE TABLE sessions (
  session TEXT PRIMARY KEY, state TEXT NOT NULL, agent TEXT NOT NULL, opened_at INTEGER NOT NULL, summary TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_newest ON sessions (opened_at, session);
CREATE INDEX sessions_by_state ON sessions (state, opened_at, session);
CREATE INDEX sessions_by_agent ON sessions (agent, opened_at, session);
CREATE INDEX sessions_by_both ON sessions (agent, state, opened_at, session);
${COUNTS_SCHEMA}`;

const OPEN = "json_extract(summary, '$.openQuestions') AS questions, json_extract(summary, '$.openUnknowns') AS unknowns";
const COUNTED = "SELECT agent, state, count(*) AS sessions, sum(questions) AS questions, sum(unknowns) AS unknowns FROM";
const COUNT_ALL = `${COUNTED} (SELECT agent, state, ${OPEN} FROM sessions) GROUP BY agent, state`;

/** Whether a row must be written with its append: something changed that lists filter by or that is counted. */
export const isListChange = (before: SessionSummary | null, after: SessionSummary): boolean =>
  before === null || LISTED.some((name) => before[name] !== after[name]);
const LISTED = ["state", "agent", "openQuestions", "openUnknowns"] as const;

export type SessionWriter = Readonly<{
  list(line: SessionSummary): void;
  /** Of a session whose row is there, when nothing has changed that `isListChange` looks at. */
  touch(line: SessionSummary): void;
  /** The session cannot go on, and its title was content. */
  endErased(session: SessionId): void;
}>;

/** Inside the writer's transaction. */
export function sessionWriter(db: DatabaseSync): SessionWriter {
  const put = db.prepare("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?)");
  const setSummary = db.prepare("UPDATE sessions SET summary = ? WHERE session = ?");
  const end = db.prepare(
    `UPDATE sessions SET state = 'closed', summary = json_set(summary, '$.title', NULL, '$.state', 'closed', '$.openQuestions', 0,
     '$.openUnknowns', 0, '$.children', json('[]')) WHERE session = ?`,
  );
  const subtract = db.prepare(
    `UPDATE session_counts AS c SET sessions = c.sessions - 1, questions = c.questions - was.questions, unknowns = c.unknowns - was.unknowns
     FROM (SELECT agent, state, ${OPEN} FROM sessions WHERE session = ?) AS was WHERE c.agent = was.agent AND c.state = was.state`,
  );
  const add = db.prepare(
    `INSERT INTO session_counts SELECT agent, state, 1, ${OPEN} FROM sessions WHERE session = ?
     ON CONFLICT DO UPDATE SET sessions = sessions + 1, questions = questions + excluded.questions, unknowns = unknowns + excluded.unknowns`,
  );
  function counting(session: SessionId, change: () => void): void {
    subtract.run(session);
    change();
    add.run(session);
  }
  return {
    list: (s) => counting(s.session, () => void put.run(s.session, s.state, s.agent, s.openedAt, JSON.stringify(s))),
    touch: (s) => void setSummary.run(JSON.stringify(s), s.session),
    endErased: (session) => counting(session, () => void end.run(session)),
  };
}

/** The counts are made again from the rows where the table is missing. */
export function rebuildSessionCounts(db: DatabaseSync): void {
  makeOnce(
    db,
    () => hasTable(db, "session_counts"),
    () => db.exec(`${COUNTS_SCHEMA} INSERT INTO session_counts ${COUNT_ALL};`),
  );
}

/** Counts that are not those of the rows. */
export function findWrongSessionCounts(db: DatabaseSync): readonly string[] {
  const kept =
    "SELECT agent, state, sessions, questions, unknowns FROM session_counts WHERE sessions <> 0 OR questions <> 0 OR unknowns <> 0";
  const apart = (these: string, those: string): string =>
    `SELECT agent, state FROM (SELECT * FROM (${these}) EXCEPT SELECT * FROM (${those}))`;
  const wrong = db.prepare(`${apart(kept, COUNT_ALL)} UNION ${apart(COUNT_ALL, kept)}`).all();
  return wrong.map(({ agent, state }) => `row ${String(agent)}/${String(state)} of table session_counts`);
}

export type SessionReader = Readonly<{
  session(session: SessionId): SessionSummary | null;
  sessions(page: SessionPage): readonly SessionSummary[];
  tally(): readonly Tally[];
}>;

type Reading = Readonly<{
  safely: <T>(read: () => T) => T;
  snapshot: <T>(look: () => T) => T;
  /** A row may be behind by what was appended since the last seal: adds it. */
  follow: (line: SessionSummary) => SessionSummary;
}>;

export function sessionReader(db: DatabaseSync, { safely, snapshot, follow }: Reading): SessionReader {
  const summary = db.prepare("SELECT summary FROM sessions WHERE session = ?");
  const counts = db.prepare("SELECT * FROM session_counts WHERE sessions > 0");
  const lists = new Map<string, StatementSync>();
  return {
    session: (name) =>
      snapshot(() => {
        const row = summary.get(name);
        return row === undefined ? null : follow(toSummary(row));
      }),
    sessions({ state, agent, before, most }) {
      const sql = sessionsSql(state !== null, agent !== null);
      const statement = lists.get(sql) ?? db.prepare(sql);
      lists.set(sql, statement);
      const filters = [agent, state].filter((f) => f !== null);
      const from = before ?? { openedAt: Number.MAX_SAFE_INTEGER, session: "" };
      const found = safely(() => statement.all(...filters, from.openedAt, from.session, most));
      return found.map(toSummary).map((line) => (isAtRest(line) ? line : follow(line)));
    },
    tally: () => safely(() => counts.all()).map(toTally),
  };
}

/** In a list it is not looked up: what its row may be behind by changes nothing but its `seq`. */
const isAtRest = ({ state }: SessionSummary): boolean => state === "idle" || state === "closed";

const toSummary = (row: Record<string, SQLOutputValue>): SessionSummary => JSON.parse(String(row.summary)) as SessionSummary;

const STATES: readonly SessionSummary["state"][] = ["idle", "running", "waiting", "closed"];
const toTally = ({ agent, state, sessions, questions, unknowns }: Record<string, SQLOutputValue>): Tally => ({
  agent: String(agent),
  state: STATES.find((one) => one === state) ?? "idle",
  count: Number(sessions),
  openQuestions: Number(questions),
  openUnknowns: Number(unknowns),
});

/** Each filter has an index of its own that ends in the order of the list: no scan, no sort. */
export function sessionsSql(byState: boolean, byAgent: boolean): string {
  const filter = `${byAgent ? "agent = ? AND " : ""}${byState ? "state = ? AND " : ""}`;
  return `SELECT summary FROM sessions WHERE ${filter}(opened_at, session) < (?, ?) ORDER BY opened_at DESC, session DESC LIMIT ?`;
}
