/** Items of the knowledge store as rows: inserted, indexed by words, superseded, removed. Callers hold the transaction. */
import type { DatabaseSync } from "node:sqlite";
import { findSupersession, itemText, type LocalKnowledgeStore, maySupersede, toRealm, toSlot } from "@orgate/core/knowledge";
import { type KnowledgeId, type KnowledgeItem, type StoredItem, toCanonicalJson } from "@orgate/core/vocab";
import { toIndexWords } from "./index-words.ts";
import { COLUMNS, toStoredItem } from "./item-rows.ts";
import type { Vectors } from "./sqlite-vectors.ts";

export class KnowledgeItems {
  readonly #sql: ReturnType<typeof prepareItems>;
  readonly #vectors: Pick<Vectors, "remove">;

  constructor(db: DatabaseSync, vectors: Pick<Vectors, "remove">) {
    this.#sql = prepareItems(db);
    this.#vectors = vectors;
  }

  get(id: KnowledgeId): StoredItem | null {
    const row = this.#sql.get.get(id);
    return row === undefined ? null : toStoredItem(row);
  }

  list(after: string, most: number): readonly StoredItem[] {
    return this.#sql.list.all(after, most).map(toStoredItem);
  }

  /** Current items without a vector. */
  listUnembedded(most: number): readonly StoredItem[] {
    return this.#sql.unembedded.all(most).map(toStoredItem);
  }

  /** Row and realm of a current item. */
  locate(id: KnowledgeId): Readonly<{ n: number; realm: number }> | null {
    const row = this.#sql.place.get(id);
    return row === undefined ? null : { n: Number(row.n), realm: Number(row.realm) };
  }

  isForgotten(id: KnowledgeId): boolean {
    return this.#sql.isForgotten.get(id) !== undefined;
  }

  put(item: KnowledgeItem): ReturnType<LocalKnowledgeStore["put"]> {
    if (this.isForgotten(item.id)) return { kind: "forgotten" };
    if (this.#rowOf(item.id) !== null) return { kind: "known" };
    const before = this.#listSlot(toSlot(item));
    if (item.body.kind === "working") {
      if (before.some((one) => one.created > item.created)) return { kind: "stale" };
      for (const { id } of before) this.remove(id);
      this.add(item);
      return { kind: "stored", superseded: before[0]?.id ?? null };
    }
    const old = before.filter((one) => maySupersede(item, one));
    for (const { id } of old) this.supersede(id, item.id);
    this.add(item);
    return { kind: "stored", superseded: old[0]?.id ?? null };
  }

  /** Stores an exported item with its past: an item that was superseded elsewhere stays superseded. */
  restore(item: StoredItem): ReturnType<LocalKnowledgeStore["restore"]> {
    if (this.isForgotten(item.id)) return "forgotten";
    if (this.#rowOf(item.id) !== null) return "known";
    const { by, supersedes } = findSupersession(item, this.#listSlot(item.supersededBy === null ? toSlot(item) : null));
    const isWorking = item.body.kind === "working";
    if (isWorking && by !== null) return "known";
    for (const id of supersedes) isWorking ? this.remove(id) : this.supersede(id, item.id);
    this.#insert({ ...item, supersededBy: item.supersededBy ?? by });
    return "stored";
  }

  add(item: KnowledgeItem): void {
    this.#insert({ ...item, usedAt: null, uses: 0, supersededBy: null });
  }

  supersede(id: KnowledgeId, by: KnowledgeId): void {
    const n = this.#rowOf(id);
    if (n === null) return;
    this.#sql.supersede.run(by, n);
    this.#unindex(n);
  }

  remove(id: KnowledgeId): boolean {
    const n = this.#rowOf(id);
    if (n === null) return false;
    this.#unindex(n);
    this.#sql.remove.run(n);
    return true;
  }

  /** Removes the item and refuses it from now on; false if it was not there. */
  forget(id: KnowledgeId): boolean {
    this.#sql.forget.run(id);
    return this.remove(id);
  }

  markUsed(ids: readonly KnowledgeId[], at: number): void {
    for (const id of ids) this.#sql.used.run(at, id);
  }

  #rowOf(id: KnowledgeId): number | null {
    const row = this.#sql.number.get(id);
    return row === undefined ? null : Number(row.n);
  }

  #listSlot(slot: string | null): readonly StoredItem[] {
    return slot === null ? [] : this.#sql.slot.all(slot).map(toStoredItem);
  }

  #insert(item: StoredItem): void {
    const realm = this.#openRealm(item);
    const { body, from } = item;
    const { lastInsertRowid } = this.#sql.insert.run(
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
    if (item.supersededBy === null) this.#index(Number(lastInsertRowid), realm, item);
  }

  #openRealm(item: KnowledgeItem): number {
    this.#sql.addRealm.run(item.scope, toRealm(item));
    return Number(this.#sql.realm.get(item.scope, toRealm(item))?.n);
  }

  #index(n: number, realm: number, item: KnowledgeItem): void {
    const words = toIndexWords(realm, itemText(item.body));
    this.#sql.addWords.run(n, words.join(" "));
    for (const word of new Set(words)) this.#sql.count.run(word);
  }

  /** Takes an item out of both searches. */
  #unindex(n: number): void {
    const words = String(this.#sql.wordsOf.get(n)?.words ?? "");
    if (this.#sql.dropWords.run(n).changes === 0) return;
    for (const word of new Set(words.split(" "))) {
      this.#sql.uncount.run(word);
      this.#sql.dropCount.run(word);
    }
    this.#vectors.remove(n);
  }
}

function prepareItems(db: DatabaseSync) {
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
    unembedded: db.prepare(
      `SELECT ${COLUMNS} FROM items i WHERE i.superseded_by IS NULL AND NOT EXISTS (SELECT 1 FROM embedded e WHERE e.n = i.n) ORDER BY i.n LIMIT ?`,
    ),
  };
}
