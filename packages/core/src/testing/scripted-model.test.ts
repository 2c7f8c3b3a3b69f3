import { expect, test } from "vitest";
import type { Clock } from "../loop/ports.ts";
import type { Message, ModelRequest, Preview } from "../reason/port.ts";
import { millis, seq } from "../vocab/index.ts";
import { broken, failure, hang, reply, scriptedModel } from "./scripted-model.ts";

const request = (messages: readonly Message[] = []): ModelRequest => ({
  system: "",
  context: [],
  messages,
  tools: [],
  temperature: 0,
  answer: null,
  maxOutputTokens: 10,
  attempt: 1,
});
const ignore = () => {};
const never = new AbortController().signal;

test("M-1 a scripted model says what its script says, in order, and streams it first", async () => {
  const model = scriptedModel([
    reply.calls(
      [
        { tool: "look", args: { n: 1 } },
        { tool: "put", text: "{broken", id: "x" },
      ],
      { text: "One moment.", thinking: "Hm, well", usage: { input: 5, output: 6 } },
    ),
    reply.text("Done now."),
  ]);
  const seen: Preview[] = [];
  expect(await model.ask(request(), (p) => seen.push(p), never)).toEqual({
    parts: [
      { kind: "thinking", text: "Hm, well", meta: null },
      { kind: "text", text: "One moment.", meta: null },
      { kind: "call", id: "call_0", tool: "look", text: '{"n":1}', meta: null },
      { kind: "call", id: "x", tool: "put", text: "{broken", meta: null },
    ],
    finish: "calls",
    usage: { input: 5, output: 6 },
    model: "scripted/model",
    meta: null,
  });
  expect(seen).toEqual([
    { part: "thinking", offset: 0, text: "Hm, " },
    { part: "thinking", offset: 4, text: "well" },
    { part: "text", offset: 0, text: "One " },
    { part: "text", offset: 4, text: "moment." },
  ]);
  expect(await model.ask(request(), ignore, never)).toMatchObject({ finish: "stop" });
  model.done();
});

test("M-1 a call the script does not expect fails, and so does `done` when that was swallowed", async () => {
  const model = scriptedModel([reply.text("a")]);
  await model.ask(request(), ignore, never);
  await model.ask(request(), ignore, never).catch(ignore);
  expect(() => model.done()).toThrow("asked 2 times, but the script has 1 steps");
});

test("M-1 a step that was not used fails `done`", async () => {
  const model = scriptedModel([reply.text("a"), reply.text("b")]);
  await model.ask(request(), ignore, never);
  expect(() => model.done()).toThrow("1 of 2 steps of the script were not used");
});

test("M-1 a step may look at its request; what it throws fails the call and `done`", async () => {
  const refusing = (asked: ModelRequest) => {
    if (asked.messages.length !== 1) throw new Error("one message was expected");
  };
  const model = scriptedModel([reply.text("a", { expect: refusing })]);
  await expect(model.ask(request(), ignore, never)).rejects.toThrow("step 1 of the script: one message was expected");
  expect(() => model.done()).toThrow("one message was expected");
});

test("M-1 what was asked is kept as it was then", async () => {
  const messages: Message[] = [{ role: "user", text: "hi", tokens: 1, entry: seq(1) }];
  const model = scriptedModel([reply.text("a")]);
  await model.ask(request(messages), ignore, never);
  messages.push({ role: "note", text: "later", tokens: 1, entry: seq(1) });
  expect(model.asked[0]?.messages).toHaveLength(1);
});

test("M-1 failures come as scripted: before a word, or in the middle of the stream", async () => {
  const model = scriptedModel([failure("busy"), failure("no such model", { again: false }), broken("half a sen")]);
  const seen: Preview[] = [];
  const ask = () => model.ask(request(), (p) => seen.push(p), never);
  await expect(ask()).rejects.toMatchObject({ fault: { kind: "model-failed", detail: "busy", again: true, broke: false } });
  await expect(ask()).rejects.toMatchObject({ fault: { kind: "model-failed", again: false, broke: false } });
  expect(seen).toEqual([]);
  await expect(ask()).rejects.toMatchObject({ fault: { kind: "model-failed", again: true, broke: true } });
  expect(seen.map((p) => p.text).join("")).toBe("half a sen");
  model.done();
});

test("M-1 a hanging step answers when the signal fires, and a delay waits on the clock it was given", async () => {
  const slept: number[] = [];
  const clock: Clock = { now: () => millis(0), elapsed: () => 0, sleep: async (ms) => void slept.push(ms) };
  const model = scriptedModel([hang(), reply.text("a", { delayMs: 10_000 }), hang()], { clock });
  const stop = new AbortController();
  const asked = model.ask(request(), ignore, stop.signal);
  stop.abort();
  await expect(asked).rejects.toMatchObject({ fault: { kind: "model-failed", detail: "stopped" } });
  await model.ask(request(), ignore, never);
  expect(slept).toEqual([10_000]);
  await expect(model.ask(request(), ignore, stop.signal)).rejects.toMatchObject({ fault: { detail: "stopped" } });
  expect(() => scriptedModel([reply.text("a", { delayMs: 1 })])).toThrow("needs a clock");
});
