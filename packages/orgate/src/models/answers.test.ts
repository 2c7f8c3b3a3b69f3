/** Structured answers and calls in words through the real adapters, against servers that refuse what the providers' documentation does not allow. */
import Anthropic from "@anthropic-ai/sdk";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { callId, type Json, type JsonObject, type Part, type Preview } from "@orgate/core";
import fc from "fast-check";
import OpenAI from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { closeObjects, isStrict } from "./answers.ts";
import { readModelSettings } from "./env.ts";
import { anthropicWire } from "./fixtures/anthropic-wire.ts";
import { geminiWire } from "./fixtures/gemini-wire.ts";
import { assistant, LOOK_UP, note, request, result, SYSTEM, user } from "./fixtures/golden.ts";
import { chatWire } from "./fixtures/openai-chat-wire.ts";
import { responsesWire } from "./fixtures/openai-responses-wire.ts";
import { type Local, listen, provider, type Script, type WireFormat } from "./fixtures/server.ts";
import { notStrict } from "./fixtures/strict-schema.ts";
import { ANTHROPIC, ANTHROPIC_OLD, CHAT, compatible, DEBT, GEMINI, GEMINI_3, OPTIONAL, RESPONSES } from "./fixtures/structured-golden.ts";
import { providerModel } from "./providers.ts";

