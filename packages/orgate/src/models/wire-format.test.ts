import Anthropic from "@anthropic-ai/sdk";
import { callId, type Message, type ModelReply, type Part, type Preview, type ReplyPart } from "@orgate/core";
import OpenAI from "openai";
import { afterEach, describe, expect, test } from "vitest";
import { readModelSettings } from "./env.ts";
import { anthropicWire, SIGNATURE } from "./fixtures/anthropic-wire.ts";
import { geminiWire, THOUGHT } from "./fixtures/gemini-wire.ts";
import {
  ANTHROPIC,
  ANTHROPIC_NOW,
  ANTHROPIC_UNMARKED,
  anthropicThought,
  assistant,
  CASES,
  chat,
  chatThought,
  GEMINI,
  geminiThought,
  LOOK_UP,
  RESPONSES,
  request,
  responsesThought,
  result,
  user,
} from "./fixtures/golden.ts";
import { chatWire, SIGNED } from "./fixtures/openai-chat-wire.ts";
import { ENCRYPTED, responsesWire } from "./fixtures/openai-responses-wire.ts";
import { type Local, listen, provider, type Script, type WireFormat } from "./fixtures/server.ts";
import { providerModel } from "./providers.ts";

const never = new AbortController().signal;
const opened: Local[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

const compat = { keyed: false, thinks: "reasoning" } as const;
type Setup = Readonly<{
  id: string;
  wire: WireFormat;
  env: (url: string) => Record<string, string>;
  bodies: Readonly<Record<string, unknown>>;
}>;
const SETUPS: readonly Setup[] = [
  {
    id: "anthropic/claude-sonnet-4-5",
    wire: anthropicWire,
    env: (url) => ({ ANTHROPIC_API_KEY: "sk-ant-test-000000", ANTHROPIC_BASE_URL: url }),
    bodies: ANTHROPIC,
  },
  {
    id: "openai/gpt-test",
    wire: responsesWire,
    env: (url) => ({ OPENAI_API_KEY: "sk-test-0000000000", OPENAI_BASE_URL: url }),
    bodies: RESPONSES,
  },
  {
    id: "openai-chat/gpt-test",
    wire: chatWire({ path: "/v1/chat/completions", keyed: true, thinks: null }),
    env: (url) => ({ OPENAI_API_KEY: "sk-test-0000000000", OPENAI_BASE_URL: url }),
    bodies: chat("gpt-test", null, true),
  },
  {
    id: "google/gemini-2.5-flash",
    wire: geminiWire,
    env: (url) => ({ GOOGLE_GENERATIVE_AI_API_KEY: "AIzaTest0000000000", GOOGLE_GENERATIVE_AI_BASE_URL: url }),
    bodies: GEMINI,
  },
  {
    id: "openrouter/maker/model-test",
    wire: chatWire({ path: "/api/v1/chat/completions", keyed: true, thinks: "reasoning", signs: true }),
    env: (url) => ({ OPENROUTER_API_KEY: "sk-or-test-000000", OPENROUTER_BASE_URL: url }),
    bodies: chat("maker/model-test", null, false),
  },
  {
    id: "ollama/llama-test",
    wire: chatWire({ path: "/v1/chat/completions", ...compat }),
    env: (url) => ({ OLLAMA_BASE_URL: url }),
    bodies: chat("llama-test", null, false),
  },
  {
    id: "openai-compatible/served-test",
    wire: chatWire({ path: "/any/v1/chat/completions", keyed: false, thinks: "reasoning_content" }),
    env: (url) => ({ OPENAI_COMPATIBLE_BASE_URL: `${url}/any/v1/` }),
    bodies: chat("served-test", null, false),
  },
];

const USAGE = { input: 20, cached: 8, output: 9, reasoning: 4 };
const OK: Script = { parts: [{ say: "Änne owes 5 €. 🪙" }], finish: "stop", usage: USAGE };

async function open(wire: WireFormat, scripts: readonly Script[], seed = 1): Promise<Local> {
  const local = await provider(wire, scripts, seed);
  opened.push(local);
  return local;
}

const modelAt = ({ id, env }: Setup, url: string, options = {}) => providerModel(id, options, readModelSettings(env(url), null), () => 0);
const say = (text: string): Part => ({ kind: "text", text, meta: null });
const call = (wireId: string, name: string): Part => ({
  kind: "call",
  id: callId("1.0"),
  wireId,
  tool: "look_up",
  text: `{"name":"${name}"}`,
  meta: null,
});

describe.each(SETUPS)("$id", (setup) => {
  test.each(["functions.look_up:0", `chatcmpl-tool-${"a".repeat(60)}`])(
    "M-11 the id of a call that another provider gave is taken: %s",
    async (id) => {
      const local = await open(setup.wire, [OK]);
      const other = `${id.slice(0, -1)}b`;
      const said = [user("Ann?"), assistant(call(id, "Ann"), call(other, "Bob")), result(id, "owes 5"), result(other, "owes 0")];
      await modelAt(setup, local.url).ask(request(said), () => {}, never);
      const sent = JSON.stringify(local.asked[0]?.body);
      if (/^(ollama|openrouter|openai-compatible|google)/.test(setup.id)) expect(sent.split(`"${id}"`)).toHaveLength(3); // as it came
      for (const known of ["toolu_01A09q90qw90lq917835lq9", "call_abc", "orgate_1_0"]) {
        const again = await open(setup.wire, [OK]);
        await modelAt(setup, again.url).ask(
          request([user("Ann?"), assistant(call(known, "Ann")), result(known, "owes 5")]),
          () => {},
          never,
        );
        expect(JSON.stringify(again.asked[0]?.body).split(`"${known}"`)).toHaveLength(3);
      }
    },
  );

  test.each(CASES)(
    "M-11 what is sent is what the documentation says: $name",
    async ({ name, messages, tools, temperature, context = [] }) => {
      const local = await open(setup.wire, [OK]);
      const model = modelAt(setup, local.url);
      const reply = await model.ask(
        request(messages(say, call), { context, temperature, ...(tools ? {} : { tools: [] }) }),
        () => {},
        never,
      );
      expect(local.asked.map(({ body }) => body)).toEqual([setup.bodies[name]]);
      expect(reply).toMatchObject({ finish: "stop", model: setup.id, usage: { input: 20, output: 9 } });
      expect(reply.parts.map(({ kind, text }) => ({ kind, text }))).toEqual([{ kind: "text", text: "Änne owes 5 €. 🪙" }]);
    },
  );

  test("M-12 wherever the bytes are cut, the reply is the same: text, calls with exact arguments, previews that add up", async () => {
    const args = '{ "name" : "Bé\\u0301a 🪙" }';
    const exact = setup.wire === geminiWire ? JSON.stringify(JSON.parse(args)) : args; // Gemini sends arguments as values
    const script: Script = {
      parts: [
        { say: "I look both up 🪙." },
        { call: "toolu_01", tool: "look_up", args },
        { call: "toolu_02", tool: "look_up", args: '{"name":"Bob"}' },
      ],
      finish: "calls",
      usage: USAGE,
    };
    for (const seed of [1, 7, 99]) {
      const local = await open(setup.wire, [script], seed);
      const previews: Preview[] = [];
      const reply = await modelAt(setup, local.url).ask(request([user("Ann or Bob?")]), (one) => void previews.push(one), never);
      expect(reply.finish).toBe("calls");
      expect(reply.parts.map(({ kind, text }) => ({ kind, text }))).toEqual([
        { kind: "text", text: "I look both up 🪙." },
        { kind: "call", text: exact },
        { kind: "call", text: '{"name":"Bob"}' },
      ]);
      expect(joined(previews, "text")).toBe("I look both up 🪙.");
      expect(
        [0, 1].map((n) =>
          joined(
            previews.filter((p) => p.part === "call" && p.call === n),
            "call",
          ),
        ),
      ).toEqual([exact, '{"name":"Bob"}']);
      expect(reply).toMatchObject({ usage: { cached: 8 }, meta: { usage: { estimated: false } } });
    }
  });

  test.each(["length", "refused", "filtered"] as const)("M-13 a reply that ended `%s` says so", async (finish) => {
    const local = await open(setup.wire, [{ parts: [{ say: "I will not." }], finish, usage: USAGE }]);
    const reply = await modelAt(setup, local.url).ask(request([user("x")]), () => {}, never);
    const known = { anthropic: { filtered: "refused" }, google: { refused: "filtered" } }; // one has no filter of its own, the other no refusals
    const [provider = ""] = setup.id.split("/");
    expect(reply.finish).toBe(Object.entries(known).find(([name]) => name === provider)?.[1][finish as never] ?? finish);
    expect(reply.parts).toMatchObject([{ kind: "text", text: "I will not." }]);
  });
});

/** As the loop makes it of a reply. */
const journalled = (part: ReplyPart): Part => (part.kind === "call" ? { ...part, id: callId("1.0"), wireId: part.id } : part);

test("without `promptCache` nothing is marked", async () => {
  const [setup] = SETUPS;
  if (setup === undefined) throw new Error("no set-up");
  const local = await open(setup.wire, [OK]);
  await modelAt(setup, local.url, { promptCache: false }).ask(request([user("Who owes?")]), () => {}, never);
  expect(local.asked.map(({ body }) => body)).toEqual([ANTHROPIC_UNMARKED]);
});

test("M-11 a model that takes no temperature is sent none, and that is on record", async () => {
  const [setup] = SETUPS;
  if (setup === undefined) throw new Error("no set-up");
  const local = await open(setup.wire, [OK]);
  const reply = await modelAt({ ...setup, id: "anthropic/claude-opus-5-5" }, local.url).ask(
    request([user("Who owes?")], { tools: [] }),
    () => {},
    never,
  );
  expect(local.asked.map(({ body }) => body)).toEqual([ANTHROPIC_NOW]);
  expect(reply.meta).toMatchObject({ warnings: [{ type: "unsupported", feature: "temperature" }] });
});

const joined = (previews: readonly Preview[], part: Preview["part"]): string => {
  let text = "";
  for (const one of previews) {
    if (one.part !== part) continue;
    expect(one.offset).toBe(text.length);
    text += one.text;
  }
  return text;
};

describe("M-11 thinking goes back as it came", () => {
  const THOUGHTS = "Ann, I think, owes 5 €.";
  const script = (signature: string, id: string): Script => ({
    parts: [{ think: THOUGHTS, signature }, { say: "I look." }, { call: id, tool: "look_up", args: '{"name":"Ann"}' }],
    finish: "calls",
    usage: USAGE,
  });
  async function twice(
    setup: Setup,
    signature: string,
    id: string,
    options: object,
    maxOutputTokens = 1024,
  ): Promise<{ local: Local; first: ModelReply }> {
    const local = await open(setup.wire, [script(signature, id), OK]);
    const model = modelAt(setup, local.url, options);
    const first = await model.ask(request([user("Ann?")], { maxOutputTokens }), () => {}, never);
    const parts = first.parts.map(journalled);
    const [wireId = ""] = parts.flatMap((part) => (part.kind === "call" ? [part.wireId] : []));
    const messages: readonly Message[] = [user("Ann?"), assistant(...parts), result(wireId, "owes 5")];
    await model.ask(request(JSON.parse(JSON.stringify(messages)), { maxOutputTokens }), () => {}, never); // through the journal's JSON and back
    return { local, first };
  }
  const setupOf = (id: string): Setup => {
    const found = SETUPS.find((one) => one.id.startsWith(id));
    if (found === undefined) throw new Error(id);
    return found;
  };

  test("M-11 Anthropic: the block, its signature, its place", async () => {
    const options = { providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } } };
    const { local, first } = await twice(setupOf("anthropic/"), SIGNATURE, "toolu_01A", options, 2048);
    expect(first.parts[0]).toEqual({ kind: "thinking", text: THOUGHTS, meta: { anthropic: { signature: SIGNATURE } } });
    expect(local.asked[1]?.body).toEqual(anthropicThought(THOUGHTS, SIGNATURE));
  });

  test("M-17 what is thought is counted: no more is asked for than was reserved", async () => {
    const options = { providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } } };
    const setup = setupOf("anthropic/");
    const local = await open(setup.wire, [OK]);
    const model = modelAt(setup, local.url, options);
    await expect(model.ask(request([user("Ann?")], { maxOutputTokens: 1024 }), () => {}, never)).rejects.toMatchObject({
      fault: { again: false, broke: false, detail: expect.stringContaining("it may think 1024 tokens") },
    });
    expect(local.asked).toEqual([]);
    await model.ask(request([user("Ann?")], { maxOutputTokens: 1500 }), () => {}, never);
    expect(local.asked[0]?.body).toMatchObject({ max_tokens: 1500, thinking: { budget_tokens: 1024 } });
  });

  test("M-17 what is thought is counted where nobody says how much it may be", async () => {
    const setup = setupOf("anthropic/");
    const local = await open(setup.wire, [OK]);
    const model = modelAt(setup, local.url, { providerOptions: { anthropic: { thinking: { type: "enabled" } } } });
    await model.ask(request([user("Ann?")], { maxOutputTokens: 1500 }), () => {}, never);
    expect(local.asked[0]?.body).toMatchObject({ max_tokens: 1500, thinking: { budget_tokens: 1024 } });
  });

  test("M-11 OpenAI: the reasoning item, encrypted", async () => {
    const options = { providerOptions: { openai: { reasoningEffort: "low", reasoningSummary: "auto" } } };
    const { local, first } = await twice({ ...setupOf("openai/"), id: "openai/gpt-5" }, ENCRYPTED, "call_1", options);
    expect(first.parts[0]).toMatchObject({ kind: "thinking", text: THOUGHTS });
    expect(first.usage).toMatchObject({ reasoning: 4 });
    expect(local.asked[1]?.body).toEqual(responsesThought(THOUGHTS, ENCRYPTED));
  });

  test("M-11 Gemini: the signature on the call it came with", async () => {
    const options = { providerOptions: { google: { thinkingConfig: { includeThoughts: true, thinkingBudget: 1024 } } } };
    const { local, first } = await twice(setupOf("google/"), THOUGHT, "", options);
    const [id = ""] = first.parts.flatMap((part) => (part.kind === "call" ? [part.id] : [])); // Gemini names none, so it is one of ours
    expect(local.asked[1]?.body).toEqual(geminiThought(THOUGHTS, THOUGHT, id));
  });

  test.each([
    [
      "openrouter/",
      { reasoning_details: [{ type: "reasoning.text", format: "anthropic-claude-v1", index: 0, text: THOUGHTS, signature: SIGNED }] },
    ],
    ["ollama/", { reasoning: THOUGHTS }],
    ["openai-compatible/", { reasoning_content: THOUGHTS }],
  ])("M-11 %s thinking is told from text, and goes back as that provider reads it: %j", async (id, field) => {
    const { local, first } = await twice(setupOf(id), SIGNED, "call_1", {});
    expect(first.parts.map(({ kind, text }) => [kind, text])).toEqual([
      ["thinking", THOUGHTS],
      ["text", "I look."],
      ["call", '{"name":"Ann"}'],
    ]);
    expect(local.asked[1]?.body).toEqual(chatThought(setupOf(id).id.slice(id.length), field));
  });

  test("M-11 a thought that is only sealed is kept, and goes back where it belongs; to others it does not go", async () => {
    const sealed = { type: "reasoning.encrypted", data: "c2VhbGVk", format: "google-gemini-v1", index: 0, id: "call_1" };
    const text = setupOf("openrouter/").wire.stream(script("", "call_1"));
    const local = await listen((response) =>
      response
        .writeHead(200, { "content-type": "text/event-stream" })
        .end(
          text.replaceAll(
            /"delta":\{"reasoning":[^\n]*?\},"logprobs"/g,
            `"delta":{"reasoning_details":[${JSON.stringify(sealed)}]},"logprobs"`,
          ),
        ),
    );
    opened.push(local);
    const reply = await modelAt(setupOf("openrouter/"), local.url).ask(request([user("Ann?")]), () => {}, never);
    expect(reply.parts[0]).toMatchObject({
      kind: "thinking",
      text: "",
      meta: { openrouter: { reasoning_details: [{ type: "reasoning.encrypted" }, { type: "reasoning.text" }] } },
    });
    const messages: readonly Message[] = [user("Ann?"), assistant(...reply.parts.map(journalled)), result("call_1", "owes 5")];
    const other = await open(setupOf("ollama/").wire, [OK]);
    await modelAt(setupOf("ollama/"), other.url).ask(request(messages), () => {}, never);
    expect(JSON.stringify(other.asked[0]?.body)).not.toContain("reasoning");
  });
});

