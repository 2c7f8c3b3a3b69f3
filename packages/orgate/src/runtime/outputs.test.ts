/** Structured answers and calls in words with the real store, the offline model, and the command line. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Agent,
  defineAgent,
  defineTool,
  intentId,
  type Json,
  listDecisions,
  type Model,
  type ModelRequest,
  millis,
  promptedCalls,
  tableGate,
} from "@orgate/core";
import { afterEach, expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import { chatWire } from "../models/fixtures/openai-chat-wire.ts";
import { provider, type Script } from "../models/fixtures/server.ts";
import { ed25519, sha256 } from "../node/crypto.ts";
import { createPerson, signIntent } from "../store/keyring.ts";
import type { RuntimeOptions } from "./api.ts";
import { createRuntime } from "./runtime.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "orgate-outputs-"));
  folders.push(made);
  return made;
}

const Debt = z.object({ name: z.string(), cents: z.int().min(1) });
const clerk = defineAgent({ name: "clerk", instructions: "Who owes what?", model: "offline/clerk", output: Debt });
const gate = tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256);
const open = (root: string, agents: readonly Agent[], more: Partial<RuntimeOptions> = {}) =>
  createRuntime({ directory: join(root, ".orgate"), agents, gate, principal: { kind: "user", id: "ada" }, ...more });
const saying =
  (...texts: readonly string[]) =>
  ({ model: id }: Agent): Model => {
    let at = 0;
    const usage = { input: 1, output: 1 };
    return {
      id,
      ask: async () => ({ parts: [{ kind: "text", text: texts[at++] ?? "", meta: null }], finish: "stop", usage, model: id, meta: null }),
    };
  };

test("M-25 an agent's value has its type, without a key", async () => {
  const runtime = await open(folder(), [clerk]);
  const result = await runtime.complete(clerk, 'it is "Ann" with 250');
  expectTypeOf(result.value).toEqualTypeOf<{ name: string; cents: number } | null>();
  expect(result).toMatchObject({ ending: "completed", value: { name: "Ann", cents: 250 }, output: '{"cents":250,"name":"Ann"}' });
  const named = await runtime.complete("clerk", 'it is "Bob"');
  expectTypeOf(named.value).toEqualTypeOf<Json | null>();
  expect(named.value).toEqual({ name: "Bob", cents: 1 });
  await runtime.close();
});

test("M-25 a run brings its own schema, for its own turn, by its own type", async () => {
  const runtime = await open(folder(), [clerk]);
  const own = await runtime.complete(clerk, "is it paid? yes", { output: z.array(z.enum(["yes", "no"])).min(1) });
  expectTypeOf(own.value).toEqualTypeOf<("yes" | "no")[] | null>();
  expect(own.value).toEqual(["yes"]);
  const after = await runtime.complete(clerk, "and who?", { session: own.session });
  expect(after.value).toEqual({ name: "", cents: 1 });
  await expect(runtime.complete("clerk", "x", { output: { type: "object", oddities: 1 } })).rejects.toThrow(
    "this run of `clerk`: `output` cannot be enforced",
  );
  await runtime.close();
});

test("M-25 another agent of the same name is not taken for the one whose type is known", async () => {
  const runtime = await open(folder(), [clerk]);
  const other = defineAgent({ name: "clerk", instructions: "x", model: "offline/clerk", output: z.object({ n: z.int() }) });
  await expect(runtime.complete(other, "x")).rejects.toThrow("the agent of this name is another one here");
  await runtime.close();
});

test("M-23 a run with a schema of its own, taken up by a process that has only the journal", async () => {
  const root = folder();
  const asks = tableGate(
    [
      { id: "ask", action: "respond", verdict: "ask" },
      { id: "all", action: "*", verdict: "allow" },
    ],
    sha256,
  );
  const first = await open(root, [clerk], { gate: asks, model: saying('{"n":"x"}', '{"n":1}') });
  const before = first.run("clerk", "count", { output: z.strictObject({ n: z.int() }) });
  const parked = await before.result;
  expect(parked).toMatchObject({ state: "waiting", value: null });
  await first.close();
  const second = await open(root, [clerk], { gate: asks, model: saying('{"n":"two"}', '{"n":2}') });
  const state = await second.inspect.state(parked.session);
  expect(state.turn?.phase).toMatchObject({ kind: "answering", fits: { value: { n: 1 } } });
  expect(state.turn?.output?.spec.schema).toMatchObject({ properties: { n: { type: "integer" } } });
  const [question] = parked.questions;
  if (question === undefined) throw new Error("nothing was asked");
  const ben = createPerson(join(root, "home"), "ben", ed25519);
  await second.place.keyring.certifyPerson(ben.name, ben.key.publicKey);
  await second.putIntent(
    signIntent(ben, { id: intentId("i_no"), session: parked.session, at: millis(Date.now()), wish: { kind: "steer", text: "no, two" } }),
  );
  const again = await second.resume(parked.session).result; // it answers anew, and only the journal knows by what
  expect(again).toMatchObject({ state: "waiting" });
  const checked: (readonly string[])[] = [];
  for await (const { event } of second.inspect.events(parked.session))
    if (event.kind === "output.checked") checked.push([event.by, event.result.kind]);
  expect(checked).toEqual([
    ["own", "misfit"],
    ["own", "fits"],
    ["journal", "misfit"],
    ["journal", "fits"],
  ]);
  const [open2] = again.questions;
  if (open2 === undefined) throw new Error("nothing was asked");
  const { result } = await second.approvals.answer({ approval: open2.approval, digest: open2.digest, answer: { kind: "approve" } }, ben);
  expect(result).toMatchObject({ ending: "completed", value: { n: 2 } });
  await second.close();
});

test("M-24 an answer that never fits ends the run `failed`, with what was wrong", async () => {
  const runtime = await open(folder(), [clerk], { model: saying("x", "y", '{"name":"Ann","cents":0}') });
  const result = await runtime.complete(clerk, "go");
  expect(result).toMatchObject({
    ending: "failed",
    value: null,
    iterations: 3,
    detail: expect.stringMatching(/asked for again 2 times: cents: /),
  });
  await runtime.close();
});

test("M-26 calls in words go through the gate and the journal like any other, and what is misread runs nothing", async () => {
  const ran: string[] = [];
  const look = defineTool({
    name: "look",
    description: "Looks a person up.",
    input: z.strictObject({ name: z.string() }),
    repeat: "read",
    run: ({ name }) => `${ran.push(name)}`,
  });
  const forbidden = defineTool({ name: "pay", description: "Pays.", input: z.strictObject({}), run: () => ran.push("paid") });
  const agent = defineAgent({
    name: "talker",
    instructions: "Help.",
    model: "test/talker",
    tools: [look, forbidden],
    modelOptions: { tools: "prompted" },
  });
  const rules = tableGate(
    [
      { id: "no-pay", action: "tool:pay", verdict: "deny" },
      { id: "all", action: "*", verdict: "allow" },
    ],
    sha256,
  );
  const block = (tool: string, args: string) => `\`\`\`call-abcdefgh ${tool}\n${args}\n\`\`\``;
  const replies = [
    `${block("look", "{")}\n${block("pay", "{}")}`,
    `I try.\n${block("look", '{"name":"Ann"}')}\n${block("pay", "{}")}`,
    "Ann is the first.",
  ];
  const asked: ModelRequest[] = [];
  const inner: Model = {
    id: "test/talker",
    ask: async (request) => {
      const text = replies[asked.push(request) - 1] ?? "";
      return { parts: [{ kind: "text", text, meta: null }], finish: "stop", usage: { input: 1, output: 1 }, model: "t", meta: null };
    },
  };
  const runtime = await open(folder(), [agent], { gate: rules, model: () => promptedCalls(inner, { mark: "abcdefgh" }) });
  const result = await runtime.complete(agent, "who is first?");
  expect(result).toMatchObject({ ending: "completed", output: "I try.Ann is the first.".slice(6), calls: 1, iterations: 3 });
  expect(ran).toEqual(["Ann"]);
  const kinds = result.events.map(({ event }) => event.kind);
  expect(kinds.indexOf("calls.misread")).toBe(kinds.indexOf("model.replied") - 1);
  const texts = asked.map(({ messages }) => messages.map((m) => ("text" in m ? m.text : m.parts.map((p) => p.text).join(""))));
  expect(texts[1]?.at(-1)).toMatch(/^\[not understood\] the call of `look` in line 1: its arguments are not JSON.* Nothing was run\.$/);
  expect(texts[2]?.at(-1)).toMatch(
    /^```results-abcdefgh\n\{"call":1,"tool":"look","error":false,"result":"1"\}\n\{"call":2,"tool":"pay","error":true,"result":"\[denied/,
  );
  await runtime.close();
});

test("M-23 M-25 through a provider's own wire: a tool, an answer that does not fit, and one that does", async () => {
  const usage = { input: 20, cached: 0, output: 5, reasoning: 0 };
  const call = (tool: string, args: string): Script => ({ parts: [{ call: "call_1", tool, args }], finish: "calls", usage });
  const wire = chatWire({ path: "/v1/chat/completions", keyed: false, thinks: null });
  const scripts = [
    call("look", '{"name":"Ann"}'),
    {
      ...call("final_answer", '{"name":"Ann"}'),
      parts: [{ say: "So: " }, { call: "call_2", tool: "final_answer", args: '{"name":"Ann"}' }],
    },
    { ...call("final_answer", ""), parts: [{ call: "call_3", tool: "final_answer", args: '{"name":"Ann","cents":5}' }] },
  ];
  const server = await provider(wire, scripts);
  const ran: string[] = [];
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.strictObject({ name: z.string() }),
    repeat: "read",
    run: ({ name }) => `${ran.push(name)}`,
  });
  const agent = defineAgent({ name: "teller", instructions: "Tell.", model: "ollama/llama-test", tools: [look], output: Debt });
  const runtime = await open(folder(), [agent], { env: { OLLAMA_BASE_URL: server.url } });
  const result = await runtime.complete(agent, "who owes?");
  await runtime.close();
  await server.close();
  expect(result, result.detail ?? "").toMatchObject({ ending: "completed", value: { name: "Ann", cents: 5 }, iterations: 3, calls: 1 });
  expect(ran).toEqual(["Ann"]);
  const decided = listDecisions(result.events).map(({ event }) => event.action.kind);
  expect(decided.filter((kind) => kind === "call")).toHaveLength(1); // the agent's own; the answer is a `respond`
  expect(decided).toContain("respond");
  expect(result.events.flatMap(({ event }) => (event.kind === "act.started" ? [event.call] : []))).toHaveLength(1);
  expect(server.asked.at(-1)?.body).toMatchObject({
    tool_choice: "required",
    messages: [
      { role: "system" },
      { role: "user" },
      { role: "assistant", tool_calls: [{ function: { name: "look" } }] },
      { role: "tool", content: "1" },
      { role: "assistant", content: '{"name":"Ann"}' },
      { role: "user", content: expect.stringContaining("[does not fit]") },
    ],
  });
});

test("M-25 on the command line the value stands beside the output", () => {
  const root = folder();
  const orgate = (...args: readonly string[]) =>
    spawnSync(process.execPath, [join(import.meta.dirname, "..", "..", "bin", "orgate.js"), ...args], {
      cwd: root,
      encoding: "utf8",
      env: { ...process.env, ORGATE_HOME: join(root, "home") },
    });
  expect(orgate("init", ".", "--yes").status).toBe(0);
  mkdirSync(join(root, "agents"), { recursive: true });
  const shape = '[output]\ntype = "object"\nrequired = ["n"]\nproperties = { n = { type = "integer" } }\n';
  writeFileSync(join(root, "agents/counter.toml"), `name = "counter"\ninstructions = "Count."\nmodel = "offline/counter"\n${shape}`);
  const ran = orgate("run", "counter", "--input", "there are 12", "--json");
  const last = ran.stdout.trim().split("\n").at(-1) ?? "";
  expect(JSON.parse(last), ran.stderr).toMatchObject({ ending: "completed", output: '{"n":12}', value: { n: 12 } });
});
