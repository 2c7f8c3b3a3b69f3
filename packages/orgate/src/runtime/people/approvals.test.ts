import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callId, defineAgent, defineTool, digest, isFault, type Row, type SessionId, tableGate } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import { ed25519, sha256 } from "../../node/crypto.ts";
import { createPerson, type Person, signIntent } from "../../store/keyring.ts";
import type { Runtime } from "../api.ts";
import type { Notice } from "../notices.ts";
import { NODE } from "../ports/outside.ts";
import { createRuntime } from "../runtime.ts";
import { spanText, widestText } from "./approvals.ts";

const folders: string[] = [];
const runtimes: Runtime[] = [];
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

type Office = Readonly<{ runtime: Runtime; paid: unknown[]; notices: Notice[]; person(name: string): Promise<Person> }>;

const ROWS: readonly Row[] = [
  { id: "pays", action: "tool:pay", verdict: "ask", say: "pay?", terms: { grant: "session", grantSurvives: ["untrusted"] } }, // what it brings is untrusted
  { id: "rest", action: "*", verdict: "allow" },
];
const CANARY = "CANARY-7f3a";

async function office(rows = ROWS, groups: Readonly<Record<string, readonly string[]>> = {}): Promise<Office> {
  const folder = mkdtempSync(join(tmpdir(), "orgate-office-"));
  folders.push(folder);
  const paid: unknown[] = [];
  const notices: Notice[] = [];
  const pay = defineTool({
    name: "pay",
    description: "pays",
    effects: ["spend"],
    input: {
      type: "object",
      properties: { to: { type: "string" }, token: { type: "string" } },
      required: ["to"],
      additionalProperties: false,
    },
    resource: ({ to }) => ({ type: "Account", id: String(to) }),
    run: (args, { signal }) => {
      signal.throwIfAborted();
      paid.push(args);
      return "paid";
    },
  });
  const lose = defineTool({
    name: "lose",
    description: "is cancelled",
    input: { type: "object", properties: {}, additionalProperties: false },
    timeoutMs: 20,
    run: (_, { signal }) => new Promise<never>((_done, failed) => signal.addEventListener("abort", () => failed(signal.reason))),
  });
  const args = (to: string) => ({ tool: "pay", args: { to, token: CANARY } });
  const agent = defineAgent({
    name: "clerk",
    instructions: "Pay.",
    model: "offline/clerk",
    tools: [pay, lose],
    modelOptions: {
      rules: [
        { when: { says: "both", notCalled: ["pay"] }, calls: [args("ana"), args("ben")] },
        { when: { says: "pay", notCalled: ["pay"] }, calls: [args("ben")] },
        { when: { says: "lose", notCalled: ["lose"] }, calls: [{ tool: "lose" }] },
        { when: {}, say: "Done." },
      ],
    },
  });
  const runtime = await createRuntime({
    directory: join(folder, ".orgate"),
    agents: [agent],
    gate: tableGate(rows, sha256, groups),
    principal: { kind: "user", id: "eve" },
    powerCut: "lose-last-moments",
    project: "till",
    notify: { tell: (notice) => void notices.push(notice), close: async () => {} },
  });
  runtimes.push(runtime);
  const person = async (name: string): Promise<Person> => {
    const made = createPerson(join(folder, "home"), name, ed25519);
    await runtime.place.keyring.certifyPerson(name, made.key.publicKey);
    return made;
  };
  return { runtime, paid, notices, person };
}

/** the list is what the fold of every session says. */
async function expectListed({ runtime }: Office, ...sessions: readonly SessionId[]): Promise<void> {
  const folded: unknown[] = [];
  for (const session of sessions) {
    const { turn } = await runtime.inspect.state(session);
    for (const q of turn?.questions.values() ?? [])
      if (q.answer === null) folded.push([session, q.approval, q.digest, q.expiresAt, q.votes]);
  }
  const listed = (await runtime.approvals.list()).map((q) => [q.session, q.approval, q.digest, q.expiresAt, q.votes]);
  expect(listed).toEqual(folded);
}

