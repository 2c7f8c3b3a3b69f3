/** The cases that the kernel we answer pins in its own tests, against the front door of the library: `createRuntime` on a real journal. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineAgent, defineTool, type JournalEvent, type Live, type Model, type Row, type SessionId, tableGate } from "@orgate/core";
import { reply, type ScriptedModel, type Step, scriptedModel } from "@orgate/core/testing";
import { afterEach, expect, test } from "vitest";
import { ed25519, sha256 } from "../node/crypto.ts";
import { createPerson, type Person } from "../store/keyring.ts";
import type { Runtime } from "./api.ts";
import { createRuntime } from "./runtime.ts";

const folders: string[] = [];
const runtimes: Runtime[] = [];
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const ALL: readonly Row[] = [{ id: "all", action: "*", verdict: "allow" }];
const ASK: readonly Row[] = [{ id: "asks", action: "tool:ping", verdict: "ask", say: "ping?" }, ...ALL];

type Kernel = Readonly<{ runtime: Runtime; model: ScriptedModel; pinged: string[]; folder: string; person(): Promise<Person> }>;

async function kernel(steps: readonly Step[], rows = ALL, more: { folder?: string; model?: Model } = {}): Promise<Kernel> {
  const folder = more.folder ?? mkdtempSync(join(tmpdir(), "orgate-kernel-"));
  if (more.folder === undefined) folders.push(folder);
  const pinged: string[] = [];
  const ping = defineTool({
    name: "ping",
    description: "pings",
    input: { type: "object", properties: { host: { type: "string" } }, required: ["host"], additionalProperties: false },
    run: ({ host }) => {
      pinged.push(String(host));
      return `${String(host)} is up`;
    },
  });
  const model = scriptedModel(steps);
  const agent = defineAgent({ name: "tester", instructions: "You test.", model: "offline/tester", tools: [ping] });
  const runtime = await createRuntime({
    directory: join(folder, ".orgate"),
    agents: [agent],
    gate: tableGate(rows, sha256),
    principal: { kind: "user", id: "ann" },
    powerCut: "lose-last-moments",
    model: () => more.model ?? model,
  });
  runtimes.push(runtime);
  const person = async (): Promise<Person> => {
    const made = createPerson(join(folder, "home"), "ann", ed25519);
    await runtime.place.keyring.certifyPerson("ann", made.key.publicKey);
    return made;
  };
  return { runtime, model, pinged, folder, person };
}
const ping = (host: string, id = "c1") => reply.calls([{ tool: "ping", args: { host }, id }]);
const kindsOf = (events: readonly { readonly event: JournalEvent }[]) => events.map(({ event }) => event.kind);
const lastText = (model: ScriptedModel) => JSON.stringify(model.asked.at(-1)?.messages.at(-1));

test("H-14 a plain reply: one model call, and the conversation is what was said and the answer", async () => {
  const { runtime, model } = await kernel([reply.text("hello")]);
  const { output, ending, iterations, conversation, events } = await runtime.complete("tester", "hi");
  expect([output, ending, iterations]).toEqual(["hello", "completed", 1]);
  expect(conversation.map((m) => m.role)).toEqual(["user", "assistant"]);
  expect(model.asked[0]?.system).toBe("You test."); // the third message of the case: instructions stand beside the conversation
  expect(kindsOf(events).at(-1)).toBe("turn.ended");
  model.done();
});

test("H-14 a tool and then an answer: two model calls, the tool runs once, its result is heard", async () => {
  const { runtime, model, pinged } = await kernel([ping("a"), reply.text("it is up")]);
  const { output, iterations } = await runtime.complete("tester", "is a up?");
  expect([output, iterations, pinged]).toEqual(["it is up", 2, ["a"]]);
  expect(lastText(model)).toContain("a is up");
  model.done();
});

test("H-14 a tool that does not exist brings nothing down, and the model is told", async () => {
  const { runtime, model } = await kernel([reply.calls([{ tool: "pong", args: {} }]), reply.text("sorry")]);
  expect(await runtime.complete("tester", "pong")).toMatchObject({ output: "sorry", ending: "completed" });
  expect(lastText(model)).toMatch(/pong.*no tool|no tool.*pong|not.*tool/);
  model.done();
});

test("H-14 a question is announced and the session waits; a no is heard by the model, which is asked again", async () => {
  const { runtime, model, pinged, person } = await kernel([ping("a"), reply.text("then not")], ASK);
  const ann = await person();
  const first = await runtime.complete("tester", "ping a");
  expect(first).toMatchObject({ state: "waiting", ending: null });
  expect(kindsOf(first.events)).toContain("approval.asked");
  const [question] = await runtime.approvals.list();
  if (question === undefined) throw new Error("nothing waits");
  const { result } = await runtime.approvals.answer(
    { approval: question.approval, digest: question.digest, answer: { kind: "deny", reason: "not now" } },
    ann,
  );
  expect(result).toMatchObject({ ending: "completed", output: "then not", iterations: 2 });
  expect(pinged).toEqual([]);
  expect(lastText(model)).toContain("not now");
  model.done();
});

test("H-14 a yes for once runs the tool, once", async () => {
  const { runtime, model, pinged, person } = await kernel([ping("a"), ping("a", "c2")], ASK);
  const ann = await person();
  await runtime.complete("tester", "ping a");
  const [question] = await runtime.approvals.list();
  if (question === undefined) throw new Error("nothing waits");
  const { approval, digest } = question;
  const { result } = await runtime.approvals.answer({ approval, digest, answer: { kind: "approve" } }, ann);
  expect(pinged).toEqual(["a"]);
  expect(result).toMatchObject({ state: "waiting" }); // the same call again asks again
  model.done();
});

test("H-14 an empty reply is asked again", async () => {
  const { runtime, model } = await kernel([reply.text(""), reply.text("here I am")]);
  expect(await runtime.complete("tester", "hello?")).toMatchObject({ output: "here I am", ending: "completed", iterations: 2 });
  model.done();
});

test("H-14 arguments that are no JSON throw nothing, run nothing, and are told", async () => {
  const { runtime, model, pinged } = await kernel([reply.calls([{ tool: "ping", text: '{"host":' }]), reply.text("I see")]);
  expect(await runtime.complete("tester", "ping")).toMatchObject({ output: "I see", ending: "completed" });
  expect(pinged).toEqual([]);
  expect(lastText(model)).toContain("[not run] ping");
  model.done();
});

test("H-14 words are told as they come, and the end of the turn before its outcome", async () => {
  const { runtime } = await kernel([reply.text("one two three")]);
  const told: Live[] = [];
  let over = false;
  const result = await runtime.run("tester", "count", {
    on: (live) => {
      expect(over).toBe(false);
      told.push(live);
    },
  }).result;
  over = true;
  const words = told.flatMap((l) => (l.kind === "preview" ? [l.preview.text] : [])).join("");
  expect(words).toBe(result.output);
  expect(told.at(-1)).toMatchObject({ kind: "entry", entry: { event: { kind: "turn.ended", ending: "completed" } } });
});

test("H-14 checkpoints after the input, before the model and before calls are there, in that order", async () => {
  const { runtime } = await kernel([ping("a"), reply.text("done")]);
  const kinds = kindsOf((await runtime.complete("tester", "ping a")).events);
  const [input, model, calls] = [kinds.indexOf("turn.started"), kinds.indexOf("model.asked"), kinds.indexOf("act.started")];
  expect(input).toBeGreaterThan(-1);
  expect(model).toBeGreaterThan(input);
  expect(calls).toBeGreaterThan(model);
});

test("H-14 a delegate is asked, answers in a session of its own, and its answer is the call's result", async () => {
  const folder = mkdtempSync(join(tmpdir(), "orgate-kernel-"));
  folders.push(folder);
  const models: Readonly<Record<string, ScriptedModel>> = {
    boss: scriptedModel([reply.calls([{ tool: "delegate", args: { agent: "reader", task: "what is it?" } }]), reply.text("it is 42")]),
    reader: scriptedModel([reply.text("42")]),
  };
  const runtime = await createRuntime({
    directory: folder,
    agents: [
      defineAgent({ name: "boss", instructions: "Delegate.", model: "offline/boss", delegates: ["reader"] }),
      defineAgent({ name: "reader", instructions: "Read.", model: "offline/reader" }),
    ],
    gate: tableGate(ALL, sha256),
    principal: { kind: "user", id: "ann" },
    powerCut: "lose-last-moments",
    model: ({ name }) => models[name] ?? scriptedModel([]),
  });
  runtimes.push(runtime);
  expect(await runtime.complete("boss", "find out")).toMatchObject({ ending: "completed", output: "it is 42" });
  expect(JSON.stringify(models["boss"]?.asked[1]?.messages.at(-1))).toContain("42");
  expect((await runtime.sessions.list()).map((s) => s.agent).sort()).toEqual(["boss", "reader"]);
  for (const model of Object.values(models)) model.done();
});

/** The events of a run up to one of its checkpoints, in a journal of their own: what a process that ends there leaves behind. */
async function leftAt(kind: JournalEvent["kind"], steps: readonly Step[]): Promise<{ folder: string; session: SessionId }> {
  const whole = await kernel(steps);
  const { session, events } = await whole.runtime.complete("tester", "ping a");
  const end = kindsOf(events).indexOf(kind);
  const left = await kernel([]);
  const { journal } = left.runtime.place.store;
  const hold = await journal.take(session);
  const kept = events.slice(0, end + 1).map(({ at, event }) => ({ at, event }));
  await journal.append({ stream: session, after: 0 as never, hold, events: kept, consumes: [], unlessHalted: [] });
  await left.runtime.close();
  return { folder: left.folder, session };
}

