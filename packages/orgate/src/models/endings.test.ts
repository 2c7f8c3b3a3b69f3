// How a reply ends, by each provider's own word for it, and how fast it may come.
import { setImmediate as breathe } from "node:timers/promises";
import { isFault, type Preview } from "@orgate/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { request, user } from "./fixtures/golden.ts";
import { type Answer, type Local, listen, type Script } from "./fixtures/server.ts";
import { modelAt, providerOf, WIRES, type Wired } from "./fixtures/wires.ts";

const never = new AbortController().signal;
const SSE = { "content-type": "text/event-stream" };
const opened: Local[] = [];
afterEach(async () => {
  vi.unstubAllGlobals();
  for (const one of opened.splice(0)) await one.close();
});
async function at(answer: Answer): Promise<Local> {
  const local = await listen(answer);
  opened.push(local);
  return local;
}
const USAGE = { input: 20, cached: 0, output: 9, reasoning: 0 };
const SAID: Script = { parts: [{ say: "So far." }], finish: "stop", usage: USAGE };
const CALLED: Script = { parts: [{ call: "toolu_1", tool: "look_up", args: "{}" }], finish: "calls", usage: USAGE };
const wiredAs = (provider: string): Wired => {
  const found = WIRES.find((one) => providerOf(one) === provider);
  if (found === undefined) throw new Error(provider);
  return found;
};

/** The provider's word, and ours; null: no ending at all, and it is asked for again. */
type Row = readonly [provider: string, word: string, ours: string | null, script: Script];
const chatRows = (provider: string): readonly Row[] => [
  [provider, '"finish_reason":"stop"', "stop", SAID],
  [provider, '"finish_reason":"length"', "length", SAID],
  [provider, '"finish_reason":"content_filter"', "filtered", SAID],
  [provider, '"finish_reason":"tool_calls"', "calls", CALLED],
  [provider, '"finish_reason":"stop"', "calls", CALLED], // some servers call it a stop
  [provider, '"finish_reason":"function_call"', "calls", CALLED],
  [provider, '"finish_reason":"from_the_future"', "other", SAID],
];
const ROWS: readonly Row[] = [
  ["anthropic", '"stop_reason":"end_turn"', "stop", SAID],
  ["anthropic", '"stop_reason":"stop_sequence"', "stop", SAID],
  ["anthropic", '"stop_reason":"max_tokens"', "length", SAID],
  ["anthropic", '"stop_reason":"model_context_window_exceeded"', "length", SAID],
  ["anthropic", '"stop_reason":"tool_use"', "calls", CALLED],
  ["anthropic", '"stop_reason":"refusal"', "refused", SAID],
  ["anthropic", '"stop_reason":"pause_turn"', "other", SAID],
  ["anthropic", '"stop_reason":"from_the_future"', "other", SAID],
  ["google", '"finishReason":"STOP"', "stop", SAID],
  ["google", '"finishReason":"STOP"', "calls", CALLED],
  ["google", '"finishReason":"MAX_TOKENS"', "length", SAID],
  ["google", '"finishReason":"SAFETY"', "filtered", SAID],
  ["google", '"finishReason":"RECITATION"', "filtered", SAID],
  ["google", '"finishReason":"BLOCKLIST"', "filtered", SAID],
  ["google", '"finishReason":"PROHIBITED_CONTENT"', "filtered", SAID],
  ["google", '"finishReason":"SPII"', "filtered", SAID],
  ["google", '"finishReason":"LANGUAGE"', "other", SAID],
  ["google", '"finishReason":"OTHER"', "other", SAID],
  ["google", '"finishReason":"MALFORMED_FUNCTION_CALL"', null, SAID],
  ...["openai-chat", "openrouter", "ollama", "openai-compatible"].flatMap(chatRows),
  ["openai", '"incomplete_details":{"reason":"max_output_tokens"}', "length", { ...SAID, finish: "length" }],
  ["openai", '"incomplete_details":{"reason":"content_filter"}', "filtered", { ...SAID, finish: "length" }],
  ["openai", '"incomplete_details":{"reason":"from_the_future"}', "other", { ...SAID, finish: "length" }],
  ["openai", '"incomplete_details":null', "stop", SAID],
  ["openai", '"incomplete_details":null', "calls", CALLED],
];
const WORD: Readonly<Record<string, RegExp>> = {
  anthropic: /"stop_reason":"[^"]+"/g,
  google: /"finishReason":"[^"]+"/g,
  openai: /"incomplete_details":\{"reason":"[^"]+"\}/g,
};