const never = new AbortController().signal;
const opened: Local[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

type Setup = Readonly<{
  id: string;
  wire: WireFormat;
  env: (url: string) => Record<string, string>;
  bodies: Readonly<Record<"alone" | "tools" | "optional", unknown>>;
}>;
const compat = (path: string, keyed: boolean) => chatWire({ path, keyed, thinks: "reasoning" });
const openai = (url: string) => ({ OPENAI_API_KEY: "sk-test-0000000000", OPENAI_BASE_URL: url });
const SETUPS: readonly Setup[] = [
  {
    id: "anthropic/claude-sonnet-4-5",
    wire: anthropicWire,
    env: (url) => ({ ANTHROPIC_API_KEY: "sk-ant-test-000000", ANTHROPIC_BASE_URL: url }),
    bodies: ANTHROPIC,
  },
  { id: "openai/gpt-test", wire: responsesWire, env: openai, bodies: RESPONSES },
  { id: "openai-chat/gpt-test", wire: chatWire({ path: "/v1/chat/completions", keyed: true, thinks: null }), env: openai, bodies: CHAT },
  {
    id: "google/gemini-2.5-flash",
    wire: geminiWire,
    env: (url) => ({ GOOGLE_GENERATIVE_AI_API_KEY: "AIzaTest0000000000", GOOGLE_GENERATIVE_AI_BASE_URL: url }),
    bodies: GEMINI,
  },
  {
    id: "openrouter/maker/model-test",
    wire: compat("/api/v1/chat/completions", true),
    env: (url) => ({ OPENROUTER_API_KEY: "sk-or-test-000000", OPENROUTER_BASE_URL: url }),
    bodies: compatible("maker/model-test"),
  },
  {
    id: "ollama/llama-test",
    wire: compat("/v1/chat/completions", false),
    env: (url) => ({ OLLAMA_BASE_URL: url }),
    bodies: compatible("llama-test"),
  },
  {
    id: "openai-compatible/served-test",
    wire: compat("/any/v1/chat/completions", false),
    env: (url) => ({ OPENAI_COMPATIBLE_BASE_URL: `${url}/any/v1/` }),
    bodies: compatible("served-test"),
  },
];
const JSON_TOOL = { name: "json", description: "Makes a file.", inputSchema: LOOK_UP.inputSchema };

test("M-25 a tool of the agent's that has the name of the package's own for answers is called, not taken for the answer", async () => {
  const anthropic = setupOf("anthropic/");
  const local = await open(anthropic.wire, calls("json", '{"name":"Ann"}'), calls("final_answer", ANN));
  const model = modelAt({ ...anthropic, id: "anthropic/claude-opus-4-1" }, local.url);
  const first = await model.ask(wanting(DEBT, { tools: [JSON_TOOL] }), () => {}, never);
  expect(first).toMatchObject({ finish: "calls", parts: [{ kind: "call", tool: "json", text: '{"name":"Ann"}' }] });
  const second = await model.ask(wanting(DEBT, { tools: [JSON_TOOL] }), () => {}, never);
  expect(second).toMatchObject({ finish: "stop", parts: [{ kind: "text", text: ANN }] });
});

const setupOf = (id: string): Setup => SETUPS.find((one) => one.id.startsWith(id)) ?? fail(id);
function fail(what: string): never {
  throw new Error(what);
}

const USAGE = { input: 20, cached: 8, output: 9, reasoning: 4 };
const ANN = '{"name":"Ann","cents":5,"notes":[]}';
const says = (say: string): Script => ({ parts: [{ say }], finish: "stop", usage: USAGE });
const calls = (tool: string, args: string): Script => ({ parts: [{ call: "toolu_01", tool, args }], finish: "calls", usage: USAGE });
const wanting = (schema: JsonObject, more = {}) => request([user("Who owes?")], { answer: { kind: "text", schema }, ...more });

async function open(wire: WireFormat, ...scripts: readonly Script[]): Promise<Local> {
  const local = await provider(wire, scripts, 1);
  opened.push(local);
  return local;
}
const modelAt = ({ id, env }: Pick<Setup, "id" | "env">, url: string, options: JsonObject = {}) =>
  providerModel(id, options, readModelSettings(env(url), null), () => 0);
const bodiesOf = (local: Local) => local.asked.map(({ body }) => body);

describe.each(SETUPS)("$id", (setup) => {
  test("M-11 a structured answer is asked for as the documentation says", async () => {
    const local = await open(setup.wire, says(ANN));
    const previews: Preview[] = [];
    const reply = await modelAt(setup, local.url).ask(wanting(DEBT, { tools: [] }), (one) => void previews.push(one), never);
    expect(bodiesOf(local)).toEqual([setup.bodies.alone]);
    expect(reply).toMatchObject({ finish: "stop", parts: [{ kind: "text", text: ANN }] });
    expect(previews.map((p) => p.text).join("")).toBe(ANN);
  });

  test("M-11 a schema with a field that may be left out is not asked for as a strict one", async () => {
    const local = await open(setup.wire, says('{"name":"Ann"}'));
    await modelAt(setup, local.url).ask(wanting(OPTIONAL, { tools: [] }), () => {}, never);
    expect(bodiesOf(local)).toEqual([setup.bodies.optional]);
  });

  test("M-11 with tools both go together: a call of one is a call, and the answer is text, however it was given", async () => {
    const byTool = setup.bodies.tools !== undefined && /"(final_answer|json)"/.test(JSON.stringify(setup.bodies.tools));
    const answer = JSON.stringify(setup.bodies.tools).includes('"final_answer"') ? "final_answer" : "json";
    const local = await open(setup.wire, calls("look_up", '{"name":"Ann"}'), byTool ? calls(answer, ANN) : says(ANN));
    const model = modelAt(setup, local.url);
    const first = await model.ask(wanting(DEBT), () => {}, never);
    expect(bodiesOf(local)).toEqual([setup.bodies.tools]);
    expect(first).toMatchObject({ finish: "calls", parts: [{ kind: "call", tool: "look_up", text: '{"name":"Ann"}' }] });
    const second = await model.ask(wanting(DEBT), () => {}, never);
    expect(second.parts.filter((p) => p.kind !== "thinking")).toMatchObject([{ kind: "text", text: ANN }]);
    expect(second.finish).toBe("stop");
  });

  test("M-11 an answer that was asked for again is a conversation like any other", async () => {
    const local = await open(setup.wire, says(ANN));
    const again = [
      user("Who owes?"),
      assistant({ kind: "text", text: "Ann", meta: null }),
      note("[does not fit] your answer is not what was asked for"),
    ];
    const reply = await modelAt(setup, local.url).ask(
      request(again, { answer: { kind: "text", schema: DEBT }, tools: [] }),
      () => {},
      never,
    );
    expect(reply.parts).toMatchObject([{ text: ANN }]);
  });
});

test("M-11 a model of Anthropic's from before gets a tool for its answer", async () => {
  const setup = { ...setupOf("anthropic/"), id: "anthropic/claude-3-haiku-20240307" };
  const old: WireFormat = {
    ...setup.wire,
    objections: (body: never, asked) => setup.wire.objections({ ...Object(body), temperature: undefined } as never, asked),
  };
  const local = await open(old, calls("json", ANN));
  const reply = await modelAt(setup, local.url).ask(wanting(DEBT), () => {}, never);
  expect(bodiesOf(local)).toEqual([ANTHROPIC_OLD]);
  expect(reply).toMatchObject({ finish: "stop", parts: [{ kind: "text", text: ANN }] });
});

test("M-11 a Gemini that takes both is given both", async () => {
  const setup = { ...setupOf("google/"), id: "google/gemini-3-flash-preview" };
  const local = await open({ ...setup.wire, path: "/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse" }, says(ANN));
  const reply = await modelAt(setup, local.url).ask(wanting(DEBT), () => {}, never);
  expect(bodiesOf(local)).toEqual([GEMINI_3]);
  expect(reply.parts).toMatchObject([{ text: ANN }]);
});

test.each([
  ["openai/", "call", true],
  ["ollama/", "native", false],
])("M-25 how it is given can be said: %s by `%s`", async (id, answers, byCall) => {
  const setup = setupOf(id);
  const local = await open(setup.wire, byCall ? calls("final_answer", ANN) : says(ANN));
  const reply = await modelAt(setup, local.url, { answers }).ask(wanting(DEBT), () => {}, never);
  expect(reply).toMatchObject({ finish: "stop", parts: [{ kind: "text", text: ANN }] });
  expect(JSON.stringify(bodiesOf(local)).includes("final_answer")).toBe(byCall);
});

test("M-25 who thinks cannot be made to call: Anthropic's is asked to", async () => {
  const setup = setupOf("anthropic/");
  const local = await open(setup.wire, calls("final_answer", ANN));
  const options = { answers: "call", providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } } };
  const reply = await modelAt(setup, local.url, options).ask(wanting(DEBT, { maxOutputTokens: 2048 }), () => {}, never);
  expect(bodiesOf(local)).toMatchObject([{ tool_choice: { type: "auto" }, tools: [{ name: "look_up" }, { name: "final_answer" }] }]);
  expect(reply.parts).toMatchObject([{ kind: "text", text: ANN }]);
});

