/**
 * Knowledge in SQLite, beside the journal: FTS5 for words, sqlite-vec for meaning, one file that several processes use at once (WAL, and a wait for whoever writes).
 * N-12 what is forgotten is overwritten where it lay: in tables (`secure_delete`), in the index, in vectors, and the write-ahead log is cut.
 */
import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import {
  type DocumentKey,
  findSupersession,
  itemText,
  type KnowledgeStats,
  type KnowledgeStore,
  maySupersede,
  toRealm,
  toSlot,
} from "@orgate/core/knowledge";
import { digest, type KnowledgeId, type KnowledgeItem, type Scope, type StoredItem, toCanonicalJson } from "@orgate/core/vocab";
import { COLUMNS, hasKnowledge, knowledgeFile, openKnowledgeDatabase, toStoredItem } from "./sqlite-schema.ts";
import { openSearch, toIndexWords } from "./sqlite-search.ts";
import { openVectors } from "./sqlite-vectors.ts";

export { hasKnowledge };

export function openKnowledge(directory: string): KnowledgeStore {
  const db = openKnowledgeDatabase(directory);
  const vectors = openVectors(db);
  const sql = statements(db);
  let open = true;

  function inTransaction<T>(work: () => T): T {
    db.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      db.exec("COMMIT");
      return result;
    } catch (error) {
      if (db.isTransaction) db.exec("ROLLBACK");
      throw error;
    }
  }
  const isForgotten = (id: KnowledgeId): boolean => sql.isForgotten.get(id) !== undefined;
  const numberOf = (id: KnowledgeId): number | null => {
    const row = sql.number.get(id);
    return row === undefined ? null : Number(row.n);
  };

  function realmFor(item: KnowledgeItem): number {
    sql.addRealm.run(item.scope, toRealm(item));
    return Number(sql.realm.get(item.scope, toRealm(item))?.n);
  }

  function insert(item: StoredItem): void {
    const realm = realmFor(item);
    const { body, from } = item;
    const { lastInsertRowid } = sql.insert.run(
      item.id,
      realm,
      body.kind,
      toSlot(item),
      body.kind === "chunk" ? body.document : null,
      item.directory,
      toCanonicalJson(body),
      item.scope,
      item.agent,
      item.confidence,
      item.source,
      toCanonicalJson([...item.labels]),
      item.verified ? 1 : 0,
      from?.stream ?? null,
      from?.seq ?? null,
      item.created,
      item.validFrom,
      item.validTo,
      item.usedAt,
      item.uses,
      item.supersededBy,
    );
    if (item.supersededBy === null) index(Number(lastInsertRowid), realm, item);
  }

  function index(n: number, realm: number, item: KnowledgeItem): void {
    const words = toIndexWords(realm, itemText(item.body));
    sql.addWords.run(n, words);
    for (const word of new Set(words.split(" "))) if (word !== "") sql.count.run(word);
  }

  /** Out of what is searched. */
  function unindex(n: number): void {
    const words = String(sql.wordsOf.get(n)?.words ?? "");
    if (sql.dropWords.run(n).changes === 0) return;
    for (const word of new Set(words.split(" "))) {
      sql.uncount.run(word);
      sql.dropCount.run(word);
    }
    vectors.remove(n);
  }

  function supersede(id: KnowledgeId, by: KnowledgeId): void {
    const n = numberOf(id);
    if (n === null) return;
    sql.supersede.run(by, n);
    unindex(n);
  }

  function remove(id: KnowledgeId): boolean {
    const n = numberOf(id);
    if (n === null) return false;
    unindex(n);
    sql.remove.run(n);
    return true;
  }

  function put(item: KnowledgeItem): ReturnType<KnowledgeStore["put"]> {
    if (isForgotten(item.id)) return { kind: "forgotten" };
    if (numberOf(item.id) !== null) return { kind: "known" };
    const slot = toSlot(item);
    const before = slot === null ? [] : sql.slot.all(slot).map(toStoredItem);
    if (item.body.kind === "working") {
      if (before.some((one) => one.created > item.created)) return { kind: "stale" };
      for (const { id } of before) remove(id);
      insert(fresh(item));
      return { kind: "stored", superseded: before[0]?.id ?? null };
    }
    const old = before.filter((one) => maySupersede(item, one));
    for (const { id } of old) supersede(id, item.id);
    insert(fresh(item));
    return { kind: "stored", superseded: old[0]?.id ?? null };
  }

  function restore(item: StoredItem): ReturnType<KnowledgeStore["restore"]> {
    if (isForgotten(item.id)) return "forgotten";
    if (numberOf(item.id) !== null) return "known";
    const slot = item.supersededBy === null ? toSlot(item) : null; // what was superseded elsewhere stays so
    const { by, supersedes } = findSupersession(item, slot === null ? [] : sql.slot.all(slot).map(toStoredItem));
    const isWorking = item.body.kind === "working";
    if (isWorking && by !== null) return "known";
    for (const id of supersedes) isWorking ? remove(id) : supersede(id, item.id);
    insert({ ...item, supersededBy: item.supersededBy ?? by });
    return "stored";
  }

  const piecesOf = ({ path, scope, agent }: DocumentKey): readonly StoredItem[] => sql.pieces.all(path, scope, agent).map(toStoredItem);

  function replace({ path, scope, agent, digest: of }: Parameters<KnowledgeStore["replace"]>[0], pieces: readonly KnowledgeItem[]) {
    const wanted = [...new Map(pieces.filter(({ id }) => !isForgotten(id)).map((one) => [one.id, one])).values()];
    const ids = new Set(wanted.map(({ id }) => id));
    const before = piecesOf({ path, scope, agent });
    const current = new Set(before.filter((one) => one.supersededBy === null).map(({ id }) => id));
    const gone = [...current].filter((id) => !ids.has(id));
    for (const id of gone) supersede(id, wanted[0]?.id ?? id);
    for (const item of wanted) {
      if (current.has(item.id)) continue;
      remove(item.id); // it comes back as it is now
      insert(fresh(item));
    }
    sql.document.run(path, scope, agent ?? "", of, ids.size);
    const kept = wanted.filter(({ id }) => current.has(id)).length;
    return { added: ids.size - kept, kept, gone: gone.length };
  }

  /** Whoever reads at this moment keeps old pages: they are waited for, and told of. */
  function cutLog(): boolean {
    const row = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    return Number(row?.busy) === 0;
  }

  return {
    search: openSearch(db, vectors),
    put: (item) => inTransaction(() => put(item)),
    used(ids, at) {
      if (ids.length === 0 || !open) return;
      try {
        db.exec("PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 20"); // a hint: nobody waits for it
        inTransaction(() => {
          for (const id of ids) sql.used.run(at, id);
        });
      } catch {
        // another process writes: it is a hint
      } finally {
        db.exec("PRAGMA synchronous = FULL; PRAGMA busy_timeout = 10000");
      }
    },
    get: (id) => {
      const row = sql.get.get(id);
      return row === undefined ? null : toStoredItem(row);
    },
    list: ({ after, most }) => sql.list.all(after ?? "", most).map(toStoredItem),
    restore: (item) => inTransaction(() => restore(item)),
    documents: (path) => (path === undefined ? sql.documents.all() : sql.documentsAt.all(path)).map(documentOf),
    replace: (document, pieces) => inTransaction(() => replace(document, pieces)),
    piecesOf: (document) => piecesOf(document).map(({ id }) => id),
    forget(ids) {
      const gone = inTransaction(() => {
        const removed = ids.filter((id) => {
          sql.forget.run(id);
          return remove(id);
        }).length;
        for (const one of sql.documents.all().map(documentOf))
          if (sql.pieces.get(one.path, one.scope, one.agent) === undefined) sql.dropDocument.run(one.path, one.scope, one.agent ?? "");
        return removed;
      });
      return { gone, clean: cutLog() };
    },
    isForgotten,
    unembedded: (model, most) => {
      const about = vectors.about();
      return about !== null && about.model !== model ? [] : sql.unembedded.all(most).map(toStoredItem);
    },
    embed: (given, model) =>
      inTransaction(() => {
        const rows = [...given].flatMap(([id, values]) => {
          const row = sql.place.get(id);
          return row === undefined ? [] : [{ n: Number(row.n), realm: Number(row.realm), values }];
        });
        return vectors.put(rows, model);
      }),
    dropVectors() {
      inTransaction(vectors.drop);
      cutLog();
    },
    stats: () => statsOf(db, vectors, directory),
    close() {
      if (open) db.close();
      open = false;
    },
  };
}

