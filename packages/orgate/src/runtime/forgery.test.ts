/** Whoever can write the database and has no key: nothing that gives authority counts because they wrote it. */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import {
  ACCESS,
  accessId,
  defineAgent,
  defineTool,
  digest,
  FaultError,
  GRANTS,
  grantId,
  HALT,
  intentId,
  isFault,
  type JournalEvent,
  KEYS,
  label,
  POLICY,
  policyId,
  type Row,
  type SessionId,
  type StreamId,
  seq,
  TRUST,
  TRUSTED_VALUES,
  tableGate,
  ZERO,
} from "@orgate/core";
import { certify, payloadHash } from "@orgate/core/journal";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { ed25519, sha256 } from "../node/crypto.ts";
import { editEntry, findAppend, findEntries, type RawEntry, removeEntry } from "../store/fixtures/tamper.ts";
import { createPerson, openPerson, type Person, signIntent } from "../store/keyring.ts";
import type { Runtime } from "./api.ts";
import { databaseIn, FORGED_SEALS, forge } from "./fixtures/forging.ts";
import { NODE } from "./ports/outside.ts";
import { openProjectStore } from "./ports/project-store.ts";
import { createRuntime } from "./runtime.ts";

const folders: string[] = [];
const runtimes: Runtime[] = [];
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close();
});
afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "orgate-forged-"));
  folders.push(folder);
  return folder;
};

const ROWS: readonly Row[] = [
  { id: "pays", action: "tool:pay", verdict: "ask", say: "pay?", terms: { grant: "tool session" } },
  { id: "rest", action: "*", verdict: "allow" },
];
const ana = { kind: "user", id: "ana" } as const;

type Office = Readonly<{ folder: string; directory: string; runtime: Runtime; paid: unknown[]; ana: Person }>;

async function openOffice(folder: string): Promise<Office> {
  const paid: unknown[] = [];
  const pay = defineTool({
    name: "pay",
    description: "pays",
    effects: ["spend"],
    input: { type: "object", properties: { to: { type: "string" } }, required: ["to"], additionalProperties: false },
    resource: ({ to }) => ({ type: "Account", id: String(to) }),
    run: (args) => {
      paid.push(args);
      return "paid";
    },
  });
  const fetches = defineTool({
    name: "fetch",
    description: "reads something from outside",
    input: { type: "object", properties: {}, additionalProperties: false },
    repeat: "read",
    run: () => "a page",
  });
  const lose = defineTool({
    name: "lose",
    description: "ends without an answer",
    input: { type: "object", properties: {}, additionalProperties: false },
    run: () => {
      throw new FaultError({ kind: "outcome-unknown", cause: "connection-lost", detail: "the line went dead" });
    },
  });
  const agent = defineAgent({
    name: "clerk",
    instructions: "Pay.",
    model: "offline/clerk",
    tools: [pay, fetches, lose],
    modelOptions: {
      rules: [
        { when: { says: "pay", notCalled: ["pay"] }, calls: [{ tool: "pay", args: { to: "ben" } }] },
        { when: { says: "fetch", notCalled: ["fetch"] }, calls: [{ tool: "fetch" }] },
        { when: { says: "lose", notCalled: ["lose"] }, calls: [{ tool: "lose" }] },
        { when: {}, say: "Done." },
      ],
    },
  });
  const directory = join(folder, ".orgate");
  const runtime = await createRuntime({
    directory,
    agents: [agent],
    gate: tableGate(ROWS, sha256, {}),
    principal: { kind: "user", id: "eve" },
    powerCut: "lose-last-moments",
  });
  runtimes.push(runtime);
  const home = join(folder, "home");
  const isNew = !existsSync(join(home, "keys", "ana.key"));
  const person = isNew ? createPerson(home, "ana", ed25519) : openPerson(home, "ana", ed25519);
  if (isNew) await runtime.place.keyring.certifyPerson("ana", person.key.publicKey);
  return { folder, directory, runtime, paid, ana: person };
}