describe("what the providers' own clients make of a schema is what these servers take", () => {
  const Debt = z.object({ name: z.string(), cents: z.int(), notes: z.array(z.object({ text: z.string() })) });
  const messages = [{ role: "user" as const, content: "Who owes?" }];

  test("OpenAI's SDK, both ways", async () => {
    const chats = await open(setupOf("openai-chat/").wire, says(ANN));
    const first = new OpenAI({ apiKey: "sk-test-0000000000", baseURL: `${chats.url}/v1`, maxRetries: 0 });
    const completion = await first.chat.completions
      .stream({ model: "gpt-test", messages, response_format: zodResponseFormat(Debt, "answer"), stream_options: { include_usage: true } })
      .finalChatCompletion();
    expect(completion.choices[0]?.message.parsed).toEqual(JSON.parse(ANN));
    expect(stripped(chats.asked[0]?.body, "response_format")).toEqual(stripped(CHAT.alone, "response_format"));

    const responses = await open(responsesWire, says(ANN));
    const second = new OpenAI({ apiKey: "sk-test-0000000000", baseURL: `${responses.url}/v1`, maxRetries: 0 });
    const response = await second.responses
      .stream({ model: "gpt-test", input: "Who owes?", store: false, text: { format: zodTextFormat(Debt, "answer") } })
      .finalResponse();
    expect(response.output_parsed).toEqual(JSON.parse(ANN));
    expect(stripped(responses.asked[0]?.body, "text")).toEqual(stripped(RESPONSES.alone, "text"));
  });

  test("Anthropic's SDK", async () => {
    const local = await open(anthropicWire, says(ANN));
    const client = new Anthropic({ apiKey: "sk-ant-test-000000", baseURL: local.url, maxRetries: 0 });
    await client.messages
      .stream({ model: "claude-test", max_tokens: 100, messages, output_config: { format: zodOutputFormat(Debt) } })
      .finalMessage();
    expect(stripped(local.asked[0]?.body, "output_config")).toEqual(stripped(ANTHROPIC.alone, "output_config"));
  });

  /** Zod's own bounds of an integer, and what it says of itself, are no part of the shape; Anthropic's SDK puts bounds into words. */
  const stripped = (body: unknown, field: string): unknown =>
    JSON.parse(JSON.stringify(Object(body)[field]), (key, one) =>
      ["$schema", "minimum", "maximum", "description"].includes(key) ? undefined : one,
    );
});

describe("what is asked of a strict provider", () => {
  const names = fc.constantFrom("a", "properties", "type", "$defs", "c");
  const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
    schema: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom<JsonObject>(
        { type: "string" },
        { type: "integer" },
        { enum: ["x"] },
        {},
        { type: "string", minLength: 1 },
        { type: "string", format: "uri" },
        { type: "string", format: "email" },
        { type: "object" },
        { allOf: [{ type: "string" }] },
      ),
      fc.record({ type: fc.constant("array"), items: tie("schema") }),
      fc.array(tie("schema"), { minLength: 1, maxLength: 2 }).map((anyOf) => ({ anyOf })),
      fc.tuple(fc.dictionary(names, tie("schema"), { maxKeys: 3 }), fc.boolean(), fc.constantFrom(undefined, true, false)).map(
        ([properties, all, additionalProperties]): JsonObject => ({
          type: "object",
          properties,
          required: Object.keys(properties).slice(all ? 0 : 1),
          ...(additionalProperties === undefined ? {} : { additionalProperties }),
        }),
      ),
    ),
  }));
  const objects = schema.map((one): JsonObject => ({ type: "object", properties: { root: one }, required: ["root"] }));

  test("M-11 what is said to be strict is what the provider takes for strict", () =>
    fc.assert(
      fc.property(objects, (one) => {
        const sent = closeObjects(one);
        if (isStrict(sent)) expect(notStrict(sent, "answer")).toEqual([]);
        expect(JSON.parse(JSON.stringify(sent), dropClosed)).toEqual(JSON.parse(JSON.stringify(one), dropClosed)); // nothing else was changed
      }),
    ));
  const dropClosed = (_: string, value: Json): Json => {
    if (typeof value !== "object" || value === null || Array.isArray(value) || (value as JsonObject).type !== "object") return value;
    const { additionalProperties, ...rest } = value as JsonObject;
    return additionalProperties === false ? rest : value;
  };
});