test("Q-25 Q-11 in process: asked, listed, shown, answered with a grant; the second call runs by the grant, and is asked again once it is revoked", async () => {
  const o = await office();
  const { approvals } = o.runtime;
  const ana = await o.person("ana");
  const { session, state } = await o.runtime.complete("clerk", "pay");
  expect(state).toBe("waiting");
  const [listed] = await approvals.list();
  if (listed === undefined) throw new Error("nothing waits");
  expect(listed).toMatchObject({ session, tool: "pay", resource: { type: "Account", id: "ben" }, agent: "clerk" });
  const covers =
    "every later call of pay on Account ben, whatever its other arguments, in this session, while no new label other than untrusted joins the session";
  expect(await approvals.show(listed.approval)).toMatchObject({
    args: { to: "ben", token: CANARY },
    widest: { lifetime: "session" },
    grants: [{ scope: "digest" }, { scope: "resource", says: covers }],
  });
  expect(await approvals.show("a_none")).toBe(null);
  const { approval, digest: of } = listed;
  const wrong = approvals.answer({ approval, digest: digest("0".repeat(64)), answer: { kind: "approve" } }, ana);
  await expect(wrong).rejects.toThrow("bound to another action");
  const said = await approvals.answer(
    { approval, digest: of, answer: { kind: "grant", grant: { scope: "resource", until: "session" } } },
    ana,
  );
  expect(said).toMatchObject({ entry: { event: { kind: "approval.answered" } }, result: { ending: "completed", calls: 1 } });
  expect(o.paid).toHaveLength(1);
  const [grant] = await approvals.grants();
  expect(grant).toMatchObject({ tool: "pay", by: { id: "ana" }, says: covers });
  expect((await o.runtime.complete("clerk", "pay", { session })).calls).toBe(1);
  expect(o.paid).toHaveLength(2);
  if (grant !== undefined) await approvals.revoke(grant.grant, "over", ana);
  expect(await approvals.grants()).toEqual([]);
  expect((await o.runtime.complete("clerk", "pay", { session })).state).toBe("waiting");
  await expectListed(o, session);
});

test("Q-25 several questions of one reply, half answered, edited, denied, and a turn that is cancelled: the list is what the sessions wait for", async () => {
  const o = await office([{ ...(ROWS[0] as Row), terms: { quorum: 2 } }, ...ROWS.slice(1)]);
  const [ana, ben] = [await o.person("ana"), await o.person("ben")];
  const { session } = await o.runtime.complete("clerk", "both");
  const other = (await o.runtime.complete("clerk", "pay")).session;
  await expectListed(o, session, other);
  const [first, second] = await o.runtime.approvals.list();
  if (first === undefined || second === undefined) throw new Error("two should wait");
  const say = (q: typeof first, answer: Parameters<Runtime["approvals"]["answer"]>[0]["answer"], as: Person) =>
    o.runtime.approvals.answer({ approval: q.approval, digest: q.digest, answer }, as);
  await say(first, { kind: "approve" }, ana);
  await expectListed(o, session, other);
  await say(first, { kind: "edit", args: { to: "cleo" } }, ben);
  await expectListed(o, session, other);
  const [edited] = await o.runtime.approvals.list();
  expect(await o.runtime.approvals.show(first.approval)).toMatchObject({
    args: { to: "cleo" },
    editedBy: "user:ben",
    votes: [{ by: "user:ben" }],
  });
  await say(second, { kind: "deny", reason: "no" }, ana);
  await expectListed(o, session, other);
  if (edited !== undefined) await say(edited, { kind: "approve" }, ana);
  await expectListed(o, session, other);
  expect(o.paid).toEqual([{ to: "cleo" }]);
  const cancel = signIntent(ana, {
    id: NODE.ids.intent(),
    session: other,
    at: NODE.clock.now(),
    wish: { kind: "cancel", reason: "enough" },
  });
  await o.runtime.putIntent(cancel);
  await o.runtime.resume(other).result;
  expect(await o.runtime.approvals.list()).toEqual([]);
});

