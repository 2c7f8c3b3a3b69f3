/**
 * The providers there are, by the first word of `provider/name`. A provider's package is loaded when its first request is made, and not before.
 *
 * M-9 A key of the process's environment is not sent to an address that only the project's `.env` names: the project's author would get it.
 * Rules: M-3, M-16, M-17.
 */
import { createHmac } from "node:crypto";
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { FaultError, type JsonObject, lowerFirst, type Model } from "@orgate/core";
import { lazily } from "@orgate/core/vocab";
import * as z from "zod";
import { type AnswerWay, toStrictSchema, withAnswerWay } from "./answers.ts";
import type { ModelSettings, Setting } from "./env.ts";
import type { Recipient } from "./fault.ts";
import { type AnyLanguageModel, languageModel, type ProviderHooks } from "./language-model.ts";
import type { FileWire } from "./prompt.ts";
import { explainMissingPackage } from "./provider-package.ts";
import { collectDetails, readThoughts, type Thoughts } from "./thoughts.ts";
import type { Wire } from "./wire.ts";
import { WireTrouble } from "./wire-trouble.ts";

/** Settings that a provider is created with. */
type Ready = Readonly<{ name: string; key: string | null; base: string }>;

type Provider = Readonly<{
  /** The package that speaks to it. */
  package: string;
  /** The environment variable with the key; null: there is none. */
  key: string | null;
  /** Whether it works without. */
  keyless: boolean;
  /** The environment variable with its address, and the address without; null: there is none. */
  base: Readonly<{ variable: string; usual: string | null /** What an address without a path lacks. */; path: string }>;
  /** Its wire has a flag for a result that is an error. */
  flagsErrors: boolean;
  /** The form of call ids that it accepts; null: any. The conversation may hold replies of another provider. */
  callIds: RegExp | null;
  /** The tool that its package would add for a structured answer, without looking whether there is one of that name; null: none. */
  answerTool: string | null;
  /** It takes several system texts. Of those who imitate OpenAI many take one, and only as the first message: theirs is one text. */
  splitsSystem: boolean;
  /** Which files it accepts, and where in the request. */
  files: Omit<FileWire, "tagged">;
  /** The kinds of event that its package reads, where it takes any other for an error. */
  events: readonly string[];
  /** Default settings; the agent's own win. */
  options: Readonly<Record<string, JsonObject>>;
  /** Options of its package that an agent may not use. */
  closed: readonly string[];
  /** How its models give a structured answer. */
  answers: AnswerWay;
  /** The name that its package knows the option by which says whether a schema is followed to the letter; null: it has none. */
  strict: string | null;
  about: string;
  /** Where its package would ask for more than it was set to. */
  within?(options: LanguageModelV4CallOptions): LanguageModelV4CallOptions;
  make(ready: Ready, fetch: typeof globalThis.fetch): Promise<AnyLanguageModel>;
}>;

const compatible =
  (provider: string, thoughts: Thoughts): Provider["make"] =>
  async ({ name, key, base }, fetch) => {
    const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
    return createOpenAICompatible({
      name: provider,
      baseURL: base,
      includeUsage: true,
      supportsStructuredOutputs: true,
      transformRequestBody: readThoughts(thoughts),
      ...(thoughts.details ? { metadataExtractor: { createStreamExtractor: collectDetails, extractMetadata: async () => undefined } } : {}),
      fetch,
      ...(key === null ? {} : { apiKey: key }),
    })(name);
  };

/** Whatever else is given becomes a field of the body: these are ours to fill, or choose another model, or run something. */
const CHAT_FIELDS = (
  "model models route preset plugins web_search_options messages transforms tools tool_choice functions function_call stream stream_options " +
  "response_format modalities temperature max_tokens max_completion_tokens n best_of prediction service_tier"
).split(" ");

const ANTHROPIC_IDS = /^[a-zA-Z0-9_-]{1,64}$/;
const RESPONSES_IDS = /^.{1,64}$/s;
const CHAT_IDS = /^.{1,40}$/s;

const STILL = ["image/png", "image/jpeg", "image/webp"];
const IMAGES = [...STILL, "image/gif"];
const PDF = "application/pdf";