/** A project with a bit of everything, made once and copied. */
let template: Readonly<{ folder: string; waiting: SessionId; labelled: SessionId; doubtful: SessionId }>;
beforeAll(async () => {
  const folder = newFolder();
  const office = await openOffice(folder);
  const run = async (input: string): Promise<SessionId> => (await office.runtime.complete("clerk", input)).session;
  const [waiting, labelled, doubtful] = [await run("pay"), await run("fetch"), await run("lose")];
  await office.runtime.known.add({ set: "payees", value: "ana", why: "paid before" }, office.ana);
  await office.runtime.halt("agent:other", "a drill", office.ana, { anyway: true });
  template = { folder, waiting, labelled, doubtful };
  await office.runtime.close();
  runtimes.splice(0);
});
async function copied(): Promise<Office> {
  const folder = newFolder();
  cpSync(template.folder, folder, { recursive: true });
  return openOffice(folder);
}

const access = { agents: null, actions: null, until: null, note: "", from: null, by: ana } as const;
const grant = (session: SessionId | null): JournalEvent => ({
  kind: "grant.given",
  grant: grantId("g_forged"),
  by: ana,
  agent: "clerk",
  onBehalfOf: { kind: "user", id: "eve" },
  tool: "pay",
  toolDigest: null,
  scope: "tool",
  resource: { type: "Account", id: "ben" },
  digest: ZERO,
  slice: ZERO,
  policies: [policyId("pays")],
  session,
  turn: null,
  until: null,
});
const person = ed25519.fromSeed(Buffer.alloc(32, "mallory"));
const intent = intentId("i_forged");

type Forgery = Readonly<{ stream: () => StreamId; event: () => JournalEvent }>;
const FORGERIES: Readonly<Record<string, Forgery>> = {
  "approval.answered": {
    stream: () => template.waiting,
    event: () => ({
      kind: "approval.answered",
      approval: "a_1" as never,
      by: ana,
      answer: { kind: "approve" },
      counts: [policyId("pays")],
      digest: ZERO,
      about: null,
      intent,
    }),
  },
  "labels.removed": {
    stream: () => template.labelled,
    event: () => ({ kind: "labels.removed", labels: [label("untrusted")], by: ana, why: "x", intent }),
  },
  "unknown.resolved": {
    stream: () => template.doubtful,
    event: () => ({ kind: "unknown.resolved", call: "1.0" as never, as: "did-not-happen", by: ana, note: "x", intent }),
  },
  "grant.given": { stream: () => GRANTS, event: () => grant(null) },
  "work.resumed": { stream: () => HALT, event: () => ({ kind: "work.resumed", scope: "all", by: ana, reason: "x" }) },
  "access.given": {
    stream: () => ACCESS,
    event: () => ({
      kind: "access.given",
      access: accessId("x_0000000000000000"),
      means: "key",
      person: "ana",
      check: "scrypt$1",
      ...access,
    }),
  },
  "known.added": {
    stream: () => TRUSTED_VALUES,
    event: () => ({ kind: "known.added", set: "payees", value: "mallory", by: ana, why: "x" }),
  },
  "policy.applied": {
    stream: () => POLICY,
    event: () => ({ kind: "policy.applied", files: ZERO, before: ZERO, changes: [], reason: "", texts: false, by: ana }),
  },
  "trust.given": { stream: () => TRUST, event: () => ({ kind: "trust.given", subject: "AGENTS.md", digest: ZERO, by: ana }) },
  "key.certified": {
    stream: () => KEYS,
    event: () => certify({ kind: "person", name: "ana" }, person, { ...person, id: digest("0") as never }),
  },
  "key.withdrawn": { stream: () => KEYS, event: () => ({ kind: "key.withdrawn", key: person.id, by: ana, reason: "x" }) },
};