test.each<Row>(ROWS)("M-13 %s says %s: %s", async (provider, word, ours, script) => {
  const wired = wiredAs(provider);
  const text = wired.wire.stream(script).replaceAll(WORD[provider] ?? /"finish_reason":"[^"]+"/g, word);
  expect(text).toContain(word);
  const local = await at((response) => response.writeHead(200, SSE).end(text));
  const asked = modelAt(wired, local.url).ask(request([user("x")]), () => {}, never);
  if (ours !== null) expect(await asked).toMatchObject({ finish: ours });
  else await expect(asked).rejects.toMatchObject({ fault: { again: true, broke: true } });
});

test("M-13 Gemini blocks a prompt without saying a word: filtered, not empty", async () => {
  const blocked = {
    promptFeedback: { blockReason: "SAFETY", safetyRatings: [] },
    usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 },
    modelVersion: "gemini-test",
  };
  const local = await at((response) => response.writeHead(200, SSE).end(`data: ${JSON.stringify(blocked)}\n\n`));
  const reply = await modelAt(wiredAs("google"), local.url).ask(request([user("x")]), () => {}, never);
  expect(reply).toMatchObject({ finish: "filtered", parts: [], usage: { input: 9, output: 0 } });
});

test("M-13 OpenAI says that a response failed: its error is told, and asked about again where it passes", async () => {
  const failed = (code: string) => {
    const response = {
      id: "resp_1",
      object: "response",
      created_at: 1,
      status: "failed",
      model: "gpt-test",
      output: [],
      usage: null,
      error: { code, message: `it was ${code}` },
    };
    return `event: response.failed\ndata: ${JSON.stringify({ type: "response.failed", sequence_number: 1, response })}\n\n`;
  };
  const local = await at((response) => response.writeHead(200, SSE).end(failed("server_error")));
  const error = await modelAt(wiredAs("openai"), local.url)
    .ask(request([user("x")]), () => {}, never)
    .catch((thrown: unknown) => thrown);
  expect(isFault(error, "model-failed")).toBe(true);
  expect(error).toMatchObject({ fault: { again: true } });
});

test("M-17 an answer that wants to be continued by another request is not: one ask is one request", async () => {
  const wired = wiredAs("google");
  const text = wired.wire.stream(SAID).replaceAll(/"finishReason":"STOP"/g, '"finishReason":"CONTINUATION","continuationToken":"more"');
  const local = await at((response) => response.writeHead(200, SSE).end(text));
  const asked = await modelAt(wired, local.url)
    .ask(request([user("x")]), () => {}, never)
    .catch((thrown: unknown) => thrown);
  expect(local.asked).toHaveLength(1);
  if (isFault(asked, "model-failed")) expect(asked.fault).toMatchObject({ again: false, broke: true });
  else expect(asked).toMatchObject({ finish: "length" });
});

/** Node's fetch, which says how much of an answer was taken from it: the system's own buffers are nobody's memory here. */
function countingFetch(taken: { bytes: number }): typeof fetch {
  const real = globalThis.fetch;
  return async (input, init) => {
    const response = await real(input, init);
    const reader = response.body?.getReader();
    if (reader === undefined) return response;
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const { done, value } = await reader.read();
          if (done) return controller.close();
          taken.bytes += value.length;
          controller.enqueue(value);
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
    return new Response(body, response);
  };
}

describe.each(WIRES)("M-10 over $id", (wired) => {
  test("M-10 a slow reader slows the stream down: what is read ahead of it is bounded, and nothing is lost", async () => {
    const words = 2_000;
    const script: Script = { ...SAID, parts: [{ say: `${"x".repeat(999)} `.repeat(words) }] };
    const bytes = Buffer.from(wired.wire.stream(script));
    const local = await at((response) => response.writeHead(200, SSE).end(bytes));
    const taken = { bytes: 0 };
    vi.stubGlobal("fetch", countingFetch(taken));
    let [held, shown] = [0, 0];
    const show = async (preview: Preview): Promise<void> => {
      shown += preview.text.length;
      if (held > 0) return;
      for (let turns = 0; turns < 300; turns += 1) await breathe(); // it takes its time: whoever reads ahead does so now
      held = taken.bytes;
    };
    const reply = await modelAt(wired, local.url).ask(request([user("x")]), show, never);
    expect([shown, ...reply.parts.map(({ text }) => text.length)]).toEqual([words * 1_000, words * 1_000]);
    expect(taken.bytes).toBe(bytes.length);
    expect(held, "the reader was waited for").toBeGreaterThan(0);
    expect(held, `of ${bytes.length} bytes, while the reader held still`).toBeLessThan(400_000);
  });
});
