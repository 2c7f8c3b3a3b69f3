/**
 * Embedding models by `provider/name`, through the AI SDK's interface. Keys and addresses are those of the providers' models (M-3, M-9).
 * N-3 an unknown provider, or one without such models, is refused before anything runs; what comes back is checked: as many vectors as texts, of one length,
 *     of finite numbers. A key is in no error.
 */

import type { EmbeddingModelV4 } from "@ai-sdk/provider";
import { type Embedder, FaultError } from "@orgate/core";
import { errorMessage } from "@orgate/core/vocab";
import type { ModelSettings } from "./env.ts";
import { checkProvider } from "./providers.ts";
import { redactor } from "./redact.ts";
import { MAX_ANSWER_BYTES, watchedFetch } from "./wire.ts";

type Ready = Readonly<{ name: string; key: string | null; base: string; fetch: typeof globalThis.fetch }>;
type Make = (ready: Ready) => Promise<EmbeddingModelV4>;

const openai: Make = async ({ name, key, base, fetch }) => {
  const { createOpenAI } = await import("@ai-sdk/openai");
  return createOpenAI({ apiKey: key ?? "", baseURL: base, fetch }).embeddingModel(name);
};
const compatible =
  (provider: string): Make =>
  async ({ name, key, base, fetch }) => {
    const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
    return createOpenAICompatible({ name: provider, baseURL: base, fetch, ...(key === null ? {} : { apiKey: key }) }).embeddingModel(name);
  };

const MAKERS: Readonly<Record<string, Make>> = {
  openai,
  "openai-chat": openai,
  google: async ({ name, key, base, fetch }) => {
    const { createGoogle } = await import("@ai-sdk/google");
    return createGoogle({ apiKey: key ?? "", baseURL: base, fetch }).embeddingModel(name);
  },
  openrouter: compatible("openrouter"),
  ollama: compatible("ollama"),
  "openai-compatible": compatible("openai-compatible"),
};

/** Looking something up waits no longer than this: words alone are searched then. */
const PATIENCE_MS = 10_000;
const PER_CALL = 96;

/** Throws `model-unknown` with what is missing; asks nobody anything yet. */
export function embedderFor(id: string, settings: ModelSettings, patienceMs = PATIENCE_MS): Embedder {
  const slash = id.indexOf("/");
  const [word, name] = slash < 0 ? [id, ""] : [id.slice(0, slash), id.slice(slash + 1)];
  const refuse = (detail: string): FaultError => new FaultError({ kind: "model-unknown", model: id, detail });
  const make = Object.hasOwn(MAKERS, word) ? MAKERS[word] : undefined;
  if (make === undefined) throw refuse(`there is no provider \`${word}\` of embeddings; there are: ${Object.keys(MAKERS).join(", ")}`);
  if (name === "") throw refuse(`it names no model of \`${word}\`: write \`${word}/NAME\``);
  const standing = checkProvider(word, settings);
  if (standing.kind === "unusable") throw refuse(standing.why);
  const { key, base, recipient } = standing;
  const clean = redactor(key === null ? [] : [key]);
  const fetch = watchedFetch(() => null, MAX_ANSWER_BYTES);
  let loaded: Promise<EmbeddingModelV4> | null = null;

  async function embed(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]> {
    loaded ??= make?.({ name, key, base, fetch }) ?? null;
    const model = await loaded;
    if (model === null) throw new Error("there is no such model");
    const most = Math.min(PER_CALL, (await model.maxEmbeddingsPerCall) ?? PER_CALL);
    const vectors: Float32Array[] = [];
    for (let at = 0; at < texts.length; at += most) {
      const values = texts.slice(at, at + most);
      const { embeddings } = await model.doEmbed({ values, abortSignal: AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]) });
      if (embeddings.length !== values.length) throw new Error(`${embeddings.length} vectors came for ${values.length} texts`);
      vectors.push(...embeddings.map((one) => Float32Array.from(one)));
    }
    const [first] = vectors;
    if (vectors.some((one) => one.length === 0 || one.length !== first?.length || one.some((x) => !Number.isFinite(x))))
      throw new Error("what came is no list of vectors of one length");
    return vectors;
  }
  return {
    model: id,
    embed: (texts, signal) =>
      embed(texts, signal).catch((error: unknown) => {
        const said = errorMessage(error);
        throw new Error(clean(`${id} at ${recipient.host} (${recipient.addressVariable}): ${said}`));
      }),
  };
}
