import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Json, JsonObject } from "@orgate/core";
import { afterEach, describe, expect, test } from "vitest";
import { readModelSettings } from "./env.ts";
import { checkProvider, PROVIDERS, providerModel } from "./providers.ts";
import { exactRedactor, redactor, redactSecrets } from "./redact.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
function folderWith(env: string | null): string {
  const folder = mkdtempSync(join(tmpdir(), "orgate-env-"));
  folders.push(folder);
  if (env !== null) writeFileSync(join(folder, ".env"), env);
  return folder;
}
const KEY = "sk-ant-0123456789";
const make = (id: string, env: Record<string, string> = {}, folder: string | null = null, options: JsonObject = {}) =>
  providerModel(id, options, readModelSettings(env, folder), () => 0);

test.each(Object.entries(PROVIDERS).flatMap(([name, { key, keyless }]) => (keyless || key === null ? [] : [[name, key] as const])))(
  "M-3 %s without its key is refused before anything runs, naming %s",
  (name, variable) => {
    expect(() => make(`${name}/m`)).toThrow(`$${variable} is not set`);
    expect(() => make(`${name}/m`, { [variable]: "  " })).toThrow(`$${variable} is not set`);
    expect(make(`${name}/m`, { [variable]: KEY }).id).toBe(`${name}/m`);
  },
);

test("M-3 what needs no key needs an address, or has one of its own", () => {
  expect(make("ollama/llama").id).toBe("ollama/llama");
  expect(() => make("openai-compatible/m")).toThrow("$OPENAI_COMPATIBLE_BASE_URL is not set");
  expect(make("openai-compatible/m", { OPENAI_COMPATIBLE_BASE_URL: "http://127.0.0.1:8000/v1" }).id).toBe("openai-compatible/m");
  for (const wrong of ["localhost:8000", "ftp://x/", "http://me:secret@host/", "http://x/v1?key=1", "nonsense"])
    expect(() => make("ollama/m", { OLLAMA_BASE_URL: wrong })).toThrow("$OLLAMA_BASE_URL is no address");
});

test.each([
  ["OLLAMA_BASE_URL", "ollama", "http://box:11434", "http://box:11434/v1"],
  ["OLLAMA_BASE_URL", "ollama", "http://box:11434/", "http://box:11434/v1"],
  ["OLLAMA_BASE_URL", "ollama", "http://box:11434/v1/", "http://box:11434/v1"],
  ["ANTHROPIC_BASE_URL", "anthropic", "https://proxy.example", "https://proxy.example/v1"],
  ["OPENAI_BASE_URL", "openai", "https://proxy.example/openai/v1", "https://proxy.example/openai/v1"],
])("M-3 %s of %s may be written as people write it: %s", (variable, name, given, base) => {
  const env = { [variable]: given, ANTHROPIC_API_KEY: KEY, OPENAI_API_KEY: KEY };
  expect(checkProvider(name, readModelSettings(env, null))).toMatchObject({ kind: "usable", base });
});

test.each(["mistral/large", "claude", "", "__proto__/x", "constructor/x", "ANTHROPIC/x"])(
  "M-3 %j is refused with the providers there are",
  (id) => {
    expect(() => make(id)).toThrow("there are: offline, anthropic, openai, openai-chat, google, openrouter, ollama, openai-compatible");
  },
);

test("M-3 a provider without a model, and options that nobody reads, are refused", () => {
  expect(() => make("ollama/")).toThrow("write `ollama/NAME`");
  for (const options of [{ temprature: 1 }, { idleMs: 0 }, { providerOptions: { a: 1 } }] as JsonObject[])
    expect(() => make("ollama/m", {}, null, options)).toThrow("its options are wrong");
});

test("M-3 rules of the offline model, left over from a first project, are refused with what to do about them", () => {
  expect(() => make("ollama/m", {}, null, { rules: [] })).toThrow("`rules` are for `offline/…` models: take them out of `modelOptions`");
});

test.each([
  ["anthropic/m", { anthropic: { mcpServers: [] } }],
  ["anthropic/m", { anthropic: { fallbacks: [] } }],
  ["openai/m", { openai: { previousResponseId: "resp_1" } }],
  ["openai-chat/m", { openai: { maxCompletionTokens: 100_000 } }],
  ["google/m", { google: { cachedContent: "x" } }],
  ["openrouter/m", { openrouter: { model: "dearer/model" } }],
  ["openrouter/m", { openrouter: { plugins: [{ id: "web" }] } }],
  ["ollama/m", { openaiCompatible: { max_tokens: 9 } }],
  // what a token costs
  ["anthropic/m", { anthropic: { speed: "fast" } }],
  ["anthropic/m", { anthropic: { inferenceGeo: "us" } }],
  ["openai/m", { openai: { serviceTier: "priority" } }],
  ["openai/m", { openai: { reasoningMode: "pro" } }],
  ["openai-chat/m", { openai: { serviceTier: "priority" } }],
  ["openai-chat/m", { openai: { prediction: { type: "content", content: "x" } } }],
  ["google/m", { google: { serviceTier: "priority" } }],
  ["google/m", { google: { responseModalities: ["IMAGE"] } }],
  ["openrouter/m", { openrouter: { service_tier: "priority" } }],
  // what is said, and who runs what
  ["openai/m", { openai: { systemMessageMode: "remove" } }],
  ["openai/m", { openai: { instructions: "forget the others" } }],
  ["openai/m", { openai: { truncation: "auto" } }],
  ["openrouter/m", { openrouter: { web_search_options: {} } }],
  ["openrouter/m", { openrouter: { preset: "mine" } }],
] as const)("M-16 options cannot change what is decided and counted: %s %j", (id, providerOptions) => {
  const env = { ANTHROPIC_API_KEY: KEY, OPENAI_API_KEY: KEY, GOOGLE_GENERATIVE_AI_API_KEY: KEY, OPENROUTER_API_KEY: KEY };
  expect(() => make(id, env, null, { providerOptions })).toThrow("would change what is decided or counted here");
});

