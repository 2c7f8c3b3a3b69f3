/** Items as rows of PostgreSQL: inserted, indexed by words, superseded, removed. Writers hold the lock of `knowledge.ts`. */
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
import { type KnowledgeId, type KnowledgeItem, type StoredItem, toCanonicalJson } from "@orgate/core/vocab";
import type { RunStatement } from "../../store/postgres/link.ts";
import { fromStoredText, toStoredText } from "../../store/postgres/text.ts";
import { toIndexWords } from "../index-words.ts";
import { COLUMNS, toStoredItem } from "../item-rows.ts";
import type { KnowledgeTables } from "./tables.ts";
import type { PostgresVectors, VectorPlace } from "./vectors.ts";

type Answer<K extends keyof KnowledgeStore> = KnowledgeStore[K] extends (...given: never[]) => infer R ? Promise<Awaited<R>> : never;
type Row = Readonly<Record<string, unknown>>;

/** PostgreSQL's text has no U+0000: it is stored escaped. */
export const readItem = (row: Row): StoredItem =>
  toStoredItem(
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, typeof value === "string" ? fromStoredText(value) : value])),
  );

export type PostgresItems = ReturnType<typeof openItems>;

function itemReads(tables: KnowledgeTables) {
  const { items, forgotten } = tables;
  const select = async (run: RunStatement, where: string, values: readonly unknown[]): Promise<readonly StoredItem[]> =>
    (await run(`SELECT ${COLUMNS} FROM ${items} AS i WHERE ${where}`, values)).map(readItem);
  return {
    get: async (run: RunStatement, id: KnowledgeId): Promise<StoredItem | null> => (await select(run, "i.id = $1", [id]))[0] ?? null,
    list: (run: RunStatement, after: string, most: number) => select(run, "i.id > $1 ORDER BY i.id LIMIT $2", [after, most]),
    listSlot: async (run: RunStatement, slot: string | null): Promise<readonly StoredItem[]> =>
      slot === null ? [] : select(run, "i.slot = $1 AND i.superseded_by IS NULL", [toStoredText(slot)]),
    listPieces: (run: RunStatement, { path, scope, agent }: DocumentKey): Promise<readonly StoredItem[]> =>
      select(run, "i.document = $1 AND i.scope = $2 AND i.agent IS NOT DISTINCT FROM $3", [
        toStoredText(path),
        scope,
        agent === null ? null : toStoredText(agent),
      ]),
    /** Current items without a vector. */
    listUnembedded: (run: RunStatement, most: number) =>
      select(run, "i.superseded_by IS NULL AND NOT i.embedded ORDER BY i.n LIMIT $1", [most]),
    /** Those among these that were forgotten. */
    async forgottenAmong(run: RunStatement, ids: readonly KnowledgeId[]): Promise<ReadonlySet<string>> {
      const rows = await run<{ id: string }>(`SELECT id FROM ${forgotten} WHERE id = ANY($1::text[])`, [ids]);
      return new Set(rows.map(({ id }) => id));
    },
    /** Rows and realms of the current items among these. */
    async locate(run: RunStatement, given: ReadonlyMap<KnowledgeId, Float32Array>): Promise<readonly VectorPlace[]> {
      const rows = await run<{ id: KnowledgeId; n: string; realm: string }>(
        `SELECT id, n, realm FROM ${items} WHERE id = ANY($1::text[]) AND superseded_by IS NULL`,
        [[...given.keys()]],
      );
      return rows.map(({ id, n, realm }) => ({ n, realm, values: given.get(id) ?? new Float32Array() }));
    },
    count: (run: RunStatement) => countItems(run, tables),
  };
}

