import { APICallError, UnsupportedFunctionalityError } from "@ai-sdk/provider";
import { callId, isFault, type Message, type Part, type Preview } from "@orgate/core";
import { describe, expect, test, vi } from "vitest";
import { assistant, note, request, result, user } from "./fixtures/golden.ts";
import { type AnyLanguageModel, languageModel } from "./language-model.ts";
import { ANY_FILES, toPrompt } from "./prompt.ts";

const never = new AbortController().signal;
type Piece = Readonly<Record<string, unknown>>;

const streamOf = (pieces: readonly Piece[]): ReadableStream<Piece> =>
  new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });

/** Somebody's own model: an object with the two methods. */
const modelOf = (specificationVersion: string, more: object): AnyLanguageModel =>
  ({ specificationVersion, provider: "own.chat", modelId: "m", supportedUrls: {}, ...more }) as unknown as AnyLanguageModel;
const streaming = (pieces: readonly Piece[], version = "v4"): AnyLanguageModel =>
  modelOf(version, { doStream: async () => ({ stream: streamOf(pieces) }) });

const TEXT: readonly Piece[] = [
  { type: "stream-start", warnings: [] },
  { type: "text-start", id: "0" },
  { type: "text-delta", id: "0", delta: "He" },
  { type: "text-delta", id: "0", delta: "llo" },
  { type: "text-end", id: "0" },
];
const FINISH_4: Piece = {
  type: "finish",
  finishReason: { unified: "stop", raw: "stop" },
  usage: { inputTokens: { total: 12, cacheRead: 3, cacheWrite: 1 }, outputTokens: { total: 5, reasoning: 2 } },
};
const FINISH_2: Piece = {
  type: "finish",
  finishReason: "stop",
  usage: { inputTokens: 12, outputTokens: 5, cachedInputTokens: 3, reasoningTokens: 2 },
};
const ask = (model: AnyLanguageModel, show: (p: Preview) => unknown = () => {}, signal = never, options = {}) =>
  languageModel(model, options).ask(request([user("x")]), show, signal);

describe("M-15 versions of the interface", () => {
  test.each([
    ["v4", FINISH_4, 1],
    ["v3", FINISH_4, 1],
    ["v2", FINISH_2, null],
  ])("M-15 %s is understood, its way to count and to end included", async (version, finish, cacheWrite) => {
    const reply = await ask(streaming([...TEXT, finish], version));
    expect(reply).toMatchObject({
      model: "own/m",
      finish: "stop",
      parts: [{ kind: "text", text: "Hello", meta: null }],
      usage: { input: 12, output: 5, cached: 3, reasoning: 2 },
      meta: { usage: { cacheWrite, estimated: false } },
    });
  });

  test.each([
    [modelOf("v1", { doStream: () => {} }), "version `v1`"],
    [modelOf("v9", { doStream: () => {} }), "version `v9`"],
    [modelOf("v4", {}), "no language model"],
    ["gpt-4o" as unknown as AnyLanguageModel, "no language model"],
    [null as unknown as AnyLanguageModel, "no language model"],
  ])("M-15 what is something else is refused with the reason (%#)", (model, why) => {
    expect(() => languageModel(model)).toThrow(why);
  });

  test.each([
    ["has no way to", undefined],
    ["says that it cannot", () => Promise.reject(new UnsupportedFunctionalityError({ functionality: "streaming" }))],
  ])("M-15 a model that %s stream answers all at once", async (_, doStream) => {
    const content = [
      { type: "reasoning", text: "hm", providerMetadata: { own: { seal: "s" } } },
      { type: "text", text: "Hello" },
      { type: "tool-call", toolCallId: "t1", toolName: "look_up", input: '{"name":"Ann"}' },
    ];
    const doGenerate = async () => ({
      ...FINISH_4,
      content,
      warnings: [],
      response: { id: "r1", modelId: "m-2" },
      finishReason: { unified: "tool-calls", raw: "x" },
    });
    const previews: Preview[] = [];
    const reply = await ask(modelOf("v4", { doStream, doGenerate }), (one) => previews.push(one));
    expect(reply).toMatchObject({
      finish: "calls",
      meta: { response: { id: "r1", modelId: "m-2" } },
      parts: [
        { kind: "thinking", text: "hm", meta: { own: { seal: "s" } } },
        { kind: "text", text: "Hello", meta: null },
        { kind: "call", id: "t1", tool: "look_up", text: '{"name":"Ann"}', meta: null },
      ],
    });
    expect(previews.map(({ part, text }) => [part, text])).toEqual([
      ["thinking", "hm"],
      ["text", "Hello"],
      ["call", '{"name":"Ann"}'],
    ]);
  });
});

