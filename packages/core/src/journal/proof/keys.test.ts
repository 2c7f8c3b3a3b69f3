import { expect, test } from "vitest";
import {
  type Intent,
  type IntentBody,
  intentId,
  intentText,
  type JournalEvent,
  keyId,
  millis,
  type Principal,
  seq,
  sessionId,
  writerId,
} from "../../vocab/index.ts";
import { proofPorts, seeded } from "../fixtures/sealed.ts";
import {
  certificateText,
  certify,
  checkIntentSigner,
  foldKeys,
  isPersonName,
  type Keyring,
  NO_KEYS,
  rotate,
  rotationText,
  type SigningKey,
} from "../index.ts";

const root = seeded("root");
const next = seeded("next root");
const stranger = seeded("stranger");
const ana = seeded("ana");
const w1 = seeded("w1");
const person = (name: string) => ({ kind: "person", name }) as const;
const writer = { kind: "writer", writer: writerId("w1") } as const;
const by: Principal = { kind: "user", id: "ana" };
const withdrawn = (key: SigningKey): JournalEvent => ({ kind: "key.withdrawn", key: key.id, by, reason: "lost" });
const rootOwn = certify({ kind: "root" }, root, root);

const fold = (...events: readonly JournalEvent[]): Keyring =>
  foldKeys(
    NO_KEYS,
    events.map((event, i) => ({ seq: seq(i + 1), at: millis(1_000 + i), event })),
    proofPorts,
  );
/** The first event that does not count, and why. */
const badOf = (...events: readonly JournalEvent[]): string | null => {
  const [first] = fold(...events).bad;
  return first === undefined ? null : `${first.seq}: ${first.reason}`;
};

test("J-15 the root key certifies itself first, then writers and people", () => {
  const ring = fold(rootOwn, certify(writer, w1, root), certify(person("ana"), ana, root));
  expect(ring.bad).toEqual([]);
  expect(ring.roots).toEqual([root.id]);
  expect(ring.through).toBe(3);
  expect(ring.keys.get(ana.id)).toEqual({ key: ana.id, of: person("ana"), publicKey: ana.publicKey, since: 1_002, withdrawn: null });
});

test("J-15 nothing counts before the root key, and no second root key beside it", () => {
  expect(badOf(certify(writer, w1, root))).toBe("1: there is no root key yet");
  expect(badOf(rootOwn, certify({ kind: "root" }, next, root))).toBe("2: there is a root key already: it changes only by rotation");
  expect(badOf(certify({ kind: "root" }, root, stranger))).toBe("1: the certificate is not by the root key of its time");
});

test("J-15 a certificate that the root key did not sign does not count", () => {
  expect(badOf(rootOwn, certify(writer, w1, stranger))).toBe("2: the certificate is not by the root key of its time");
  expect(badOf(rootOwn, certify(writer, w1, { ...stranger, id: root.id }))).toBe("2: the certificate's signature does not match");
  const good = certify(person("ana"), ana, root);
  expect(badOf(rootOwn, { ...good, of: person("eve") })).toBe("2: the certificate's signature does not match");
  expect(badOf(rootOwn, { ...good, key: stranger.id })).toBe("2: the key's name does not belong to its public key");
  expect(badOf(rootOwn, { ...good, signature: "" })).toBe("2: the certificate's signature does not match");
});

