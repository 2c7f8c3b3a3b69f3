/** Delegates with the real store: several runtimes on one journal, notices, closing, and what the command line shows. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Agent,
  approvalId,
  defineAgent,
  defineTool,
  intentId,
  type Live,
  type Model,
  millis,
  type ReplyPart,
  tableGate,
} from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import * as z from "zod";
import { ed25519, sha256 } from "../node/crypto.ts";
import { createPerson, signIntent } from "../store/keyring.ts";
import type { RuntimeOptions } from "./api.ts";
import type { Notice } from "./notices.ts";
import { createRuntime } from "./runtime.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "orgate-delegates-"));
  folders.push(made);
  return made;
}

const look = defineTool({
  name: "look",
  description: "looks",
  input: z.strictObject({}),
  repeat: "read",
  labels: ["pii"],
  run: () => "seen",
});
const agent = (name: string, more: Partial<Parameters<typeof defineAgent>[0]> = {}): Agent =>
  defineAgent({ name, instructions: "do it", model: `test/${name}`, ...more });
const AGENTS = [agent("desk", { delegates: ["reader"] }), agent("reader", { tools: [look] })];

const call = (tool: string, args: object): ReplyPart => ({ kind: "call", id: tool, tool, text: JSON.stringify(args), meta: null });
/** The desk delegates, the reader looks, and both say so. */
const plain = ({ name }: Agent): Model => ({
  id: `test/${name}`,
  ask: async ({ messages }) => {
    const first = messages.at(-1)?.role === "user";
    const wants = name === "desk" ? call("delegate", { agent: "reader", task: "look" }) : call("look", {});
    const part: ReplyPart = first ? wants : { kind: "text", text: `${name} is done`, meta: null };
    return { parts: [part], finish: first ? "calls" : "stop", usage: { input: 10, output: 5 }, model: name, meta: null };
  },
});
const gate = tableGate(
  [
    { id: "ask", action: "tool:look", verdict: "ask", say: "may it look?" },
    { id: "all", action: "*", verdict: "allow" },
  ],
  sha256,
);
const open = (root: string, more: Partial<RuntimeOptions> = {}) =>
  createRuntime({ directory: join(root, ".orgate"), agents: AGENTS, gate, principal: { kind: "user", id: "ada" }, model: plain, ...more });

test.each(["main", "worker"] as const)(
  "D-5 another runtime answers a delegate's question, drives it on and then its parent (%s)",
  async (thread) => {
    const root = folder();
    const told: Notice[] = [];
    const first = await open(root, { thread, notify: { tell: (n) => void told.push(n), close: async () => {} } });
    const ben = createPerson(join(root, "home"), "ben", ed25519);
    await first.place.keyring.certifyPerson(ben.name, ben.key.publicKey);
    const parked = await first.complete("desk", "go");
    expect(parked).toMatchObject({
      state: "waiting",
      parent: null,
      questions: [{ agent: "reader", asks: [{ question: "may it look?" }] }],
    });
    const [question] = parked.questions;
    if (question === undefined) throw new Error("nothing waits");
    expect(told).toMatchObject([{ agent: "reader", session: question.session, parent: { session: parked.session, lineage: ["desk"] } }]);
    expect(await first.approvals.show(question.approval)).toMatchObject({ agent: "reader", lineage: ["desk"], tool: "look" });
    await first.close();

    const second = await open(root, { thread });
    const { approval, digest } = question;
    const { result } = await second.approvals.answer({ approval, digest, answer: { kind: "approve" } }, ben);
    expect(result).toMatchObject({ session: question.session, parent: parked.session, ending: "completed", output: "reader is done" });
    const state = await second.inspect.state(parked.session);
    expect(state.last).toMatchObject({ ending: "completed", output: "desk is done" });
    expect([...state.labels]).toEqual(["pii"]);
    await second.close();
  },
);

test("D-4 a runtime that closes cancels what runs, delegates first", async () => {
  const root = folder();
  const reached = Promise.withResolvers<void>();
  const stuck = (of: Agent): Model =>
    of.name === "desk"
      ? plain(of)
      : {
          id: "test/reader",
          ask: (_, __, signal) => {
            reached.resolve();
            return new Promise((___, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));
          },
        };
  const runtime = await open(root, { model: stuck });
  const seen: Live[] = [];
  const run = runtime.run("desk", "go", { on: (live) => void seen.push(live) });
  await reached.promise;
  await runtime.close();
  expect(await run.result).toMatchObject({ ending: "cancelled" });
  expect(new Set(seen.flatMap((l) => (l.kind === "entry" ? [l.entry.stream] : []))).size).toBe(1); // whoever watches a run sees its own session
  const later = await open(root);
  const all = await later.inspect.sessions({ state: null, agent: null, before: null, most: 10 });
  expect(all.map((s) => [s.agent, s.ending]).sort()).toEqual([
    ["desk", "cancelled"],
    ["reader", "cancelled"],
  ]);
  await later.close();
});

test("A-1 a delegate that is nobody's name is refused before anything runs", async () => {
  await expect(open(folder(), { agents: [agent("desk", { delegates: ["nobody"] })] })).rejects.toThrow(
    /there is no agent `nobody` to delegate to/,
  );
  expect(() => agent("desk", { delegates: ["desk"] })).toThrow(/names itself/);
  expect(() => agent("desk", { maxDepth: 0 })).toThrow(/maxDepth/);
  expect(() =>
    agent("desk", { tools: [defineTool({ name: "delegate", description: "x", input: z.strictObject({}), run: () => null })] }),
  ).toThrow(/no name for a tool/);
});