export function openItems(tables: KnowledgeTables, vectors: Pick<PostgresVectors, "remove">) {
  const reads = itemReads(tables);
  const { get, listSlot, listPieces, forgottenAmong } = reads;
  const isForgotten = async (run: RunStatement, id: KnowledgeId): Promise<boolean> => (await forgottenAmong(run, [id])).size > 0;
  const index = indexWriter(tables, vectors);
  const add = (run: RunStatement, given: readonly KnowledgeItem[]): Promise<void> =>
    index.insert(
      run,
      given.map((item) => ({ ...item, usedAt: null, uses: 0, supersededBy: null })),
    );

  return {
    ...reads,
    isForgotten,
    async put(run: RunStatement, item: KnowledgeItem): Answer<"put"> {
      if (await isForgotten(run, item.id)) return { kind: "forgotten" };
      if ((await get(run, item.id)) !== null) return { kind: "known" };
      const before = await listSlot(run, toSlot(item));
      if (item.body.kind === "working") {
        if (before.some((one) => one.created > item.created)) return { kind: "stale" };
        await index.remove(run, before);
        await add(run, [item]);
        return { kind: "stored", superseded: before[0]?.id ?? null };
      }
      const old = before.filter((one) => maySupersede(item, one));
      await index.supersede(run, old, item.id);
      await add(run, [item]);
      return { kind: "stored", superseded: old[0]?.id ?? null };
    },
    /** Stores an exported item with its past: an item that was superseded elsewhere stays superseded. */
    async restore(run: RunStatement, item: StoredItem): Answer<"restore"> {
      if (await isForgotten(run, item.id)) return "forgotten";
      if ((await get(run, item.id)) !== null) return "known";
      const there = await listSlot(run, item.supersededBy === null ? toSlot(item) : null);
      const { by, supersedes } = findSupersession(item, there);
      const isWorking = item.body.kind === "working";
      if (isWorking && by !== null) return "known";
      const old = there.filter(({ id }) => supersedes.includes(id));
      await (isWorking ? index.remove(run, old) : index.supersede(run, old, item.id));
      await index.insert(run, [{ ...item, supersededBy: item.supersededBy ?? by }]);
      return "stored";
    },
    async replacePieces(run: RunStatement, document: DocumentKey, pieces: readonly KnowledgeItem[]) {
      const refused = await forgottenAmong(
        run,
        pieces.map(({ id }) => id),
      );
      const next = new Map(pieces.filter(({ id }) => !refused.has(id)).map((one) => [one.id, one]));
      const current = (await listPieces(run, document)).filter(({ supersededBy }) => supersededBy === null);
      const gone = current.filter(({ id }) => !next.has(id));
      const [first] = next.keys();
      for (const one of gone) await index.supersede(run, [one], first ?? one.id);
      const kept = new Set(current.filter(({ id }) => next.has(id)).map(({ id }) => id));
      const fresh = [...next.values()].filter(({ id }) => !kept.has(id));
      await index.remove(run, fresh); // a superseded piece comes back as it is now
      await add(run, fresh);
      return { added: fresh.length, kept: kept.size, gone: gone.length, chunks: next.size };
    },
    /** Removes the items and refuses them from now on; how many were there. */
    async forget(run: RunStatement, ids: readonly KnowledgeId[]): Promise<number> {
      await run(`INSERT INTO ${tables.forgotten} SELECT DISTINCT * FROM unnest($1::text[]) ON CONFLICT DO NOTHING`, [ids]);
      return index.remove(
        run,
        ids.map((id) => ({ id })),
      );
    },
    async markUsed(run: RunStatement, ids: readonly KnowledgeId[], at: number): Promise<void> {
      const sql = `UPDATE ${tables.items} AS i SET uses = i.uses + u.times, used_at = $2
        FROM (SELECT id, count(*) AS times FROM unnest($1::text[]) AS id GROUP BY id) AS u WHERE i.id = u.id`;
      if (ids.length > 0) await run(sql, [ids, at]);
    },
  };
}

/** Rows with their words: what is superseded or removed leaves both searches. */
function indexWriter({ items, realms, words: counts }: KnowledgeTables, vectors: Pick<PostgresVectors, "remove">) {
  async function openRealms(run: RunStatement, given: readonly StoredItem[]): Promise<ReadonlyMap<string, string>> {
    const keys = [...new Map(given.map((item) => [realmKey(item), item])).values()];
    const wanted = [keys.map(({ scope }) => scope), keys.map((item) => toStoredText(toRealm(item)))];
    await run(`INSERT INTO ${realms} (scope, agent) SELECT * FROM unnest($1::text[], $2::text[]) ON CONFLICT DO NOTHING`, wanted);
    const rows = await run<{ n: string; scope: string; agent: string }>(
      `SELECT n, scope, agent FROM ${realms} WHERE (scope, agent) IN (SELECT * FROM unnest($1::text[], $2::text[]))`,
      wanted,
    );
    return new Map(rows.map(({ n, scope, agent }) => [`${scope} ${fromStoredText(agent)}`, n]));
  }
  /** Takes rows out of both searches; `words` of each stays as it was unless it is emptied by the caller. */
  async function uncount(run: RunStatement, rows: readonly string[]): Promise<void> {
    if (rows.length === 0) return;
    await run(
      `UPDATE ${counts} AS c SET items = c.items - g.n
       FROM (SELECT w AS word, count(*) AS n FROM ${items} AS i, unnest(tsvector_to_array(i.words)) AS w WHERE i.n = ANY($1::bigint[]) GROUP BY w) AS g WHERE c.word = g.word`,
      [rows],
    );
    await run(`DELETE FROM ${counts} WHERE items <= 0`);
    await vectors.remove(run, rows);
  }
  const numbersOf = async (run: RunStatement, given: readonly Readonly<{ id: KnowledgeId }>[]): Promise<readonly string[]> =>
    (await run<{ n: string }>(`SELECT n FROM ${items} WHERE id = ANY($1::text[])`, [given.map(({ id }) => id)])).map(({ n }) => n);

  return {
    async insert(run: RunStatement, given: readonly StoredItem[]): Promise<void> {
      if (given.length === 0) return;
      const numbers = await openRealms(run, given);
      const rows = given.map((item) => toRow(item, numbers.get(realmKey(item)) ?? ""));
      await run(
        `INSERT INTO ${items} (${INSERTED.join(", ")}, words)
         SELECT ${INSERTED.map((name) => `r.${name}`).join(", ")}, array_to_tsvector(r.words) FROM jsonb_to_recordset($1::jsonb) AS r(${RECORD}, words text[])`,
        [JSON.stringify(rows)],
      );
      const added = rows.flatMap(({ words }) => words);
      await run(
        `INSERT INTO ${counts} SELECT w, count(*) FROM unnest($1::text[]) AS w GROUP BY w ON CONFLICT (word) DO UPDATE SET items = ${counts}.items + excluded.items`,
        [added],
      );
    },
    async supersede(run: RunStatement, given: readonly Readonly<{ id: KnowledgeId }>[], by: KnowledgeId): Promise<void> {
      if (given.length === 0) return;
      const rows = await numbersOf(run, given);
      await uncount(run, rows);
      await run(`UPDATE ${items} SET superseded_by = $1, words = '', embedded = false WHERE n = ANY($2::bigint[])`, [by, rows]);
    },
    async remove(run: RunStatement, given: readonly Readonly<{ id: KnowledgeId }>[]): Promise<number> {
      if (given.length === 0) return 0;
      const rows = await numbersOf(run, given);
      await uncount(run, rows);
      await run(`DELETE FROM ${items} WHERE n = ANY($1::bigint[])`, [rows]);
      return rows.length;
    },
  };
}

