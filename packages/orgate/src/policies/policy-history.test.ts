/** Texts of policies in a journal of a program's own: stored once, found again, still there after an erasure. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Agent, defineAgent, defineTool, type JournalEvent, listDecisions, type Millis, POLICY, seq, textStream } from "@orgate/core";
import { verify } from "@orgate/core/proof";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Runtime } from "../runtime/api.ts";
import { eraseEntries } from "../runtime/people/erase.ts";
import { createRuntime } from "../runtime/runtime.ts";
import { PROOF_PORTS, rootPublicKey } from "../store/open-read-only.ts";
import { cedarPolicies, type Policies } from "./policies.ts";
import { findSet, findSetAt, findSetDigestAt, findSetOfEntry, policyHistory, readRulesThen, readSet } from "./policy-history.ts";
import { recordPolicies } from "./policy-record.ts";

let root: string;
let runtime: Runtime | null = null;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "orgate-texts-"));
});
afterEach(async () => {
  await runtime?.close();
  runtime = null;
  rmSync(root, { recursive: true, force: true });
});

const write = (path: string, text: string): void => {
  mkdirSync(dirname(join(root, "policies", path)), { recursive: true });
  writeFileSync(join(root, "policies", path), text);
};
/** Says nothing that is not said already. */
const MORE = 'permit(principal, action == Action::"respond", resource);\n';
const THINK = '@id("think")\npermit(principal, action in [Action::"model", Action::"respond", Action::"read"], resource);\n';
/** Long enough to be a blob: texts above 16,384 characters do not stand in their entries. */
const LONG = `// ${"a long remark ".repeat(2_000)}\n${THINK}`;
const clerk = (): Agent => defineAgent({ name: "clerk", instructions: "Answer.", model: "offline/echo" });
const policiesFor = (agents: readonly Agent[]): Policies => cedarPolicies({ directory: join(root, "policies"), agents });
async function start(policies: Policies, agents: readonly Agent[] = [clerk()]): Promise<Runtime> {
  await runtime?.close();
  runtime = await createRuntime({
    directory: join(root, ".orgate"),
    agents,
    gate: policies,
    principal: { kind: "user", id: "ana" },
    powerCut: "lose-last-moments",
  });
  return runtime;
}
const journalOf = (of: Runtime) => of.place.store.journal;
const verified = async (of: Runtime) =>
  verify({
    records: (await of.place.store.snapshot()).records,
    root: rootPublicKey(join(root, ".orgate", "keys")),
    ports: PROOF_PORTS,
    head: null,
    progress: () => {},
    torn: null,
  });
const kinds = async (of: Runtime): Promise<readonly string[]> =>
  (await journalOf(of).read(POLICY, seq(0), 100)).map(({ event }: { event: JournalEvent }) => event.kind);

test("J-27 the same set loaded again stores nothing, and a set that changes one file stores one text", async () => {
  for (let i = 0; i < 100; i += 1) write(`${i}.cedar`, i === 0 ? THINK : `${MORE}// file ${i}\n`);
  const of = await start(policiesFor([clerk()]));
  const journal = journalOf(of);
  const texts = async (): Promise<number> => (await journal.streams("file:")).length;
  expect(await texts()).toBe(100);
  const where = { journal, now: () => Date.now() as Millis };
  const before = await journal.position();
  const again = policiesFor([clerk()]);
  for (let i = 0; i < 200; i += 1) await recordPolicies(where, again);
  expect(await journal.position()).toBe(before);
  write("7.cedar", `${MORE}// file 7, changed\n`);
  await recordPolicies(where, policiesFor([clerk()]));
  expect([await texts(), await kinds(of)]).toEqual([101, ["policy.loaded", "policy.loaded"]]);
  write("7.cedar", `${MORE}// file 7\n`); // as it was: the set is loaded again, its texts are all there
  await recordPolicies(where, policiesFor([clerk()]));
  expect([await texts(), await kinds(of)]).toEqual([101, ["policy.loaded", "policy.loaded", "policy.loaded"]]);
  expect(await verified(of)).toMatchObject({ firstBad: null, textless: [] });
});

test("J-27 the texts of a journal from before are stored with the next start, although its set is the same", async () => {
  write("base.cedar", THINK);
  const policies = policiesFor([clerk()]);
  const { digest, files } = policies.current();
  const of = await start(policies);
  const journal = journalOf(of);
  const last = (await journal.streams("policy"))[0]?.seq ?? seq(0);
  const event = { kind: "policy.loaded", digest, files, texts: false, by: { kind: "system", id: "w" } } as const; // as it is read from an older journal
  await journal.append({
    stream: POLICY,
    after: last,
    hold: null,
    events: [{ at: Date.now() as Millis, event }],
    consumes: [],
    unlessHalted: [],
  });
  await recordPolicies({ journal, now: () => Date.now() as Millis }, policies);
  expect((await journal.read(POLICY, seq(0), 10)).map(({ event: e }) => e.kind === "policy.loaded" && e.texts)).toEqual([
    true,
    false,
    true,
  ]);
});

