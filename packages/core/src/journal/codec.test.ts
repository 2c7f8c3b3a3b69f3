import fc from "fast-check";
import { expect, test } from "vitest";
import { arbitraries } from "../testing/arbitraries.ts";
import {
  copyFrozen,
  type JournalEvent,
  type Json,
  KEYS,
  millis,
  type StreamId,
  seq,
  streamId,
  toCanonicalJson,
  writerId,
  ZERO,
} from "../vocab/index.ts";
import {
  ACCESS_SAMPLES,
  GRANT_SAMPLES,
  KNOWLEDGE_SAMPLES,
  KNOWN_SAMPLES,
  POLICY_SAMPLES,
  SAMPLES,
  SCHEDULE_SAMPLES,
  TRUST_SAMPLES,
  WORK_SAMPLES,
} from "./fixtures/samples.ts";
import { proofPorts, sealPorts, W1, W1_KEY } from "./fixtures/sealed.ts";
import {
  BLOB_MIN,
  type BlobRef,
  checkPayload,
  decodePayload,
  EMPTY_STREAM,
  EVENT_KINDS,
  encodePayload,
  eraseFromBody,
  headText,
  makeSeal,
  marksText,
  NO_SEAL,
  parseHead,
  parseMarks,
  readBody,
  sealEntries,
  storedKind,
  toBody,
  toMark,
  type Upcasts,
} from "./index.ts";

const { hash } = proofPorts;

/** Blobs in a map, by an address of their own. */
function shelf() {
  const texts = new Map<string, string>();
  return {
    texts,
    put(text: string): BlobRef {
      const address = `b${texts.size + 1}`;
      texts.set(address, text);
      return { address, sha256: hash(text), chars: text.length };
    },
    get: (address: string) => texts.get(address) ?? null,
  };
}

function roundTrip(event: JournalEvent): JournalEvent | string {
  const blobs = shelf();
  const payload = encodePayload(event, blobs.put);
  const checked = checkPayload(storedKind(event.kind), payload);
  if (checked.kind === "bad") return checked.detail;
  const decoded = decodePayload(storedKind(event.kind), payload, blobs.get);
  return decoded.kind === "bad" ? decoded.detail : decoded.event;
}

const { json } = arbitraries(fc);
const long = fc.string({ unit: "binary" }).map((s) => s + "x".repeat(BLOB_MIN));
const special = fc.constantFrom("$blob", "$$blob", "$$$blob", "blob", "__proto__", "kind");
const values: fc.Arbitrary<Json> = fc.oneof(
  json,
  long,
  fc.dictionary(special, fc.oneof(json, long), { maxKeys: 4 }),
  fc.record({ $blob: fc.record({ address: fc.constant("b1"), sha256: fc.string(), chars: fc.nat() }) }),
);

/** Any sample, with all its texts and its free-form values replaced by others. */
const events: fc.Arbitrary<JournalEvent> = fc
  .tuple(
    fc.constantFrom(...Object.values(SAMPLES).flat()),
    fc.array(fc.oneof(fc.string({ unit: "binary" }), long), { minLength: 1, maxLength: 5 }),
    values,
  )
  .map(([sample, texts, value]) => {
    let n = 0;
    const other = (v: unknown, key: string): unknown => {
      if (key === "kind") return v;
      if (key === "meta" || key === "value" || key === "output") return value;
      if (typeof v === "string") return texts[n++ % texts.length];
      if (Array.isArray(v)) return v.map((inner) => other(inner, ""));
      if (typeof v !== "object" || v === null) return v;
      return Object.fromEntries(Object.entries(v).map(([k, inner]) => [k, other(inner, k)]));
    };
    return other(sample, "") as JournalEvent;
  });

test("J-10 any event is decoded to what was encoded", () =>
  fc.assert(
    fc.property(events, (event) => {
      let expected: JournalEvent;
      try {
        expected = copyFrozen(event);
      } catch (error) {
        expect(String(error)).toMatch("two keys");
        return;
      }
      expect(roundTrip(event)).toEqual(expected);
    }),
    { numRuns: 400 },
  ));