export const PROVIDERS: Readonly<Record<string, Provider>> = {
  anthropic: {
    package: "@ai-sdk/anthropic",
    key: "ANTHROPIC_API_KEY",
    keyless: false,
    base: { variable: "ANTHROPIC_BASE_URL", usual: "https://api.anthropic.com/v1", path: "/v1" },
    flagsErrors: true,
    callIds: ANTHROPIC_IDS,
    answerTool: "json",
    splitsSystem: true,
    files: { takes: [...IMAGES, PDF], first: true },
    events: "message_start content_block_start content_block_delta content_block_stop message_delta message_stop ping error".split(" "),
    options: { anthropic: { toolStreaming: false } }, // else the package asks for arguments that the provider has not checked to be JSON
    // a cache for an hour, a faster answer and a place to compute have prices of their own
    closed: "mcpServers container fallbacks thread compaction contextManagement cacheControl speed serviceTier inferenceGeo".split(" "),
    answers: "native", // the package gives an older model a tool for it
    strict: null,
    about: "Anthropic's Messages API",
    within: thinkingIncluded,
    make: async ({ name, key, base }, fetch) => {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return createAnthropic({ apiKey: key ?? "", baseURL: base, fetch })(name);
    },
  },
  openai: {
    package: "@ai-sdk/openai",
    key: "OPENAI_API_KEY",
    keyless: false,
    base: { variable: "OPENAI_BASE_URL", usual: "https://api.openai.com/v1", path: "/v1" },
    flagsErrors: false,
    callIds: RESPONSES_IDS,
    answerTool: null,
    splitsSystem: true,
    files: { takes: [...IMAGES, PDF], first: false },
    events: [],
    options: { openai: { store: false } }, // the journal is the record: nothing is left with the provider to refer to
    closed: (
      "conversation previousResponseId contextManagement compactionTrigger instructions systemMessageMode truncation allowedTools " +
      "serviceTier reasoningMode promptCacheOptions"
    ).split(" "),
    answers: "native",
    strict: "openai",
    about: "OpenAI's Responses API",
    make: async ({ name, key, base }, fetch) => {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI({ apiKey: key ?? "", baseURL: base, fetch }).responses(name);
    },
  },
  "openai-chat": {
    package: "@ai-sdk/openai",
    key: "OPENAI_API_KEY",
    keyless: false,
    base: { variable: "OPENAI_BASE_URL", usual: "https://api.openai.com/v1", path: "/v1" },
    flagsErrors: false,
    callIds: CHAT_IDS,
    answerTool: null,
    splitsSystem: true,
    files: { takes: [...IMAGES, PDF], first: false },
    events: [],
    options: {},
    closed: "maxCompletionTokens prediction systemMessageMode serviceTier promptCacheOptions".split(" "),
    answers: "native",
    strict: "openai",
    about: "OpenAI's Chat Completions",
    make: async ({ name, key, base }, fetch) => {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI({ apiKey: key ?? "", baseURL: base, fetch }).chat(name);
    },
  },
  google: {
    package: "@ai-sdk/google",
    key: "GOOGLE_GENERATIVE_AI_API_KEY",
    keyless: false,
    base: { variable: "GOOGLE_GENERATIVE_AI_BASE_URL", usual: "https://generativelanguage.googleapis.com/v1beta", path: "/v1beta" },
    flagsErrors: true,
    callIds: null,
    answerTool: null,
    splitsSystem: true,
    files: { takes: [...STILL, PDF], first: true },
    events: [],
    options: {},
    closed: "cachedContent continuationToken serviceTier responseModalities imageConfig".split(" "),
    answers: "native", // the package gives a model before Gemini 3 a tool for it, where it has tools
    strict: null,
    about: "Google's Gemini API",
    make: async ({ name, key, base }, fetch) => {
      const { createGoogle } = await import("@ai-sdk/google");
      return createGoogle({ apiKey: key ?? "", baseURL: base, fetch })(name);
    },
  },
  openrouter: {
    package: "@ai-sdk/openai-compatible",
    key: "OPENROUTER_API_KEY",
    keyless: false,
    base: { variable: "OPENROUTER_BASE_URL", usual: "https://openrouter.ai/api/v1", path: "/api/v1" },
    flagsErrors: false,
    callIds: null,
    answerTool: null,
    splitsSystem: false,
    files: { takes: [...IMAGES, PDF], first: false },
    events: [],
    options: {},
    closed: CHAT_FIELDS,
    answers: "alone", // of the models behind it, not all take both
    strict: "openrouter",
    about: "OpenRouter",
    make: compatible("openrouter", { field: "reasoning", details: true }),
  },
  ollama: {
    package: "@ai-sdk/openai-compatible",
    key: null,
    keyless: true,
    base: { variable: "OLLAMA_BASE_URL", usual: "http://127.0.0.1:11434/v1", path: "/v1" },
    flagsErrors: false,
    callIds: null,
    answerTool: null,
    splitsSystem: false,
    files: { takes: STILL, first: false },
    events: [],
    options: {},
    closed: CHAT_FIELDS,
    answers: "alone", // a grammar leaves no room for calls
    strict: "ollama",
    about: "Ollama, on this machine unless told otherwise",
    make: compatible("ollama", { field: "reasoning", details: false }),
  },
  "openai-compatible": {
    package: "@ai-sdk/openai-compatible",
    key: "OPENAI_COMPATIBLE_API_KEY",
    keyless: true,
    base: { variable: "OPENAI_COMPATIBLE_BASE_URL", usual: null, path: "" },
    flagsErrors: false,
    callIds: null,
    answerTool: null,
    splitsSystem: false,
    files: { takes: IMAGES, first: false },
    events: [],
    options: {},
    closed: CHAT_FIELDS,
    answers: "alone",
    strict: "openaiCompatible",
    about: "anything that speaks OpenAI's Chat Completions: vLLM, LM Studio, llama.cpp",
    make: compatible("openai-compatible", { field: "reasoning_content", details: false }),
  },
};