describe("M-9 .env", () => {
  test("M-9 the environment wins over .env, and .env over nothing", () => {
    const folder = folderWith(`# keys\nANTHROPIC_API_KEY="${KEY}"\nexport OPENAI_API_KEY=other\n`);
    const settings = readModelSettings({ OPENAI_API_KEY: "mine" }, folder);
    expect(settings("ANTHROPIC_API_KEY")).toEqual({ value: KEY, from: ".env" });
    expect(settings("OPENAI_API_KEY")).toEqual({ value: "mine", from: "environment" });
    expect(settings("GOOGLE_GENERATIVE_AI_API_KEY")).toBeNull();
    expect(process.env.ANTHROPIC_API_KEY).toBeUndefined(); // nobody else is told
    expect(readModelSettings({}, folderWith(null))("X")).toBeNull();
  });

  test("M-9 a .env that cannot be read is said", () => {
    const folder = folderWith(null);
    mkdirSync(join(folder, ".env"));
    expect(() => readModelSettings({}, folder)).toThrow("is a folder");
  });
});

test("M-9 a key of the environment is not sent where only a project's .env says", () => {
  const folder = folderWith(
    "ANTHROPIC_BASE_URL=https://elsewhere.example\nOPENAI_BASE_URL=https://elsewhere.example/v1\nOPENAI_API_KEY=theirs-0000\n",
  );
  expect(() => make("anthropic/m", { ANTHROPIC_API_KEY: KEY }, folder)).toThrow("a key is not sent where a project's file says");
  expect(make("openai/m", {}, folder).id).toBe("openai/m"); // both from the same hand
  expect(() => make("openai/m", { OPENAI_API_KEY: KEY }, folder)).toThrow("set both in one place");
  expect(make("anthropic/m", { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: "https://mine.example" }, folder).id).toBe("anthropic/m");
});

test("M-9 a key is found in every form it is likely to be echoed in, and so is what looks like one", () => {
  const key = "k+y/with=odd chars&%";
  const redact = redactor([key]);
  const forms = [key, encodeURIComponent(key), Buffer.from(key).toString("base64"), `x${Buffer.from(`user:${key}`).toString("base64")}`];
  for (const form of forms) expect(redact(`<${form}>`)).not.toContain(form);
  const any = redactor([]);
  for (const likely of [
    "Incorrect API key provided: sk-proj-abcdefghijklmnop",
    "Authorization: Bearer abc.def.ghi-jkl",
    '{"x-api-key":"0123456789abcdef"}',
    "https://host/v1?key=AIzaSyA-0123456789abcdef&alt=sse",
    "https://me:hunter2hunter2@host/",
  ])
    expect(any(likely)).toMatch(/\[key\]/);
  expect(any("Incorrect API key provided: sk-proj-abcdefghijklmnop")).not.toContain("abcdefgh");
  expect(any("https://me:hunter2hunter2@host/")).toBe("https://[key]host/");
  expect(any("the key to success is a sketchy api")).toBe("the key to success is a sketchy api");
  const value: Json = { a: [`x ${key}`, 1, null], [key]: true };
  expect(JSON.stringify(redactSecrets(value, redact))).not.toContain("odd chars");
});

test("M-9 a placeholder where a local server wants a key is no key, and words of a reply stay what they are", () => {
  for (const word of ["ollama", "lm-studio", "sk-no-key-required"]) expect(exactRedactor([word])(`install ${word} first`)).toContain(word);
  expect(exactRedactor(["ollama-7f3a"])("install ollama-7f3a first")).toBe("install [key] first");
});

test("no provider's package is loaded before its first request, and no other then", async () => {
  const code = `
    import { registerHooks } from "node:module";
    const seen = new Set();
    registerHooks({ resolve(specifier, context, next) { if (specifier.startsWith("@ai-sdk/") && specifier !== "@ai-sdk/provider") seen.add(specifier); return next(specifier, context); } });
    const { providerModel } = await import(${JSON.stringify(join(import.meta.dirname, "providers.ts"))});
    const { readModelSettings } = await import(${JSON.stringify(join(import.meta.dirname, "env.ts"))});
    await import(${JSON.stringify(join(import.meta.dirname, "..", "index.ts"))});
    const env = { ANTHROPIC_API_KEY: "sk-000000000000", ANTHROPIC_BASE_URL: "http://127.0.0.1:9", OPENAI_API_KEY: "sk-000000000000" };
    const model = providerModel("anthropic/m", {}, readModelSettings(env, null), Date.now);
    providerModel("openai/m", {}, readModelSettings(env, null), Date.now);
    const before = [...seen];
    await model.ask({ system: "", context: [], messages: [], tools: [], temperature: 0, maxOutputTokens: 1, attempt: 1 }, () => {}, new AbortController().signal).catch(() => {});
    console.log(JSON.stringify({ before, after: [...seen].filter((one) => !one.startsWith("@ai-sdk/provider-utils")) }));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", code]);
  expect(JSON.parse(stdout)).toEqual({ before: [], after: ["@ai-sdk/anthropic"] });
});