const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

test.each(Object.keys(FORGERIES))(
  "J-18 J-19 a forged %s is refused under every seal that is not genuine, and turns the project read-only",
  async (kind) => {
    const { stream, event } = FORGERIES[kind] as Forgery;
    for (const how of FORGED_SEALS) {
      const about = `${kind} ${how}`;
      const folder = newFolder();
      cpSync(template.folder, folder, { recursive: true });
      const directory = join(folder, ".orgate");
      const open = () => openProjectStore({ directory, thread: "main", powerCut: "lose-last-moments" });
      const alive = await open();
      forge(directory, stream(), event(), how);
      const refused = await errorOf(alive.store.journal.read(stream(), seq(0), 1_000));
      expect(isFault(refused, "entry-bad") && refused.message, about).toContain(`of stream \`${stream()}\` is bad`);
      expect(readFileSync(join(directory, "alarms.jsonl"), "utf8"), about).toMatch(/"kind":"alarm".*entry \d+ of stream/);
      const halted = await errorOf(alive.orders.halt({ kind: "work.halted", scope: "all", by: ana, reason: "x" }));
      expect(isFault(halted, "journal-doubted") || isFault(halted, "entry-bad"), about).toBe(true);
      await expect(alive.store.checkWritable(), about).rejects.toThrow("read-only");
      await alive.close();
      rmSync(join(directory, "alarms.jsonl"));
      const fresh = await errorOf(open().then((place) => place.store.journal.read(stream(), seq(0), 1_000).finally(place.close)));
      expect(isFault(fresh, "entry-bad") || isFault(fresh, "seal-bad"), about).toBe(true);
    }
  },
  120_000,
);

test("J-18 in the library: a forged answer runs nothing, and the genuine one does", async () => {
  const o = await copied();
  const [question] = await o.runtime.approvals.list();
  if (question === undefined) throw new Error("nothing waits");
  const { approval, digest: of, session } = question;
  const before = await copied();
  const answered = { approval, by: ana, answer: { kind: "approve" }, counts: [policyId("pays")], digest: of, about: null, intent } as const;
  forge(o.directory, session, { kind: "approval.answered", ...answered }, "foreign");
  await expect(o.runtime.resume(session).result).rejects.toThrow("is not certified for a writer");
  expect(o.paid).toEqual([]);
  await expect(o.runtime.complete("clerk", "hello")).rejects.toThrow("read-only");
  await before.runtime.approvals.answer({ approval, digest: of, answer: { kind: "approve" } }, before.ana);
  expect(before.paid).toEqual([{ to: "ben" }]);
});

test("J-18 in the library: a forged grant lets nothing run, a forged lifting lifts nothing, a forged trusted value is not trusted", async () => {
  const granted = await copied();
  forge(granted.directory, GRANTS, grant(null), "copied");
  await expect(granted.runtime.complete("clerk", "pay")).rejects.toThrow("entry 1 of stream `grants` is bad");
  expect(granted.paid).toEqual([]);
  const halted = await copied();
  await halted.runtime.halt("all", "stop", halted.ana);
  forge(halted.directory, HALT, { kind: "work.resumed", scope: "all", by: ana, reason: "x" }, "foreign", (db) =>
    db.exec("DELETE FROM halts"),
  );
  await expect(halted.runtime.complete("clerk", "hello")).rejects.toThrow("entry 3 of stream `halt` is bad");
});

