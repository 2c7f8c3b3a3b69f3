import { createHash, randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import type { SealPorts, StoredEntry } from "../journal/index.ts";
import { digest, keyId, millis, seq, writerId } from "../vocab/index.ts";
import { inboxContract } from "./inbox-contract.ts";
import { journalContract, type MakeStore, opened as openedEvent, S1 } from "./journal-contract.ts";
import { memoryDisk, openMemory } from "./memory-journal.ts";

const hash = (text: string) => digest(createHash("sha256").update(text).digest("hex"));
const portsOf = (writer: string): SealPorts => ({
  writer: writerId(writer),
  key: keyId("k1"),
  hash,
  sign: (text) => hash(`signed ${text}`),
  salt: randomUUID,
});

const make: MakeStore = async () => {
  const disk = memoryDisk();
  let opened = 0;
  const edit = (stream: Parameters<typeof disk.entries.get>[0], change: (all: readonly StoredEntry[]) => StoredEntry[]): void =>
    void disk.entries.set(stream, change(disk.entries.get(stream) ?? []));
  return {
    async open() {
      opened += 1;
      const process = openMemory(disk, portsOf(`w${opened}`));
      return { ...process, records: async () => process.records, catchUp: async () => {}, die: async () => process.die() };
    },
    async fill() {
      disk.broken.detail = "the disk is full";
    },
    async spoil(stream, at) {
      edit(stream, (all) => all.map((e) => (e.seq === at ? { ...e, payload: `${e.payload} ` } : e)));
    },
    async remove(stream, at) {
      edit(stream, (all) => all.filter((e) => e.seq !== at));
    },
    async spoilBlobs() {
      for (const [address, text] of disk.blobs) disk.blobs.set(address, `!${text.slice(1)}`);
    },
    dispose: async () => undefined,
  };
};

journalContract("memory", make, { test, expect });
inboxContract("memory", make, { test, expect });

test("J-31 what a process left unsealed when it died is sealed by the next one under its name, and marked", async () => {
  const disk = memoryDisk();
  const note = { at: millis(1), event: { kind: "note", from: "test", call: null, name: "n", value: 1 } } as const;
  const [a, ports] = [openMemory(disk, portsOf("w1")), portsOf("w1")];
  const hold = await a.journal.take(S1);
  const append = { stream: S1, hold, consumes: [], unlessHalted: [] };
  await a.journal.append({ ...append, after: seq(0), events: [{ at: millis(1), event: openedEvent("echo") }] });
  await a.journal.append({ ...append, after: seq(1), events: [note, note] });
  a.die();
  expect(disk.seals.get(ports.writer)?.length).toBe(1);
  const b = openMemory(disk, ports);
  const seals = [...b.records.seals(ports.writer)];
  expect(seals.map((s) => s.recovered)).toEqual([false, true]);
  expect(seals.at(-1)?.wrote).toMatch(/^s_contract0001#3:/);
});
