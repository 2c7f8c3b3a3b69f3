import fc from "fast-check";
import { expect, test } from "vitest";
import {
  ERASURES,
  type JournalEvent,
  KEYS,
  millis,
  type StreamId,
  seq,
  toCanonicalJson,
  type WriterId,
  writerId,
  ZERO,
} from "../../vocab/index.ts";
import { OTHER_SESSION, SAMPLES, SESSION } from "../fixtures/samples.ts";
import {
  growing,
  NEXT_ROOT,
  proofPorts,
  ROOT,
  type Sealed,
  sealedJournal,
  sealPorts,
  seeded,
  W1,
  W1_KEY,
  W1_NEXT_KEY,
  W2,
  W2_KEY,
} from "../fixtures/sealed.ts";
import {
  certify,
  entryHash,
  type Head,
  makeSeal,
  parseMarks,
  payloadHash,
  type StoredEntry,
  type StoredSeal,
  sealEntries,
  toMark,
} from "../index.ts";
import { type Verification, type VerifyProblem, verify } from "./index.ts";

const checkOnce = ({ records, root }: Sealed, head: Head | null = null, parts: Readonly<{ marksAtOnce?: number }> = {}): Verification =>
  verify({ records, root, ports: proofPorts, head, progress: () => {}, torn: null, ...parts });
let checks = 0;
/** Whatever is wrong with a journal, it is judged alike whether what seals name is kept at once or read in parts: of the thousands here, every seventh. */
function check(j: Sealed, head: Head | null = null): Verification {
  const found = checkOnce(j, head);
  checks += 1;
  if (checks % 7 === 1) for (const marksAtOnce of [1, 5]) expect(checkOnce(j, head, { marksAtOnce })).toEqual(found);
  return found;
}
const named = (p: VerifyProblem | null): string | null =>
  p === null ? null : p.kind === "entry" ? `${p.stream} ${p.seq}: ${p.reason}` : `${p.writer}@${p.seal}: ${p.reason}`;
const firstBad = (j: Sealed, head: Head | null = null): string | null => named(check(j, head).firstBad);

function entriesOf(j: Sealed, stream: StreamId): StoredEntry[] {
  const entries = j.disk.entries.get(stream);
  if (entries === undefined) throw new Error(`no stream ${stream}`);
  return entries;
}
function sealsOf(j: Sealed, writer: WriterId): StoredSeal[] {
  const seals = j.disk.seals.get(writer);
  if (seals === undefined) throw new Error(`no writer ${writer}`);
  return seals;
}
const NOTHING_SEEN = { seen: [], recovered: false } as const;
const edit = <T>(list: T[], index: number, change: Partial<T>): void => {
  const before = list[index];
  if (before === undefined) throw new Error(`nothing at ${index}`);
  list[index] = { ...before, ...change };
};

test("J-11 an untouched journal is good: counted, its head told, erasures reported and not bad", async () => {
  const j = await sealedJournal();
  const result = check(j);
  expect(result.problems).toEqual([]);
  expect(result.firstBad).toBeNull();
  expect(result.counts).toMatchObject({ writers: 2, blobs: 2, erased: 1, unsealed: 0, recovered: 0 });
  expect(result.counts.streams).toBe([...j.disk.entries.values()].filter((of) => of.length > 0).length);
  expect(result.counts.entries).toBe([...j.disk.entries.values()].flat().length);
  expect(result.counts.seals).toBe([...j.disk.seals.values()].flat().length);
  expect([...result.head.keys()]).toEqual([W1, W2]);
  expect(result.head.get(W2)).toMatchObject({ hash: sealsOf(j, W2).at(-1)?.hash });
  expect(result.stillThere).toBe(0);
});

test("J-11 progress is told, the whole number at the end", async () => {
  const { records, root } = await sealedJournal();
  const told: number[] = [];
  const { counts } = verify({ records, root, ports: proofPorts, head: null, progress: (n) => told.push(n), torn: null });
  expect(told.at(-1)).toBe(counts.entries);
});