/** The package adds the thinking budget to the limit that it gets; and a thinking model cannot be forced to call. */
function thinkingIncluded(given: LanguageModelV4CallOptions): LanguageModelV4CallOptions {
  const thinks = thinkingKind().safeParse(given.providerOptions?.anthropic).success;
  const options: LanguageModelV4CallOptions =
    thinks && given.toolChoice?.type === "required" ? { ...given, toolChoice: { type: "auto" } } : given;
  const budget = thinkingSchema().safeParse(options.providerOptions?.anthropic);
  if (!budget.success || options.maxOutputTokens === undefined) return options;
  const { budgetTokens } = budget.data.thinking;
  const left = options.maxOutputTokens - budgetTokens;
  if (left >= 1) return { ...options, maxOutputTokens: left };
  const detail = `it may think ${budgetTokens} tokens, and ${options.maxOutputTokens} are left for all it says: raise \`outputTokens\` and \`tokens\`, or lower \`budgetTokens\``;
  throw new WireTrouble({ detail, broke: false });
}
const thinkingKind = lazily(() => z.object({ thinking: z.object({ type: z.enum(["enabled", "adaptive"]) }) }));
/** As much as the package adds where nothing is said. */
const USUAL_BUDGET = 1_024;
const thinkingSchema = lazily(() =>
  z.object({ thinking: z.object({ type: z.literal("enabled"), budgetTokens: z.number().default(USUAL_BUDGET) }) }),
);

/** An agent's `modelOptions` for a provider's model. */
const optionsSchema = lazily(() =>
  z.strictObject({
    /** By provider, as its package has them: `{ anthropic: { thinking: { type: "enabled", budgetTokens: 2048 } } }`. */
    providerOptions: z.record(z.string(), z.record(z.string(), z.json())).default({}),
    firstByteMs: z.int().min(1).max(3_600_000).optional(),
    idleMs: z.int().min(1).max(3_600_000).optional(),
    maxReplyChars: z.int().min(1).optional(),
    /** Whether the model has calls of its own; `prompted`: it makes them in words. */
    tools: z.enum(["native", "prompted", "none"]).default("native"),
    /** How it gives a structured answer, where that is to be otherwise than is usual for its provider. */
    answers: z.enum(["native", "alone", "call"]).optional(),
    /** False: nothing is marked for Anthropic's cache. Others cache by themselves, or not at all. */
    promptCache: z.boolean().default(true),
  }),
);

/** New projects have these. */
const RULES = "`rules` are for `offline/…` models: take them out of `modelOptions`";

/** Enough to tell settings of one machine apart, too little to find a key by. */
const SETTING_DIGITS = 8;

export type ProviderOptions = z.input<ReturnType<typeof optionsSchema>>;