test("J-15 a rotation counts when both keys signed it; after it only the new one certifies", () => {
  const rotated = rotate(root, next);
  const ring = fold(rootOwn, certify(writer, w1, root), rotated, certify(person("ana"), ana, next));
  expect(ring.bad).toEqual([]);
  expect(ring.roots).toEqual([root.id, next.id]);
  expect(badOf(rootOwn, rotated, certify(person("ana"), ana, root))).toBe("3: the certificate is not by the root key of its time");
  expect(badOf(rootOwn, { ...rotated, byOld: rotated.byNew })).toBe("2: the old root key's signature does not match");
  expect(badOf(rootOwn, { ...rotated, byNew: rotated.byOld })).toBe("2: the new root key's signature does not match");
  expect(badOf(rootOwn, rotate(stranger, next))).toBe("2: the rotation is not from the root key of its time");
  expect(badOf(rootOwn, rotated, rotate(root, stranger))).toBe("3: the rotation is not from the root key of its time");
  expect(badOf(rootOwn, rotated, rotate(next, root))).toBe("3: the key was certified before");
  expect(badOf(rootOwn, { ...rotated, to: stranger.id })).toBe("2: the key's name does not belong to its public key");
});

test("J-15 a key is certified once, and what was withdrawn never counts again", () => {
  const good = certify(person("ana"), ana, root);
  expect(badOf(rootOwn, good, good)).toBe("3: the key was certified before");
  expect(badOf(rootOwn, good, certify(person("bob"), ana, root))).toBe("3: the key was certified before");
  expect(badOf(rootOwn, good, withdrawn(ana), good)).toBe("4: the key was certified before");
  expect(badOf(rootOwn, good, withdrawn(ana), withdrawn(ana))).toBe("4: the key was withdrawn before");
  expect(badOf(rootOwn, withdrawn(ana))).toBe("2: it withdraws a key that is not certified");
  expect(badOf(rootOwn, withdrawn(root))).toBe("2: a root key is not withdrawn but rotated");
  expect(fold(rootOwn, good, withdrawn(ana)).keys.get(ana.id)?.withdrawn).toBe(1_002);
});

test("J-15 what is malformed or does not belong in the stream changes nothing and is told", () => {
  const good = certify(person("ana"), ana, root);
  for (const odd of [
    { ...good, of: null },
    { ...good, of: { kind: "person", name: "../eve" } },
    { ...good, of: { kind: "writer", writer: "a,b" } },
    { ...good, publicKey: 5 },
  ])
    expect(badOf(rootOwn, odd as unknown as JournalEvent)).toBe("2: the certificate is malformed");
  expect(badOf(rootOwn, { ...rotate(root, next), byOld: null } as unknown as JournalEvent)).toBe("2: the rotation is malformed");
  expect(badOf(rootOwn, { kind: "session.closed", by, reason: "" })).toBe("2: `session.closed` does not belong in this stream");
});

test("J-15 folding in two steps is folding in one", () => {
  const events = [rootOwn, certify(writer, w1, root), rotate(root, next), certify(person("ana"), ana, next), withdrawn(ana)];
  const entries = events.map((event, i) => ({ seq: seq(i + 1), at: millis(i), event }));
  const whole = foldKeys(NO_KEYS, entries, proofPorts);
  for (let cut = 0; cut <= entries.length; cut += 1)
    expect(foldKeys(foldKeys(NO_KEYS, entries.slice(0, cut), proofPorts), entries.slice(cut), proofPorts)).toEqual(whole);
});

test("J-15 the signed texts are told apart by their first line", () => {
  expect(certificateText(rootOwn)).toBe(
    `orgate-certificate-1\n{"by":"${root.id}","key":"${root.id}","of":{"kind":"root"},"publicKey":"${root.publicKey}"}`,
  );
  expect(rotationText(rotate(root, next))).toBe(
    `orgate-rotation-1\n{"from":"${root.id}","publicKey":"${next.publicKey}","to":"${next.id}"}`,
  );
});

test("J-15 names of people are safe as file names and in print", () => {
  expect(["ana", "a", "ana-maria_2", "a".repeat(32)].filter(isPersonName)).toHaveLength(4);
  expect(["", "Ana", "..", "a/b", "a b", "a.key", "-a", "2a", "a\n", "ana\u202e", "a".repeat(33), "ä"].filter(isPersonName)).toEqual([]);
});

// intents