test("J-10 the payload is canonical, and holds neither the kind nor anything said twice", () => {
  const payload = encodePayload({ kind: "session.closed", reason: "r", by: { id: "ana", kind: "user" } }, shelf().put);
  expect(payload).toBe('{"by":{"id":"ana","kind":"user"},"reason":"r"}');
  const bad = (kind: string, text: string) => [decodePayload(kind, text, () => null).kind, checkPayload(kind, text).kind];
  for (const text of ["", "{", "null", "5", "[]", '"x"', '{"kind":"note"}']) expect(bad("note", text), text).toEqual(["bad", "bad"]);
  for (const text of ['{"b":1,"a":1}', '{"a":1,"a":1}', '{"a":1.0}', ' {"a":1}', '{"\\u0061":1}'])
    expect(checkPayload("note", text).kind, text).toBe("bad");
  for (const kind of ["", "nonsense", "toString", "__proto__", "note@1", "note@2", "note@x", "note@", "note@02"])
    expect(bad(kind, "{}"), kind).toEqual(["bad", "bad"]);
});

test("J-10 a decoded event is frozen all the way down", () => {
  const event = roundTrip(SAMPLES["model.replied"][0] as JournalEvent);
  expect(
    typeof event === "object" && event.kind === "model.replied" && Object.isFrozen(event.parts[0]) && Object.isFrozen(event.meta),
  ).toBe(true);
});

test("J-10 the closed list is the list of the samples, and of the streams that belong to no session", () => {
  const system = ["key.certified", "key.rotated", "key.withdrawn", "content.erased", "policy.stored"];
  const named = [
    SAMPLES,
    ACCESS_SAMPLES,
    POLICY_SAMPLES,
    TRUST_SAMPLES,
    GRANT_SAMPLES,
    KNOWN_SAMPLES,
    KNOWLEDGE_SAMPLES,
    WORK_SAMPLES,
    SCHEDULE_SAMPLES,
  ].flatMap((samples) => Object.keys(samples));
  expect([...EVENT_KINDS].sort()).toEqual([...named, ...system].sort());
});

// blobs

const noted = (value: Json): JournalEvent => ({ kind: "note", from: "t", call: null, name: "n", value });

test("J-5 a long text is put away as a blob, a short one is not", () => {
  const blobs = shelf();
  const payload = encodePayload(noted({ short: "x".repeat(BLOB_MIN), long: ["y".repeat(BLOB_MIN + 1)] }), blobs.put);
  expect([...blobs.texts.values()]).toEqual(["y".repeat(BLOB_MIN + 1)]);
  expect(payload).toContain(`"long":[{"$blob":{"address":"b1","chars":${BLOB_MIN + 1},"sha256":"${hash("y".repeat(BLOB_MIN + 1))}"}}]`);
});

test("J-5 an ill-formed long text is made well-formed before it is put away", () => {
  const blobs = shelf();
  encodePayload(noted(`\ud800${"x".repeat(BLOB_MIN)}`), blobs.put);
  expect([...blobs.texts.values()][0]?.isWellFormed()).toBe(true);
});

test("J-5 no text of a model or a tool can name a blob", () => {
  const forged = { $blob: { address: "b1", sha256: "0", chars: 3 } };
  const event = noted({ forged, again: { $$blob: forged } });
  const blobs = shelf();
  blobs.put("secret of another session");
  const payload = encodePayload(event, blobs.put);
  expect(checkPayload("note", payload)).toEqual({ kind: "good", blobs: [] });
  expect(decodePayload("note", payload, blobs.get)).toEqual({ kind: "event", event });
});