/** Throws `model-unknown` with what is missing; asks nobody anything yet. */
export function providerModel(id: string, options: JsonObject, settings: ModelSettings, now: () => number): Model {
  const slash = id.indexOf("/");
  const [word, name] = slash < 0 ? [id, ""] : [id.slice(0, slash), id.slice(slash + 1)];
  const provider = Object.hasOwn(PROVIDERS, word) ? PROVIDERS[word] : undefined;
  if (provider === undefined)
    throw unusable(id, `there is no provider \`${word}\`; there are: ${["offline", ...Object.keys(PROVIDERS)].join(", ")}`);
  if (name === "") throw unusable(id, `it names no model of \`${word}\`: write \`${word}/NAME\``);
  const read = optionsSchema().safeParse(options);
  if (!read.success) throw unusable(id, `its options are wrong: ${"rules" in options ? RULES : issueText(read.error)}`);
  for (const [whose, given] of Object.entries(read.data.providerOptions)) {
    const closed = Object.keys(given).find((option) => provider.closed.includes(option));
    if (closed !== undefined) throw unusable(id, `its option \`${whose}.${closed}\` would change what is decided or counted here`);
  }
  const standing = checkProvider(word, settings);
  if (standing.kind === "unusable") throw unusable(id, standing.why);
  const { providerOptions, firstByteMs, idleMs, maxReplyChars, promptCache, tools, answers = provider.answers } = read.data;

  const { key, base } = standing;
  const asked = {
    id,
    now,
    secrets: key === null ? [] : [key],
    promptCache,
    providerOptions: merged(provider.options, providerOptions),
    patience: { ...(firstByteMs === undefined ? {} : { firstByteMs }), ...(idleMs === undefined ? {} : { idleMs }) },
    ...(maxReplyChars === undefined ? {} : { maxReplyChars }),
  };
  const wires = new WeakMap<AbortSignal, Wire>();
  const inside: ProviderHooks = {
    exactArguments: true,
    flagsErrors: provider.flagsErrors,
    splitsSystem: provider.splitsSystem,
    callIds: provider.callIds,
    files: { ...provider.files, tagged: true },
    events: provider.events,
    within: (given) => toStrictSchema(provider.strict, provider.within?.(given) ?? given),
    watch: (signal, wire) => void wires.set(signal, wire),
    recipient: standing.recipient,
  };
  const load = async (): Promise<Model> => {
    const { MAX_ANSWER_BYTES, watchedFetch } = await import("./wire.ts");
    const fetch = watchedFetch((signal) => wires.get(signal) ?? null, MAX_ANSWER_BYTES);
    return languageModel(await provider.make({ name, key, base }, fetch), asked, inside);
  };
  let loaded: Promise<Model> | null = null;
  const asking: Model = Object.freeze({
    id,
    setting: createHmac("sha256", key ?? "")
      .update(base)
      .digest("hex")
      .slice(0, SETTING_DIGITS),
    async ask(...given: Parameters<Model["ask"]>) {
      loaded ??= load();
      return (await loaded).ask(...given);
    },
  });
  return withAnswerWay(asking, { tools, answers, answerTool: provider.answerTool });
}

export type ProviderStatus =
  | Readonly<{ kind: "usable"; key: string | null; base: string; keyFrom: Setting["from"] | null; recipient: Omit<Recipient, "id"> }>
  | Readonly<{ kind: "unusable"; why: string /** The variable to set, if that is what is missing. */; variable: string | null }>;

/** Whether a provider can be used with these settings, and why not. Nobody is asked. */
export function checkProvider(word: string, settings: ModelSettings): ProviderStatus {
  const provider = PROVIDERS[word];
  if (provider === undefined) return { kind: "unusable", why: `there is no provider \`${word}\``, variable: "" };
  const key = provider.key === null ? null : settings(provider.key);
  const named = settings(provider.base.variable);
  const no = (why: string, variable: string | null): ProviderStatus => ({ kind: "unusable", why, variable });
  if (key === null && !provider.keyless) return no(`$${provider.key} is not set, in the environment or in .env`, provider.key ?? "");
  if (named === null && provider.base.usual === null)
    return no(`$${provider.base.variable} is not set, in the environment or in .env`, provider.base.variable);
  const base = addressOf(named?.value ?? provider.base.usual ?? "", provider.base.path);
  if (base === null)
    return no(`$${provider.base.variable} is no address of http or https, without a name or password in it`, provider.base.variable);
  if (key?.from === "environment" && named?.from === ".env")
    return no(
      `$${provider.base.variable} comes from .env and $${provider.key} from the environment: a key is not sent where a project's file says; set both in one place`,
      provider.base.variable,
    );
  const missing = explainMissingPackage(provider.package);
  if (missing !== null) return no(missing, null);
  const shown = (variable: string, set: boolean): string => `$${variable}${set ? "" : " (not set)"}`;
  const recipient = {
    host: new URL(base).host,
    addressVariable: shown(provider.base.variable, named !== null),
    keyVariable: provider.key === null ? null : shown(provider.key, key !== null),
  };
  return { kind: "usable", key: key?.value ?? null, base, keyFrom: key?.from ?? null, recipient };
}

/** Without a slash at its end; with the usual path where it has none. */
function addressOf(text: string, path: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:") || url.username !== "" || url.password !== "") return null;
  if (url.search !== "" || url.hash !== "") return null;
  return `${url.origin}${url.pathname === "/" ? path : url.pathname.replace(/\/+$/, "")}`;
}

/** By provider, the agent's word over ours. */
const merged = (
  usual: Readonly<Record<string, JsonObject>>,
  own: Readonly<Record<string, JsonObject>>,
): Readonly<Record<string, JsonObject>> => ({
  ...usual,
  ...Object.fromEntries(Object.entries(own).map(([provider, options]) => [provider, { ...usual[provider], ...options }])),
});

const unusable = (model: string, detail: string): FaultError => new FaultError({ kind: "model-unknown", model, detail });

function issueText(error: z.ZodError): string {
  const [issue] = error.issues;
  if (issue === undefined) return "not understood";
  const message = lowerFirst(issue.message);
  return issue.path.length === 0 ? message : `\`${issue.path.join(".")}\` ${message}`;
}