test("J-27 a decision made after a reload names the set it was made under, within the same turn", async () => {
  write("base.cedar", `${THINK}@id("old") forbid(principal, action == Action::"halt", resource);\n`);
  const policies: { now: Policies | null } = { now: null };
  const edit = defineTool({
    name: "edit",
    description: "Edits the policies.",
    input: { type: "object", properties: {}, additionalProperties: false },
    effects: ["read"],
    repeat: "read",
    async run() {
      write("base.cedar", THINK.replace("think", "think-again"));
      return (await policies.now?.reload())?.kind ?? "";
    },
  });
  const rules = [
    { when: { notCalled: ["edit"] }, calls: [{ tool: "edit", args: {} }] },
    { when: { called: ["edit"] }, say: "edited" },
  ];
  const agent = defineAgent({ name: "clerk", instructions: "Answer.", model: "offline/clerk", tools: [edit], modelOptions: { rules } });
  policies.now = policiesFor([agent]);
  const first = policies.now.digest;
  const of = await start(policies.now, [agent]);
  const { session, ending } = await of.complete("clerk", "hello");
  expect(ending).toBe("completed");
  const entries = await journalOf(of).read(session, seq(0), 500);
  const decided = listDecisions(entries).map(({ seq: at, event: e }) => ({ at, because: e.verdict.because }));
  const sets = await Promise.all(
    decided.map(async ({ at, because }) => [(await findSetDigestAt(journalOf(of), session, at))?.digest, because[0]] as const),
  );
  expect(new Set(sets.map(([set]) => set))).toEqual(new Set([first, policies.now.digest]));
  for (const [set, because] of sets) expect(because).toBe(set === first ? "base/think" : "base/think-again");
  const under = await readRulesThen(journalOf(of), session, "model:1");
  expect(under).toMatchObject({ set: first, rules: [{ policy: "base/think", path: "base.cedar", line: 1, text: THINK.trim() }] });
  expect(await verified(of)).toMatchObject({ firstBad: null, textless: [] });
});

test("G-21 a set is found by its digest and by a time, with the texts it had then, whatever the files say now", async () => {
  write("base.cedar", LONG);
  const of = await start(policiesFor([clerk()]));
  const old = (await journalOf(of).read(POLICY, seq(0), 1))[0];
  write("base.cedar", THINK);
  write("cli/more.cedar", MORE);
  const now = await start(policiesFor([clerk()]));
  const journal = journalOf(now);
  const { rows } = await policyHistory(journal, { before: null, limit: 10 });
  expect(rows).toMatchObject([
    {
      kind: "loaded",
      counts: { policies: 2, tables: 0, agents: 0 },
      stored: true,
      changes: [
        { path: "base.cedar", change: "changed" },
        { path: "cli/more.cedar", change: "added" },
      ],
    },
    { kind: "loaded", counts: { policies: 1, tables: 0, agents: 0 }, stored: true, changes: [{ path: "base.cedar", change: "added" }] },
  ]);
  expect(await policyHistory(journal, { before: 2, limit: 1 })).toMatchObject({ rows: [{ seq: 1 }], next: null });
  expect(await policyHistory(journal, { before: null, limit: 1 })).toMatchObject({ rows: [{ seq: 2 }], next: 2 });
  const first = await findSet(journal, rows[1]?.digest?.slice(0, 8) ?? "");
  expect(await readSet(journal, first)).toMatchObject([{ path: "base.cedar", text: LONG }]);
  expect(await readSet(journal, await findSetAt(journal, old?.at as Millis))).toMatchObject([{ text: LONG }]);
  expect(await readSet(journal, await findSet(journal, rows[0]?.files ?? ""))).toMatchObject([{ text: THINK }, { text: MORE }]);
  await expect(findSet(journal, "0000000000")).rejects.toThrow("no set of policies has the digest");
  await expect(findSet(journal, "zz")).rejects.toThrow("is no digest");
});

test("G-21 sets that differ in comments alone: each is found by its files, and a decision's rule is shown in the text of then", async () => {
  write("base.cedar", THINK);
  const of = await start(policiesFor([clerk()]));
  const { session } = await of.complete("clerk", "hello");
  write("base.cedar", `// of later\n${THINK}`);
  const journal = journalOf(await start(policiesFor([clerk()])));
  const { rows } = await policyHistory(journal, { before: null, limit: 10 });
  expect(rows).toMatchObject([{ digest: rows[1]?.digest }, { kind: "loaded" }]);
  const texts = async (wanted: string) => (await readSet(journal, await findSet(journal, wanted))).map(({ text }) => text);
  expect(await texts(rows[1]?.files ?? "")).toEqual([THINK]);
  expect(await texts(rows[0]?.files ?? "")).toEqual([`// of later\n${THINK}`]);
  expect(await readRulesThen(journal, session, "model:1")).toMatchObject({ rules: [{ policy: "base/think", line: 1 }] });
  expect(await findSetOfEntry(journal, session, seq(3))).toEqual({ digest: rows[1]?.digest, files: rows[1]?.files });
});

test("J-27 the text of a policy stays when a session that read the same text is erased", async () => {
  write("base.cedar", LONG);
  const of = await start(policiesFor([clerk()]));
  const { session } = await of.complete("clerk", LONG); // the same blob, referred to twice
  const last = (await journalOf(of).session(session))?.seq ?? seq(1);
  await eraseEntries(of.place, { session, first: seq(1), last, by: { kind: "user", id: "ana" }, reason: "asked for" });
  const { rows } = await policyHistory(journalOf(of), { before: null, limit: 1 });
  const set = await findSet(journalOf(of), rows[0]?.digest ?? "");
  expect(await readSet(journalOf(of), set)).toMatchObject([{ text: LONG }]);
  expect((await verified(of)).firstBad).toBeNull();
  expect((await journalOf(of).read(textStream(set.list[0]?.digest as never), seq(0), 2)).length).toBe(1);
});
