/**
 * Knowledge in SQLite, beside the journal: FTS5 searches words, sqlite-vec meaning. Several processes use one file at once (WAL; a writer waits for another).
 * N-12 A forgotten item is overwritten where it lay: in tables (`secure_delete`), in the index, in vectors, and the write-ahead log is truncated.
 */
import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import type { DocumentKey, KnowledgeStats, LocalKnowledgeStore } from "@orgate/core/knowledge";
import { digest, type KnowledgeId, type KnowledgeItem, type Scope, type StoredItem } from "@orgate/core/vocab";
import { COLUMNS, toStoredItem } from "./item-rows.ts";
import { KnowledgeItems } from "./sqlite-items.ts";
import { hasKnowledge, knowledgeFile, openKnowledgeDatabase } from "./sqlite-schema.ts";
import { openSearch } from "./sqlite-search.ts";
import { openVectors, type Vectors } from "./sqlite-vectors.ts";

export { hasKnowledge };

export const openKnowledge = (directory: string): LocalKnowledgeStore => new SqliteKnowledge(directory);

class SqliteKnowledge implements LocalKnowledgeStore {
  readonly reach = "local";
  readonly search: LocalKnowledgeStore["search"];
  readonly #directory: string;
  readonly #db: DatabaseSync;
  readonly #vectors: Vectors;
  readonly #items: KnowledgeItems;
  readonly #sql: ReturnType<typeof prepareDocuments>;
  #isOpen = true;

