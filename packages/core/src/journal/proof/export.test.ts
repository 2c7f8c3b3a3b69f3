import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { fold } from "../../loop/evolve.ts";
import { ERASURES, type JournalEvent, type StreamId } from "../../vocab/index.ts";
import { LONG, OTHER_SESSION, SAMPLES, SESSION } from "../fixtures/samples.ts";
import { growing, NEXT_ROOT, proofPorts, ROOT, sealedJournal, seeded, W2 } from "../fixtures/sealed.ts";
import { decodePayload, EVENT_KINDS, encodePayload, type Records, storedKind } from "../index.ts";
import { type ExportRead, exportJournal, exportSession, readExport } from "./index.ts";
import { isPolicyStream } from "./policy-texts.ts";

const read = (text: string | Iterable<string>, root = ROOT.publicKey): ExportRead => readExport(text, root, proofPorts);
const wholeOf = (records: Records): string => [...exportJournal(records, proofPorts)].join("");
const sessionOf = (records: Records, stream: StreamId = SESSION): string => [...exportSession(records, stream, proofPorts)].join("");
const linesOf = (text: string): string[] => text.split("\n").slice(0, -1);
const joined = (lines: readonly string[]): string => lines.map((l) => `${l}\n`).join("");

test("J-13 a whole journal's export verifies and reads back to the same bytes, with any of the project's root keys", async () => {
  const { records } = await sealedJournal();
  const text = wholeOf(records);
  const back = read(text);
  expect(back.problems).toEqual([]);
  expect(back).toMatchObject({ what: "journal", torn: false, counts: { erased: 1, blobs: 2 } });
  expect(wholeOf(back.records)).toBe(text);
  expect(read(text, NEXT_ROOT.publicKey).firstBad).toBeNull();
  expect(read(text, seeded("stranger").publicKey).firstBad?.reason).toMatch("do not go back to the given root key");
});

test("J-13 a file may come in pieces of any size", async () => {
  const text = wholeOf((await sealedJournal()).records);
  const pieces = Array.from({ length: Math.ceil(text.length / 1_001) }, (_, i) => text.slice(i * 1_001, (i + 1) * 1_001));
  expect(read(pieces)).toMatchObject({ torn: false, firstBad: null });
});

test("J-13 one session proves itself with its seals, their keys and its erasures, and holds nothing of others", async () => {
  const { records } = await sealedJournal();
  for (const stream of [SESSION, OTHER_SESSION]) {
    const text = sessionOf(records, stream);
    const back = read(text);
    expect(back.problems).toEqual([]);
    expect(back).toMatchObject({ what: "session", stream, torn: false, head: null });
    expect([...back.records.entries(stream)]).toEqual([...records.entries(stream)]);
    expect([...back.records.streams()].filter((s) => s !== ERASURES && !isPolicyStream(s))).toEqual([stream]);
    expect(text.includes("laptop")).toBe(false); // the withdrawal of somebody's key
  }
  expect(read(sessionOf(records, OTHER_SESSION)).counts.erased).toBe(1);
});

test("J-28 an export of a journal that grows meanwhile is whole, wherever the growth falls", async () => {
  const j = await sealedJournal();
  for (let n = 0; n < 40; n += 1) {
    expect(read(wholeOf(growing(j, n))).problems, `grown at reading ${n}`).toEqual([]);
    expect(read(sessionOf(growing(j, n))).problems, `grown at reading ${n}`).toEqual([]);
  }
});

test("J-13 what is bad in a journal is exported as it is, and named by whoever reads it", async () => {
  const j = await sealedJournal();
  const dropped = j.disk.seals.get(W2)?.pop();
  const why = `entry 4 of \`${OTHER_SESSION}\`: no seal covers it, and such an entry is sealed as it is written`;
  expect(read(wholeOf(j.records)).problems.map((p) => p.reason)).toEqual([why]);
  expect(read(sessionOf(j.records, OTHER_SESSION)).problems.map((p) => p.reason)).toEqual([why]);
  expect(dropped).toBeDefined();
});

test("J-13 a file cut anywhere is torn; what is there is still good", async () => {
  const { records } = await sealedJournal();
  for (const text of [wholeOf(records), sessionOf(records), sessionOf(records, OTHER_SESSION)]) {
    const header = text.indexOf("\n") + 1;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: header, max: text.length - 2 }), async (at) => {
        const back = read(text.slice(0, at));
        expect(back.torn).toBe(true);
        expect(back.problems).toEqual([]);
      }),
      { numRuns: 60 },
    );
    expect(read(text.slice(0, -1))).toMatchObject({ torn: false, firstBad: null }); // only the last line feed is missing
    expect(read(text.slice(0, 20))).toMatchObject({ torn: true, firstBad: { line: 1, reason: "there is no header" } });
  }
});