test("J-18 a trusted value is one that a sealed entry says, whatever rows there are", async () => {
  const o = await copied();
  const { journal } = o.runtime.place.store;
  expect(journal.isKnown("payees", ["ana"], false)).toBe(true);
  const db = databaseIn(o.directory);
  db.exec(`INSERT INTO known_values VALUES ('payees', 'mallory', 'mallory', 'known', 1, 1)`);
  db.close();
  expect(journal.isKnown("payees", ["mallory"], false)).toBe(false);
  await expect(o.runtime.complete("clerk", "hello")).rejects.toThrow("trusted value `mallory` of set `payees`");
  const taken = await copied();
  await taken.runtime.known.remove({ set: "payees", value: "ana", why: "gone" }, taken.ana);
  const again = databaseIn(taken.directory);
  again.exec(`INSERT INTO known_values VALUES ('payees', 'ana', 'ana', 'known', 1, 1)`);
  again.close();
  expect(taken.runtime.place.store.journal.isKnown("payees", ["ana"], false)).toBe(false);
});

test("J-16 a copy of an intent that was taken counts for nothing", async () => {
  const o = await copied();
  const wish = { kind: "unlabel", labels: [label("untrusted")], why: "read by hand" } as const;
  const unlabel = signIntent(o.ana, { id: NODE.ids.intent(), session: template.labelled, at: NODE.clock.now(), wish });
  await o.runtime.putIntent(unlabel);
  await o.runtime.resume(template.labelled).result;
  expect((await o.runtime.inspect.state(template.labelled)).labels.size).toBe(0);
  await o.runtime.complete("clerk", "fetch", { session: template.labelled });
  expect([...(await o.runtime.inspect.state(template.labelled)).labels]).toEqual(["untrusted"]);
  const db = databaseIn(o.directory);
  db.prepare("UPDATE inbox SET taken = 0, intent = ? WHERE id = ?").run(JSON.stringify(unlabel), unlabel.id);
  db.close();
  await o.runtime.resume(template.labelled).result;
  expect([...(await o.runtime.inspect.state(template.labelled)).labels]).toEqual(["untrusted"]);
});

test("J-18 a row in the inbox that gives authority counts only with its sender's own signature", async () => {
  const o = await copied();
  const [question] = await o.runtime.approvals.list();
  if (question === undefined) throw new Error("nothing waits");
  const wish = { kind: "answer", approval: question.approval, digest: question.digest, answer: { kind: "approve" } } as const;
  const forged = signIntent({ name: "ana", key: person }, { id: intent, session: question.session, at: NODE.clock.now(), wish });
  const db = databaseIn(o.directory);
  for (const [i, row] of [{ ...forged, key: null, signature: null }, forged, { ...forged, key: o.ana.key.id }].entries()) {
    const one = { ...row, id: `i_forged${i}` };
    db.prepare("INSERT INTO inbox (id, session, intent, taken, arrived_at) VALUES (?, ?, ?, 0, 1)").run(
      one.id,
      question.session,
      JSON.stringify(one),
    );
  }
  db.close();
  await o.runtime.resume(question.session).result;
  expect(o.paid).toEqual([]);
  expect(await o.runtime.approvals.list()).toHaveLength(1);
});

test("J-19 what subscribers are fed with is proved: a forged entry is told as bad in its place, and is an alarm", async () => {
  for (const how of FORGED_SEALS) {
    const { directory, runtime } = await copied();
    const { journal } = runtime.place.store;
    const before = await journal.tail(0, 1_000);
    expect(before.filter(({ kind }) => kind !== "entry")).toEqual([]);
    const { stream, event } = FORGERIES["grant.given"] as Forgery;
    forge(directory, stream(), event(), how);
    const after = await journal.tail(0, 1_000);
    expect(
      after.filter(({ kind }) => kind !== "entry").map(({ kind, stream: s }) => `${kind} ${s}`),
      how,
    ).toContain("bad grants");
    expect(after.filter((w) => w.kind === "entry" && w.entry.event.kind === "grant.given").length, how).toBe(0);
    expect(readFileSync(join(directory, "alarms.jsonl"), "utf8"), how).toContain("of stream `grants`");
  }
});