test("J-5 a blob that is missing, of another length, or badly named is told", () => {
  const ref = { address: "b1", chars: 3, sha256: hash("abc") };
  const text = (value: unknown) => toCanonicalJson({ call: null, from: "t", name: "n", value });
  const detail = (payload: string, blob: string | null) => {
    const d = decodePayload("note", payload, () => blob);
    return d.kind === "bad" ? d.detail : d.event;
  };
  expect(detail(text({ $blob: ref }), null)).toBe("blob b1 is missing");
  expect(detail(text({ $blob: ref }), "abcd")).toBe("blob b1 is not what was stored");
  expect(detail(text({ $blob: ref }), "abc")).toEqual(noted("abc"));
  for (const odd of [
    { $blob: null },
    { $blob: "b1" },
    { $blob: [ref] },
    { $blob: ref, more: 1 },
    { $blob: { ...ref, more: 1 } },
    { $blob: { address: 1, chars: 1, sha256: "" } },
  ]) {
    expect(detail(text(odd), "abc")).toBe("a reference to a blob is malformed");
    expect(checkPayload("note", text(odd))).toEqual({ kind: "bad", detail: "a reference to a blob is malformed" });
  }
});

// versions

test("J-10 an older payload is read through its upcasts, in memory only; the stored kind says which version it is", () => {
  // as if `note` had had no `from` in version 1, and had called its `value` `text` in version 2
  const upcasts: Upcasts = {
    note: [(one) => ({ ...one, from: "unknown" }), ({ text = null, ...two }) => ({ ...two, value: text })],
  };
  expect(storedKind("note", upcasts)).toBe("note@3");
  expect(storedKind("session.closed", upcasts)).toBe("session.closed");
  const read = (kind: string, payload: string) => decodePayload(kind, payload, () => null, upcasts);
  const event = { kind: "note", from: "unknown", call: null, name: "n", value: "t" };
  expect(read("note", '{"call":null,"name":"n","text":"t"}')).toEqual({ kind: "event", event });
  expect(read("note@2", '{"call":null,"from":"x","name":"n","text":"t"}')).toEqual({ kind: "event", event: { ...event, from: "x" } });
  expect(read("note@3", '{"call":null,"from":"x","name":"n","value":"t"}')).toEqual({ kind: "event", event: { ...event, from: "x" } });
  expect(read("note@4", "{}")).toEqual({ kind: "bad", detail: "unknown kind `note@4`: written by a newer version?" });
  expect(read("note@1", "{}").kind).toBe("bad"); // one text per version
});

test("J-10 what a program wrote under an older table of versions, one that knows a newer version reads", () => {
  const older: Upcasts = { note: [(one) => ({ ...one, from: "unknown" })] };
  const newer: Upcasts = { note: [...(older.note ?? []), ({ name = "", ...two }) => ({ ...two, name: `n: ${String(name)}` })] };
  const note = { kind: "note", from: "test", call: null, name: "n", value: 1 } as const;
  const written = {
    kind: storedKind("note", older),
    payload: encodePayload(note, () => {
      throw new Error("a note this short holds no blob");
    }),
  };
  expect(written.kind).toBe("note@2");
  const read = (upcasts: Upcasts) => decodePayload(written.kind, written.payload, () => null, upcasts);
  expect(read(older)).toEqual({ kind: "event", event: note });
  expect(read(newer)).toEqual({ kind: "event", event: { ...note, name: "n: n" } });
  expect(read({})).toEqual({ kind: "bad", detail: "unknown kind `note@2`: written by a newer version?" });
  expect(storedKind("note", newer)).toBe("note@3");
});

test("J-10 marks are read back as they were written, and in no other spelling", () => {
  const at = (stream: StreamId, place: number) => ({ stream, seq: seq(place), hash: hash(`${stream} ${place}`) });
  const marks = [at(streamId("breaker:x"), 17), at(KEYS, 12), at(streamId("s_abcdefgh"), 3)];
  expect(parseMarks(marksText(marks.toReversed()))).toEqual(marks);
  expect(parseMarks("")).toEqual([]);
  const h = hash("x");
  const odd = ["keys", "keys#1", `keys#0:${h}`, `keys#01:${h}`, `keys#1:${h},`, `,keys#1:${h}`, `a:b:c#1:${h}`, `keys#1:${h} `];
  const more = [`keys#-1:${h}`, `keys#1e3:${h}`, `keys#1:${h.toUpperCase()}`, `keys#1:${h.slice(1)}`, `keys#2:${h},keys#1:${h}`];
  for (const text of [...odd, ...more]) expect(parseMarks(text), text).toBeNull();
});

