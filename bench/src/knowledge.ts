/**
 * Recall and store on many items: by words, by words and vectors, and a bare scan with LIKE over the same texts, in one process and in turns.
 * `node bench/src/knowledge.ts [items] [dimensions]`; 100,000 and 384 unless said. Nothing here is asserted: the figures are for docs/performance.md.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type KnowledgeItem, knowledgeId, millis } from "@orgate/core";
import type { Search } from "@orgate/core/knowledge";
import { openKnowledge } from "orgate";

const [items = 100_000, dimensions = 384] = process.argv.slice(2).map(Number);
const ROUNDS = 60;

/** The same numbers each time. */
let seed = 42;
const random = (): number => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return seed / 2 ** 32;
};
const VOCABULARY = Array.from(
  { length: 20_000 },
  (_, i) => `${["ka", "to", "mi", "ren", "sol", "va", "dru", "pe"][i % 8]}${(i * 7_919) % 20_000}x`,
);
/** A few words are everywhere, most are rare. */
const word = (): string => VOCABULARY[Math.floor(random() ** 3 * VOCABULARY.length)] ?? "";
const vector = (): Float32Array => Float32Array.from({ length: dimensions }, () => random() * 2 - 1);
const idOf = (n: number) => knowledgeId(`k_${n.toString(16).padStart(24, "0")}`);

function itemOf(n: number): KnowledgeItem {
  const text = Array.from({ length: 24 }, word).join(" ");
  return {
    id: idOf(n),
    body:
      n % 4 === 0
        ? { kind: "fact", subject: `s${n}`, predicate: "is", object: text }
        : { kind: "chunk", document: `d${n % 1_000}.md`, title: "T", text },
    scope: n % 10 === 0 ? "agent" : "project",
    agent: n % 10 === 0 ? `a${n % 7}` : null,
    directory: null,
    confidence: 0.8,
    source: "document",
    labels: [],
    verified: false,
    from: null,
    created: millis(n),
    validFrom: null,
    validTo: null,
  };
}
const search = (terms: readonly string[]): Search => ({
  agent: "a1",
  scope: "project",
  terms,
  text: terms.join(" "),
  directory: null,
  most: { memory: 5, knowledge: 5, all: 10 },
  threshold: 0.3,
  now: millis(1e9),
});

const folder = mkdtempSync(join(tmpdir(), "orgate-bench-knowledge-"));
const store = openKnowledge(folder);
const scan = new DatabaseSync(join(folder, "scan.db"));
scan.exec("CREATE TABLE texts (n INTEGER PRIMARY KEY, text TEXT NOT NULL)");
const insert = scan.prepare("INSERT INTO texts VALUES (?, ?)");
/** With `--expose-gc` what is really in use. */
const rss = (): number => {
  globalThis.gc?.();
  const { rss: all, heapUsed, external } = process.memoryUsage();
  return Math.round((globalThis.gc === undefined ? all : heapUsed + external) / 1024 / 1024);
};
const quantile = (times: readonly number[], q: number): number => times.toSorted((a, b) => a - b)[Math.floor((times.length - 1) * q)] ?? 0;
const shown = (name: string, times: readonly number[]): void =>
  console.log(
    `${name}: p50 ${quantile(times, 0.5).toFixed(2)} ms, p95 ${quantile(times, 0.95).toFixed(2)}, least ${quantile(times, 0).toFixed(2)}`,
  );

const began = performance.now();
const memory: number[] = [];
const PER_DOCUMENT = 200; // as `orgate knowledge add` writes: a document at a time
for (let n = 0; n < items; n += PER_DOCUMENT) {
  const some = Array.from({ length: Math.min(PER_DOCUMENT, items - n) }, (_, i) => itemOf(n + i));
  store.replace(
    { path: `batch${n}.md`, scope: "project", agent: null, digest: "0".repeat(64) as never },
    some.map((one) => ({ ...one })),
    millis(n),
  );
  if (n % (items / 10) < PER_DOCUMENT) memory.push(rss());
}
console.log(
  `store, a document of ${PER_DOCUMENT} pieces at a time: ${((performance.now() - began) / items).toFixed(3)} ms an item; resident ${memory.join(" ")} MB`,
);
const single = Array.from({ length: 200 }, (_, i) => {
  const one = itemOf(items + i);
  const at = performance.now();
  store.put(one);
  return performance.now() - at;
});
shown("store, one by one, each durable", single);
scan.exec("BEGIN");
for (const one of pages()) insert.run(one.n, one.text);
scan.exec("COMMIT");

function* pages(): Generator<{ n: number; text: string }> {
  let [after, n]: [ReturnType<typeof idOf> | null, number] = [null, 0];
  for (;;) {
    const page = store.list({ after, most: 1_000 });
    for (const { body } of page) yield { n: n++, text: "text" in body ? body.text : `${body.subject} ${body.predicate} ${body.object}` };
    after = page.at(-1)?.id ?? null;
    if (page.length < 1_000) return;
  }
}

const embedding = performance.now();
for (let n = 0; n < items; n += 500) {
  const some = new Map(Array.from({ length: Math.min(500, items - n) }, (_, i) => [idOf(n + i), vector()] as const));
  const why = store.embed(some, "bench/vectors");
  if (why !== null) throw new Error(why);
}
console.log(`vectors: ${((performance.now() - embedding) / items).toFixed(3)} ms an item; resident ${rss()} MB`);

const times = { words: [] as number[], few: [] as number[], both: [] as number[], like: [] as number[] };
let found = 0;
for (let round = 0; round < ROUNDS; round += 1) {
  const terms = Array.from({ length: 15 }, word);
  const near = vector();
  const all = scan.prepare(
    `SELECT n, ${terms.map(() => "(text LIKE ?)").join(" + ")} AS hits FROM texts WHERE hits > 0 ORDER BY hits DESC LIMIT 50`,
  );
  /** CPU: the figure to trust on a machine that others use too. Everything here runs on this thread. */
  const clock = (work: () => unknown): number => {
    const at = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(at);
    return (user + system) / 1_000;
  };
  times.words.push(clock(() => (found += store.search(search(terms), null).hits.length)));
  times.few.push(clock(() => store.search(search(terms.slice(0, 4)), null)));
  times.both.push(clock(() => store.search(search(terms), { model: "bench/vectors", values: near })));
  times.like.push(clock(() => all.all(...terms.map((term) => `%${term}%`))));
}
console.log(
  `${store.stats().items} items, ${ROUNDS} rounds of 15 words, ${found} hits; resident ${rss()} MB, file ${Math.round(store.stats().bytes / 1024 / 1024)} MB`,
);
shown("recall by words", times.words);
shown("recall by 4 words", times.few);
shown(`recall by words and vectors of ${dimensions}`, times.both);
shown("a scan with LIKE", times.like);
store.close();
scan.close();
rmSync(folder, { recursive: true });
