/** Contract suite for knowledge stores. */
import { deriveKnowledgeId, itemText } from "../knowledge/item.ts";
import type { Search } from "../knowledge/port.ts";
import type { KnowledgeStore } from "../knowledge/store.ts";
import { extractTerms } from "../knowledge/terms.ts";
import {
  type Hash,
  type KnowledgeBody,
  type KnowledgeItem,
  knowledgeId,
  label,
  millis,
  type Scope,
  type StoredItem,
  seq,
  sessionId,
  ZERO,
} from "../vocab/index.ts";
import type { Runner } from "./journal-contract.ts";

export type KnowledgeUnderTest = Readonly<{
  /** The same place each time: what one has written the next one finds. */
  open(): KnowledgeStore;
  dispose(): void | Promise<void>;
  /** Its database has no vectors: it says so, and finds by words. */
  lacks?: "vectors";
}>;

const plain: Hash = (text) => {
  let h = 2_166_136_261;
  for (const c of text) h = Math.imul(h ^ (c.codePointAt(0) ?? 0), 16_777_619) >>> 0;
  return h.toString(16).padStart(8, "0").repeat(8) as typeof ZERO;
};

export const item = (body: KnowledgeBody, more: Partial<KnowledgeItem> = {}): KnowledgeItem => ({
  id: deriveKnowledgeId(plain, itemText(body), more.scope ?? "agent", more.agent ?? "alice", String(more.created ?? 1)),
  body,
  scope: "agent",
  agent: "alice",
  directory: null,
  confidence: 0.8,
  source: "experience",
  labels: [],
  verified: false,
  from: { stream: sessionId("s_contract0001"), seq: seq(7) },
  created: millis(1),
  validFrom: null,
  validTo: null,
  ...more,
});
export const makeFact = (subject: string, predicate: string, object: string, more: Partial<KnowledgeItem> = {}): KnowledgeItem =>
  item({ kind: "fact", subject, predicate, object }, more);

export const asking = (query: string, more: Partial<Search> = {}): Search => ({
  agent: "alice",
  scope: "shared",
  terms: extractTerms(query),
  text: query,
  directory: null,
  most: { memory: 50, knowledge: 50, all: 50 },
  threshold: 0,
  now: millis(1_000),
  ...more,
});