/** Another value of the same type: one character, one digit or one step away. */
function flipped(value: string | number | null, at: number): string | number {
  if (value === null) return "00";
  if (typeof value === "number") return value + (at % 2 === 0 ? 1 : -1);
  if (value === "") return "x";
  const i = at % value.length;
  const other = String.fromCharCode(value.charCodeAt(i) ^ 1);
  return value.slice(0, i) + other + value.slice(i + 1);
}

test("J-11 a flip in any column of any row is found, and an entry's own is named", async () => {
  const clean = await sealedJournal();
  for (const [stream, entries] of clean.disk.entries) {
    for (const [i, e] of entries.entries()) {
      for (const column of Object.keys(e) as (keyof StoredEntry)[]) {
        const j = await sealedJournal();
        edit(entriesOf(j, stream), i, { [column]: flipped(e[column], i * 7) });
        const found = check(j).firstBad;
        expect(found, `${stream} ${e.seq} ${column}`).toMatchObject({ kind: "entry", stream, seq: e.seq });
      }
    }
  }
  for (const [writer, seals] of clean.disk.seals) {
    for (const [i, c] of seals.entries()) {
      for (const column of Object.keys(c) as (keyof StoredSeal)[]) {
        const j = await sealedJournal();
        edit(sealsOf(j, writer), i, { [column]: typeof c[column] === "boolean" ? !c[column] : flipped(c[column], i * 7) });
        const { problems } = check(j);
        expect(problems, `${writer} ${c.number} ${column}`).toContainEqual(
          expect.objectContaining({ kind: "seal", writer, seal: c.number }),
        );
      }
    }
  }
});

test("J-11 any single change of any stored field is found", async () => {
  const clean = await sealedJournal();
  const entryFields = [...clean.disk.entries].flatMap(([stream, list]) =>
    list.flatMap((e, i) => Object.keys(e).map((field) => ({ of: "entry" as const, stream, i, field: field as keyof StoredEntry }))),
  );
  const sealFields = [...clean.disk.seals].flatMap(([writer, list]) =>
    list.flatMap((c, i) => Object.keys(c).map((field) => ({ of: "seal" as const, writer, i, field: field as keyof StoredSeal }))),
  );
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 80 }),
    fc.stringMatching(/^[0-9a-f]{64}$/),
    fc.constantFrom("{}", "null", '{"a":1,"a":1}', ""),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...entryFields, ...sealFields),
      text,
      fc.oneof(fc.integer(), fc.constantFrom(0, -1, 1.5, 2 ** 60)),
      fc.record({ at: fc.nat(), splice: fc.boolean() }),
      async (place, otherText, otherNumber, { at, splice }) => {
        const j = await sealedJournal();
        const list: (StoredEntry | StoredSeal)[] = place.of === "entry" ? entriesOf(j, place.stream) : sealsOf(j, place.writer);
        const row = list[place.i] as unknown as Record<string, string | number | boolean | null>;
        const before = row[place.field] ?? null;
        const change =
          typeof before === "boolean"
            ? !before
            : typeof before === "number"
              ? otherNumber
              : splice && before !== null
                ? flipped(before, at)
                : otherText;
        fc.pre(change !== before);
        list[place.i] = { ...row, [place.field]: change } as unknown as StoredEntry;
        expect(check(j).firstBad).not.toBeNull();
      },
    ),
    { numRuns: 300 },
  );
});

test("J-11 entries dropped, reordered, doubled or moved to another stream are named", async () => {
  for (const stream of [SESSION, OTHER_SESSION, KEYS, ERASURES]) {
    for (let i = 0; i < entriesOf(await sealedJournal(), stream).length; i += 1) {
      const dropped = await sealedJournal();
      entriesOf(dropped, stream).splice(i, 1);
      expect(check(dropped).firstBad, `${stream} without ${i + 1}`).toMatchObject({ stream, seq: i + 1 });

      const doubled = await sealedJournal();
      const list = entriesOf(doubled, stream);
      list.splice(i, 0, list[i] as StoredEntry);
      expect(check(doubled).firstBad, `${stream} with ${i + 1} twice`).toMatchObject({ stream, seq: i + 2 });
    }
  }
  const swapped = await sealedJournal();
  const list = entriesOf(swapped, SESSION);
  list.splice(3, 2, list[4] as StoredEntry, list[3] as StoredEntry);
  expect(firstBad(swapped)).toBe(`${SESSION} 4: it is missing: entry 5 stands in its place`);
});

