import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { itemText, type KnowledgeStore } from "@orgate/core/knowledge";
import { asking, item, knowledgeContract, makeFact } from "@orgate/core/testing";
import { type KnowledgeItem, label, millis, SCOPES, type Scope } from "@orgate/core/vocab";
import fc from "fast-check";
import { expect, test } from "vitest";
import { openKnowledge } from "./sqlite.ts";
import { KNOWLEDGE_SQL } from "./sqlite-search.ts";

const folder = () => mkdtempSync(join(tmpdir(), "orgate-knowledge-"));

knowledgeContract(
  "sqlite",
  () => {
    const directory = folder();
    const opened: KnowledgeStore[] = [];
    return {
      open() {
        const store = openKnowledge(directory);
        opened.push(store);
        return store;
      },
      dispose() {
        for (const store of opened) store.close();
        rmSync(directory, { recursive: true });
      },
    };
  },
  { test, expect },
);

/** Everything that lies in the folder, as bytes. */
const onDisk = (directory: string): string =>
  readdirSync(directory)
    .map((file) => readFileSync(join(directory, file), "latin1"))
    .join("\n");

test("N-12 a forgotten canary is nowhere in the files: tables, index, vectors, write-ahead log", () => {
  const directory = folder();
  const store = openKnowledge(directory);
  const canary = "zqxcanary7";
  const marked = new Float32Array([0.5, -0.5, 0.5, 0.5]); // of length one, as it is kept
  const bytes = Buffer.from(marked.buffer).toString("latin1");
  for (let i = 0; i < 300; i += 1) store.put(makeFact(`thing${i}`, "is near", `zqxcan${i} and more words like ${i % 7}`));
  const secret = makeFact(canary, "whispers", "kwvjhidden words", { labels: [label("pii")], directory: "qqhiddenfolder" });
  const summary = item({ kind: "working", key: "last", text: `${canary} summary` });
  store.put(secret);
  store.put(summary);
  store.embed(new Map([[secret.id, marked]]), "test/four");
  expect(onDisk(directory)).toContain(canary);
  expect(onDisk(directory)).toContain(bytes);
  expect(store.forget([secret.id, summary.id])).toEqual({ gone: 2, clean: true });
  for (const left of [canary, "kwvjhidden", "canary7", "qqhiddenfolder", bytes]) expect(onDisk(directory).includes(left)).toBe(false);
  store.close();
  for (const left of [canary, "kwvjhidden", "canary7", bytes]) expect(onDisk(directory).includes(left)).toBe(false);
  rmSync(directory, { recursive: true });
});

test("N-10 a working memory that was replaced is gone from the files too", () => {
  const directory = folder();
  const store = openKnowledge(directory);
  store.put(item({ kind: "working", key: "last", text: "zqxfirstwords" }, { created: millis(1) }));
  store.put(item({ kind: "working", key: "last", text: "second" }, { created: millis(2) }));
  store.close();
  expect(onDisk(directory)).not.toContain("zqxfirstwords");
  rmSync(directory, { recursive: true });
});

test("N-11 for any mix of agents and scopes, everybody gets their own, the project's and what is shared, as wide as they may look", () => {
  const agents = ["alice", "bob", "1", "1q", "", "alice'--", "エージェント"];
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          agent: fc.constantFrom(...agents.filter((a) => a !== "")),
          scope: fc.constantFrom<Scope>(...SCOPES),
          word: fc.constantFrom("deploy", "billing", "東京"),
        }),
        { minLength: 1, maxLength: 12 },
      ),
      fc.constantFrom(...agents),
      fc.constantFrom<Scope>(...SCOPES),
      (given, who, widest) => {
        const directory = folder();
        const store = openKnowledge(directory);
        const all = given.map(
          ({ agent, scope, word }, i): KnowledgeItem =>
            item({ kind: "pattern", title: "", text: `${word} number ${i}` }, { agent, scope, created: millis(i) }),
        );
        for (const one of all) store.put(one);
        store.embed(new Map(all.map((one, i) => [one.id, new Float32Array([1, i])])), "test/two");
        const seen = (vector: boolean) =>
          store
            .search(
              asking("deploy billing 東京 number", { agent: who, scope: widest }),
              vector ? { model: "test/two", values: new Float32Array([1, 1]) } : null,
            )
            .hits.map(({ item: one }) => one.id)
            .sort();
        const may = all
          .filter((one) => (one.scope === "agent" ? one.agent === who : SCOPES.indexOf(one.scope) <= SCOPES.indexOf(widest)))
          .map((one) => one.id)
          .sort();
        const found = [seen(false), seen(true)];
        store.close();
        rmSync(directory, { recursive: true });
        expect(found).toEqual([may, may]);
      },
    ),
    { numRuns: 40 },
  );
});

