import { createHash, randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import type { SealPorts, StoredEntry } from "../journal/index.ts";
import { digest, keyId, writerId } from "../vocab/index.ts";
import { inboxContract } from "./inbox-contract.ts";
import { journalContract, type MakeStore } from "./journal-contract.ts";
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
      return { ...process, die: async () => process.die() };
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