const fresh = (item: KnowledgeItem): StoredItem => ({ ...item, usedAt: null, uses: 0, supersededBy: null });

const documentOf = (row: Readonly<Record<string, unknown>>) => ({
  path: String(row["path"]),
  scope: String(row["scope"]) as Scope,
  agent: String(row["agent"]) === "" ? null : String(row["agent"]),
  digest: digest(String(row["digest"])),
  chunks: Number(row["chunks"]),
});

function statements(db: DatabaseSync) {
  return {
    isForgotten: db.prepare("SELECT 1 FROM forgotten WHERE id = ?"),
    forget: db.prepare("INSERT OR IGNORE INTO forgotten VALUES (?)"),
    number: db.prepare("SELECT n FROM items WHERE id = ?"),
    place: db.prepare("SELECT n, realm FROM items WHERE id = ? AND superseded_by IS NULL"),
    realm: db.prepare("SELECT n FROM realms WHERE scope = ? AND agent = ?"),
    addRealm: db.prepare("INSERT OR IGNORE INTO realms (scope, agent) VALUES (?, ?)"),
    insert: db.prepare(
      "INSERT INTO items (id, realm, kind, slot, document, directory, body, scope, agent, confidence, source, labels, verified, stream, seq, created, valid_from, valid_to, used_at, uses, superseded_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    ),
    slot: db.prepare(`SELECT ${COLUMNS} FROM items i WHERE i.slot = ? AND i.superseded_by IS NULL`),
    supersede: db.prepare("UPDATE items SET superseded_by = ? WHERE n = ?"),
    remove: db.prepare("DELETE FROM items WHERE n = ?"),
    addWords: db.prepare("INSERT INTO item_words (rowid, words) VALUES (?, ?)"),
    wordsOf: db.prepare("SELECT words FROM item_words WHERE rowid = ?"),
    dropWords: db.prepare("DELETE FROM item_words WHERE rowid = ?"),
    count: db.prepare("INSERT INTO word_counts VALUES (?, 1) ON CONFLICT (word) DO UPDATE SET items = items + 1"),
    uncount: db.prepare("UPDATE word_counts SET items = items - 1 WHERE word = ?"),
    dropCount: db.prepare("DELETE FROM word_counts WHERE word = ? AND items <= 0"),
    used: db.prepare("UPDATE items SET uses = uses + 1, used_at = ? WHERE id = ?"),
    get: db.prepare(`SELECT ${COLUMNS} FROM items i WHERE i.id = ?`),
    list: db.prepare(`SELECT ${COLUMNS} FROM items i WHERE i.id > ? ORDER BY i.id LIMIT ?`),
    pieces: db.prepare(`SELECT ${COLUMNS} FROM items i WHERE i.document = ? AND i.scope = ? AND i.agent IS ?`),
    document: db.prepare("INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?, ?)"),
    documents: db.prepare("SELECT path, scope, agent, digest, chunks FROM documents ORDER BY path, scope, agent"),
    documentsAt: db.prepare("SELECT path, scope, agent, digest, chunks FROM documents WHERE path = ?"),
    dropDocument: db.prepare("DELETE FROM documents WHERE path = ? AND scope = ? AND agent = ?"),
    unembedded: db.prepare(
      `SELECT ${COLUMNS} FROM items i WHERE i.superseded_by IS NULL AND NOT EXISTS (SELECT 1 FROM embedded e WHERE e.n = i.n) ORDER BY i.n LIMIT ?`,
    ),
  };
}

function statsOf(db: DatabaseSync, vectors: ReturnType<typeof openVectors>, directory: string): KnowledgeStats {
  const number = (query: string): number => Number(db.prepare(query).get()?.n ?? 0);
  const counted = (column: string): Record<string, number> =>
    Object.fromEntries(
      db
        .prepare(`SELECT ${column} AS name, count(*) AS n FROM items WHERE superseded_by IS NULL GROUP BY ${column}`)
        .all()
        .map((row) => [String(row.name), Number(row.n)]),
    );
  const about = vectors.about();
  return {
    items: number("SELECT count(*) AS n FROM items WHERE superseded_by IS NULL"),
    superseded: number("SELECT count(*) AS n FROM items WHERE superseded_by IS NOT NULL"),
    forgotten: number("SELECT count(*) AS n FROM forgotten"),
    documents: number("SELECT count(*) AS n FROM documents"),
    kinds: counted("kind"),
    scopes: counted("scope"),
    vectors: about === null ? null : { ...about, count: vectors.count() },
    bytes: statSync(knowledgeFile(directory)).size,
  };
}