test("Q-25 an answer that waits for leave is overtaken when somebody speaks, and so is its question", async () => {
  const o = await office([{ id: "leave", action: "respond", verdict: "ask", say: "say it?" }, ...ROWS.slice(1)]);
  const ana = await o.person("ana");
  const { session } = await o.runtime.complete("clerk", "hello");
  await expectListed(o, session);
  const [before] = await o.runtime.approvals.list();
  expect(await o.runtime.approvals.show(before?.approval ?? "")).toMatchObject({
    tool: "respond",
    text: "Done.",
    args: null,
    widest: null,
  });
  expect(o.notices).toMatchObject([{ tool: "respond", resource: null, arguments: [] }]);
  await o.runtime.putIntent(
    signIntent(ana, { id: NODE.ids.intent(), session, at: NODE.clock.now(), wish: { kind: "steer", text: "wait" } }),
  );
  await o.runtime.resume(session).result;
  await expectListed(o, session);
  const [after] = await o.runtime.approvals.list();
  expect(after?.approval).not.toBe(before?.approval);
});

test("Q-26 a notice is told once the question is durable: what is touched and the names of the arguments, nothing that they hold", async () => {
  const o = await office();
  const { session } = await o.runtime.complete("clerk", "both");
  expect(o.notices.map((n) => [n.session, n.tool, n.resource?.id, n.arguments, n.project])).toEqual([
    [session, "pay", "ana", ["to", "token"], "till"],
    [session, "pay", "ben", ["to", "token"], "till"],
  ]);
  const listed = await o.runtime.approvals.list();
  expect(o.notices.map((n) => [n.approval, n.digest])).toEqual(listed.map((q) => [q.approval, q.digest]));
  expect(o.notices[0]?.questions).toEqual([{ policy: "pays", question: "pay?", approvers: [], quorum: 1 }]);
  expect(JSON.stringify(o.notices)).not.toContain(CANARY);
});

test("Q-26 a notifier that throws is nobody's affair but its own", async () => {
  const o = await office();
  o.notices.push = () => {
    throw new Error("the network is down");
  };
  expect((await o.runtime.complete("clerk", "pay")).state).toBe("waiting");
});

test("Q-15 a halt in a program names an agent or a tool that is there, or says that it is meant all the same", async () => {
  const o = await office();
  const ana = await o.person("ana");
  await expect(o.runtime.halt("agent:clrek", "stop", ana)).rejects.toThrow("nothing was halted: this project has no agent `clrek`");
  await expect(o.runtime.halt("tool:none", "stop", ana)).rejects.toThrow("this project has no tool `none`");
  expect(await o.runtime.halts()).toEqual([]);
  await o.runtime.halt("tool:none", "stop", ana, { anyway: true });
  expect(await o.runtime.halts()).toMatchObject([{ scope: "tool:none" }]);
  await expect(o.runtime.resumeWork("tool:nne", "over", ana)).rejects.toThrow("nothing was lifted: tool nne is not halted");
  await o.runtime.resumeWork("tool:none", "over", ana);
  await expect(o.runtime.resumeWork("all", "over", ana)).rejects.toThrow("nothing was lifted: all work is not halted");
});

