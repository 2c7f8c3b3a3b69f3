import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseMarks, sealHash } from "@orgate/core/journal";
import { isFault, type SessionId, seq, sessionId, streamId, type WriterId, writerId } from "@orgate/core/vocab";
import { afterEach, expect, test } from "vitest";
import { sha256 } from "../node/crypto.ts";
import { noteOf, openTestStore, stamped } from "./fixtures/store.ts";
import { openReadStore, type SqliteReadStore, type SqliteStore } from "./journal.ts";
import { isSlotHeld, takeSlot } from "./process-lock.ts";

const folders: string[] = [];
const children: ChildProcess[] = [];
const stores: (SqliteStore | SqliteReadStore)[] = [];
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "orgate-processes-"));
  folders.push(made);
  return made;
}
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  for (const store of stores.splice(0)) await store.close();
  for (const made of folders.splice(0)) rmSync(made, { recursive: true, force: true });
});

function start(fixture: string, ...args: string[]): ChildProcess & { said: Promise<string> } {
  const child = spawn(process.execPath, ["--expose-gc", join(import.meta.dirname, "fixtures", fixture), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  let text = "";
  const said = new Promise<string>((done, failed) => {
    child.stdout.setEncoding("utf8").on("data", (part: string) => {
      text += part;
      if (text.endsWith("\n")) done(text);
    });
    child.on("exit", (code) => (code === 0 ? done(text) : failed(new Error(`${fixture} ended with ${code}: ${text}`))));
  });
  said.catch(() => undefined); // a child that a test kills has nothing more to say
  return Object.assign(child, { said });
}

const S = sessionId("s_processes1");

async function held(store: SqliteStore, session: SessionId): Promise<string | null> {
  try {
    await store.journal.release(await store.journal.take(session));
    return null;
  } catch (error) {
    if (isFault(error, "session-held") && error.fault.kind === "session-held") return error.fault.by;
    throw error;
  }
}

/** Until the kernel says so: `kill` only asks. */
async function untilStopped(pid: number): Promise<void> {
  while (!/^\d+ \(.*\) T/.test(readFileSync(`/proc/${pid}/stat`, "utf8"))) await new Promise((turn) => setImmediate(turn));
}

for (const thread of ["main", "worker"] as const)
  test.skipIf(process.platform !== "linux")(`J-4 kill -9 of a holder frees its session at once, SIGSTOP does not (${thread})`, async () => {
    const directory = folder();
    const store = openTestStore(directory);
    stores.push(store);
    const holder = start("holder.ts", directory, S, thread);
    const { writer, epoch, pid } = JSON.parse(await holder.said) as { writer: WriterId; epoch: number; pid: number };
    expect([writer, epoch]).toEqual(["w2", 1]);
    expect(await held(store, S)).toBe(`writer \`w2\` (process ${pid})`); // although it has tidied up its memory
    process.kill(pid, "SIGSTOP");
    await untilStopped(pid);
    expect(await held(store, S)).toBe(`writer \`w2\` (process ${pid})`);
    process.kill(pid, "SIGKILL");
    await once(holder, "exit");
    expect((await store.journal.take(S)).epoch).toBe(2);
  });

test("J-4 the next process in the slot of a killed one does not keep its sessions held", async () => {
  const directory = folder();
  const store = openTestStore(directory);
  stores.push(store);
  const first = start("holder.ts", directory, S);
  const { writer } = JSON.parse(await first.said) as { writer: WriterId };
  first.kill("SIGKILL");
  await once(first, "exit");
  const next = start("holder.ts", directory, "s_processes2");
  expect(JSON.parse(await next.said)).toMatchObject({ writer });
  expect(isSlotHeld(join(directory, "writers"), writer)).toBe(true);
  expect(await held(store, S)).toBe(null);
});

test("J-7 looking at a slot, from its own process too, does not free it", () => {
  const directory = folder();
  const [one, two] = [takeSlot(directory), takeSlot(directory)];
  expect([one.writer, two.writer]).toEqual(["w1", "w2"]);
  for (let looks = 0; looks < 3; looks += 1) expect(isSlotHeld(directory, one.writer)).toBe(true);
  const third = takeSlot(directory);
  expect(third.writer).toBe("w3");
  one.free();
  expect([one, two, third].map((s) => isSlotHeld(directory, s.writer))).toEqual([false, true, true]);
  expect(isSlotHeld(directory, writerId("w9"))).toBe(false);
  const again = takeSlot(directory);
  expect(again.writer).toBe("w1");
  for (const slot of [again, two, third]) slot.free();
});

test("J-4 four processes append 1,000 times each to one file: no gap, no fork, no error, and readers see whole prefixes", async () => {
  const directory = folder();
  const first = openTestStore(directory);
  stores.push(first);
  const shared = streamId("shared");
  await first.journal.append({
    stream: shared,
    after: seq(0),
    hold: null,
    events: stamped(noteOf("start")),
    consumes: [],
    unlessHalted: [],
  });
  const names = ["1", "2", "3", "4"];
  const appenders = names.map((name) => start("appender.ts", directory, name, "1000", name === "4" ? "worker" : "main"));
  const reader = openReadStore({ directory });
  stores.push(reader);

  let running = appenders.length;
  for (const a of appenders) a.once("exit", () => (running -= 1));
  let longest = 0;
  while (running > 0) {
    const entries = await reader.journal.read(shared, seq(0), 100_000); // rejects on a gap, a fork or a torn end
    expect(entries.length).toBeGreaterThanOrEqual(longest);
    longest = entries.length;
    await new Promise((turn) => setImmediate(turn));
  }
  const ends = (await Promise.all(appenders.map((a) => a.said))).map((said) => JSON.parse(said) as { writer: WriterId });
  expect(new Set(ends.map((e) => e.writer)).size).toBe(4);

  const together = await reader.journal.read(shared, seq(0), 100_000);
  expect(together.map((e) => e.seq)).toEqual(Array.from({ length: 401 }, (_, i) => i + 1));
  const values = together.map((e) => (e.event.kind === "note" ? e.event.value : null));
  for (const name of names) {
    const ofOne = values.filter((v) => typeof v === "string" && v.startsWith(`${name}:`));
    expect(ofOne).toEqual(Array.from({ length: 100 }, (_, i) => `${name}:${(i + 1) * 10}`));
    expect((await reader.journal.read(sessionId(`s_appender${name}0`), seq(0), 100_000)).length).toBe(900);
  }
  const covered = new Map<string, number>();
  for (const writer of reader.records.writers()) {
    let previous = { number: 0, hash: "0".repeat(64) };
    for (const seal of reader.records.seals(writer)) {
      expect([seal.number, seal.previous]).toEqual([previous.number + 1, previous.hash]);
      expect(sealHash(seal, sha256)).toBe(seal.hash);
      previous = seal;
      for (const { stream, seq: at } of parseMarks(seal.wrote) ?? []) covered.set(stream, Math.max(covered.get(stream) ?? 0, at));
    }
  }
  expect([...covered.values()].reduce((sum, n) => sum + n, 0)).toBe(4_001); // all of it is sealed: nobody leaves before
}, 120_000);