test("J-19 an entry that was taken out of the middle is missed by whoever is told of the ones after it", async () => {
  const { directory, runtime } = await copied();
  const db = databaseIn(directory);
  const last = db
    .prepare("SELECT max(a.id) AS at FROM appends AS a JOIN streams AS s ON s.no = a.stream WHERE s.stream = ?")
    .get(template.waiting);
  db.prepare("DELETE FROM appends WHERE id = ?").run(Number(last?.at));
  db.close();
  await runtime.place.store.journal.tail(0, 1_000);
  expect(readFileSync(join(directory, "alarms.jsonl"), "utf8")).toContain(`position ${last?.at} of the journal`);
});

test("J-19 what an unknown outcome is about is read from the sealed decision: one that was altered meanwhile ends the turn with an alarm", async () => {
  const { directory, runtime } = await copied();
  const { store } = runtime.place;
  const hold = await store.journal.take(template.labelled);
  const entries = await store.journal.read(template.labelled, seq(0), 1_000);
  const started = entries.find(({ event }) => event.kind === "act.started")?.event;
  if (started?.kind !== "act.started") throw new Error("nothing was started");
  const db = databaseIn(directory);
  feign(db);
  db.close();
  const event: JournalEvent = {
    ...{ kind: "act.ended", call: started.call, durationMs: 1, evidence: null },
    outcome: { kind: "unknown", cause: "connection-lost", detail: "" },
  } as never;
  const to = { stream: template.labelled, after: seq(entries.length), hold, consumes: [], unlessHalted: [] };
  await expect(store.journal.append({ ...to, events: [{ at: NODE.clock.now(), event }] } as never)).rejects.toThrow(
    "its hash does not match its payload",
  );
  expect((await store.unknownsOf(template.labelled)).size).toBe(0);
  expect(readFileSync(join(directory, "alarms.jsonl"), "utf8")).toContain(template.labelled);
});

/** Makes the session's decisions say something else. */
function feign(db: DatabaseSync): void {
  for (const at of findEntries(db, template.labelled, "act.started"))
    editEntry(db, template.labelled, at, (entry) => {
      entry.payload = entry.payload.replaceAll("fetch", "feign");
    });
}
const alter = (directory: string, change: (db: DatabaseSync) => unknown): void => {
  const db = databaseIn(directory);
  change(db);
  db.close();
};

type Change = readonly [change: (db: DatabaseSync) => unknown, detail: string];
const second =
  (change: (entry: RawEntry) => void) =>
  (db: DatabaseSync): unknown =>
    editEntry(db, template.labelled, 2, change);
const last =
  (set: string) =>
  (db: DatabaseSync): void => {
    const at = "(SELECT max(a.id) FROM appends AS a JOIN streams AS s ON s.no = a.stream WHERE s.stream = ?)";
    expect(db.prepare(`UPDATE appends SET ${set} WHERE id = ${at}`).run(template.labelled).changes).toBe(1);
  };
