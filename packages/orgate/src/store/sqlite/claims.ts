/**
 * Claims that an append may make only while nobody has them, checked in the transaction that writes it: the name or key that a session is opened under (`claims.ts`),
 * and a grant, which is used only while it is not revoked. The rows follow the events, and are made again from them where the tables are missing.
 */
import type { DatabaseSync } from "node:sqlite";
import { listOpeningClaims, type Records } from "@orgate/core/journal";
import { type Fault, GRANTS, type GrantId, type SessionId, sessionId, type TimedEvent } from "@orgate/core/vocab";
import { decodeEvents, eventsOfStream, hasTable, makeOnce } from "./side-table.ts";

export const CLAIMS_SCHEMA = `
CREATE TABLE externals (external TEXT PRIMARY KEY, session TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE revoked (grant_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
`;

/** Of one append. */
export type Claims = Readonly<{ opens: readonly string[]; uses: readonly GrantId[]; revokes: readonly GrantId[] }>;

export function collectClaims(events: readonly TimedEvent[]): Claims {
  const opens: string[] = [];
  const uses: GrantId[] = [];
  const revokes: GrantId[] = [];
  for (const { event: e } of events) {
    if (e.kind === "session.opened") opens.push(...listOpeningClaims(e));
    else if (e.kind === "grant.used") uses.push(e.grant);
    else if (e.kind === "grant.revoked") revokes.push(e.grant);
  }
  return { opens, uses, revokes };
}

/** Inside the writer's transaction; the fault, when it cannot be. */
export function claimWriter(db: DatabaseSync): (session: string, claims: Claims) => Fault | null {
  const claim = db.prepare("INSERT OR IGNORE INTO externals VALUES (?, ?)");
  const holderOf = db.prepare("SELECT session FROM externals WHERE external = ?");
  const isRevoked = db.prepare("SELECT 1 FROM revoked WHERE grant_id = ?");
  const revoke = db.prepare("INSERT OR IGNORE INTO revoked VALUES (?)");
  return (session, { opens, uses, revokes }) => {
    const gone = uses.find((grant) => isRevoked.get(grant) !== undefined);
    if (gone !== undefined) return { kind: "grant-revoked", grant: gone };
    for (const external of opens)
      if (claim.run(external, session).changes === 0)
        return { kind: "external-taken", external, session: sessionId(String(holderOf.get(external)?.session)) };
    for (const grant of revokes) revoke.run(grant);
    return null;
  };
}

export function externalReader(db: DatabaseSync, safely: <T>(read: () => T) => T): (external: string) => SessionId | null {
  const sessionWith = db.prepare("SELECT session FROM externals WHERE external = ?");
  return (external) => {
    const row = safely(() => sessionWith.get(external));
    return row === undefined ? null : sessionId(String(row.session));
  };
}

/** Makes the tables where there are none. A session from before external ids has none. */
export function rebuildClaims(db: DatabaseSync, records: () => Records): void {
  makeOnce(
    db,
    () => hasTable(db, "externals"),
    () => {
      db.exec(CLAIMS_SCHEMA);
      db.exec(
        "INSERT INTO externals SELECT json_extract(summary, '$.external'), session FROM sessions WHERE json_extract(summary, '$.external') IS NOT NULL",
      );
      const claim = claimWriter(db);
      const all = records();
      // a due time and a delivery stay fired and known
      const byItself = db.prepare("SELECT session FROM sessions WHERE json_extract(summary, '$.surface') IN ('schedule', 'webhook')").all();
      for (const row of byItself) {
        const session = sessionId(String(row.session));
        for (const { at, kind, payload } of all.entries(session)) {
          claim(session, collectClaims(decodeEvents(kind, payload, all).map((event) => ({ at, event }))));
          break; // it is opened by its first entry
        }
      }
      for (const one of eventsOfStream(GRANTS, all)) claim("", { ...collectClaims([one]), uses: [] });
    },
  );
}