describe("M-12 M-13 M-14 reading", () => {
  test("M-12 marks that come with the start, a delta and the end are all kept", async () => {
    const pieces = [
      { type: "reasoning-start", id: "r", providerMetadata: { own: { itemId: "i" } } },
      { type: "reasoning-delta", id: "r", delta: "hm" },
      { type: "reasoning-delta", id: "r", delta: "", providerMetadata: { own: { signature: "s" } } },
      { type: "reasoning-end", id: "r", providerMetadata: { other: { a: 1 } } },
    ];
    const { parts } = await ask(streaming([...pieces, ...TEXT, FINISH_4]));
    expect(parts[0]).toEqual({ kind: "thinking", text: "hm", meta: { own: { itemId: "i", signature: "s" }, other: { a: 1 } } });
  });

  test("M-12 a call is what it is in the end, where its pieces differ from it", async () => {
    const pieces = [
      { type: "tool-input-start", id: "t", toolName: "look_up" },
      { type: "tool-input-delta", id: "t", delta: '{"na' },
      { type: "tool-call", toolCallId: "t", toolName: "look_up", input: '{"name":"Ann"}' },
      { type: "tool-input-start", id: "gone", toolName: "look_up" }, // begun, and never made
    ];
    const { parts } = await ask(streaming([...pieces, FINISH_4]));
    expect(parts).toEqual([{ kind: "call", id: "t", tool: "look_up", text: '{"name":"Ann"}', meta: null }]);
  });

  test("M-12 what a provider does not count is estimated, and said to be; what nobody knows is named", async () => {
    const reply = await ask(streaming([...TEXT, { type: "source", url: "x" }, { ...FINISH_4, usage: {} }]));
    expect(reply.usage.input).toBeGreaterThan(0);
    expect(reply.usage.output).toBe(2);
    expect(reply.meta).toMatchObject({ usage: { estimated: true }, dropped: ["source"] });
  });

  test("M-12 a count of zero for what was not empty is missing: it is estimated, and said to be", async () => {
    const zero = { inputTokens: { total: 0 }, outputTokens: { total: 0 } };
    const reply = await ask(streaming([...TEXT, { ...FINISH_4, usage: zero }]));
    expect(reply.usage.input).toBeGreaterThan(0);
    expect(reply.usage.output).toBe(2);
    expect(reply.meta).toMatchObject({ usage: { estimated: true } });
    const silent = await ask(streaming([{ ...FINISH_4, usage: { inputTokens: { total: 7 }, outputTokens: { total: 0 } } }]));
    expect([silent.usage.input, silent.usage.output, silent.meta]).toMatchObject([7, 0, { usage: { estimated: false } }]);
  });

  test.each([
    [{ unified: "stop", raw: "stop" }, "stop"],
    [{ unified: "tool-calls", raw: "tool_use" }, "calls"],
    [{ unified: "length", raw: "max_tokens" }, "length"],
    [{ unified: "content-filter", raw: "refusal" }, "refused"],
    [{ unified: "content-filter", raw: "SAFETY" }, "filtered"],
    [{ unified: "other", raw: "odd" }, "other"],
    ["content-filter", "refused"],
    ["unknown", "other"],
  ])("M-13 %j is an ending of ours: %s", async (finishReason, finish) => {
    expect(await ask(streaming([...TEXT, { ...FINISH_4, finishReason }]))).toMatchObject({ finish });
  });

  test.each([
    [[]],
    [[{ ...FINISH_4, finishReason: { unified: "interrupted" } }]],
    [[{ ...FINISH_4, finishReason: { unified: "error" } }]],
    [[{ type: "finish" }]],
  ])("M-13 no ending, no reply (%#)", async (ends) => {
    await expect(ask(streaming([...TEXT, ...ends]))).rejects.toMatchObject({ fault: { kind: "model-failed", again: true, broke: true } });
  });

  test("M-4 a model that had begun to work may have to be paid, though it said nothing", async () => {
    const error = { type: "error", error: new Error("gone") };
    const begun = ask(streaming([{ type: "stream-start", warnings: [] }, { type: "response-metadata", id: "r" }, error]));
    await expect(begun).rejects.toMatchObject({ fault: { broke: true, again: true } });
    const typed = { type: "error", error: new APICallError({ message: "no", url: "", requestBodyValues: {}, statusCode: 503 }) };
    await expect(ask(streaming([typed]))).rejects.toMatchObject({ fault: { broke: false, again: true, transient: true } });
  });

  test("M-13 a stop that calls is a call", async () => {
    const called = { type: "tool-call", toolCallId: "t", toolName: "look_up", input: "{}" };
    expect(await ask(streaming([...TEXT, called, FINISH_4]))).toMatchObject({ finish: "calls" });
  });

  test.each([
    { type: "tool-call", toolCallId: "t", toolName: "web_search", input: "{}", providerExecuted: true },
    { type: "tool-result", toolCallId: "t", toolName: "web_search", result: {} },
    { type: "tool-approval-request", approvalId: "a", toolCallId: "t" },
  ])("M-14 what the provider ran itself was decided by nobody: $type", async (piece) => {
    const refused = await ask(streaming([...TEXT, piece, FINISH_4])).catch((error: unknown) => error);
    expect(isFault(refused, "model-failed")).toBe(true);
    expect(refused).toMatchObject({ fault: { again: false, broke: true, detail: expect.stringContaining("no policy has decided") } });
  });
});

