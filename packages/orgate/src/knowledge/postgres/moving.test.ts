// @module-tag postgres
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KnowledgeStore } from "@orgate/core/knowledge";
import { asking, item, makeFact } from "@orgate/core/testing";
import { type KnowledgeId, type KnowledgeItem, knowledgeId, label, millis, type StoredItem, ZERO } from "@orgate/core/vocab";
import { afterEach, expect, test } from "vitest";
import { createSchema, testUrl } from "../../store/postgres/fixtures/schemas.ts";
import { migrate } from "../../store/postgres/schema/migrations.ts";
import { openKnowledge } from "../sqlite.ts";
import { openPostgresKnowledge } from "./knowledge.ts";
import { KNOWLEDGE_BESIDE } from "./moving.ts";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});
const folder = (): string => {
  const made = mkdtempSync(join(tmpdir(), "orgate-knowledge-moves-"));
  ends.push(() => rmSync(made, { recursive: true, force: true }));
  return made;
};

const QUERIES = ["ledger", "O'Brien back\\slash", "東京", "street", "421", "another", "newer"];
const GUIDE = { path: "docs\\a guide.md", scope: "project", agent: null } as const;
const chunk = (text: string, n: number): KnowledgeItem =>
  item({ kind: "chunk", document: GUIDE.path, title: `part ${n}`, text }, { scope: "project", agent: null });

/** Everything that a copy could miss: what was superseded, forgotten, used, limited in time; texts that PostgreSQL has not. */
async function fill(store: KnowledgeStore): Promise<readonly KnowledgeId[]> {
  const forgotten = makeFact("secret", "is", "kwvjhidden");
  const all = [
    makeFact("Billing", "uses", "PostgreSQL for ledgers", {
      labels: [label("untrusted"), label("pii")],
      directory: "src\\billing",
      verified: true,
    }),
    makeFact("Billing", "uses", "a newer ledger", { created: millis(5), validFrom: millis(1), validTo: millis(9), confidence: 0.1 }),
    makeFact("O'Brien", "said", "\0 and back\\slash '", { scope: "shared", agent: null }),
    makeFact("天気", "は", "東京で晴れです", { agent: "bob" }),
    item({ kind: "working", key: "last", text: "street of agents" }, { from: null }),
    forgotten,
  ];
  for (const one of all) await store.put(one);
  for (let i = 0; i < 450; i += 1) await store.put(makeFact(`thing ${i}`, "has", `step ${i % 7}`));
  await store.used([...(all[0] === undefined ? [] : [all[0].id])], millis(77));
  await store.replace({ ...GUIDE, digest: ZERO }, [chunk("first step", 1), chunk("second step", 2)], millis(3));
  await store.replace({ ...GUIDE, digest: ZERO }, [chunk("first step", 1), chunk("another step", 2)], millis(4));
  await store.forget([forgotten.id, knowledgeId(`k_${"7".repeat(24)}`)]);
  return [forgotten.id, knowledgeId(`k_${"7".repeat(24)}`)];
}

async function everything(store: KnowledgeStore, forgotten: readonly KnowledgeId[]) {
  const items: StoredItem[] = [];
  for (let after: KnowledgeId | null = null; ; ) {
    const page: readonly StoredItem[] = await store.list({ after, most: 100 });
    items.push(...page);
    after = page.at(-1)?.id ?? null;
    if (after === null) break;
  }
  const found: unknown[] = [];
  for (const query of QUERIES)
    for (const agent of ["alice", "bob"]) {
      const { hits } = await store.search(asking(query, { agent, terms: query.split(" ") }), null);
      found.push(hits.map(({ item: { id } }) => id).sort());
    }
  const { bytes: _, vectors: __, ...counts } = await store.stats();
  const refused = await Promise.all(forgotten.map((id) => store.isForgotten(id)));
  return { items, found, counts, documents: await store.documents(), pieces: [...(await store.piecesOf(GUIDE))].sort(), refused };
}

async function place() {
  const schema = await createSchema();
  ends.push(schema.drop);
  await migrate(schema.link);
  const open = async (): Promise<KnowledgeStore> => openPostgresKnowledge({ url: testUrl(), schema: schema.schema });
  const copy = async (directory: string): Promise<string | null> => {
    const db = KNOWLEDGE_BESIDE.open(directory);
    try {
      await KNOWLEDGE_BESIDE.toSchema(schema.link, db, () => {});
      return await KNOWLEDGE_BESIDE.compare(schema.link, db, () => {});
    } finally {
      db.close();
    }
  };
  return { ...schema, open, copy };
}