/** One more entry at the end of the session, well chained and covered by no seal. */
async function withUnsealed(event: JournalEvent): Promise<Readonly<{ j: Sealed; at: number }>> {
  const j = await sealedJournal();
  const head = j.disk.heads.get(SESSION);
  if (head === undefined) throw new Error("no head");
  const stamped = [{ at: millis(head.at + 1), event }];
  const extra = sealEntries({ stream: SESSION, head }, stamped, sealPorts(W1, W1_KEY), () => {
    throw new Error("no blob");
  });
  entriesOf(j, SESSION).push(...extra);
  return { j, at: head.seq + 1 };
}

test("J-31 an entry that no seal covers yet is counted and not bad; one that is always sealed at once is bad without a seal", async () => {
  const waiting = await withUnsealed(SAMPLES.note[0] as never);
  expect(check(waiting.j)).toMatchObject({ firstBad: null, counts: { unsealed: 1 } });
  for (const event of [...SAMPLES["approval.answered"], ...SAMPLES["turn.ended"], ...SAMPLES["labels.removed"], ...SAMPLES["grant.used"]]) {
    const { j, at } = await withUnsealed(event);
    expect(firstBad(j), event.kind).toBe(`${SESSION} ${at}: no seal covers it, and such an entry is sealed as it is written`);
  }
  const keys = await sealedJournal();
  const seals = sealsOf(keys, W1);
  const last = seals.pop(); // over the erasure, which W2 has seen
  expect(check(keys).problems.map(named)).toContain(`${ERASURES} 1: no seal covers it, and such an entry is sealed as it is written`);
  expect(last?.wrote).toMatch(/^erasures#1:/);
});

test("J-12 a session's tail that was cut off is named by the seal that covered it", async () => {
  const j = await sealedJournal();
  const list = entriesOf(j, SESSION);
  const length = list.length;
  list.splice(length - 2, 2);
  j.disk.heads.delete(SESSION);
  expect(firstBad(j)).toMatch(`${SESSION} ${length - 1}: it is missing: seal`);

  const whole = await sealedJournal();
  whole.disk.entries.delete(SESSION);
  expect(firstBad(whole)).toMatch(`${SESSION} 1: it is missing: seal`);
});

test("J-12 entries rewritten and chained anew are not those that were sealed", async () => {
  const j = await sealedJournal();
  const list = entriesOf(j, OTHER_SESSION);
  let previous = list[0]?.entryHash;
  for (let i = 1; i < list.length && previous !== undefined; i += 1) {
    edit(list, i, { previous, ...(i === 1 ? { kind: "labels.added" } : {}) });
    const e = list[i] as StoredEntry;
    previous = entryHash(e, proofPorts.hash);
    edit(list, i, { entryHash: previous });
  }
  expect(firstBad(j)).toBe(`${OTHER_SESSION} 3: it is not the one that seal 1 of writer \`w2\` names`);
});

test("J-12 a seal made with a key that is not certified for its writer is named", async () => {
  const stranger = seeded("stranger");
  const reseal = async (key: typeof stranger) => {
    const j = await sealedJournal();
    const seals = sealsOf(j, W2);
    const entries = entriesOf(j, OTHER_SESSION).slice(0, 3);
    const again = makeSeal(
      { number: 0, hash: seals[0]?.previous as never },
      { ...NOTHING_SEEN, at: seals[0]?.at as never, wrote: [toMark(entries), toMark(entriesOf(j, "breaker:x" as StreamId))] },
      sealPorts(W2, key),
    );
    seals[0] = again;
    return firstBad(j);
  };
  expect(await reseal(stranger)).toBe(`w2@1: key \`${stranger.id}\` is not certified for a writer`);
  expect(await reseal(W1_KEY)).toBe(`w2@1: key \`${W1_KEY.id}\` is certified for another writer`);
  expect(await reseal(ROOT)).toBe(`w2@1: key \`${ROOT.id}\` is not certified for a writer`);
  expect(await reseal({ ...W2_KEY, sign: stranger.sign })).toBe("w2@1: its signature does not match");
});

test("J-12 a writer that went on to a new key does not return to the old one", async () => {
  const j = await sealedJournal();
  const seals = sealsOf(j, W1);
  const last = seals.at(-1) as StoredSeal;
  const tail = sealEntries(
    { stream: KEYS, head: j.disk.heads.get(KEYS) as never },
    [{ at: millis(last.at + 1), event: certify({ kind: "person", name: "bob" }, seeded("bob"), NEXT_ROOT) }],
    sealPorts(W1, W1_KEY),
    () => {
      throw new Error("no blob");
    },
  );
  entriesOf(j, KEYS).push(...tail);
  const content = { ...NOTHING_SEEN, at: last.at, wrote: [toMark(tail)] };
  seals.push(makeSeal(last, content, sealPorts(W1, W1_NEXT_KEY)));
  expect(firstBad(j)).toBeNull();
  seals[seals.length - 1] = makeSeal(last, content, sealPorts(W1, W1_KEY));
  expect(firstBad(j)).toBe(`w1@${last.number + 1}: key \`${W1_KEY.id}\` was replaced before`);
});

test("J-12 two seals may name one entry, and not two entries in one place", async () => {
  const j = await sealedJournal();
  const seals = sealsOf(j, W2);
  const last = seals.at(-1) as StoredSeal;
  const mark = toMark(entriesOf(j, SESSION).slice(0, 3));
  const reseal = (wrote: typeof mark): void =>
    void seals.splice(last.number, 1, makeSeal(last, { ...NOTHING_SEEN, at: last.at, wrote: [wrote] }, sealPorts(W2, W2_KEY)));
  reseal(mark);
  expect(firstBad(j)).toBeNull();
  reseal({ ...mark, hash: ZERO });
  expect(firstBad(j)).toMatch(
    new RegExp(`^${SESSION} 3: it is not the one that seal \\d+ of writer \`w[12]\` or seal \\d+ of writer \`w[12]\` names$`),
  );
});

test("J-12 any root key of the project can be the pinned one, another project's cannot", async () => {
  const j = await sealedJournal();
  expect(firstBad({ ...j, root: NEXT_ROOT.publicKey })).toBeNull();
  expect(firstBad({ ...j, root: seeded("stranger").publicKey })).toBe(
    "w1@1: the keys of this journal do not go back to the given root key",
  );
  expect(firstBad({ ...j, root: "nonsense" })).toBe("w1@1: the keys of this journal do not go back to the given root key");
});

test("J-11 a blob that was swapped, changed or lost is named with the entry that needs it", async () => {
  const [address] = (await sealedJournal()).disk.blobs.keys();
  if (address === undefined) throw new Error("no blob");
  const at = (j: Sealed) => entriesOf(j, SESSION).find((e) => e.payload?.includes(address))?.seq;
  const swapped = await sealedJournal();
  const text = swapped.disk.blobs.get(address) ?? "";
  swapped.disk.blobs.set(address, `${text.slice(0, -1)}!`);
  expect(firstBad(swapped)).toBe(`${SESSION} ${at(swapped)}: blob \`${address}\` is not what was stored`);
  const lost = await sealedJournal();
  lost.disk.blobs.delete(address);
  expect(firstBad(lost)).toBe(`${SESSION} ${at(lost)}: blob \`${address}\` is missing`);
});

test("J-9 an erased payload without an erasure on record is bad, and so is half an erasure", async () => {
  const silent = await sealedJournal();
  edit(entriesOf(silent, SESSION), 4, { salt: null, payload: null });
  expect(firstBad(silent)).toBe(`${SESSION} 5: its payload is gone, and no erasure is on record`);
  const half = await sealedJournal();
  edit(entriesOf(half, SESSION), 4, { salt: null });
  expect(firstBad(half)).toBe(`${SESSION} 5: its payload and its salt are not erased together`);
  const keys = await sealedJournal();
  edit(entriesOf(keys, KEYS), 3, { salt: null, payload: null });
  expect(firstBad(keys)).toBe("keys 4: entries of this stream cannot be erased");
});

test("J-9 an erasure that was recorded and cut short is told, not bad", async () => {
  const j = await sealedJournal();
  const before = (await sealedJournal()).disk.entries.get(OTHER_SESSION)?.[1];
  expect(before?.payload).toBeNull();
  const event = SAMPLES["turn.started"][0];
  if (event === undefined) throw new Error("no sample");
  // the salt is counted, so the payload that was erased can be made again
  const salts = sealPorts(W2, W2_KEY).salt;
  salts();
  const { kind: _, ...payload } = event;
  edit(entriesOf(j, OTHER_SESSION), 1, { salt: salts(), payload: toCanonicalJson(payload) });
  const result = check(j);
  expect(result.firstBad).toBeNull();
  expect(result.stillThere).toBe(1);
});

test("J-11 seals dropped from the end together with their entries are found only against a head", async () => {
  const j = await sealedJournal();
  const { head } = check(j);
  const cut = await sealedJournal();
  const [dropped] = sealsOf(cut, W2).splice(-1);
  entriesOf(cut, OTHER_SESSION).splice(-1);
  expect(firstBad(cut)).toBeNull();
  expect(firstBad(cut, head)).toBe(
    `w2@${dropped?.number}: it is missing: the given head has seal ${dropped?.number}, the journal ends before it`,
  );
  expect(firstBad(j, head)).toBeNull();
});

test("J-21 J-11 a writer dropped as a whole, or cut at its end, is found by the seal of another; what came last of all only against a head", async () => {
  const whole = await sealedJournal();
  const { head } = check(whole);
  const lastOf = (j: Sealed, writer: WriterId) => sealsOf(j, writer).at(-1) as StoredSeal;
  const drop = (j: Sealed, c: StoredSeal): void => {
    sealsOf(j, c.writer).pop();
    for (const { stream } of parseMarks(c.wrote) ?? []) {
      const left = [...j.disk.seals.values()].flat().flatMap((s) => (parseMarks(s.wrote) ?? []).filter((m) => m.stream === stream));
      entriesOf(j, stream).splice(Math.max(0, ...left.map((m) => m.seq)));
    }
  };
  const gone = await sealedJournal();
  gone.disk.seals.delete(W2);
  gone.disk.entries.delete(OTHER_SESSION);
  gone.disk.entries.delete("breaker:x" as StreamId);
  expect(firstBad(gone)).toMatch(/^w2@1: it is missing: seal \d+ of writer `w1` names it$/);

  const cut = await sealedJournal();
  drop(cut, lastOf(cut, W1));
  expect(firstBad(cut)).toMatch(/^erasures 1: it is missing: seal 2 of writer `w2` names it$/);
  expect(check(cut).problems.map(named)).toContainEqual(expect.stringMatching(/^w1@\d+: it is missing: seal 2 of writer `w2` names it$/));

  const last = await sealedJournal(); // nobody wrote after it
  drop(last, lastOf(last, W2));
  expect(firstBad(last)).toBeNull();
  expect(firstBad(last, head)).toMatch("w2@2: it is missing: the given head has seal 2");
  const anew = await sealedJournal();
  const seals = sealsOf(anew, W2);
  const content = { ...NOTHING_SEEN, at: millis((seals[1]?.at ?? 0) + 1), wrote: [toMark(entriesOf(anew, OTHER_SESSION))] };
  seals[1] = makeSeal(seals[0] as StoredSeal, content, sealPorts(W2, W2_KEY));
  expect(firstBad(anew)).toBeNull();
  expect(firstBad(anew, head)).toBe("w2@2: it is not the seal of the given head");
  expect(firstBad(whole, new Map([[writerId("w9"), { number: 4, hash: head.get(W1)?.hash as never }]]))).toMatch("w9@1: it is missing");
});

test("J-11 a seal dropped from the middle or moved is named", async () => {
  const dropped = await sealedJournal();
  sealsOf(dropped, W1).splice(2, 1);
  expect(check(dropped).problems).toContainEqual(
    expect.objectContaining({ writer: W1, seal: 3, reason: "it is missing: seal 4 stands in its place" }),
  );
  const swapped = await sealedJournal();
  const seals = sealsOf(swapped, W1);
  seals.splice(1, 2, seals[2] as StoredSeal, seals[1] as StoredSeal);
  expect(check(swapped).firstBad).toMatchObject({ writer: W1, seal: 2 });
});

/** One more entry of the other session, hashed and sealed as it should be, whatever it says. */
async function withSealed(change: Partial<StoredEntry>, payload: string): Promise<Sealed> {
  const j = await sealedJournal();
  const head = j.disk.heads.get(OTHER_SESSION);
  const seals = sealsOf(j, W2);
  const last = seals.at(-1);
  if (head === undefined || last === undefined) throw new Error("no head");
  const ports = sealPorts(W2, W2_KEY);
  const fresh = { stream: OTHER_SESSION, seq: seq(head.seq + 1), at: head.at, kind: "note", previous: head.hash };
  const header = { ...fresh, ...change, payloadHash: payloadHash("00", payload, ports.hash) };
  const entry = { ...header, entryHash: entryHash(header, ports.hash), salt: "00", payload };
  entriesOf(j, OTHER_SESSION).push(entry);
  seals.push(makeSeal(last, { ...NOTHING_SEEN, at: last.at, wrote: [toMark([entry])] }, ports));
  return j;
}
const SEALED_NEXT = `${OTHER_SESSION} 5`;

test("J-11 an entry that is chained elsewhere, older than the one before, or of an unknown kind is named, though its hashes and seals are right", async () => {
  expect(firstBad(await withSealed({}, "{}"))).toBeNull();
  expect(firstBad(await withSealed({ previous: ZERO }, "{}"))).toBe(`${SEALED_NEXT}: it is not chained to the entry before it`);
  expect(firstBad(await withSealed({ at: millis(5) }, "{}"))).toBe(`${SEALED_NEXT}: it is older than the entry before it`);
  expect(firstBad(await withSealed({ kind: "nonsense" }, "{}"))).toBe(
    `${SEALED_NEXT}: unknown kind \`nonsense\`: written by a newer version?`,
  );
});

test("J-11 a payload that says something twice, or is not canonical, is named, though its hashes and seals are right", async () => {
  for (const payload of ['{"a":1,"a":1}', '{"b":1,"a":2}', '{"a": 1}', "[]", "{", '{"kind":"note"}', '{"a":{"$blob":1}}'])
    expect(firstBad(await withSealed({}, payload)), payload).toMatch(SEALED_NEXT);
});

test("J-12 a seal chained elsewhere is named, though its hash and signature are right", async () => {
  const j = await sealedJournal();
  const seals = sealsOf(j, W2);
  const last = seals.at(-1) as StoredSeal;
  seals[seals.length - 1] = makeSeal(
    { number: last.number - 1, hash: ZERO },
    { ...NOTHING_SEEN, at: last.at, wrote: [toMark(entriesOf(j, OTHER_SESSION))] },
    sealPorts(W2, W2_KEY),
  );
  expect(firstBad(j)).toBe(`w2@${last.number}: it is not chained to the seal before it`);
});

test("J-28 a journal that grows while it is read verifies, wherever the growth falls between two readings", async () => {
  const j = await sealedJournal();
  for (const parts of [{}, { marksAtOnce: 1 }, { marksAtOnce: 5 }])
    for (let n = 0; n < (parts.marksAtOnce === undefined ? 40 : 120); n += 1)
      expect(checkOnce({ ...j, records: growing(j, n) }, null, parts).problems, `grown at reading ${n}`).toEqual([]);
  expect(check({ ...j, records: growing(j, Number.POSITIVE_INFINITY) }).firstBad).toBeNull(); // never grown
});

test("J-28 an erasure that is recorded and done while the journal is read is an erasure", async () => {
  const j = await sealedJournal();
  let readings = 0;
  const records: Sealed["records"] = {
    ...j.records,
    entries(stream) {
      if (stream !== ERASURES) return j.records.entries(stream);
      readings += 1;
      return readings === 1 ? [] : j.records.entries(stream);
    },
  };
  expect(check({ ...j, records })).toMatchObject({ firstBad: null, counts: { erased: 1 } });
});