describe.each(SETUPS)("the server of $id is strict", ({ id, wire, bodies }) => {
  const headers = {
    "content-type": "application/json",
    "anthropic-version": "2023-06-01",
    "x-api-key": "sk-test-0000000000",
    "x-goog-api-key": "AIzaTest0000000000",
    authorization: "Bearer sk-test-0000000000",
  };
  const shape = id.startsWith("anthropic/")
    ? { type: "error", error: { type: "invalid_request_error", message: expect.any(String) } }
    : id.startsWith("google/")
      ? { error: { code: 400, status: "INVALID_ARGUMENT", message: expect.any(String) } }
      : { error: { type: "invalid_request_error", message: expect.any(String), param: null, code: null } };
  const plain = bodies["plain"] as Readonly<Record<string, unknown>>;
  const said = Object.keys(plain).find((key) => ["messages", "input", "contents"].includes(key)) ?? "";

  test.each([
    ["a field that there is not", { ...plain, surprise: 1 }],
    [
      "a field within that there is not",
      { ...plain, [said]: [...(plain[said] as object[]), { ...(plain[said] as object[]).at(-1), surprise: 1 }] },
    ],
    ["nothing said", { ...plain, [said]: undefined }],
    ["nothing said at all", { ...plain, [said]: [] }],
  ])("%s: its own error, in its own body", async (_, body) => {
    const local = await open(wire, [OK]);
    const post = (given: unknown) => fetch(`${local.url}${wire.path}`, { method: "POST", headers, body: JSON.stringify(given) });
    const refused = await post(body);
    expect([refused.status, await refused.json()]).toEqual([400, expect.objectContaining(shape)]);
    const taken = await post(plain);
    expect(taken.status).toBe(200);
    await taken.text();
  });
});