test("J-13 a change in any line is named with that line", async () => {
  const { records } = await sealedJournal();
  for (const text of [wholeOf(records), sessionOf(records), sessionOf(records, OTHER_SESSION)]) {
    const lines = linesOf(text);
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: lines.length - 1 }), fc.nat(), fc.constantFrom("0", "f", '"', "x", " ", "}"), async (i, at, other) => {
        const line = lines[i] ?? "";
        const place = at % line.length;
        fc.pre(line[place] !== other);
        const changed = `${line.slice(0, place)}${other}${line.slice(place + 1)}`;
        const back = read(joined(lines.with(i, changed)));
        // a changed header is contradicted by the first entry, a changed blob by the entry that refers to it: those are told
        if (line.includes('"kind":"header"') || line.includes('"kind":"blob"')) expect(back.firstBad).not.toBeNull();
        else expect(back.problems.map((p) => p.line)).toContain(i + 1);
      }),
      { numRuns: 150 },
    );
  }
});

test("J-13 a certificate without its holder is named, and whoever reads or exports it does not fall over", async () => {
  const j = await sealedJournal();
  const lines = linesOf(wholeOf(j.records));
  for (const [i, line] of lines.entries()) {
    if (!line.includes('"event":"key.certified"')) continue;
    for (const changed of [line.replace('\\"of\\"', '\\"0f\\"'), line.replace(/\\"of\\":\{.*?\}/, '\\"of\\":null')]) {
      expect(changed).not.toBe(line);
      const back = read(joined(lines.with(i, changed)));
      expect(back.problems.map((p) => p.line)).toContain(i + 1);
      expect(() => wholeOf(back.records)).not.toThrow();
    }
  }
});

test("J-13 lines dropped, doubled, swapped or added are found", async () => {
  const { records } = await sealedJournal();
  for (const text of [wholeOf(records), sessionOf(records), sessionOf(records, OTHER_SESSION)]) {
    const lines = linesOf(text);
    for (let i = 0; i < lines.length - 1; i += 1) {
      expect(read(joined(lines.toSpliced(i, 1))).firstBad, `without line ${i + 1}`).not.toBeNull();
      expect(read(joined(lines.toSpliced(i, 0, lines[i] ?? ""))).firstBad, `line ${i + 1} twice`).not.toBeNull();
    }
    expect(read(joined([...lines, lines.at(-1) ?? ""])).firstBad).toEqual({
      line: lines.length + 1,
      reason: "nothing stands after the end line",
    });
    expect(read(joined([...lines.slice(0, -1), "garbage", lines.at(-1) ?? ""])).firstBad?.line).toBe(lines.length);
    expect(read(joined([...lines.slice(0, -1), "garbage"])).firstBad?.line).toBe(lines.length); // whole, so not torn
  }
});

test("J-13 a session's entries that lack the end their seals name are found", async () => {
  const { records } = await sealedJournal();
  const lines = linesOf(sessionOf(records));
  const last = lines.findLastIndex((l) => l.includes('"kind":"entry"'));
  const end = JSON.parse(lines.at(-1) ?? "") as { entries: number };
  const cut = lines.toSpliced(last, 1).with(-1, (lines.at(-1) ?? "").replace(`"entries":${end.entries}`, `"entries":${end.entries - 1}`));
  expect(read(joined(cut)).firstBad?.reason).toMatch("it is missing, though a seal names it");
});

test("J-9 an erased entry in a session's export needs its erasure", async () => {
  const { records } = await sealedJournal();
  const lines = linesOf(sessionOf(records, OTHER_SESSION));
  const erasure = lines.findIndex((l) => l.includes('"stream":"erasures"'));
  expect(read(joined(lines.toSpliced(erasure, 1))).problems.map((p) => p.reason)).toContain(
    `entry 2 of \`${OTHER_SESSION}\`: its payload is gone, and no erasure is on record`,
  );
});

// the golden journal