async function reading<T>(store: KnowledgeStore, work: (store: KnowledgeStore) => Promise<T>): Promise<T> {
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

test("J-37 N-12 knowledge moves to PostgreSQL and back with its past: the same items, documents, searches and forgotten ids", async () => {
  const [directory, there] = [folder(), await place()];
  const forgotten = await reading(openKnowledge(directory), fill);
  const before = await reading(openKnowledge(directory), (store) => everything(store, forgotten));
  expect([before.items.length > 450, before.refused, before.found.flat().length > 4]).toEqual([true, [true, true], true]);
  expect(before.items.some((one) => one.supersededBy !== null)).toBe(true);
  expect(await there.copy(directory)).toBe(null);
  const store = await there.open();
  expect(await everything(store, forgotten)).toEqual(before);
  expect(await store.put(makeFact("secret", "is", "kwvjhidden"))).toEqual({ kind: "forgotten" });
  const later = makeFact("Billing", "uses", "nothing at all", { created: millis(9) });
  expect(await store.put(later)).toMatchObject({ kind: "stored" }); // numbers go on, and what it says otherwise is superseded
  await store.forget([before.items[3]?.id ?? later.id]);
  const gone = [...forgotten, before.items[3]?.id ?? later.id];
  const after = await everything(store, gone);
  await store.close();

  const back = folder();
  const db = KNOWLEDGE_BESIDE.open(back);
  await KNOWLEDGE_BESIDE.toFile(there.link, db);
  expect(await KNOWLEDGE_BESIDE.compare(there.link, db, () => {})).toBe(null);
  db.close();
  await reading(openKnowledge(back), async (returned) => {
    expect(await everything(returned, gone)).toEqual(after);
    expect(await returned.put(makeFact("goes", "on", "here"))).toMatchObject({ kind: "stored" });
  });
});

test("N-12 what was forgotten in the file since an earlier copy is in no row of PostgreSQL after the next one", async () => {
  const [directory, there] = [folder(), await place()];
  const canary = makeFact("zqxcanary", "whispers", "kwvjhidden");
  await reading(openKnowledge(directory), async (store) => store.put(canary));
  await there.copy(directory);
  await reading(openKnowledge(directory), async (store) => store.forget([canary.id]));
  await there.copy(directory);
  await reading(await there.open(), async (store) => {
    expect([await store.get(canary.id), await store.isForgotten(canary.id)]).toEqual([null, true]);
    expect(await store.put(canary)).toEqual({ kind: "forgotten" });
  });
  const rows = await there.link.query<{ text: string }>(
    `SELECT i::text AS text FROM "${there.schema}".knowledge_items AS i UNION ALL SELECT w::text FROM "${there.schema}".knowledge_words AS w`,
  );
  expect(JSON.stringify(rows)).not.toMatch(/zqxcanary|kwvjhidden/);
});

test("J-37 knowledge that is not the same after it was copied is an error, whatever differs", async () => {
  const [directory, there] = [folder(), await place()];
  await reading(openKnowledge(directory), fill);
  await there.copy(directory);
  const db = KNOWLEDGE_BESIDE.open(directory);
  ends.push(() => db.close());
  for (const spoil of [
    "UPDATE @.knowledge_items SET labels = '[]' WHERE labels <> '[]'",
    "UPDATE @.knowledge_items SET used_at = 1 WHERE used_at IS NOT NULL",
    "UPDATE @.knowledge_items SET scope = 'shared' WHERE kind = 'working'",
    "DELETE FROM @.knowledge_items WHERE n = 400",
    "DELETE FROM @.knowledge_forgotten",
    "UPDATE @.knowledge_realms SET agent = 'mallory' WHERE agent = 'bob'",
    "UPDATE @.knowledge_documents SET chunks = 7",
  ]) {
    await there.link.query(spoil.replace("@", `"${there.schema}"`));
    await expect(
      KNOWLEDGE_BESIDE.compare(there.link, db, () => {}),
      spoil,
    ).rejects.toThrow("are not the same");
    await there.copy(directory);
  }
});

test("J-37 vectors that the other place cannot keep are left behind, and said; what has none yet is listed for them", async () => {
  const [directory, there] = [folder(), await place()];
  const one = makeFact("a", "b", "c");
  await reading(openKnowledge(directory), async (store) => {
    await store.put(one);
    expect(await store.embed(new Map([[one.id, new Float32Array([0.6, 0.8])]]), "test/two")).toBe(null);
  });
  expect(await there.copy(directory)).toMatch(/vectors of knowledge were left behind.*orgate knowledge embed/);
  await reading(await there.open(), async (store) => expect(await store.unembedded("test/two", 9)).toMatchObject([{ id: one.id }]));
});
