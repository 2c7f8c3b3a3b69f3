/**
 * Asks a language model of the AI SDK's interface. Its output is untrusted, and an error that it throws becomes a `model-failed` fault here or nowhere.
 */

import { type LanguageModelV4CallOptions, UnsupportedFunctionalityError } from "@ai-sdk/provider";
import { FaultError, type Model, type ModelReply, type ModelRequest, type Preview, type ReplyPart } from "@orgate/core";
import { onAbort, untilAborted } from "@orgate/core/vocab";
import { classifyTrouble, type FaultContext, type Recipient, toFault } from "./fault.ts";
import type { AnyLanguageModel, LanguageModelOptions, ProviderHooks } from "./language-model.ts";
import { ANY_FILES, toCallOptions } from "./prompt.ts";
import { exactRedactor, redactor, redactSecrets } from "./redact.ts";
import { type Pieces, readPieces } from "./stream-pieces.ts";
import { type Patience, type Watchdog, watchdog } from "./watchdog.ts";
import { type ModelTrouble, WireTrouble } from "./wire-trouble.ts";

/** As much of the interface as is used, and as little as is believed. The options are valid in all versions. */
type Speaker = Readonly<{
  doStream(options: LanguageModelV4CallOptions): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
  doGenerate(options: LanguageModelV4CallOptions): PromiseLike<Readonly<Record<string, unknown>>>;
}>;

type Asking = LanguageModelOptions & Readonly<{ id: string; patience: Patience }>;

const MAX_REPLY_CHARS = 8 * 1024 * 1024;
const OUTSIDE: ProviderHooks = {
  exactArguments: false,
  flagsErrors: true,
  splitsSystem: false,
  callIds: null,
  files: ANY_FILES,
  events: [],
  within: (options) => options,
  watch: () => {},
  recipient: null,
};
const UNTOLD: Omit<Recipient, "id"> = { host: null, addressVariable: null, keyVariable: null };

/** `hooks`: null for a model that is none of our own providers'. */
export function askLanguageModel(model: AnyLanguageModel, options: Asking, hooks: ProviderHooks | null): Model["ask"] {
  const inside = hooks ?? OUTSIDE;
  const { id, patience } = options;
  const speaker = speakerOf(model);
  const files = { ...inside.files, tagged: model.specificationVersion === "v4" };
  const redact = redactor(options.secrets ?? []);
  const exact = exactRedactor(options.secrets ?? []);
  const { now = Date.now, providerOptions = {}, maxReplyChars = MAX_REPLY_CHARS, promptCache = true } = options;
  const cacheMarks = promptCache && isAnthropic(model);

  async function ask(request: ModelRequest, preview: (preview: Preview) => unknown, signal: AbortSignal): Promise<ModelReply> {
    const dog = watchdog(patience, signal);
    const seen: { status: number | null; begun: boolean } = { status: null, begun: false };
    const answered = (status: number): void => {
      seen.status = status;
    };
    inside.watch(dog.signal, { beat: dog.beat, answered });
    const pieces = readPieces(preview, maxReplyChars, inside.events);
    const heard = (piece: unknown): void => {
      if (!isOpening(piece)) dog.beat();
      seen.begun ||= isAnswer(piece);
    };
    try {
      const given = {
        ...inside.within(toCallOptions(request, { ...inside, cacheMarks, files, providerOptions })),
        abortSignal: dog.signal,
      };
      await received(speaker, given, { ...pieces, heard }, dog);
      const reply = pieces.reply(id, request);
      const parts = reply.parts.map((part) => withoutKeys(part, exact));
      return { ...reply, parts, meta: redactSecrets(reply.meta, redact) };
    } catch (error) {
      throw failure(error, dog, { ...seen, now: now() }, (trouble) => toFault(trouble, redact, { id, ...(inside.recipient ?? UNTOLD) }));
    } finally {
      dog.end();
    }
  }
  return ask;
}

/** M-9 Wherever it stands: in what is said, in what is called and by which id. */
function withoutKeys(part: ReplyPart, exact: (text: string) => string): ReplyPart {
  const clean = { text: exact(part.text), meta: redactSecrets(part.meta, exact) };
  return part.kind === "call" ? { ...part, ...clean, id: exact(part.id), tool: exact(part.tool) } : { ...part, ...clean };
}

function failure(error: unknown, dog: Watchdog, seen: FaultContext, told: (trouble: ModelTrouble) => FaultError): FaultError {
  if (dog.stopped()) return new FaultError({ kind: "model-failed", detail: "stopped", again: false, broke: seen.begun });
  const why: unknown = dog.signal.aborted ? dog.signal.reason : error; // what came of giving up is not what went wrong
  return told(classifyTrouble(why, seen));
}

type Heard = Pieces & Readonly<{ heard(piece: unknown): void }>;

async function received(speaker: Speaker, given: LanguageModelV4CallOptions, pieces: Heard, dog: Watchdog): Promise<void> {
  let stream: ReadableStream<unknown>;
  try {
    ({ stream } = await untilAborted(dog.signal, () => speaker.doStream(given)));
  } catch (error) {
    if (!UnsupportedFunctionalityError.isInstance(error)) throw error;
    return generated(speaker, given, pieces, dog);
  }
  const reader = stream.getReader();
  // A pending read ends with the reader, whether or not the writer listens to the signal.
  const cancel = (): void => void reader.cancel(dog.signal.reason).catch(() => {});
  const stopListening = onAbort(dog.signal, cancel);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (dog.signal.aborted) throw dog.signal.reason;
      if (done) return;
      pieces.heard(value);
      const taken = pieces.take(value);
      if (!(taken instanceof Promise)) continue; // nobody to wait for
      await dog.during(taken);
      if (dog.signal.aborted) throw dog.signal.reason;
    }
  } catch (error) {
    cancel();
    throw error;
  } finally {
    stopListening();
  }
}

/** A model that cannot stream answers all at once. */
async function generated(speaker: Speaker, given: LanguageModelV4CallOptions, pieces: Pieces, dog: Watchdog): Promise<void> {
  const whole = await untilAborted(dog.signal, () => speaker.doGenerate(given));
  dog.beat();
  const { content, warnings, response } = whole;
  if (!Array.isArray(content)) throw new WireTrouble({ detail: "the model's answer has no content", again: true });
  await dog.during(pieces.take({ type: "stream-start", warnings }));
  await dog.during(pieces.take({ ...Object(response), type: "response-metadata" }));
  for (const piece of content) await dog.during(pieces.take(piece));
  await dog.during(pieces.take({ ...whole, type: "finish" }));
}

/** Said before anything has been heard of the provider. */
const isOpening = (piece: unknown): boolean => kindOf(piece) === "stream-start";
/** The model has begun to work, and may be paid for it. */
const isAnswer = (piece: unknown): boolean => !["stream-start", "error", "raw", "ping"].includes(kindOf(piece));
const kindOf = (piece: unknown): string => (typeof piece === "object" && piece !== null && "type" in piece ? String(piece.type) : "");

function speakerOf(model: unknown): Speaker {
  const given = model as Partial<Speaker>;
  const no = (functionality: string) => () => Promise.reject(new UnsupportedFunctionalityError({ functionality }));
  return {
    doStream: (options) => (given.doStream ?? no("doStream")).call(model, options),
    doGenerate: (options) => (given.doGenerate ?? no("doGenerate")).call(model, options),
  };
}

const isAnthropic = ({ provider }: AnyLanguageModel): boolean => String(provider).split(".")[0] === "anthropic";