test("Q-16 halting, letting go on and resolving are for certified people whom the policies let; a stranger's key counts for nothing", async () => {
  const o = await office();
  const ana = await o.person("ana");
  const forged: Person = { name: "ana", key: { ...ana.key, sign: () => "AAAA" } };
  const renamed: Person = { ...ana, name: "ben" };
  for (const who of [forged, renamed])
    await expect(o.runtime.halt("all", "x", who)).rejects.toThrow(/may not halt all: .*(not theirs|not certified)/);
  expect(await o.runtime.halts()).toEqual([]);
  await expect(o.runtime.halt("everything", "x", ana)).rejects.toThrow("is nothing that can be halted");
  await o.runtime.halt("agent:clerk", "stop", ana);
  expect(await o.runtime.halts()).toMatchObject([{ scope: "agent:clerk", reason: "stop", by: { id: "ana" } }]);
  expect((await o.runtime.complete("clerk", "hello")).ending).toBe("halted");
  await o.runtime.resumeWork("agent:clerk", "mended", ana);
  const { session, unknowns } = await o.runtime.complete("clerk", "lose");
  expect(unknowns).toMatchObject([{ tool: "lose" }]);
  const call = unknowns[0]?.call ?? callId("");
  const said = await o.runtime.resolve({ session, call, as: "did-not-happen", note: "looked" }, ana);
  expect(said.entry?.event).toMatchObject({ kind: "unknown.resolved", as: "did-not-happen", note: "looked" });
  await expect(o.runtime.resolve({ session, call, as: "happened" }, ana)).rejects.toThrow("no outcome of a call");

  const closed = await office([{ id: "people", action: "halt", verdict: "deny", say: "not by hand" }, ...ROWS.slice(1)]);
  await expect(closed.runtime.halt("all", "x", await closed.person("ana"))).rejects.toThrow("`ana` may not halt all: not by hand");
  const unknownQuestion = closed.runtime.approvals.answer(
    { approval: "a_none" as never, digest: digest("0".repeat(64)), answer: { kind: "approve" } },
    ana,
  );
  expect(await unknownQuestion.catch((error: unknown) => isFault(error, "usage"))).toBe(true);
});

test("G-4 Q-23 what one session has left unknown makes a look-alike of another ask; once it is resolved there, the next one goes, and the open request says so", async () => {
  const o = await office();
  const ana = await o.person("ana");
  const a = await o.runtime.complete("clerk", "lose");
  const call = a.unknowns[0]?.call ?? callId("");
  const b = await o.runtime.complete("clerk", "lose");
  expect([b.state, b.events.filter((e) => e.event.kind === "act.started")]).toEqual(["waiting", []]);
  const [question] = await o.runtime.approvals.list();
  expect(question).toMatchObject({
    session: b.session,
    tool: "lose",
    asks: [{ policy: `orgate:unknown-open/${a.session}/${call}`, question: expect.stringContaining(`(${a.session}/${call})`) }],
  });
  expect((await o.runtime.complete("clerk", "pay")).events.map((e) => e.event)).not.toContainEqual(
    expect.objectContaining({ asks: [expect.objectContaining({ policy: expect.stringContaining("unknown-open") })] }),
  );
  const shown = async () => (await o.runtime.approvals.show(question?.approval ?? ("" as never)))?.resolved;
  expect(await shown()).toEqual([]);
  await o.runtime.resolve({ session: a.session, call, as: "did-not-happen" }, ana);
  expect(await shown()).toEqual([
    expect.stringMatching(new RegExp(`^call ${call} of ${a.session} was resolved since: it did not happen \\(user:ana, \\d{4}-.*Z\\)$`)),
  ]);
  const c = await o.runtime.complete("clerk", "lose");
  expect(c.events.filter((e) => e.event.kind === "act.started")).toHaveLength(1);
});

test("Q-11 what may be remembered, in words", () => {
  expect([spanText(28_800_000), spanText(90_000), spanText(86_400_000), spanText(1_000)]).toEqual(["8h", "90s", "1d", "1s"]);
  expect(widestText(null)).toContain("this once");
  expect(widestText({ scope: "tool", lifetime: { ms: 28_800_000 } })).toBe("this tool, whatever it touches (tool), for 8h at most");
});