  constructor(directory: string) {
    const db = openKnowledgeDatabase(directory);
    this.#directory = directory;
    this.#db = db;
    this.#vectors = openVectors(db);
    this.#items = new KnowledgeItems(db, this.#vectors);
    this.#sql = prepareDocuments(db);
    this.search = openSearch(db, this.#vectors);
  }

  close(): void {
    if (this.#isOpen) this.#db.close();
    this.#isOpen = false;
  }

  // ── items ──

  put(item: KnowledgeItem): ReturnType<LocalKnowledgeStore["put"]> {
    return this.#transact(() => this.#items.put(item));
  }

  restore(item: StoredItem): ReturnType<LocalKnowledgeStore["restore"]> {
    return this.#transact(() => this.#items.restore(item));
  }

  get(id: KnowledgeId): StoredItem | null {
    return this.#items.get(id);
  }

  list({ after, most }: Parameters<LocalKnowledgeStore["list"]>[0]): readonly StoredItem[] {
    return this.#items.list(after ?? "", most);
  }

  /** A hint: no process waits to write it. */
  used(ids: readonly KnowledgeId[], at: number): void {
    if (ids.length === 0 || !this.#isOpen) return;
    try {
      this.#db.exec("PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 20");
      this.#transact(() => this.#items.markUsed(ids, at));
    } catch {
      // another process writes
    } finally {
      this.#db.exec("PRAGMA synchronous = FULL; PRAGMA busy_timeout = 10000");
    }
  }

  isForgotten(id: KnowledgeId): boolean {
    return this.#items.isForgotten(id);
  }

  forget(ids: readonly KnowledgeId[]): ReturnType<LocalKnowledgeStore["forget"]> {
    const gone = this.#transact(() => {
      const removed = ids.filter((id) => this.#items.forget(id)).length;
      for (const one of this.documents())
        if (this.#sql.pieces.get(one.path, one.scope, one.agent) === undefined)
          this.#sql.dropDocument.run(one.path, one.scope, one.agent ?? "");
      return removed;
    });
    return { gone, clean: this.#truncateLog() };
  }

  // ── documents ──

  documents(path?: string): ReturnType<LocalKnowledgeStore["documents"]> {
    return (path === undefined ? this.#sql.documents.all() : this.#sql.documentsAt.all(path)).map(toDocument);
  }

  piecesOf(document: DocumentKey): readonly KnowledgeId[] {
    return this.#pieces(document).map(({ id }) => id);
  }

  replace(
    document: Parameters<LocalKnowledgeStore["replace"]>[0],
    pieces: readonly KnowledgeItem[],
  ): ReturnType<LocalKnowledgeStore["replace"]> {
    return this.#transact(() => this.#replace(document, pieces));
  }

  #pieces({ path, scope, agent }: DocumentKey): readonly StoredItem[] {
    return this.#sql.pieces.all(path, scope, agent).map(toStoredItem);
  }

  #replace(
    { path, scope, agent, digest: of }: Parameters<LocalKnowledgeStore["replace"]>[0],
    pieces: readonly KnowledgeItem[],
  ): ReturnType<LocalKnowledgeStore["replace"]> {
    const items = this.#items;
    const next = [...new Map(pieces.filter(({ id }) => !items.isForgotten(id)).map((one) => [one.id, one])).values()];
    const ids = new Set(next.map(({ id }) => id));
    const current = new Set(this.#pieces({ path, scope, agent }).flatMap((one) => (one.supersededBy === null ? [one.id] : [])));
    const gone = [...current].filter((id) => !ids.has(id));
    for (const id of gone) items.supersede(id, next[0]?.id ?? id);
    for (const item of next) {
      if (current.has(item.id)) continue;
      items.remove(item.id); // a superseded piece comes back as it is now
      items.add(item);
    }
    this.#sql.document.run(path, scope, agent ?? "", of, ids.size);
    const kept = next.filter(({ id }) => current.has(id)).length;
    return { added: ids.size - kept, kept, gone: gone.length };
  }

  // ── vectors ──

  unembedded(model: string, most: number): readonly StoredItem[] {
    const about = this.#vectors.about();
    return about !== null && about.model !== model ? [] : this.#items.listUnembedded(most);
  }

  embed(given: Parameters<LocalKnowledgeStore["embed"]>[0], model: string): ReturnType<LocalKnowledgeStore["embed"]> {
    return this.#transact(() => {
      const rows = [...given].flatMap(([id, values]) => {
        const at = this.#items.locate(id);
        return at === null ? [] : [{ ...at, values }];
      });
      return this.#vectors.put(rows, model);
    });
  }

  dropVectors(): void {
    this.#transact(this.#vectors.drop);
    this.#truncateLog();
  }

  stats(): KnowledgeStats {
    return readStats(this.#db, this.#vectors, this.#directory);
  }

  #transact<T>(work: () => T): T {
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      this.#db.exec("COMMIT");
      return result;
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      throw error;
    }
  }

  /** Waits for readers, which keep old pages; false if one kept them for too long. */
  #truncateLog(): boolean {
    const row = this.#db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    return Number(row?.busy) === 0;
  }
}

const toDocument = (row: Readonly<Record<string, unknown>>) => ({
  path: String(row["path"]),
  scope: String(row["scope"]) as Scope,
  agent: String(row["agent"]) === "" ? null : String(row["agent"]),
  digest: digest(String(row["digest"])),
  chunks: Number(row["chunks"]),
});

function prepareDocuments(db: DatabaseSync) {
  return {
    pieces: db.prepare(`SELECT ${COLUMNS} FROM items i WHERE i.document = ? AND i.scope = ? AND i.agent IS ?`),
    document: db.prepare("INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?, ?)"),
    documents: db.prepare("SELECT path, scope, agent, digest, chunks FROM documents ORDER BY path, scope, agent"),
    documentsAt: db.prepare("SELECT path, scope, agent, digest, chunks FROM documents WHERE path = ?"),
    dropDocument: db.prepare("DELETE FROM documents WHERE path = ? AND scope = ? AND agent = ?"),
  };
}

function readStats(db: DatabaseSync, vectors: Vectors, directory: string): KnowledgeStats {
  const number = (query: string): number => Number(db.prepare(query).get()?.n ?? 0);
  const countBy = (column: string): Record<string, number> =>
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
    kinds: countBy("kind"),
    scopes: countBy("scope"),
    vectors: about === null ? null : { ...about, count: vectors.count() },
    bytes: statSync(knowledgeFile(directory)).size,
  };
}