test("D-5 the list says whom a session works for, and one whose delegate waits for a person waits itself", async () => {
  const root = folder();
  writeFileSync(join(root, "orgate.toml"), '[project]\nname = "p"\n');
  const runtime = await open(root);
  const { session } = await runtime.complete("desk", "go");
  await runtime.close();
  const orgate = (...args: readonly string[]) =>
    spawnSync(process.execPath, [join(import.meta.dirname, "..", "..", "bin", "orgate.js"), ...args, "--project", root], {
      encoding: "utf8",
    });
  const listed = JSON.parse(orgate("sessions", "list", "--json").stdout) as readonly Record<string, unknown>[];
  expect(listed.map(({ agent: of, parent, shown }) => ({ of, parent, shown }))).toEqual([
    { of: "reader", parent: session, shown: "waiting" },
    { of: "desk", parent: null, shown: "waiting" },
  ]);
  expect(orgate("sessions", "list").stdout).toMatch(/works for/);
  const shown = orgate("sessions", "show", session).stdout;
  expect(shown).toMatch(/at work for it: s_/);
  expect(shown).toMatch(/delegate to reader/);
  expect(shown).toMatch(/reader works on it in s_/);
});

test("D-4 a turn whose delegate's agent is gone cannot go on, and is cancelled all the same: by a signal, or by a person", async () => {
  for (const way of ["signal", "wish", "own agent"] as const) {
    const root = folder();
    const first = await open(root);
    const ben = createPerson(join(root, "home"), "ben", ed25519);
    await first.place.keyring.certifyPerson(ben.name, ben.key.publicKey);
    const { session } = await first.complete("desk", "go");
    await first.close();
    const second = await open(root, { agents: way === "own agent" ? [agent("other")] : [agent("desk")] });
    await expect(second.resume(session).result).rejects.toThrow(/there is no agent `(reader|desk)`/);
    expect((await second.inspect.state(session)).turn).not.toBe(null);
    const wish = { kind: "cancel", reason: "he is gone" } as const;
    if (way !== "signal") await second.putIntent(signIntent(ben, { id: intentId("i_1"), session, at: millis(Date.now()), wish }));
    const result = await second.resume(session, way === "signal" ? { signal: AbortSignal.abort("he is gone") } : {}).result;
    expect(result).toMatchObject({ ending: "cancelled", detail: "he is gone" });
    const all = await second.inspect.sessions({ state: null, agent: null, before: null, most: 10 });
    expect(all.map((s) => [s.agent, s.state, s.ending]).sort()).toEqual([
      ["desk", "idle", "cancelled"],
      ["reader", "idle", "cancelled"],
    ]);
    await second.close();
  }
});

test("D-5 who answers a delegate's question and does not have the agent above it drives the delegate, and leaves the rest to who has", async () => {
  const root = folder();
  const first = await open(root);
  const ben = createPerson(join(root, "home"), "ben", ed25519);
  await first.place.keyring.certifyPerson(ben.name, ben.key.publicKey);
  const { session, questions } = await first.complete("desk", "go");
  await first.close();
  const second = await open(root, { agents: AGENTS.filter(({ name }) => name === "reader") });
  const { approval, digest } = questions[0] ?? { approval: approvalId(""), digest: sha256("") };
  const { result } = await second.approvals.answer({ approval, digest, answer: { kind: "approve" } }, ben);
  expect(result).toMatchObject({ ending: "completed", output: "reader is done" });
  await second.close();
  const third = await open(root);
  expect(await third.resume(session).result).toMatchObject({ ending: "completed", output: "desk is done" });
  await third.close();
});

test("D-4 a delegate that is waited for is not erased: without it the turn above could never end", async () => {
  const root = folder();
  writeFileSync(join(root, "orgate.toml"), '[project]\nname = "p"\n');
  mkdirSync(join(root, "policies"));
  writeFileSync(join(root, "policies/all.cedar"), "permit(principal, action, resource);\n"); // who may erase
  const first = await open(root);
  const { session, questions } = await first.complete("desk", "go");
  const below = questions[0]?.session ?? session;
  await first.close();
  const erase = () =>
    spawnSync(
      process.execPath,
      [
        join(import.meta.dirname, "..", "..", "bin", "orgate.js"),
        "journal",
        "erase",
        "--session",
        below,
        "--reason",
        "asked",
        "--anyway",
        "--project",
        root,
      ],
      { encoding: "utf8", env: { ...process.env, ORGATE_HOME: join(root, "home") } },
    );
  expect(erase().stderr).toMatch(/works for `s_\w+`, which waits for it/);
  const second = await open(root);
  expect(await second.resume(session, { signal: AbortSignal.abort("enough") }).result).toMatchObject({ ending: "cancelled" });
  await second.close();
  expect(erase()).toMatchObject({ status: 0, stdout: expect.stringContaining("erased") });
});

test("D-4 who stops driving a delegate cancels that, and leaves the turn above it to whoever takes it up", async () => {
  const runtime = await open(folder());
  const { session, questions } = await runtime.complete("desk", "go");
  const below = questions[0]?.session ?? session;
  expect(await runtime.resume(below, { signal: AbortSignal.abort("Ctrl-C") }).result).toMatchObject({ ending: "cancelled" });
  expect((await runtime.inspect.state(session)).turn).not.toBe(null);
  expect(await runtime.resume(session).result).toMatchObject({ ending: "completed", output: "desk is done" });
  await runtime.close();
});
