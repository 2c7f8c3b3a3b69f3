/** A session that is cut back behind its question, with the answer put into the inbox once more, by whoever can write the database and has no key. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineAgent, defineTool, type Intent, type Row, type SessionId, tableGate } from "@orgate/core";
import { FULL_EVERY } from "@orgate/core/journal";
import { afterAll, afterEach, expect, test } from "vitest";
import { ed25519, sha256 } from "../node/crypto.ts";
import { findAppend, findEntries } from "../store/fixtures/tamper.ts";
import { createPerson, openPerson, signIntent } from "../store/keyring.ts";
import type { Runtime } from "./api.ts";
import { databaseIn, dropLastAppend } from "./fixtures/forging.ts";
import { NODE } from "./ports/outside.ts";
import { createRuntime } from "./runtime.ts";

const folders: string[] = [];
const runtimes: Runtime[] = [];
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close();
});
afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const ROWS: readonly Row[] = [
  { id: "pays", action: "tool:pay", verdict: "ask", say: "pay?" },
  { id: "rest", action: "*", verdict: "allow" },
];

async function openOffice(folder: string, paid: unknown[]) {
  const pay = defineTool({
    name: "pay",
    description: "pays",
    effects: ["spend"],
    input: { type: "object", properties: { to: { type: "string" } }, required: ["to"], additionalProperties: false },
    run: (args) => {
      paid.push(args);
      return "paid";
    },
  });
  const agent = defineAgent({
    name: "clerk",
    instructions: "Pay.",
    model: "offline/clerk",
    tools: [pay],
    modelOptions: {
      rules: [
        { when: { says: "pay", notCalled: ["pay"] }, calls: [{ tool: "pay", args: { to: "ben" } }] },
        { when: {}, say: "Done." },
      ],
    },
  });
  const directory = join(folder, ".orgate");
  const gate = tableGate(ROWS, sha256, {});
  const runtime = await createRuntime({
    directory,
    agents: [agent],
    gate,
    principal: { kind: "user", id: "eve" },
    powerCut: "lose-last-moments",
  });
  runtimes.push(runtime);
  const home = join(folder, "home");
  const isNew = !existsSync(join(home, "keys", "ana.key"));
  const ana = isNew ? createPerson(home, "ana", ed25519) : openPerson(home, "ana", ed25519);
  if (isNew) await runtime.place.keyring.certifyPerson("ana", ana.key.publicKey);
  return { directory, runtime, ana };
}

/** One payment that was asked for, answered and made; with the answer as it was signed. */
async function paidOnce() {
  const folder = mkdtempSync(join(tmpdir(), "orgate-rolled-"));
  folders.push(folder);
  const paid: unknown[] = [];
  const office = await openOffice(folder, paid);
  const { session } = await office.runtime.complete("clerk", "pay");
  const [question] = await office.runtime.approvals.list();
  if (question === undefined) throw new Error("nothing waits");
  const wish = { kind: "answer", approval: question.approval, digest: question.digest, answer: { kind: "approve" } } as const;
  const answer = signIntent(office.ana, { id: NODE.ids.intent(), session, at: NODE.clock.now(), wish });
  await office.runtime.putIntent(answer);
  await office.runtime.resume(session).result;
  expect(paid).toHaveLength(1);
  return { ...office, folder, paid, session, answer };
}

/** All that is left ends with an append that a genuine seal names. */
function rollBack(directory: string, session: SessionId, answer: Intent): void {
  const db = databaseIn(directory);
  const [asked] = findEntries(db, session, "approval.asked");
  if (asked === undefined) throw new Error("nothing was asked");
  const { first } = findAppend(db, session, asked);
  const end = db.prepare("SELECT max(a.first) AS first FROM appends AS a JOIN streams AS s ON s.no = a.stream WHERE s.stream = ?");
  while (Number(end.get(session)?.first) > first) dropLastAppend(db, session);
  db.prepare("UPDATE sessions SET state = 'waiting', summary = json_set(summary, '$.state', 'waiting') WHERE session = ?").run(session);
  db.prepare("UPDATE inbox SET taken = 0, intent = ? WHERE id = ?").run(JSON.stringify(answer), answer.id);
  db.close();
}

test("J-22 a session that goes back under a living process is refused with an alarm, and its answer is not used twice", async () => {
  const { runtime, directory, session, answer, paid } = await paidOnce();
  rollBack(directory, session, answer);
  await expect(runtime.resume(session).result).rejects.toThrow(
    /entry \d+ of stream `s_\w+` is bad: it is missing: it was there before, while this process ran/,
  );
  expect(paid).toHaveLength(1);
  expect(readFileSync(join(directory, "alarms.jsonl"), "utf8")).toContain(`of stream \`${session}\``);
  await expect(runtime.complete("clerk", "hello")).rejects.toThrow("read-only");
});

test("J-22 a session that was cut back is missed when the journal is opened, also when its last seal is not among the newest few", async () => {
  const { runtime, directory, session, answer, paid, folder } = await paidOnce();
  for (let i = 0; i < FULL_EVERY; i += 1) await runtime.complete("clerk", "hello");
  const { records: last } = await runtime.place.store.snapshot();
  expect([...last.seals(runtime.place.store.slot.writer)].length).toBeGreaterThan(2 * FULL_EVERY);
  await runtime.close();
  runtimes.splice(0);
  rollBack(directory, session, answer);
  await expect(openOffice(folder, paid)).rejects.toThrow(
    /entry \d+ of stream `s_\w+` is bad: it is missing: seal \d+ of writer `w1` names it/,
  );
  expect(paid).toHaveLength(1);
});