const NOT_ITS_HASH = "its append does not match its hash";
const NEEDS_SEAL = "no seal covers it, and such an entry is sealed as it is written";
const CHANGES: Readonly<Record<string, Change>> = {
  "another payload": [feign, "its hash does not match its payload"],
  "another payload, with its hash": [
    (db) => {
      feign(db);
      for (const at of findEntries(db, template.labelled, "act.started"))
        editEntry(db, template.labelled, at, (entry) => {
          entry.payloadHash = payloadHash(entry.salt, entry.payload, sha256);
        });
    },
    NOT_ITS_HASH,
  ],
  "another salt": [
    second((entry) => {
      entry.salt = entry.salt.replace(/^./, (c) => (c === "0" ? "1" : "0"));
    }),
    "its hash does not match its payload",
  ],
  "another time": [
    second((entry) => {
      entry.at = String(Number(entry.at) + 1);
    }),
    NOT_ITS_HASH,
  ],
  "another kind": [
    second((entry) => {
      entry.kind = "note";
    }),
    NOT_ITS_HASH,
  ],
  "an entry taken out of its append": [(db) => removeEntry(db, template.labelled, 2), NOT_ITS_HASH],
  "the entries of an append turned round": [
    (db) => {
      const { id, lines } = findAppend(db, template.labelled, 2);
      expect(lines.length).toBeGreaterThan(1);
      db.prepare("UPDATE appends SET body = ? WHERE id = ?").run(`${lines.toReversed().join("\n")}\n`, id);
    },
    NOT_ITS_HASH,
  ],
  "no line feed at the end": [last("body = rtrim(body, char(10))"), "it is missing"],
  "nothing in it": [last("body = ''"), "it is missing"],
  "an append taken out": [
    (db) => db.prepare("DELETE FROM appends WHERE id = ?").run(findAppend(db, template.labelled, 2).id),
    "it is missing",
  ],
  "an append taken out with its place": [
    (db) => {
      const { id } = findAppend(db, template.labelled, 2);
      db.prepare("DELETE FROM appends WHERE id = ?").run(id);
      db.prepare("DELETE FROM places WHERE id = ?").run(id);
    },
    "it is missing",
  ],
  "another hash": [last(`hash = '${"0".repeat(64)}'`), NOT_ITS_HASH],
  "another first entry": [last("first = first + 1"), "it is missing"],
  "more entries than it has": [last("count = count + 1"), "it is missing"],
  "under another seal of its writer": [last("seal = 1"), "seal 1 of writer `w1` does not name it"],
  "under a seal that is not there": [last("seal = 9999"), NEEDS_SEAL],
  "under a seal that is not there, with another keyed hash": [last("seal = 9999, mac = ''"), "not from this project's own processes"],
  "of another writer": [last("writer = 'w7'"), NEEDS_SEAL],
  "its stream said to go on": [
    (db) => db.prepare("UPDATE streams SET seq = seq + 1 WHERE stream = ?").run(template.labelled),
    "it is missing",
  ],
  "its stream said to end in another entry": [
    (db) => db.prepare(`UPDATE streams SET hash = '${"0".repeat(64)}' WHERE stream = ?`).run(template.labelled),
    "it is not the entry that was written last",
  ],
};

test.each(Object.keys(CHANGES))(
  "J-19 what was altered in the database is an alarm for whoever reads it, and makes the project read-only: %s",
  async (how) => {
    const [change, detail] = CHANGES[how] as Change;
    const { directory, runtime } = await copied();
    const { store } = runtime.place;
    alter(directory, change);
    await expect(store.journal.read(template.labelled, seq(0), 1_000)).rejects.toThrow(detail);
    expect(await store.alarms.standing()).toEqual([expect.objectContaining({ what: expect.stringContaining(template.labelled) })]);
    await expect(runtime.complete("clerk", "hello")).rejects.toThrow("the project is read-only");
    await expect(store.checkWritable()).rejects.toThrow("read-only");
  },
);

test("J-19 whoever is told of an altered entry raises the alarm too", async () => {
  const { directory, runtime } = await copied();
  alter(directory, feign);
  await runtime.place.store.journal.tail(0, 1_000);
  expect((await runtime.place.store.alarms.standing())[0]?.what).toContain(template.labelled);
});

test("J-19 the row of a stream that gives authority cannot be set back to an earlier entry of its own", async () => {
  const { directory, runtime, ana: person } = await copied();
  await runtime.halt("agent:another", "a drill", person, { anyway: true });
  alter(directory, (db) => {
    const { hash } = findAppend(db, HALT, 1);
    db.prepare("UPDATE streams SET seq = 1, hash = ? WHERE stream = ?").run(hash, HALT);
  });
  await expect(runtime.place.store.journal.read(HALT, seq(0), 10)).rejects.toThrow("it is not the entry that was written last");
  expect(await runtime.place.store.alarms.standing()).toMatchObject([{ what: "entry 2 of stream `halt`" }]);
});