describe("the servers of these tests are what the providers' own clients expect", () => {
  const script: Script = {
    parts: [{ say: "I look." }, { call: "toolu_01", tool: "look_up", args: '{"name":"Ann"}' }],
    finish: "calls",
    usage: USAGE,
  };

  test("Anthropic's SDK", async () => {
    const local = await open(anthropicWire, [script]);
    const client = new Anthropic({ apiKey: "sk-ant-test-000000", baseURL: local.url, maxRetries: 0 });
    const message = await client.messages
      .stream({
        model: "claude-test",
        max_tokens: 100,
        messages: [{ role: "user", content: "Ann?" }],
        tools: [{ name: "look_up", description: "Looks a person up.", input_schema: { type: "object", ...LOOK_UP.inputSchema } }],
      })
      .finalMessage();
    expect(message).toMatchObject({
      stop_reason: "tool_use",
      usage: { output_tokens: 9, cache_read_input_tokens: 8 },
      content: [
        { type: "text", text: "I look." },
        { type: "tool_use", id: "toolu_01", name: "look_up", input: { name: "Ann" } },
      ],
    });
    await expect(client.messages.create({ model: "claude-test", max_tokens: 0, messages: [] })).rejects.toMatchObject({
      status: 400,
      error: { type: "error", error: { type: "invalid_request_error" } },
    });
  });

  test("OpenAI's SDK, both ways", async () => {
    const chats = await open(chatWire({ path: "/v1/chat/completions", keyed: true, thinks: null }), [script]);
    const first = new OpenAI({ apiKey: "sk-test-0000000000", baseURL: `${chats.url}/v1`, maxRetries: 0 });
    const completion = await first.chat.completions
      .stream({ model: "gpt-test", messages: [{ role: "user", content: "Ann?" }], stream_options: { include_usage: true } })
      .finalChatCompletion();
    expect(completion).toMatchObject({
      choices: [
        {
          finish_reason: "tool_calls",
          message: { content: "I look.", tool_calls: [{ id: "toolu_01", function: { name: "look_up", arguments: '{"name":"Ann"}' } }] },
        },
      ],
      usage: { total_tokens: 29 },
    });
    await expect(first.chat.completions.create({ model: "gpt-test", messages: [] })).rejects.toMatchObject({
      status: 400,
      type: "invalid_request_error",
    });

    const responses = await open(responsesWire, [script]);
    const second = new OpenAI({ apiKey: "sk-test-0000000000", baseURL: `${responses.url}/v1`, maxRetries: 0 });
    const response = await second.responses.stream({ model: "gpt-test", input: "Ann?", store: false }).finalResponse();
    expect(response).toMatchObject({ status: "completed", output_text: "I look.", usage: { output_tokens: 9 } });
    expect(response.output[1]).toMatchObject({ type: "function_call", call_id: "toolu_01", arguments: '{"name":"Ann"}' });
  });
});