export function knowledgeContract(
  name: string,
  make: () => KnowledgeUnderTest | Promise<KnowledgeUnderTest>,
  { test, expect }: Runner,
): void {
  const rule = (sentence: string, body: (store: KnowledgeStore, under: KnowledgeUnderTest) => void | Promise<void>): void =>
    test(`${sentence} [${name}]`, async () => {
      const under = await make();
      try {
        await body(under.open(), under);
      } finally {
        await under.dispose();
      }
    });
  const texts = async (store: KnowledgeStore, query: string, more: Partial<Search> = {}): Promise<readonly string[]> =>
    (await store.search(asking(query, more), null)).hits.map(({ item: { body } }) => itemText(body));

  rule("N-2 what was put is found by its words, in any capitals and close forms, and in scripts without spaces", async (store) => {
    await store.put(makeFact("Billing", "uses", "PostgreSQL for ledgers"));
    await store.put(makeFact("天気", "は", "東京で晴れです"));
    await store.put(makeFact("Café", "liegt in der", "Straße"));
    expect(await texts(store, "BILLING ledger")).toEqual(["Billing uses PostgreSQL for ledgers"]);
    expect(await texts(store, "東京")).toHaveLength(1);
    expect(await texts(store, "cafe")).toHaveLength(1);
    expect(await texts(store, "straße")).toHaveLength(1);
    expect(await texts(store, "nothing of this")).toEqual([]);
    expect(await texts(store, "")).toEqual([]);
  });

  rule("N-2 an item comes back as it was put, with what it carries", async (store, under) => {
    const one = makeFact("a", "b", "c", {
      labels: [label("untrusted")],
      directory: "src",
      validFrom: millis(0),
      validTo: millis(5_000),
      confidence: 0.25,
    });
    expect(await store.put(one)).toEqual({ kind: "stored", superseded: null });
    const again = under.open();
    expect(await again.get(one.id)).toEqual({ ...one, usedAt: null, uses: 0, supersededBy: null });
    expect(await again.get(knowledgeId(`k_${"0".repeat(24)}`))).toBe(null);
    await again.used([one.id, one.id], millis(9));
    expect(await under.open().get(one.id)).toMatchObject({ uses: 2, usedAt: 9 });
  });

  rule("N-9 the same id twice is one item, and the first stays as it is", async (store) => {
    const one = makeFact("a", "is", "b");
    await store.put(one);
    expect(await store.put({ ...one, body: { kind: "fact", subject: "a", predicate: "is", object: "other" } })).toEqual({ kind: "known" });
    expect((await store.get(one.id))?.body).toEqual(one.body);
    expect((await store.stats()).items).toBe(1);
  });

  rule("N-9 a newer fact about the same subject and predicate supersedes the older one, and never overwrites it", async (store) => {
    const old = makeFact("Billing", "runs on", "one machine");
    const now = makeFact("billing ", "RUNS  on", "three machines", { created: millis(2) });
    await store.put(old);
    expect(await store.put(now)).toEqual({ kind: "stored", superseded: old.id });
    expect(await texts(store, "billing machine")).toEqual([itemText(now.body)]);
    expect(await store.get(old.id)).toMatchObject({ body: old.body, supersededBy: now.id });
    expect(await store.put(old)).toEqual({ kind: "known" });
    expect(await texts(store, "billing machine")).toEqual([itemText(now.body)]);
  });

  rule("N-9 what a person stands for, or what is another's, is not superseded by what an agent has learnt", async (store) => {
    const sure = makeFact("port", "is", "4680", { verified: true, scope: "project", agent: null });
    await store.put(sure);
    expect(await store.put(makeFact("port", "is", "666", { scope: "project" }))).toEqual({ kind: "stored", superseded: null });
    expect(await texts(store, "port")).toHaveLength(2);
    expect((await store.put(makeFact("port", "is", "1", { scope: "shared" }))).kind).toBe("stored");
    expect(await store.put(makeFact("port", "is", "2", { scope: "shared", agent: "bob" }))).toEqual({ kind: "stored", superseded: null });
    expect(await store.put(makeFact("port", "is", "3", { agent: "bob" }))).toEqual({ kind: "stored", superseded: null });
    expect((await store.get(sure.id))?.supersededBy).toBe(null);
  });

  rule(
    "N-10 of a working memory there is one per key, the newest; written late it changes nothing, and the one before it is gone",
    async (store) => {
      const kept = (text: string, created: number, agent = "alice") =>
        item({ kind: "working", key: "last", text }, { created: millis(created), agent });
      const [first, second] = [kept("first words", 1), kept("second words", 5)];
      await store.put(first);
      await store.put(kept("bobs words", 3, "bob"));
      expect(await store.put(second)).toEqual({ kind: "stored", superseded: first.id });
      expect(await store.put(kept("between words", 4))).toEqual({ kind: "stale" });
      expect(await store.put(second)).toEqual({ kind: "known" });
      expect(await texts(store, "words")).toEqual(["second words"]);
      expect(await store.get(first.id)).toBe(null);
    },
  );

  rule("N-9 what does not hold yet, or not any more, is not found", async (store) => {
    await store.put(makeFact("sale", "is", "on", { validFrom: millis(10), validTo: millis(20) }));
    const at = async (now: number) => (await texts(store, "sale", { now: millis(now) })).length;
    expect([await at(9), await at(10), await at(19), await at(20)]).toEqual([0, 1, 1, 0]);
  });

  rule("N-11 nobody gets back what another agent keeps for itself, whatever they ask for, and how wide", async (store) => {
    await store.put(makeFact("secret", "is", "alices"));
    await store.put(makeFact("secret", "is", "bobs", { agent: "bob" }));
    await store.put(makeFact("secret", "is", "shared", { agent: "bob", scope: "shared" }));
    await store.put(makeFact("secret", "is", "everybodys", { agent: null, scope: "project" }));
    const seen = async (agent: string, scope: Scope) => [...(await texts(store, "secret", { agent, scope }))].sort();
    expect(await seen("alice", "agent")).toEqual(["secret is alices"]);
    expect(await seen("alice", "project")).toEqual(["secret is alices", "secret is everybodys"]);
    expect(await seen("bob", "shared")).toEqual(["secret is bobs", "secret is everybodys", "secret is shared"]);
    for (const stranger of ["", "eve", "alice ", "ALICE", "agent", "project", "shared", "%", "alice' OR 1=1 --", "0q", "1q"])
      expect(await seen(stranger, "shared")).toEqual(["secret is everybodys", "secret is shared"]);
  });

  rule("N-11 no word of a question can reach beyond it: no query language is understood", async (store) => {
    await store.put(makeFact("canary", "is", "bobs", { agent: "bob" }));
    await store.put(makeFact("near", "is", "alices"));
    for (const terms of [
      ['"canary"'],
      ['x" OR "canary'],
      ["canary*"],
      ["text:canary"],
      ["* "],
      ["NEAR(canary near)"],
      ["'; DROP TABLE items; --"],
      ["1q canary"],
      ["\0canary"],
      ["a".repeat(100_000)],
      Array.from({ length: 5_000 }, (_, i) => `t${i}`),
    ])
      for (const { item: one } of (await store.search(asking("x", { terms }), null)).hits) expect(one.agent).toBe("alice");
    expect(await texts(store, "near")).toEqual(["near is alices"]);
  });

  rule("N-7 a folder is itself, or it and what is below; names that begin alike are others", async (store) => {
    for (const directory of ["src", "src/loop", "srcs", "", null])
      await store.put(item({ kind: "pattern", title: "", text: `rule of ${directory ?? "nowhere"}` }, { directory }));
    const found = async (path: string, how: "at" | "below") => [...(await texts(store, "rule", { directory: { path, how } }))].sort();
    expect(await found("src", "at")).toEqual(["rule of src"]);
    expect(await found("src", "below")).toEqual(["rule of src", "rule of src/loop"]);
    expect(await found("", "at")).toEqual(["rule of "]);
    expect(await found("", "below")).toHaveLength(4);
    expect(await found("s%", "below")).toEqual([]);
    expect(await found("sr_", "below")).toEqual([]);
  });

  rule("N-12 what is forgotten is found nowhere, and does not come back under its id", async (store, under) => {
    const one = makeFact("canary", "sings", "loudly");
    await store.put(one);
    await store.embed(new Map([[one.id, new Float32Array([1, 0])]]), "test/two");
    expect(await store.forget([one.id, knowledgeId(`k_${"9".repeat(24)}`)])).toEqual({ gone: 1, clean: true });
    expect(await texts(store, "canary")).toEqual([]);
    expect((await store.search(asking("x", { terms: [] }), { model: "test/two", values: new Float32Array([1, 0]) })).hits).toEqual([]);
    expect(await store.get(one.id)).toBe(null);
    expect(await under.open().put(one)).toEqual({ kind: "forgotten" });
    expect(await store.restore({ ...one, usedAt: null, uses: 0, supersededBy: null })).toBe("forgotten");
    expect(await store.stats()).toMatchObject({ items: 0, forgotten: 2 });
    expect(await store.list({ after: null, most: 10 })).toEqual([]);
  });

  rule(
    "N-3 what is near in meaning is found without a word of it; vectors of two models or lengths are never mixed",
    async (store, under) => {
      const [car, fish] = [makeFact("automobile", "has", "wheels"), makeFact("salmon", "has", "fins", { agent: "bob" })];
      await store.put(car);
      await store.put(fish);
      if (under.lacks === "vectors") {
        const towards = { model: "test/three", values: new Float32Array([1, 0, 0]) };
        expect(await store.embed(new Map([[car.id, towards.values]]), towards.model)).toMatch(/vector/);
        const { hits, trouble } = await store.search(asking("wheels"), towards);
        expect(hits.map(({ item: { id } }) => id)).toEqual([car.id]);
        expect(trouble).toMatch(/by words alone/);
        expect((await store.stats()).vectors).toBe(null);
        await store.dropVectors();
        expect(await store.unembedded("test/three", 10)).toHaveLength(2);
        return;
      }
      expect(
        await store.embed(
          new Map([
            [car.id, new Float32Array([1, 0, 0])],
            [fish.id, new Float32Array([0.9, 0.1, 0])],
          ]),
          "test/three",
        ),
      ).toBe(null);
      const near = async (values: readonly number[], model = "test/three", agent = "alice") =>
        store.search(asking("vehicle", { agent }), { model, values: new Float32Array(values) });
      expect((await near([1, 0, 0])).hits.map(({ item: { id }, relevance }) => [id, Math.round(relevance * 100)])).toEqual([[car.id, 100]]);
      expect((await near([1, 0, 0], "test/three", "bob")).hits.map(({ item: { id } }) => id)).toEqual([fish.id]);
      expect((await near([1, 0, 0], "test/other")).hits).toEqual([]);
      expect((await near([1, 0, 0], "test/other")).trouble).toMatch(/test\/three/);
      expect((await near([1, 0])).hits).toEqual([]);
      expect(await store.embed(new Map([[car.id, new Float32Array([1, 0, 0])]]), "test/other")).toMatch(/test\/three/);
      expect(await store.embed(new Map([[car.id, new Float32Array([1, 0])]]), "test/three")).toMatch(/dimension/);
      expect((await store.stats()).vectors).toEqual({ model: "test/three", dimension: 3, count: 2 });
      await store.dropVectors();
      expect(await store.unembedded("test/other", 10)).toHaveLength(2);
      expect(await store.embed(new Map([[car.id, new Float32Array([1, 0])]]), "test/other")).toBe(null);
      expect((await store.unembedded("test/other", 10)).map(({ id }) => id)).toEqual([fish.id]);
    },
  );

  rule(
    "N-14 a document's pieces are replaced all at once: the same stay, others are superseded, what comes back is back",
    async (store) => {
      const piece = (text: string) =>
        item({ kind: "chunk", document: "a.md", title: "A", text }, { scope: "project", agent: null, source: "document" });
      const [one, two, three] = [piece("first part"), piece("second part"), piece("third part")];
      const key = { path: "a.md", scope: "project", agent: null } as const;
      expect(await store.replace({ ...key, digest: ZERO }, [one, two], millis(1))).toEqual({ added: 2, kept: 0, gone: 0 });
      expect(await store.replace({ ...key, digest: ZERO }, [two, three], millis(2))).toEqual({ added: 1, kept: 1, gone: 1 });
      expect([...(await texts(store, "part"))].sort()).toEqual(["A: second part", "A: third part"]);
      expect(await store.replace({ ...key, digest: ZERO }, [one], millis(3))).toEqual({ added: 1, kept: 0, gone: 2 });
      expect(await texts(store, "part")).toEqual(["A: first part"]);
      expect(await store.documents()).toEqual([{ ...key, digest: ZERO, chunks: 1 }]);
      expect(await store.documents("b.md")).toEqual([]);
      expect([...(await store.piecesOf(key))].sort()).toEqual([one.id, two.id, three.id].sort());
      await store.forget(await store.piecesOf(key));
      expect(await store.documents()).toEqual([]);
      expect(await store.replace({ ...key, digest: ZERO }, [one, two], millis(4))).toEqual({ added: 0, kept: 0, gone: 0 });
    },
  );

  rule("N-2 everything is listed by id, and restored as it was", async (store, under) => {
    const all = ["a", "b", "c", "d", "e"].map((subject) => makeFact(subject, "is", "x", { labels: [label("pii")] }));
    for (const one of all) await store.put(one);
    await store.put(makeFact("a", "is", "y", { created: millis(2) }));
    await store.used([all[1]?.id ?? knowledgeId("")], millis(4));
    const first = await store.list({ after: null, most: 4 });
    const rest = await store.list({ after: first.at(-1)?.id ?? null, most: 4 });
    const listed: readonly StoredItem[] = [...first, ...rest];
    expect(listed.map(({ id }) => id)).toEqual([...listed].map(({ id }) => id).sort());
    expect(listed).toHaveLength(6);
    const other = await make();
    try {
      const copy = other.open();
      for (const one of listed) expect(await copy.restore(one)).toBe("stored");
      for (const one of listed) expect(await copy.restore(one)).toBe("known");
      expect(await copy.list({ after: null, most: 10 })).toEqual(listed);
      expect([...(await texts(copy, "x y"))].sort()).toEqual([...(await texts(under.open(), "x y"))].sort());
    } finally {
      await other.dispose();
    }
  });

  rule(
    "N-9 what is restored takes its place among what is there by its time: one is current, and nothing that was is lost",
    async (store) => {
      const past = (one: KnowledgeItem): StoredItem => ({ ...one, usedAt: null, uses: 0, supersededBy: null });
      const port = (object: string, created: number, more: Partial<KnowledgeItem> = {}) =>
        makeFact("port", "is", object, { created: millis(created), ...more });
      const here = port("two", 2);
      await store.put(here);
      const [older, newer, same] = [port("one", 1), port("three", 3), port("also three", 3)];
      expect(await store.restore(past(older))).toBe("stored");
      expect((await store.get(older.id))?.supersededBy).toBe(here.id);
      expect(await store.restore(past(newer))).toBe("stored");
      expect((await store.get(here.id))?.supersededBy).toBe(newer.id);
      await store.restore(past(same));
      expect(await texts(store, "port")).toEqual([itemText(newer.body)]);
      await store.restore(past(port("sure", 2, { verified: true }))); // N-9 a newer one that nobody stands for does not push it out
      expect([...(await texts(store, "port"))].sort()).toEqual(["port is sure", itemText(newer.body)]);
      await store.restore(past(port("surer", 9, { verified: true })));
      expect(await texts(store, "port")).toEqual(["port is surer"]);
    },
  );

  rule("N-9 N-10 of a working memory that is restored the newest stays, whichever came first", async (store) => {
    const kept = (text: string, created: number): StoredItem => ({
      ...item({ kind: "working", key: "last", text }, { created: millis(created) }),
      usedAt: null,
      uses: 0,
      supersededBy: null,
    });
    expect(await store.restore(kept("second words", 5))).toBe("stored");
    expect(await store.restore(kept("first words", 1))).toBe("known");
    expect(await store.restore(kept("third words", 9))).toBe("stored");
    expect(await texts(store, "words")).toEqual(["third words"]);
    expect((await store.stats()).items).toBe(1);
  });

  rule("N-9 however many that no longer hold would fit better, what holds is found", async (store) => {
    const rule = (text: string, created: number, more: Partial<KnowledgeItem> = {}) =>
      store.put(item({ kind: "pattern", title: "", text }, { created: millis(created), ...more }));
    await rule("the ferry leaves at nine, from the pier behind the old harbour office", 1);
    for (let i = 0; i < 220; i += 1) await rule("ferry harbour", 10 + i, { validTo: millis(500) });
    expect(await texts(store, "ferry harbour")).toHaveLength(1);
    expect((await texts(store, "ferry harbour", { now: millis(400) })).includes("ferry harbour")).toBe(true);
  });
}
