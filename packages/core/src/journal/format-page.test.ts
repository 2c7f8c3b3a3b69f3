// docs/journal-format.md is enough to write a verifier from, so its example is computed again from what the page itself says.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { SESSION } from "./fixtures/samples.ts";
import { proofPorts } from "./fixtures/sealed.ts";
import { EVENT_KINDS, headText, isAlwaysSealed } from "./index.ts";
import { readExport, verify } from "./proof/index.ts";

const page = readFileSync(new URL("../../../../docs/journal-format.md", import.meta.url), "utf8");
const example = page.slice(page.indexOf("## An example"));
const { hash, nameKey, checkSignature } = proofPorts;

const blocks = [...example.matchAll(/```text\n([\s\S]*?)\n```\n([^:\n]+): `([^`]+)`/g)].map(([, text = "", says = "", value = ""]) => ({
  text,
  says,
  value,
}));
const [rootKey = "", writerKey = ""] = [...example.matchAll(/`(ed25519:[^`]+)`/g)].map((m) => m[1]);
const file = /```jsonl\n([\s\S]*?)```/.exec(example)?.[1] ?? "";

test("J-14 every hash and signature of the format page's example is that of the text above it", () => {
  expect(blocks.map((b) => b.says)).toEqual(["Signature", "payloadHash", "entryHash", "hash", "Signature"]);
  for (const { text, says, value } of blocks) {
    if (says !== "Signature") expect(hash(text), says).toBe(value);
    else expect(checkSignature(text.startsWith("orgate-certificate-1") ? rootKey : writerKey, text, value)).toBe(true);
  }
  for (const key of [rootKey, writerKey]) expect(example).toContain(`\`${nameKey(key)}\``);
});

test("J-14 the file of the format page's example verifies with the page's root key and holds the values shown", () => {
  const read = readExport(file, rootKey, proofPorts);
  expect(read).toMatchObject({ torn: false, problems: [], counts: { seals: 1, entries: 3, blobs: 0, erased: 0, unsealed: 0 } });
  for (const { says, value } of blocks) expect(file, says).toContain(value);
  const { head } = verify({ records: read.records, root: rootKey, ports: proofPorts, head: null, progress: () => {}, torn: null });
  expect(example).toContain(`The head of this journal is \`${headText(head)}\``);
});

test("J-31 the kinds that the page says are sealed as they are written are those that the code seals so", () => {
  const sentence = /or when it has an entry of one of these kinds: (.*?), or an `act\.ended`/.exec(page)?.[1] ?? "";
  const named = [...sentence.matchAll(/`([^`]+)`/g)].map((m) => m[1]);
  const inSessions = EVENT_KINDS.filter((kind) => isAlwaysSealed(SESSION, kind));
  expect(named.toSorted()).toEqual([...inSessions].sort());
});