test("H-14 resumed after the input, the turn is run as if nothing had happened", async () => {
  const { folder, session } = await leftAt("turn.started", [ping("a"), reply.text("done")]);
  const { runtime, model, pinged } = await kernel([ping("a"), reply.text("done")], ALL, { folder });
  expect(await runtime.resume(session).result).toMatchObject({ ending: "completed", output: "done", iterations: 2 });
  expect(pinged).toEqual(["a"]);
  model.done();
});

test("H-14 resumed before its calls, they run, decided again, and the reply is not asked for again", async () => {
  const { folder, session } = await leftAt("model.replied", [ping("a"), reply.text("done")]);
  const { runtime, model, pinged } = await kernel([reply.text("done")], ALL, { folder });
  expect(await runtime.resume(session).result).toMatchObject({ ending: "completed", output: "done", iterations: 2 });
  expect(pinged).toEqual(["a"]);
  model.done();
});

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const pixel = { kind: "image", mediaType: "image/png", name: "pixel.png", base64: PIXEL } as const;

test("H-14 an image that is shown is journalled with the words it came with, and is in the request", async () => {
  const { runtime, model } = await kernel([reply.text("a pixel")]);
  const bytes = Uint8Array.from(Buffer.from(PIXEL, "base64"));
  const { events, conversation } = await runtime.complete("tester", "what is it?", {
    files: [{ mediaType: "image/png", name: "pixel.png", bytes }],
  });
  expect(events.find(({ event }) => event.kind === "turn.started")?.event).toMatchObject({ input: "what is it?", files: [pixel] });
  expect(model.asked[0]?.messages).toMatchObject([{ role: "user", text: "what is it?", files: [pixel] }]);
  expect(conversation[0]).toMatchObject({ role: "user", files: [pixel] });
});

