/** Open unknowns as rows: written with the events that leave and settle them, made again from the entries where the table is missing. */
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import {
  type CallLikeness,
  foldUnknowns,
  NO_OPEN_UNKNOWNS,
  type OpenUnknown,
  type OpenUnknowns,
  type Records,
  type UnknownChanges,
} from "@orgate/core/journal";
import { callId, digest, millis, type SessionId, sessionId } from "@orgate/core/vocab";
import type { ListedUnknown, UnknownPage } from "../store.ts";
import { eventsOfStream, hasTable, makeOnce } from "./side-table.ts";

export const UNKNOWNS_SCHEMA = `
CREATE TABLE unknowns (
  session TEXT NOT NULL, call TEXT NOT NULL, tool TEXT NOT NULL, resource_type TEXT NOT NULL, resource_id TEXT NOT NULL,
  digest TEXT NOT NULL, cause TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (session, call)
) STRICT, WITHOUT ROWID;
CREATE INDEX unknowns_by_resource ON unknowns (tool, resource_type, resource_id);
CREATE INDEX unknowns_by_digest ON unknowns (digest);
`;

/** Each has an index of its own; the two likenesses are asked for apart, so that neither is a scan. */
export const UNKNOWNS_SQL = Object.freeze({
  byResource: "SELECT * FROM unknowns WHERE tool = ? AND resource_type = ? AND resource_id = ?",
  byDigest: "SELECT * FROM unknowns WHERE digest = ?",
  ofSession: "SELECT * FROM unknowns WHERE session = ?",
  page: "SELECT u.*, s.agent FROM unknowns u JOIN sessions s USING (session) WHERE (u.session, u.call) > (?, ?) ORDER BY u.session, u.call LIMIT ?",
});

export type UnknownReader = Readonly<{
  /** Oldest first. */
  like(sought: CallLikeness): readonly OpenUnknown[];
  ofSession(session: SessionId): OpenUnknowns;
  /** Of all sessions, by session and call, with their agents. */
  page(page: UnknownPage): readonly ListedUnknown[];
}>;

export function unknownReader(db: DatabaseSync, safely: <T>(read: () => T) => T): UnknownReader {
  const any = db.prepare("SELECT 1 FROM unknowns WHERE session > '' LIMIT 1"); // the first by its key: nothing is scanned
  const byResource = db.prepare(UNKNOWNS_SQL.byResource);
  const byDigest = db.prepare(UNKNOWNS_SQL.byDigest);
  const ofSession = db.prepare(UNKNOWNS_SQL.ofSession);
  const listed = db.prepare(UNKNOWNS_SQL.page);
  return {
    like({ tool, resource, digest: same }) {
      if (safely(() => any.get()) === undefined) return []; // as a rule there are none at all, and every call is looked at twice
      const rows = safely(() => [...byResource.all(tool, resource.type, resource.id), ...byDigest.all(same)]);
      const found = new Map(rows.map(toUnknown).map((u) => [`${u.session}/${u.call}`, u]));
      return [...found.values()].sort((a, b) => a.at - b.at);
    },
    ofSession(session) {
      const rows = safely(() => ofSession.all(session));
      return rows.length === 0 ? NO_OPEN_UNKNOWNS : new Map(rows.map(toUnknown).map((u) => [u.call, u]));
    },
    page: ({ after, most }) =>
      safely(() => listed.all(after?.session ?? "", after?.call ?? "", most)).map((row) => ({
        ...toUnknown(row),
        agent: String(row.agent),
      })),
  };
}

export type UnknownWriter = Readonly<{ keep(session: SessionId, changes: UnknownChanges): void; forget(session: SessionId): void }>;

/** Inside the writer's transaction. */
export function unknownWriter(db: DatabaseSync): UnknownWriter {
  const put = db.prepare("INSERT OR REPLACE INTO unknowns VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  const drop = db.prepare("DELETE FROM unknowns WHERE session = ? AND call = ?");
  const dropAll = db.prepare("DELETE FROM unknowns WHERE session = ?");
  return {
    keep(session, { gone, put: rows }) {
      for (const call of gone) drop.run(session, call);
      for (const u of rows) put.run(session, u.call, u.tool, u.resource.type, u.resource.id, u.digest, u.cause, u.at);
    },
    forget: (session) => void dropAll.run(session),
  };
}

/** Makes the table where there is none, and fills it from the sessions with open unknowns. */
export function rebuildUnknowns(db: DatabaseSync, records: () => Records): void {
  makeOnce(
    db,
    () => hasTable(db, "unknowns"),
    () => {
      db.exec(UNKNOWNS_SCHEMA);
      const writer = unknownWriter(db);
      for (const row of db.prepare("SELECT session FROM sessions WHERE json_extract(summary, '$.openUnknowns') > 0").all()) {
        const session = sessionId(String(row.session));
        const open = foldUnknowns(NO_OPEN_UNKNOWNS, session, [...eventsOfStream(session, records())], () => []);
        writer.keep(session, { gone: [], put: [...open.values()] });
      }
    },
  );
}

export const toUnknown = (row: Record<string, SQLOutputValue>): OpenUnknown => ({
  session: sessionId(String(row.session)),
  call: callId(String(row.call)),
  tool: String(row.tool),
  resource: { type: String(row.resource_type), id: String(row.resource_id) },
  digest: digest(String(row.digest)),
  cause: String(row.cause) as OpenUnknown["cause"],
  at: millis(Number(row.at)),
});
