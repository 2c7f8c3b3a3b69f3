import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { embedderFor } from "./embedding.ts";
import { readModelSettings } from "./env.ts";

// OpenAI's reference, "Create embeddings": POST /embeddings with `model`, `input` (a list), `encoding_format`; the answer has `data[].embedding` by `index`.
type Asked = Readonly<{ url: string; authorization: string | undefined; body: { model: string; input: string[] } }>;
const asked: Asked[] = [];
let answer: (input: readonly string[]) => { status?: number; body: unknown } = () => ({ body: {} });
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Asked["body"];
    asked.push({ url: request.url ?? "", authorization: request.headers.authorization, body });
    const { status = 200, body: told } = answer(body.input);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(told));
  });
});
const listOf = (vectors: readonly (readonly number[])[]) => ({
  body: {
    object: "list",
    model: "m",
    data: vectors.map((embedding, index) => ({ object: "embedding", index, embedding })),
    usage: { prompt_tokens: 1, total_tokens: 1 },
  },
});
let env: Record<string, string> = {};
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  env = {
    OPENAI_COMPATIBLE_BASE_URL: base,
    OPENAI_COMPATIBLE_API_KEY: "sk-test-0123456789abcdef",
    OPENAI_API_KEY: "sk-test-0123456789abcdef",
    OPENAI_BASE_URL: base,
    OLLAMA_BASE_URL: base,
  };
});
afterAll(() => new Promise<void>((resolve) => server.close(() => resolve())));
const signal = () => new AbortController().signal;
const embedder = (id: string) => embedderFor(id, readModelSettings(env, null), 2_000);

test.each(["openai-compatible/e5", "openai/text-embedding-3-small", "ollama/nomic-embed-text"])(
  "N-3 %s is asked in the wire's own form, and its vectors come back",
  async (id) => {
    asked.length = 0;
    answer = (input) => listOf(input.map((text) => [text.length, 0.5, -0.25]));
    const vectors = await embedder(id).embed(["one", "three"], signal());
    expect(vectors.map((v) => [...v])).toEqual([
      [3, 0.5, -0.25],
      [5, 0.5, -0.25],
    ]);
    expect(asked).toMatchObject([{ url: "/v1/embeddings", body: { model: id.slice(id.indexOf("/") + 1), input: ["one", "three"] } }]);
  },
);

test("N-3 many texts are several requests, in order", async () => {
  asked.length = 0;
  answer = (input) => listOf(input.map((text) => [Number(text)]));
  const vectors = await embedder("openai-compatible/e5").embed(
    Array.from({ length: 200 }, (_, i) => String(i)),
    signal(),
  );
  expect(vectors.map(([n]) => n)).toEqual(Array.from({ length: 200 }, (_, i) => i));
  expect(asked.length).toBeGreaterThan(1);
});

test("N-3 what is no list of vectors of one length is refused, and a key is in no error", async () => {
  answer = () => listOf([[1, 2]]);
  await expect(embedder("openai-compatible/e5").embed(["a", "b"], signal())).rejects.toThrow(/1 vectors came for 2 texts/);
  answer = () => listOf([[1, 2], [1]]);
  await expect(embedder("openai-compatible/e5").embed(["a", "b"], signal())).rejects.toThrow(/of one length/);
  answer = () => ({ status: 401, body: { error: { message: "wrong key sk-test-0123456789abcdef", type: "auth" } } });
  const error = await embedder("openai-compatible/e5")
    .embed(["a"], signal())
    .catch((e: unknown) => String(e));
  expect(error).toMatch(/openai-compatible\/e5/);
  expect(error).not.toContain("sk-test-0123456789abcdef");
});

test("N-3 an unknown provider, one without embeddings, and one without its key are refused before anything is asked", () => {
  expect(() => embedder("nobody/x")).toThrow(/no provider `nobody` of embeddings/);
  expect(() => embedder("anthropic/x")).toThrow(/no provider `anthropic` of embeddings/);
  expect(() => embedder("openai/")).toThrow(/names no model/);
  expect(() => embedderFor("openai/x", readModelSettings({}, null))).toThrow(/OPENAI_API_KEY/);
});
