import Anthropic from "@anthropic-ai/sdk";
import { type Attachment, isFault } from "@orgate/core";
import OpenAI from "openai";
import { afterEach, describe, expect, test } from "vitest";
import { readModelSettings } from "./env.ts";
import { anthropicWire } from "./fixtures/anthropic-wire.ts";
import { geminiWire } from "./fixtures/gemini-wire.ts";
import { request, user } from "./fixtures/golden.ts";
import {
  ANTHROPIC_FILES,
  chatFiles,
  chatImages,
  FILE_CASES,
  GEMINI_FILES,
  GIF,
  RESPONSES_FILES,
  showing,
} from "./fixtures/golden-files.ts";
import { chatWire } from "./fixtures/openai-chat-wire.ts";
import { responsesWire } from "./fixtures/openai-responses-wire.ts";
import { type Local, provider, type Script, type WireFormat } from "./fixtures/server.ts";
import { type AnyLanguageModel, languageModel } from "./language-model.ts";
import { providerModel } from "./providers.ts";

const never = new AbortController().signal;
const opened: Local[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

const OK: Script = { parts: [{ say: "A pixel." }], finish: "stop", usage: { input: 300, cached: 0, output: 3, reasoning: 0 } };
const open = async (wire: WireFormat): Promise<Local> => {
  const local = await provider(wire, [OK]);
  opened.push(local);
  return local;
};

const PLACES = [
  { id: "anthropic/claude-sonnet-4-5", wire: anthropicWire, at: "ANTHROPIC_BASE_URL", path: "", bodies: ANTHROPIC_FILES },
  { id: "openai/gpt-test", wire: responsesWire, at: "OPENAI_BASE_URL", path: "", bodies: RESPONSES_FILES },
  {
    id: "openai-chat/gpt-test",
    wire: chatWire({ path: "/v1/chat/completions", keyed: true, thinks: null }),
    at: "OPENAI_BASE_URL",
    path: "",
    bodies: chatFiles("gpt-test"),
  },
  { id: "google/gemini-2.5-flash", wire: geminiWire, at: "GOOGLE_GENERATIVE_AI_BASE_URL", path: "", bodies: GEMINI_FILES },
  {
    id: "openrouter/maker/model-test",
    wire: chatWire({ path: "/api/v1/chat/completions", keyed: true, thinks: null }),
    at: "OPENROUTER_BASE_URL",
    path: "",
    bodies: chatFiles("maker/model-test"),
  },
  {
    id: "ollama/llava-test",
    wire: chatWire({ path: "/v1/chat/completions", keyed: false, thinks: null }),
    at: "OLLAMA_BASE_URL",
    path: "",
    bodies: chatImages("llava-test"),
  },
  {
    id: "openai-compatible/served-test",
    wire: chatWire({ path: "/v1/chat/completions", keyed: false, thinks: null }),
    at: "OPENAI_COMPATIBLE_BASE_URL",
    path: "/v1",
    bodies: chatImages("served-test"),
  },
] as const;
type Place = (typeof PLACES)[number];
const KEYS = {
  ANTHROPIC_API_KEY: "sk-ant-test-000000",
  OPENAI_API_KEY: "sk-test-0000000000",
  GOOGLE_GENERATIVE_AI_API_KEY: "AIzaTest0000000000",
  OPENROUTER_API_KEY: "sk-or-test-000000",
};
const modelAt = ({ id, at, path }: Place, { url }: Local) =>
  providerModel(id, {}, readModelSettings({ ...KEYS, [at]: `${url}${path}` }, null), () => 0);

describe.each(PLACES)("$id", (place) => {
  test.each(FILE_CASES)("M-22 what is sent is what the documentation says: $name", async ({ name, message }) => {
    const local = await open(place.wire);
    const asked = modelAt(place, local).ask(request([message], { tools: [] }), () => {}, never);
    const body = place.bodies[name];
    if (body === undefined) return refusedFor(asked, local, "application/pdf");
    await asked;
    expect(local.asked.map((one) => one.body)).toEqual([body]);
  });

  test("M-22 a file stays in its message when there are more, and goes again with the next request", async () => {
    const [{ message } = { message: user("") }] = FILE_CASES;
    const local = await open(place.wire);
    await modelAt(place, local).ask(
      request(
        [
          message,
          { role: "assistant", parts: [{ kind: "text", text: "A dot.", meta: null }], tokens: 3, entry: message.entry },
          user("Sure?"),
        ],
        {
          tools: [],
        },
      ),
      () => {},
      never,
    );
    const text = JSON.stringify(local.asked[0]?.body);
    expect(text.split("iVBORw0KGgo")).toHaveLength(3);
    expect(text.indexOf("iVBORw0KGgo")).toBeLessThan(text.indexOf("A dot."));
  });
});

async function refusedFor(asked: Promise<unknown>, local: Local, mediaType: string): Promise<void> {
  const error: unknown = await asked.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!isFault(error, "model-failed")) throw new Error("it was asked");
  expect(error.fault).toMatchObject({
    status: 415,
    again: false,
    broke: false,
    transient: false,
    detail: expect.stringContaining(`it takes no ${mediaType}`),
  });
  expect(error.fault).toMatchObject({ detail: expect.stringMatching(/it takes image\/png, .*text\/…$/) });
  expect(local.asked).toEqual([]); // nothing left the process
}

