/**
 * Any language model of the AI SDK's interface as a model of ours: one request, one streamed answer, no loop, no retries of its own.
 * What asks it is loaded with its first request (`ask-language-model.ts`).
 */

import type { LanguageModelV2, LanguageModelV3, LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { FaultError, type JsonObject, type Model } from "@orgate/core";
import { lazily } from "@orgate/core/vocab";
import { type AnswerWay, type AnswerWays, NATIVE, withAnswerWay } from "./answers.ts";
import type { Recipient } from "./fault.ts";
import type { FileWire } from "./prompt.ts";
import type { Patience } from "./watchdog.ts";
import type { Wire } from "./wire.ts";

/** A model of the AI SDK's packages. */
export type AnyLanguageModel = LanguageModelV2 | LanguageModelV3 | LanguageModelV4;

export type LanguageModelOptions = Readonly<{
  /** `provider/name`, as policies and the journal know it; made from what the model says of itself unless given. */
  id?: string;
  /** Further settings for the provider, by provider: `{ anthropic: { thinking: … } }`. */
  providerOptions?: Readonly<Record<string, JsonObject>>;
  patience?: Partial<Patience>;
  /** Whether what stays the same is marked for the provider's cache, where that is Anthropic's; it is unless said. */
  promptCache?: boolean;
  /** The most characters a reply may have. */
  maxReplyChars?: number;
  /** `prompted`: it has no calls of its own, and makes them in words. */
  tools?: "native" | "prompted";
  /** How it gives a structured answer: by the interface's own means unless said (`native`), so where there are no tools (`alone`), or by a call. */
  answers?: AnswerWay;
  /** Keys that must not be in any error. */
  secrets?: readonly string[];
  now?: () => number;
}>;

/** Hooks of our own providers: they know their packages, and watch their own wire. */
export type ProviderHooks = Readonly<{
  exactArguments: boolean;
  flagsErrors: boolean;
  splitsSystem: boolean;
  callIds: RegExp | null;
  files: FileWire;
  events: readonly string[];
  within(options: LanguageModelV4CallOptions): LanguageModelV4CallOptions;
  watch(signal: AbortSignal, wire: Wire): void;
  /** Null: only the model's own package knows where it asks. */
  recipient: Omit<Recipient, "id"> | null;
}>;

export const DEFAULT_PATIENCE: Patience = Object.freeze({ firstByteMs: 180_000, idleMs: 180_000 });
const VERSIONS: readonly string[] = ["v2", "v3", "v4"];

/** M-15 versions 2 to 4 of the interface are taken; anything else is refused with the reason, before it is asked anything. */
export function languageModel(model: AnyLanguageModel, options: LanguageModelOptions = {}, inside: ProviderHooks | null = null): Model {
  const id = options.id ?? idOf(model);
  if (!isSpeaker(model)) throw refused(id, "it is no language model");
  if (!VERSIONS.includes(model.specificationVersion))
    throw refused(
      id,
      `it has version \`${String(model.specificationVersion)}\` of the interface, and ${VERSIONS.join(", ")} are understood`,
    );
  const asking = lazily(async () => {
    const { askLanguageModel } = await import("./ask-language-model.ts");
    return askLanguageModel(model, { ...options, id, patience: { ...DEFAULT_PATIENCE, ...options.patience } }, inside);
  });
  const asked: Model = Object.freeze({ id, ask: async (...given: Parameters<Model["ask"]>) => (await asking())(...given) });
  return inside === null ? withAnswerWay(asked, { ...NATIVE, ...mannersOf(options) }) : asked;
}

const mannersOf = ({ tools, answers }: LanguageModelOptions): Partial<AnswerWays> => ({
  ...(tools === undefined ? {} : { tools }),
  ...(answers === undefined ? {} : { answers }),
});

/** Untrusted: its author may have written it in JavaScript. */
const isSpeaker = (model: unknown): boolean =>
  typeof model === "object" && model !== null && ["doStream", "doGenerate"].some((name) => typeof Reflect.get(model, name) === "function");

/** `anthropic.messages` is anthropic's. */
const idOf = (model: AnyLanguageModel): string =>
  `${String(model?.provider ?? "unknown").split(".")[0]}/${String(model?.modelId ?? "unknown")}`;

const refused = (model: string, detail: string): FaultError => new FaultError({ kind: "model-unknown", model, detail });