test("H-14 a session with an image is restored with it, and goes on with it", async () => {
  const first = await kernel([reply.text("a pixel")]);
  const { session } = await first.runtime.complete("tester", "what is it?", { files: [pixel] });
  await first.runtime.close();
  const { runtime, model } = await kernel([reply.text("sure")], ALL, { folder: first.folder });
  expect((await runtime.sessions.restore(session)).messages[0]).toEqual(first.model.asked[0]?.messages[0]);
  await runtime.complete("tester", "sure?", { session });
  expect(model.asked[0]?.messages.slice(0, 1)).toEqual(first.model.asked[0]?.messages);
  expect(model.asked[0]?.messages.at(-1)).toMatchObject({ role: "user", text: "sure?" });
});

test("H-14 an image whose process was killed while the model was asked is sent again by another process, the same to the byte", () => {
  const folder = mkdtempSync(join(tmpdir(), "orgate-kernel-"));
  folders.push(folder);
  const node = (...args: readonly string[]) =>
    spawnSync(process.execPath, [join(import.meta.dirname, "fixtures", "image-session.ts"), ...args], { encoding: "utf8" });
  expect(node("run", folder, "picture", PIXEL).signal).toBe("SIGKILL");
  const { stdout, stderr } = node("resume", folder, "picture");
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toMatchObject({
    output: "a pixel",
    ending: "completed",
    conversation: [{ files: [pixel] }, { role: "assistant" }],
  });
  const [first, second, ...more] = readFileSync(join(folder, "requests.txt"), "utf8").trimEnd().split("\n");
  expect(first).toContain(PIXEL);
  expect([second, more]).toEqual([first, []]);
});