const ring = fold(rootOwn, certify(person("ana"), ana, root), certify(person("bob"), seeded("bob"), root), certify(writer, w1, root));
const cancel: IntentBody = { kind: "cancel", reason: "enough" };
function signed(key: SigningKey, change: Partial<Intent> = {}): Intent {
  const open = { id: intentId("i_1"), session: sessionId("s_12345678"), at: millis(5), by, key: key.id, wish: cancel, ...change };
  return { ...open, signature: key.sign(intentText(open)) };
}
const judged = (intent: Intent, at: Keyring = ring): string => {
  const found = checkIntentSigner(at, intent, proofPorts.checkSignature);
  return found.kind === "genuine" ? "genuine" : found.reason;
};

test("J-16 an intent is genuine when that person's certified key signed exactly it", () => {
  const good = signed(ana);
  expect(judged(good)).toBe("genuine");
  expect(judged({ ...good, id: intentId("i_2") })).toBe("the signature does not match");
  expect(judged({ ...good, session: sessionId("s_87654321") })).toBe("the signature does not match");
  expect(judged({ ...good, at: millis(6) })).toBe("the signature does not match");
  expect(judged({ ...good, wish: { kind: "cancel", reason: "more" } })).toBe("the signature does not match");
  expect(judged({ ...good, signature: signed(stranger).signature })).toBe("the signature does not match");
});

test("J-16 another's key, a writer's, a withdrawn or an unknown one is refused, and so is no signature", () => {
  const bob = seeded("bob");
  expect(judged(signed(bob))).toBe(`key \`${bob.id}\` is not of \`ana\``);
  expect(judged(signed(w1, { by: { kind: "user", id: "w1" } }))).toBe(`key \`${w1.id}\` is not of \`w1\``);
  expect(judged(signed(stranger))).toBe(`key \`${stranger.id}\` is not certified in this project`);
  expect(judged({ ...signed(ana), signature: null })).toBe("it is not signed");
  expect(judged({ ...signed(ana), key: null })).toBe("it is not signed");
  expect(judged({ ...signed(ana), key: keyId("k_0") })).toBe("key `k_0` is not certified in this project");
  const after = fold(rootOwn, certify(person("ana"), ana, root), withdrawn(ana));
  expect(judged(signed(ana), after)).toBe(`key \`${ana.id}\` was withdrawn`);
});

test("J-16 the runtime signs with its writer's key and answers no question; agents send nothing", () => {
  const system = (change: Partial<Intent> = {}, key = w1) => signed(key, { by: { kind: "system", id: "w1" }, ...change });
  const late = { kind: "late", call: "1.1", outcome: { kind: "failed", error: "" } } as unknown as IntentBody;
  const answer = { kind: "answer", approval: "a_1", digest: "d", answer: { kind: "approve" } } as unknown as IntentBody;
  expect(judged(system())).toBe("genuine");
  expect(judged(system({ wish: late }))).toBe("genuine");
  expect(judged({ ...system({ wish: late }), key: null, signature: null })).toBe("it is not signed");
  expect(judged({ ...system({ wish: late }), signature: system().signature })).toBe("the signature does not match");
  expect(judged(system({ wish: late }, ana))).toBe(`key \`${ana.id}\` is not of \`w1\``);
  expect(judged(system({ by: { kind: "system", id: "w2" }, wish: late }))).toBe(`key \`${w1.id}\` is not of \`w2\``);
  expect(judged(system({ wish: late }, stranger))).toBe(`key \`${stranger.id}\` is not certified in this project`);
  expect(judged(system({ wish: answer }))).toBe("an approval request is answered by a person");
  expect(judged(signed(ana, { wish: answer }))).toBe("genuine");
  expect(judged(signed(ana, { by: { kind: "agent", id: "ana" } }))).toBe("only people and the runtime itself send intents");
  expect(judged(signed(ana, { wish: late }))).toBe("only the runtime itself reports an outcome");
});