test("J-10 the body of an append is read back as it was written, erased or not, and nothing else is taken for one", () => {
  const ports = sealPorts(W1, W1_KEY);
  const events = [...SAMPLES.note, ...SAMPLES["session.closed"]].map((event) => ({ at: millis(7), event }));
  const entries = sealEntries({ stream: KEYS, head: EMPTY_STREAM }, events, ports, shelf().put);
  const last = entries.at(-1);
  if (last === undefined) throw new Error("no sample");
  const append = { stream: KEYS, first: seq(1), count: entries.length, writer: W1, seal: 1, hash: last.entryHash, body: toBody(entries) };
  expect(readBody(append, ZERO, hash)).toEqual(entries);
  const erased = readBody({ ...append, body: eraseFromBody(append, { first: seq(1), last: seq(1) }, hash) }, ZERO, hash);
  expect(erased).toEqual([{ ...entries[0], salt: null, payload: null }, ...entries.slice(1)]);
  for (const body of [
    "",
    "note",
    "note 7\n",
    "note 07 x\n",
    `note 7 ${hash("x")}`,
    `note -7 ${hash("x")} s {}\n`,
    ` 7 ${hash("x")} s {}\n`,
  ])
    expect(readBody({ ...append, body }, ZERO, hash), body).toEqual([]);
});

test("J-10 a name that could blur a hashed text is refused before anything is sealed", () => {
  const ports = sealPorts(W1, W1_KEY);
  const event: JournalEvent = SAMPLES["session.closed"][0] as JournalEvent;
  const seal = (stream: StreamId) => sealEntries({ stream, head: EMPTY_STREAM }, [{ at: millis(1), event }], ports, shelf().put);
  for (const name of ["", "a\nb", "a,b", "a:b:c", "a b", "a+1", "ä", "x".repeat(101)])
    expect(() => seal(streamId(name)), name).toThrow(RangeError);
  const content = { at: millis(1), wrote: [toMark(seal(KEYS))], seen: [], recovered: false };
  expect(() => makeSeal(NO_SEAL, content, { ...ports, writer: writerId("a@b") })).toThrow(RangeError);
  expect(() => toMark([])).toThrow(RangeError);
});

test("J-10 a clock that jumps back does not turn a stream's time around", () => {
  const event: JournalEvent = SAMPLES["session.closed"][0] as JournalEvent;
  const sealed = sealEntries(
    { stream: KEYS, head: { ...EMPTY_STREAM, at: millis(10) } },
    [5, 20, 15].map((at) => ({ at: millis(at), event })),
    sealPorts(W1, W1_KEY),
    shelf().put,
  );
  expect(sealed.map((e) => e.at)).toEqual([10, 20, 20]);
});

test("J-11 a head is read back as it was written, and a broken one is refused", () => {
  const head = new Map([
    [writerId("w2"), { number: 7, hash: hash("b") }],
    [writerId("w1"), { number: 12, hash: hash("a") }],
  ]);
  expect(headText(head)).toBe(`w1@12:${hash("a")},w2@7:${hash("b")}`);
  expect(parseHead(` ${headText(head)}\n`)).toEqual(head);
  for (const text of [
    "",
    "w1",
    "w1@1",
    `w1@0:${hash("a")}`,
    `w1@1:${hash("a")},`,
    `w1@1:${hash("a")},w1@2:${hash("b")}`,
    `w1@1:${hash("a").toUpperCase()}`,
  ])
    expect(parseHead(text), text).toBeNull();
});
