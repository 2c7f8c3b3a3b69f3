import { expect, test } from "vitest";
import { openMemory } from "../../testing/memory-journal.ts";
import { POLICY, type StreamId, textStream } from "../../vocab/index.ts";
import { OTHER_SESSION, SESSION, TEXT_SAMPLES } from "../fixtures/samples.ts";
import { proofPorts, ROOT, type Sealed, scribe, sealedJournal, sealPorts, W1, W1_NEXT_KEY } from "../fixtures/sealed.ts";
import type { Records } from "../index.ts";
import { exportJournal, exportSession, readExport, type Verification, verify } from "./index.ts";

const [base] = TEXT_SAMPLES;
if (base === undefined) throw new Error("there are samples");
const check = (records: Records): Verification =>
  verify({ records, root: ROOT.publicKey, ports: proofPorts, head: null, progress: () => {}, torn: null });
const read = (lines: Iterable<string>) => readExport(lines, ROOT.publicKey, proofPorts);

/** Goes on writing with the key of the last writer: whatever is wrong afterwards, its seals are good. */
async function writtenOn(j: Sealed, ...writes: readonly Parameters<ReturnType<typeof scribe>>[3][]) {
  const store = openMemory(j.disk, sealPorts(W1, W1_NEXT_KEY));
  for (const event of writes)
    await scribe(1_800_000_000_000)(store, event.kind === "policy.stored" ? textStream(event.digest) : POLICY, null, event);
  await store.journal.close();
}

test("J-27 a set whose text is not stored, or is not what its digest says, is named with its file", async () => {
  const by = { kind: "system", id: "w1" } as const;
  const [one, other] = [proofPorts.hash("one"), proofPorts.hash("other")];
  const j = await sealedJournal();
  expect(check(j.records)).toMatchObject({ firstBad: null, textless: [] });
  await writtenOn(
    j,
    { kind: "policy.loaded", digest: one, files: [{ path: "gone.cedar", digest: one }], texts: true, by },
    { kind: "policy.stored", digest: other, text: "another text" },
    { kind: "policy.loaded", digest: other, files: [{ path: "cli/base.cedar", digest: other }], texts: true, by },
    { kind: "policy.applied", files: one, before: base.digest, changes: [], reason: "", texts: true, by },
  );
  expect(check(j.records).problems.map(({ reason }) => reason)).toEqual([
    "its text is not what its digest says",
    `the text of \`gone.cedar\` (${one.slice(0, 12)}) is missing`,
    `the text of \`cli/base.cedar\` (${other.slice(0, 12)}) is not what its digest says`,
    `the list of files of set \`${one.slice(0, 12)}\` is missing`,
  ]);
});

test("J-27 what is stored of a policy cannot be erased, not even with an erasure on record", async () => {
  const j = await sealedJournal();
  const stream = textStream(base.digest);
  const store = openMemory(j.disk, sealPorts(W1, W1_NEXT_KEY));
  await scribe(1_800_000_000_000)(store, "erasures" as StreamId, null, {
    kind: "content.erased",
    stream,
    first: 1,
    last: 1,
    by: { kind: "user", id: "ana" },
    reason: "please",
  } as never);
  await store.journal.close();
  j.disk.entries.set(
    stream,
    (j.disk.entries.get(stream) ?? []).map((e) => ({ ...e, salt: null, payload: null })),
  );
  expect(check(j.records).problems[0]).toMatchObject({ stream, seq: 1, reason: "entries of this stream cannot be erased" });
});

test("J-27 a set that a session names and whose texts were never stored is listed with the entry that names it", async () => {
  const j = await sealedJournal();
  const older = j.records;
  const without: Records = {
    ...older,
    entries: (stream) => [...older.entries(stream)].filter((e) => e.stream !== POLICY || e.kind !== "policy.loaded"),
  };
  const [set] = [...check(without).textless];
  expect(set).toMatchObject({ stream: SESSION, seq: 1 });
});

test("J-27 a session's export has the texts of the sets it names, and of no others, and proves them offline", async () => {
  const { records } = await sealedJournal();
  for (const session of [SESSION, OTHER_SESSION]) {
    const lines = [...exportSession(records, session, proofPorts)];
    const back = read(lines);
    expect(back).toMatchObject({ firstBad: null, textless: [] });
    expect([...back.records.entries(textStream(base.digest))]).toHaveLength(1);
    expect([...back.records.streams()].filter((s) => s.startsWith("file:"))).toHaveLength(1);
    const end = (text: string) => text.replace(/"entries":(\d+)/, (_, n) => `"entries":${Number(n) - 1}`);
    const isText = (line: string) => line.includes('"event":"policy.stored"');
    const cut = lines.filter((line) => !isText(line)).map((line, i, all) => (i === all.length - 1 ? end(line) : line));
    expect(read(cut).firstBad?.reason).toMatch(/the text of `base.cedar` \(\w{12}\) is missing/);
    const changed = lines.map((line) => (isText(line) ? line.replace("permit (", "forbid (") : line));
    expect(read(changed).firstBad?.reason).toMatch("its hash does not match its payload");
    const silent = lines
      .filter((line) => !isText(line) && !line.includes('"event":"policy.loaded'))
      .map((line, i, all) => (i === all.length - 1 ? end(end(line)) : line));
    expect(read(silent).textless).toMatchObject([{ stream: session }]);
  }
  expect(read(exportJournal(records, proofPorts))).toMatchObject({ firstBad: null, textless: [] });
});