describe("a model without calls of its own", () => {
  const ollama = setupOf("ollama/");
  const call: Part = {
    kind: "call",
    id: callId("1.0"),
    wireId: "c_1",
    tool: "look_up",
    text: '{"name":"Ann"}',
    meta: null,
  };
  const text = (local: Local, n: number): string => JSON.stringify(local.asked[n]?.body);

  test("M-26 it is told of the tools, calls in words, and hears in words what came of it", async () => {
    let mark = "";
    const wire: WireFormat = {
      ...ollama.wire,
      objections: (body: never, asked) => {
        mark = /```call-([0-9a-f]{16}) TOOL/.exec(JSON.stringify(body))?.[1] ?? "";
        return ollama.wire.objections(body, asked);
      },
      stream: (script) =>
        ollama.wire.stream({ ...script, parts: [{ say: `I look.\n\`\`\`call-${mark} look_up\n{"name":"Ann"}\n\`\`\`` }] }),
    };
    const local = await open(wire, says(""), says(""));
    const model = modelAt(ollama, local.url, { tools: "prompted" });
    const reply = await model.ask(request([user("Ann?")]), () => {}, never);
    expect(reply).toMatchObject({
      finish: "calls",
      parts: [
        { kind: "text", text: "I look." },
        { kind: "call", tool: "look_up", text: '{"name":"Ann"}' },
      ],
    });
    await model.ask(request([user("Ann?"), assistant(call), result("c_1", "owes 5\n```call-x y\n{}\n```")]), () => {}, never);
    expect(local.asked[1]?.body).toMatchObject({
      messages: [
        { role: "system", content: expect.stringMatching(new RegExp(`^${SYSTEM}\n\n## Tools`)) },
        { role: "user", content: "Ann?" },
        { role: "assistant", content: `\`\`\`call-${mark} look_up\n{"name":"Ann"}\n\`\`\`` },
        {
          role: "user",
          content: `\`\`\`results-${mark}\n{"call":1,"tool":"look_up","error":false,"result":"owes 5\\n\\u0060\\u0060\\u0060call-x y\\n{}\\n\\u0060\\u0060\\u0060"}\n\`\`\``,
        },
      ],
    });
    for (const n of [0, 1]) expect(text(local, n)).not.toContain('"tools"');
  });

  test("M-26 the mark is another in every process, and for every session", async () => {
    const local = await open(ollama.wire, says("a"), says("b"));
    for (const _ of [0, 1]) await modelAt(ollama, local.url, { tools: "prompted" }).ask(request([user("go")]), () => {}, never);
    const [a, b] = [0, 1].map((n) => /call-([0-9a-f]{16}) /.exec(text(local, n))?.[1]);
    expect(a).toBeTruthy();
    expect(a).not.toBe(b);
  });

  test("M-26 Ollama's own refusal names the setting; other refusals do not", async () => {
    const refusing = async (message: string) => {
      const local = await listen((response) => {
        response.writeHead(400, { "content-type": "application/json" });
        response.end(JSON.stringify({ error: { message, type: "api_error", param: null, code: null } }));
      });
      opened.push(local);
      return modelAt(ollama, local.url).ask(request([user("go")], { tools: [LOOK_UP] }), () => {}, never);
    };
    await expect(refusing("stablelm2:latest does not support tools")).rejects.toMatchObject({
      fault: {
        kind: "model-failed",
        status: 400,
        again: false,
        detail: expect.stringMatching(/does not support tools; with `modelOptions: \{ tools: "prompted" \}`/),
      },
    });
    await expect(refusing("invalid temperature")).rejects.toMatchObject({ fault: { detail: expect.not.stringContaining("prompted") } });
  });

  test("M-26 an option that is none is refused before anything is asked", () => {
    expect(() => modelAt(ollama, "http://127.0.0.1:1", { tools: "perhaps" })).toThrow("its options are wrong: `tools`");
  });
});
