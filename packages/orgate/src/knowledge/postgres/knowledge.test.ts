// @module-tag postgres
import { randomBytes } from "node:crypto";
import { itemText, type KnowledgeStore } from "@orgate/core/knowledge";
import { asking, item, knowledgeContract, makeFact } from "@orgate/core/testing";
import { type KnowledgeItem, millis } from "@orgate/core/vocab";
import { expect, test } from "vitest";
import type { ClusterConfig } from "../../config/cluster-schema.ts";
import { testUrl } from "../../store/postgres/fixtures/schemas.ts";
import { openLink } from "../../store/postgres/link.ts";
import { openProjectKnowledge } from "../open.ts";

type TestKnowledge = Readonly<{
  open(): KnowledgeStore;
  query(sql: string, setting?: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  dispose(): Promise<void>;
}>;

const toCluster = (url: string, schema: string): ClusterConfig => ({
  database: { kind: "text", text: url },
  listen: null,
  schema,
  leaseMs: 10_000,
  poolSize: 2,
  statementMs: 30_000,
  restate: null,
  lockMs: 10_000,
});

async function makeKnowledge(): Promise<TestKnowledge> {
  const schema = `k_${randomBytes(6).toString("hex")}`;
  const link = await openLink({ url: testUrl(), schema, poolSize: 1 });
  const opened: KnowledgeStore[] = [];
  const cluster = toCluster(testUrl(), schema);
  return {
    open() {
      const store = openProjectKnowledge({ directory: "", cluster });
      opened.push(store);
      return store;
    },
    query: (sql, setting = "SELECT 1") =>
      link.transact("BEGIN", async (run) => {
        await run(setting);
        return run(sql.replaceAll("$schema", `"${schema}"`));
      }),
    async dispose() {
      for (const store of opened) await store.close();
      await link.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
      await link.close();
    },
  };
}

async function withKnowledge(work: (made: TestKnowledge) => Promise<void>): Promise<void> {
  const made = await makeKnowledge();
  try {
    await work(made);
  } finally {
    await made.dispose();
  }
}

knowledgeContract("postgres", async () => ({ ...(await makeKnowledge()), lacks: "vectors" as const }), { test, expect });

test("N-15 processes that put the same at once leave one current item, and every word is counted", () =>
  withKnowledge(async ({ open, query }) => {
    const stores = [open(), open(), open(), open()];
    const given = Array.from({ length: 12 }, (_, i) => makeFact("port", "is", `number${i}`, { created: millis(i + 1) }));
    await Promise.all(given.map((one, i) => stores[i % stores.length]?.put(one)));
    const current = (await stores[0]?.list({ after: null, most: 100 }))?.filter(({ supersededBy }) => supersededBy === null);
    expect(current).toHaveLength(1);
    const [row] = await query("SELECT count(*)::int AS words, sum(items)::int AS items FROM $schema.knowledge_words");
    expect(row).toEqual({ words: 3, items: 3 }); // port, is, and the number that is current
  }));

test("N-2 text that PostgreSQL cannot store as it is comes back as it was", () =>
  withKnowledge(async ({ open }) => {
    const odd = "a\0b \\0 c\\ \u{1f600} 東京";
    const one = item({ kind: "chunk", document: `${odd}.md`, title: odd, text: odd }, { agent: odd, directory: odd });
    const store = open();
    await store.put(one);
    expect(await open().get(one.id)).toEqual({ ...one, usedAt: null, uses: 0, supersededBy: null });
    const { hits } = await store.search(asking("東京", { agent: odd, directory: { path: odd, how: "at" } }), null);
    expect(hits.map(({ item: { id } }) => id)).toEqual([one.id]);
    expect(await store.piecesOf({ path: `${odd}.md`, scope: "agent", agent: odd })).toEqual([one.id]);
  }));

test("N-9 a subject of any length is superseded by the next fact about it", () =>
  withKnowledge(async ({ open }) => {
    const store = open();
    const subject = Array.from({ length: 4_000 }, (_, i) => `w${i}x${(i * 7_919) % 104_729}`).join(" ");
    const old = makeFact(subject, "is", "one");
    await store.put(old);
    expect(await store.put(makeFact(subject, "is", "two", { created: millis(2) }))).toEqual({ kind: "stored", superseded: old.id });
  }));

test("N-3 no more rows are ranked than 600: of a word that more have, the newest that fit are taken; a rare word is found by its index", () =>
  withKnowledge(async ({ open, query }) => {
    const store = open();
    const pieces = Array.from(
      { length: 620 },
      (_, i): KnowledgeItem =>
        item({ kind: "chunk", document: "a.md", title: "", text: `common thing${i} ${i < 3 ? "scarce" : ""}` }, { created: millis(i) }),
    );
    await store.replace({ path: "a.md", scope: "agent", agent: "alice", digest: "0".repeat(64) as never }, pieces, millis(1));
    const found = async (words: string) => (await store.search(asking(words), null)).hits.map(({ item: { created } }) => created);
    expect(await found("common")).toEqual(Array.from({ length: 50 }, (_, i) => 619 - i));
    expect([...(await found("common scarce"))].sort()).toEqual([0, 1, 2]);
    expect(await found("scarce thing2")).toEqual([2, 1, 0]);
    const plan = await query(
      "EXPLAIN SELECT n FROM $schema.knowledge_items WHERE words @@ '''1qscarc'''::tsquery",
      "SET LOCAL enable_seqscan = off",
    );
    expect(plan.map((row) => String(row["QUERY PLAN"])).join("\n")).toContain("knowledge_items_words");
  }));

test("N-12 a forgotten canary is in no row of any table of knowledge", () =>
  withKnowledge(async ({ open, query }) => {
    const store = open();
    const one = makeFact("zqxcanary7", "whispers", "kwvjhidden words");
    await store.put(one);
    await store.forget([one.id]);
    for (const table of ["items", "words", "documents", "realms"]) {
      const rows = await query(`SELECT row_to_json(t)::text AS text FROM $schema.knowledge_${table} AS t`);
      expect(rows.filter(({ text }) => /zqxcanary7|kwvjhidden/.test(String(text)))).toEqual([]);
    }
    expect((await store.list({ after: null, most: 10 })).map(({ body }) => itemText(body))).toEqual([]);
  }));

test("N-6 a database that cannot be reached is one clear fault, and the next lookup tries again", async () => {
  const cluster = {
    database: { kind: "text", text: "postgres://nobody@127.0.0.1:1/none" },
    listen: null,
    schema: "none",
    leaseMs: 1,
    poolSize: 1,
  };
  const store = openProjectKnowledge({ directory: "", cluster: { ...cluster, statementMs: 1, lockMs: 1 } as never });
  for (let i = 0; i < 2; i += 1) await expect(store.search(asking("x"), null)).rejects.toThrow(/cannot be reached/);
  await store.used([], millis(1));
  await store.close();
});