test.each(PLACES.filter(({ id }) => /^(google|ollama)\//.test(id)))(
  "M-22 $id takes no moving images: said before anything is sent",
  async (place) => {
    const local = await open(place.wire);
    await refusedFor(
      modelAt(place, local).ask(request([showing("What is it?", GIF)]), () => {}, never),
      local,
      "image/gif",
    );
  },
);

describe("a model of one's own", () => {
  const [image] = FILE_CASES.flatMap(({ message }) => (message.role === "user" ? (message.files ?? []) : []));
  if (image?.kind !== "image") throw new Error("an image");
  async function promptOf(specificationVersion: "v2" | "v3" | "v4", files: readonly Attachment[]): Promise<unknown> {
    let prompt: unknown;
    const parrot = {
      specificationVersion,
      provider: "own",
      modelId: "parrot",
      supportedUrls: {},
      doStream: async (options: { readonly prompt: unknown }) => {
        prompt = options.prompt;
        const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
        const pieces = [
          { type: "text-start", id: "1" },
          { type: "text-delta", id: "1", delta: "ok" },
          { type: "text-end", id: "1" },
          { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage },
        ];
        return { stream: ReadableStream.from(pieces) };
      },
    };
    const model = languageModel(parrot as unknown as AnyLanguageModel); // as much of the interface as is used
    await model.ask(request([showing("What is it?", ...files)], { system: "", tools: [] }), () => {}, never);
    return prompt;
  }

  test.each([
    ["v2", image.base64],
    ["v3", image.base64],
    ["v4", { type: "data", data: image.base64 }],
  ] as const)("M-22 of version %s of the interface is given files as that version has them", async (version, data) => {
    expect(await promptOf(version, [image])).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "What is it?" },
          { type: "file", mediaType: "image/png", filename: "pixel.png", data },
        ],
      },
    ]);
  });
});

test.each(PLACES)("M-22 $id: an image without a word is sent alone", async (place) => {
  const [{ message } = { message: user("") }] = FILE_CASES;
  if (message.role !== "user") throw new Error("a person's message");
  const local = await open(place.wire);
  await modelAt(place, local).ask(request([{ ...message, text: " " }], { tools: [] }), () => {}, never);
  const body = JSON.stringify(local.asked[0]?.body);
  expect(body.split("iVBORw0KGgo")).toHaveLength(3);
  expect(body).not.toContain("no text");
});

describe("the servers take files as the providers' own clients send them", () => {
  const data = "iVBORw0KGgo=";
  test("Anthropic's SDK", async () => {
    const local = await open(anthropicWire);
    const client = new Anthropic({ apiKey: KEYS.ANTHROPIC_API_KEY, baseURL: local.url, maxRetries: 0 });
    const ask = (media_type: "image/png") =>
      client.messages
        .stream({
          model: "claude-test",
          max_tokens: 100,
          messages: [
            {
              role: "user",
              content: [
                { type: "image", source: { type: "base64", media_type, data } },
                { type: "text", text: "?" },
              ],
            },
          ],
        })
        .finalMessage();
    expect((await ask("image/png")).content).toMatchObject([{ type: "text", text: "A pixel." }]);
    await expect(ask("image/bmp" as "image/png")).rejects.toMatchObject({ status: 400 });
  });

  test("OpenAI's SDK, both ways", async () => {
    const image = `data:image/png;base64,${data}`;
    const chats = await open(chatWire({ path: "/v1/chat/completions", keyed: true, thinks: null }));
    const chat = new OpenAI({ apiKey: KEYS.OPENAI_API_KEY, baseURL: `${chats.url}/v1`, maxRetries: 0 }).chat.completions;
    const completion = await chat
      .stream({ model: "gpt-test", messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: image } }] }] })
      .finalChatCompletion();
    expect(completion.choices[0]?.message.content).toBe("A pixel.");
    const answers = await open(responsesWire);
    const responses = new OpenAI({ apiKey: KEYS.OPENAI_API_KEY, baseURL: `${answers.url}/v1`, maxRetries: 0 }).responses;
    const input = [{ role: "user" as const, content: [{ type: "input_image" as const, image_url: image, detail: "auto" as const }] }];
    const response = await responses.stream({ model: "gpt-test", input, store: false }).finalResponse();
    expect(response.output_text).toBe("A pixel.");
  });
});