const realmKey = (item: KnowledgeItem): string => `${item.scope} ${toRealm(item)}`;

/** In the order of `RECORD`. */
const TYPES = {
  id: "text",
  realm: "bigint",
  kind: "text",
  slot: "text",
  document: "text",
  directory: "text",
  body: "text",
  scope: "text",
  agent: "text",
  confidence: "float8",
  source: "text",
  labels: "text",
  verified: "boolean",
  stream: "text",
  seq: "bigint",
  created: "bigint",
  valid_from: "bigint",
  valid_to: "bigint",
  used_at: "bigint",
  uses: "bigint",
  superseded_by: "text",
} as const;
const INSERTED = Object.keys(TYPES);
const RECORD = Object.entries(TYPES)
  .map(([name, type]) => `${name} ${type}`)
  .join(", ");

function toRow(item: StoredItem, realm: string): Record<keyof typeof TYPES, unknown> & { words: readonly string[] } {
  const { body, from } = item;
  const stored = (text: string | null): string | null => (text === null ? null : toStoredText(text));
  return {
    id: item.id,
    realm,
    kind: body.kind,
    slot: stored(toSlot(item)),
    document: body.kind === "chunk" ? stored(body.document) : null,
    directory: stored(item.directory),
    body: stored(toCanonicalJson(body)),
    scope: item.scope,
    agent: stored(item.agent),
    confidence: item.confidence,
    source: item.source,
    labels: toCanonicalJson([...item.labels]),
    verified: item.verified,
    stream: from?.stream ?? null,
    seq: from?.seq ?? null,
    created: item.created,
    valid_from: item.validFrom,
    valid_to: item.validTo,
    used_at: item.usedAt,
    uses: item.uses,
    superseded_by: item.supersededBy,
    words: item.supersededBy === null ? [...new Set(toIndexWords(Number(realm), itemText(body)))] : [],
  };
}

type Counted = Omit<KnowledgeStats, "vectors"> & Readonly<{ embedded: number }>;

async function countItems(run: RunStatement, { items, forgotten, documents, words }: KnowledgeTables): Promise<Counted> {
  const groups = await run<{ kind: string; scope: string; is_current: boolean; n: string; embedded: string }>(
    `SELECT kind, scope, superseded_by IS NULL AS is_current, count(*) AS n, count(*) FILTER (WHERE embedded) AS embedded FROM ${items} GROUP BY 1, 2, 3`,
  );
  const [numbers] = await run<{ forgotten: string; documents: string; bytes: string }>(
    `SELECT (SELECT count(*) FROM ${forgotten}) AS forgotten, (SELECT count(*) FROM ${documents}) AS documents,
       pg_total_relation_size($1) + pg_total_relation_size($2) AS bytes`,
    [items, words],
  );
  const current = groups.filter((one) => one.is_current);
  const sum = (of: readonly Readonly<{ n: string }>[]): number => of.reduce((total, { n }) => total + Number(n), 0);
  const countBy = (name: "kind" | "scope"): Record<string, number> =>
    Object.fromEntries([...Map.groupBy(current, (one) => one[name])].map(([key, of]) => [key, sum(of)]));
  return {
    items: sum(current),
    superseded: sum(groups) - sum(current),
    forgotten: Number(numbers?.forgotten),
    documents: Number(numbers?.documents),
    kinds: countBy("kind"),
    scopes: countBy("scope"),
    embedded: current.reduce((total, { embedded }) => total + Number(embedded), 0),
    bytes: Number(numbers?.bytes),
  };
}