const fixture = (name: string): string => readFileSync(new URL(`../fixtures/${name}.jsonl`, import.meta.url), "utf8");
const FIXTURES = readdirSync(new URL("../fixtures/", import.meta.url)).flatMap((file) => /^(.+)\.jsonl$/.exec(file)?.[1] ?? []);
const newest = Math.max(1, ...FIXTURES.map((name) => Number(/^kinds-(\d+)$/.exec(name)?.[1] ?? 0)));
/** The newest: `make-golden.ts` writes the next one when kinds change. */
const golden = fixture(newest === 1 ? "format-2" : `kinds-${newest}`);
const goldenEntries = (text = golden) => {
  const { records } = read(text);
  return [...records.streams()].flatMap((s) => [...records.entries(s)]).map((e) => ({ e, records }));
};

test("J-14 no golden journal was removed", () => {
  const numbered = Array.from({ length: newest - 1 }, (_, i) => `kinds-${i + 2}`);
  expect([...FIXTURES].sort()).toEqual(["format-2", ...numbered].sort());
});

test.each(FIXTURES)("J-14 the golden journal %s verifies", (name) => {
  const text = fixture(name);
  const back = read(text);
  expect(back.problems).toEqual([]);
  expect(back.torn).toBe(false);
  expect(wholeOf(back.records)).toBe(text);
});

test.each(FIXTURES)("J-10 the golden journal %s is read with the fields of today, and its session folds", (name) => {
  const entries = goldenEntries(fixture(name)).flatMap(({ e, records }) => {
    const decoded = e.payload === null ? null : decodePayload(e.kind, e.payload, records.blob);
    if (decoded?.kind === "bad") throw new Error(decoded.detail);
    return decoded === null ? [] : [{ stream: e.stream, seq: e.seq, at: e.at, event: decoded.event }];
  });
  const shapes = new Map<string, string[][]>(); // a kind with optional fields has a sample of each shape
  for (const sample of Object.values(SAMPLES).flat())
    shapes.set(sample.kind, [...(shapes.get(sample.kind) ?? []), Object.keys(sample).sort()]);
  for (const { event } of entries) {
    const today = shapes.get(event.kind);
    if (today !== undefined) expect(today, event.kind).toContainEqual(Object.keys(event).sort());
  }
  const state = fold(entries.filter((e) => e.stream === SESSION));
  expect(state).toMatchObject({ closed: true, turn: null, agent: { tokenizer: "o200k_base", fallbacks: [{ model: "offline/deputy" }] } });
  expect(state?.last).toMatchObject({ ending: "completed" });
});

test("J-14 every kind of event stands in the golden journal, decodes, and encodes to the same bytes", () => {
  const met = new Set<string>();
  for (const { e, records } of goldenEntries()) {
    if (e.payload === null) continue;
    const decoded = decodePayload(e.kind, e.payload, records.blob);
    if (decoded.kind === "bad") throw new Error(`${e.stream} ${e.seq}: ${decoded.detail}`);
    met.add(decoded.event.kind);
    expect(storedKind(decoded.event.kind)).toBe(e.kind);
    const put = (text: string) => ({ address: `m${proofPorts.hash(text)}`, sha256: proofPorts.hash(text), chars: text.length });
    expect(encodePayload(decoded.event, put)).toBe(e.payload);
  }
  expect([...met].sort()).toEqual([...EVENT_KINDS].sort());
});

/** The events of every stream, decoded, in order; an erased entry is left out. */
const eventsByStream = (records: Records): Readonly<Record<string, readonly JournalEvent[]>> =>
  Object.fromEntries(
    [...records.streams()].map((stream) => [
      stream,
      [...records.entries(stream)].flatMap(({ kind, payload }) => {
        const decoded = payload === null ? null : decodePayload(kind, payload, records.blob);
        return decoded?.kind === "event" ? [decoded.event] : [];
      }),
    ]),
  );

test("J-14 what the golden journal tells has the fields of today, in every stream: a kind that changes needs a new version and an upcast", async () => {
  const { records } = await sealedJournal(); // written now, from the samples
  const [told, today] = [eventsByStream(read(golden).records), eventsByStream(records)];
  expect(Object.keys(told).sort()).toEqual(Object.keys(today).sort());
  for (const [stream, events] of Object.entries(today)) expect(told[stream], stream).toEqual(events);
});

test("J-14 the golden journal holds a blob, and no private key", () => {
  const { records } = read(golden);
  const text = goldenEntries().flatMap(({ e }) => (e.payload?.includes('"$blob":') ? [e] : []));
  expect(text.length).toBeGreaterThan(0);
  expect(golden.includes(JSON.stringify(LONG))).toBe(true);
  expect([...records.writers()]).toEqual(["w1", "w2"]);
  expect(golden).not.toMatch(/PRIVATE/);
});