test("N-15 several processes use one store at once: what one writes the others find, and they wait for each other", () => {
  const directory = folder();
  const [a, b] = [openKnowledge(directory), openKnowledge(directory)];
  for (let i = 0; i < 20; i += 1) (i % 2 === 0 ? a : b).put(makeFact(`subject${i}`, "is", "shared words"));
  expect(a.search(asking("shared words"), null).hits).toHaveLength(20);
  expect(b.search(asking("subject3"), null).hits.map(({ item: one }) => itemText(one.body))).toEqual(["subject3 is shared words"]);
  const blocker = new DatabaseSync(join(directory, "knowledge.db"));
  blocker.exec("BEGIN IMMEDIATE");
  a.used([makeFact("subject0", "is", "shared words").id], millis(5)); // nobody waits for a hint
  blocker.exec("ROLLBACK");
  blocker.close();
  a.close();
  b.close();
  rmSync(directory, { recursive: true });
});

test("Q-2 N-15 nothing is looked up by a scan of the items", () => {
  const directory = folder();
  openKnowledge(directory).close();
  const db = new DatabaseSync(join(directory, "knowledge.db"));
  for (const sql of Object.values(KNOWLEDGE_SQL)) {
    const plan = db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map((row) => String(row.detail));
    expect(
      plan.filter((step) => /^SCAN (?!w\b|item_words)/.test(step) && !/VIRTUAL TABLE|SUBQUERY/.test(step)),
      sql,
    ).toEqual([]);
  }
  db.close();
  rmSync(directory, { recursive: true });
});

test("N-3 no more rows are ranked than 600: of a word that more have, the newest that fit are taken, in the order of the index", () => {
  const directory = folder();
  const store = openKnowledge(directory);
  const put = (i: number, more: Partial<KnowledgeItem> = {}) =>
    store.put(item({ kind: "pattern", title: "", text: `common thing${i} ${i < 3 ? "scarce" : ""}` }, { created: millis(i), ...more }));
  put(1);
  put(2, { directory: "src" });
  for (let i = 3; i < 620; i += 1) put(i, i < 600 ? {} : { validTo: millis(500) });
  const found = (query: string, more = {}) => store.search(asking(query, more), null).hits.map(({ item: one }) => one.created);
  expect(found("common")).toEqual(Array.from({ length: 50 }, (_, i) => 599 - i));
  expect(found("common", { directory: { path: "src", how: "at" } })).toEqual([2]);
  expect([...found("common scarce")].sort()).toEqual([1, 2]);
  expect(found("common thing610")).toHaveLength(50); // what has the rarer word holds no more
  store.close();
  const db = new DatabaseSync(join(directory, "knowledge.db"));
  const walks = Object.entries(KNOWLEDGE_SQL).filter(([name]) => name.endsWith("Newest"));
  expect(walks).toHaveLength(4);
  for (const [, sql] of walks) {
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
    expect(plan.map((row) => String(row.detail)).filter((step) => step.includes("TEMP B-TREE"))).toEqual([]);
    expect(sql).not.toContain("rank");
  }
  db.close();
  rmSync(directory, { recursive: true });
});