describe("M-10 pace", () => {
  test("M-10 a slow reader slows the stream down: nothing is read ahead, and it is not taken for a silent model", async () => {
    let pulled = 0;
    const stream = new ReadableStream<Piece>(
      {
        pull(controller) {
          pulled += 1;
          if (pulled <= 20) controller.enqueue({ type: "text-delta", id: "0", delta: "x" });
          else if (pulled === 21) controller.enqueue(FINISH_4);
          else controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    const ahead: number[] = [];
    let shown = 0;
    const show = async (): Promise<void> => {
      shown += 1;
      await Promise.resolve();
      vi.advanceTimersByTime(60_000); // it takes its time
      ahead.push(pulled - shown);
    };
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const model = modelOf("v4", { doStream: async () => ({ stream }) });
    const reply = await ask(model, show, never, { patience: { idleMs: 1_000 } }).finally(() => vi.useRealTimers());
    expect(reply.parts).toMatchObject([{ text: "x".repeat(20) }]);
    expect(Math.max(...ahead)).toBeLessThanOrEqual(1);
  });

  test("M-10 a model that listens to nothing is left behind: before its stream, and within it", async () => {
    const deaf = modelOf("v4", { doStream: () => new Promise(() => {}) });
    await expect(ask(deaf, () => {}, never, { patience: { firstByteMs: 20 } })).rejects.toMatchObject({
      fault: { detail: expect.stringContaining("no answer within 20 ms"), again: true },
    });
    const mute = modelOf("v4", {
      doStream: async () => ({ stream: new ReadableStream({ start: (c) => c.enqueue(TEXT[2]), cancel: () => new Promise(() => {}) }) }),
    });
    await expect(ask(mute, () => {}, never, { patience: { idleMs: 20 } })).rejects.toMatchObject({
      fault: { detail: expect.stringContaining("the answer stalled for 20 ms") },
    });
    const stop = new AbortController();
    const asked = ask(mute, () => stop.abort("enough"), stop.signal);
    await expect(asked).rejects.toMatchObject({ fault: { detail: "stopped", again: false } });
  });

  test("M-10 a model that throws anything at all fails as a model", async () => {
    for (const thrown of [new Error("boom sk-abcdefghijklmnop"), "boom", null, { code: 7 }]) {
      const failed = await ask(modelOf("v4", { doStream: () => Promise.reject(thrown) })).catch((error: unknown) => error);
      expect(isFault(failed, "model-failed")).toBe(true);
      expect(String(failed)).not.toContain("sk-abc");
    }
  });
});

describe("M-11 prompts", () => {
  const wire = { exactArguments: false, flagsErrors: true, splitsSystem: true, callIds: null, files: ANY_FILES };
  const call = (text: string): Part => ({
    kind: "call",
    id: callId("1.0"),
    wireId: "c",
    tool: "look_up",
    text,
    meta: { own: { sig: "s" } },
  });
  const prompt = (messages: readonly Message[], more = wire) => toPrompt({ system: "S", context: [], messages }, more);

  test("M-11 a prompt begins with a user's message, whatever is shown of the conversation", () => {
    expect(prompt([assistant({ kind: "text", text: "hi", meta: null })]).map(({ role }) => role)).toEqual(["system", "user", "assistant"]);
    expect(prompt([]).map(({ role }) => role)).toEqual(["system", "user"]);
    expect(prompt([note("[x] go on")])).toEqual([
      { role: "system", content: "S" },
      { role: "user", content: [{ type: "text", text: "[x] go on" }] },
    ]);
    expect(toPrompt({ system: " ", context: [], messages: [user("x")] }, wire)).toHaveLength(1);
  });

  test("M-11 what says nothing is left out, or says so: no message is empty", () => {
    const empty: Part = { kind: "text", text: "", meta: null };
    expect(prompt([user(" "), assistant(empty), user("x"), assistant(call("{}")), result("c", "")])).toEqual([
      { role: "system", content: "S" },
      { role: "user", content: [{ type: "text", text: "(no text)" }] },
      { role: "user", content: [{ type: "text", text: "x" }] },
      {
        role: "assistant",
        content: [{ type: "tool-call", toolCallId: "c", toolName: "look_up", input: {}, providerOptions: { own: { sig: "s" } } }],
      },
      {
        role: "tool",
        content: [{ type: "tool-result", toolCallId: "c", toolName: "look_up", output: { type: "text", value: "(no text)" } }],
      },
    ]);
  });

  test("M-11 thinking without words is kept for its seal", () => {
    const sealed: Part = { kind: "thinking", text: "", meta: { anthropic: { redactedData: "x" } } };
    expect(prompt([user("x"), assistant(sealed)])[2]).toEqual({
      role: "assistant",
      content: [{ type: "reasoning", text: "", providerOptions: { anthropic: { redactedData: "x" } } }],
    });
  });

  test("M-11 arguments go back as they came; what is no object is shown to the model as what it wrote", () => {
    const inputs = (part: Part, exactArguments: boolean) =>
      prompt([user("x"), assistant(part)], { ...wire, exactArguments }).flatMap((message) =>
        message.role === "assistant" ? message.content.flatMap((one) => (one.type === "tool-call" ? [one.input] : [])) : [],
      );
    const spaced = call('{ "b":1, "a":2 }');
    expect(inputs(spaced, true)).toEqual(['{ "b":1, "a":2 }']);
    expect(inputs(spaced, false)).toEqual([{ a: 2, b: 1 }]);
    expect(inputs(call(""), true)).toEqual([{}]);
    expect(inputs(call('{"a'), true)).toEqual([{ rawInvalidInput: '{"a' }]);
    expect(inputs(call("[1]"), true)).toEqual([{ rawInvalidInput: "[1]" }]);
  });
});
