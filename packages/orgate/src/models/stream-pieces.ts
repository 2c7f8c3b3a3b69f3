/**
 * From the pieces of a streamed reply to a reply, with previews on the way. Pieces are untrusted: an object of any version of the interface, or none.
 *
 * M-12 The parts of a reply are what was streamed, in its order: text, thinking, and calls with their exact arguments, each with the provider's marks.
 * M-13 Finish reasons are ours: a refusal by the model and a filter of the provider's are endings of their own, and what ends without an
 *     ending is broken, not finished.
 * Rule: M-14.
 */
import { TypeValidationError } from "@ai-sdk/provider";
import {
  estimatedInput,
  estimatedOutput,
  type Finish,
  type Json,
  type JsonObject,
  type ModelReply,
  type ModelRequest,
  type Preview,
  type ReplyPart,
} from "@orgate/core";
import { withDetails } from "./thoughts.ts";
import { WireTrouble } from "./wire-trouble.ts";

export type Pieces = Readonly<{
  /** Takes one piece in; what it returns is waited for before the next is asked for. */
  take(piece: unknown): unknown;
  reply(id: string, request: ModelRequest): ModelReply;
}>;

type Piece = Readonly<Record<string, unknown> & { type: string }>;
type Open = {
  kind: ReplyPart["kind"];
  id: string;
  tool: string;
  call: number;
  text: string;
  marks: Record<string, JsonObject>;
  done: boolean;
};
type Show = (preview: Preview) => unknown;
type Ended = Readonly<{ reason: string; raw: string | null; usage: unknown; marks: Json }>;

/** `known`: the kinds of event that a provider's package reads, where it takes any other for an error; empty where it does not. */
export function readPieces(show: Show, maxChars: number, known: readonly string[]): Pieces {
  const reader = new PieceReader(show, maxChars, known);
  return { take: (piece) => reader.take(piece), reply: (id, request) => reader.reply(id, request) };
}

class PieceReader {
  readonly #show: Show;
  readonly #maxChars: number;
  readonly #known: readonly string[];
  readonly #parts: Open[] = [];
  readonly #open = new Map<string, Open>();
  readonly #offsets = { text: 0, thinking: 0 };
  readonly #dropped = new Set<string>();
  #calls = 0;
  #chars = 0;
  #ended: Ended | null = null;
  #warnings: Json = [];
  #about: JsonObject = {};

  constructor(show: Show, maxChars: number, known: readonly string[]) {
    this.#show = show;
    this.#maxChars = maxChars;
    this.#known = known;
  }

  #start(kind: ReplyPart["kind"], id: string, tool = ""): Open {
    const part: Open = { kind, id, tool, call: kind === "call" ? this.#calls : -1, text: "", marks: {}, done: false };
    if (kind === "call") this.#calls += 1;
    this.#parts.push(part);
    this.#open.set(`${kind} ${id}`, part);
    return part;
  }

  /** A piece of a part that was never begun begins it. */
  #find(kind: ReplyPart["kind"], piece: Piece): Open {
    return this.#open.get(`${kind} ${textIn(piece, "id")}`) ?? this.#start(kind, textIn(piece, "id"));
  }

  #add(part: Open, text: string): unknown {
    if (text === "") return undefined;
    this.#chars += text.length;
    if (this.#chars > this.#maxChars) throw new WireTrouble({ detail: `the reply is longer than ${this.#maxChars} characters` });
    const offset = part.kind === "call" ? part.text.length : this.#offsets[part.kind];
    part.text += text;
    if (part.kind === "call") return this.#show({ part: "call", call: part.call, tool: part.tool, offset, text });
    this.#offsets[part.kind] += text.length;
    return this.#show({ part: part.kind, offset, text });
  }

  #addCall(piece: Piece): unknown {
    if (piece.providerExecuted === true)
      throw new WireTrouble({ detail: `the provider ran \`${textIn(piece, "toolName")}\` itself, which no policy has decided` });
    const id = textIn(piece, "toolCallId");
    const input = textIn(piece, "input");
    const part = this.#open.get(`call ${id}`) ?? this.#start("call", id, textIn(piece, "toolName"));
    mark(part, piece);
    part.done = true;
    part.tool = textIn(piece, "toolName");
    if (part.text === "") return this.#add(part, input);
    part.text = input; // the whole, where the pieces differ from it
    return undefined;
  }

  #addWhole(part: Open, piece: Piece): unknown {
    mark(part, piece);
    return this.#add(part, textIn(piece, "text"));
  }

  take(given: unknown): unknown {
    if (!isPiece(given)) return undefined;
    const kind = KINDS[given.type];
    switch (given.type) {
      case "stream-start":
        this.#warnings = plain(given.warnings) ?? [];
        return undefined;
      case "response-metadata":
        this.#about = { ...this.#about, ...stringsOf(given, ["id", "modelId"]) };
        return undefined;
      case "text-start":
      case "reasoning-start":
        if (kind !== undefined) mark(this.#start(kind, textIn(given, "id")), given);
        return undefined;
      case "text-delta":
      case "reasoning-delta": {
        if (kind === undefined) return undefined;
        const part = this.#find(kind, given);
        mark(part, given);
        return this.#add(part, textIn(given, "delta"));
      }
      case "text-end":
      case "reasoning-end":
        if (kind !== undefined) mark(this.#find(kind, given), given);
        if (kind !== undefined) this.#open.delete(`${kind} ${textIn(given, "id")}`); // ids are used again by some
        return undefined;
      case "tool-input-start":
        if (given.providerExecuted === true) return undefined;
        mark(this.#start("call", textIn(given, "id"), textIn(given, "toolName")), given);
        return undefined;
      case "tool-input-delta": {
        const part = this.#open.get(`call ${textIn(given, "id")}`);
        return part === undefined ? undefined : this.#add(part, textIn(given, "delta"));
      }
      case "tool-call":
        return this.#addCall(given);
      case "tool-result":
      case "tool-approval-request":
        throw new WireTrouble({ detail: "the provider ran a tool itself, which no policy has decided" });
      case "finish":
        this.#ended = { ...reasonOf(given.finishReason), usage: given.usage, marks: plain(given.providerMetadata) ?? null };
        return undefined;
      case "error": {
        const kind = newKindOf(given.error, this.#known);
        if (kind === null) throw given.error;
        this.#dropped.add(kind);
        return undefined;
      }
      // what a whole reply is made of, where a model cannot stream
      case "text":
      case "reasoning":
        if (kind === undefined) return undefined;
        return this.#addWhole(this.#start(kind, `${this.#parts.length}`), given);
      case "tool-input-end":
      case "ping":
      case "raw":
        return undefined;
      default:
        this.#dropped.add(given.type); // files, sources, and what is yet to be invented
        return undefined;
    }
  }

  reply(id: string, request: ModelRequest): ModelReply {
    if (this.#ended === null || BROKEN.has(this.#ended.reason))
      throw new WireTrouble({ detail: "the reply broke off before its end", transient: true, again: true });
    const kept = this.#parts.filter((part) => (part.kind === "call" ? part.done : part.text !== "" || Object.keys(part.marks).length > 0));
    const streamed = kept.map((part): ReplyPart => {
      const meta: Json = Object.keys(part.marks).length === 0 ? null : part.marks;
      return part.kind === "call"
        ? { kind: "call", id: part.id, tool: part.tool, text: part.text, meta }
        : { kind: part.kind, text: part.text, meta };
    });
    const said = withDetails(streamed, this.#ended.marks);
    const counted = usageOf(this.#ended.usage);
    const [input, output] = [counted.input || estimatedInput(request), counted.output || estimatedOutput(said)]; // zero is missing, where there was something
    const usage = {
      input,
      output,
      cached: counted.cached ?? 0,
      reasoning: counted.reasoning ?? 0,
      cacheWrite: counted.cacheWrite ?? 0,
    };
    const meta: JsonObject = {
      finish: this.#ended.raw,
      usage: { cacheWrite: counted.cacheWrite, estimated: counted.input !== input || counted.output !== output },
      response: this.#about,
      provider: said === streamed ? this.#ended.marks : null, // which are with what was thought then
      ...(Array.isArray(this.#warnings) && this.#warnings.length > 0 ? { warnings: this.#warnings } : {}),
      ...(this.#dropped.size > 0 ? { dropped: [...this.#dropped].sort() } : {}),
    };
    return { parts: said, finish: finishOf(this.#ended, said), usage, model: id, meta };
  }
}

const KINDS: Readonly<Record<string, "text" | "thinking">> = {
  "text-start": "text",
  "text-delta": "text",
  "text-end": "text",
  text: "text",
  "reasoning-start": "thinking",
  "reasoning-delta": "thinking",
  "reasoning-end": "thinking",
  reasoning: "thinking",
};

/** The provider's marks come with the start, with a delta, or with the end: all of them count, the later one over the earlier. */
function mark(part: Open, { providerMetadata }: Piece): void {
  const given = plain(providerMetadata);
  if (typeof given !== "object" || given === null || Array.isArray(given)) return;
  for (const [provider, marks] of Object.entries(given)) {
    if (typeof marks !== "object" || marks === null || Array.isArray(marks)) continue;
    part.marks[provider] = { ...part.marks[provider], ...(marks as JsonObject) };
  }
}

// ── how it ended ──

const BROKEN: ReadonlySet<string> = new Set(["interrupted", "error"]);
/** The name of a model's own refusal; filters have many names. Null: OpenAI reports one as completed. */
const REFUSALS: ReadonlySet<string | null> = new Set([null, "refusal", "stop", "completed"]);

/** An object since version 3, a word before. */
function reasonOf(given: unknown): { readonly reason: string; readonly raw: string | null } {
  if (typeof given === "string") return { reason: given === "unknown" ? "other" : given, raw: null };
  if (typeof given !== "object" || given === null) return { reason: "interrupted", raw: null };
  const { unified, raw } = given as { unified?: unknown; raw?: unknown };
  return { reason: typeof unified === "string" ? unified : "other", raw: typeof raw === "string" ? raw : null };
}

function finishOf({ reason, raw }: Ended, parts: readonly ReplyPart[]): Finish {
  switch (reason) {
    case "stop":
      if (raw === "pause_turn") return "other";
      return parts.some(({ kind }) => kind === "call") ? "calls" : "stop"; // some servers call it a stop
    case "tool-calls":
      return "calls";
    case "length":
      return "length";
    case "content-filter":
      return REFUSALS.has(raw) ? "refused" : "filtered";
    default:
      return "other";
  }
}

// ── what it used ──

/** Null: it did not say. */
type Counted = Readonly<Record<"input" | "output" | "cached" | "cacheWrite" | "reasoning", number | null>>;

/** Objects since version 3, numbers before. What a provider does not say is unknown, not zero. */
function usageOf(given: unknown): Counted {
  const usage = recordOf(given);
  const [input, output] = [recordOf(usage.inputTokens), recordOf(usage.outputTokens)];
  return {
    input: countOf(input.total ?? usage.inputTokens),
    output: countOf(output.total ?? usage.outputTokens),
    cached: countOf(input.cacheRead ?? usage.cachedInputTokens),
    cacheWrite: countOf(input.cacheWrite),
    reasoning: countOf(output.reasoning ?? usage.reasoningTokens),
  };
}

const countOf = (value: unknown): number | null => (typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null);
const recordOf = (value: unknown): Readonly<Record<string, unknown>> => (typeof value === "object" && value !== null ? { ...value } : {});

// ── untrusted pieces ──

/** A provider may send kinds of event that its package does not know yet, and says so in its documentation: they are let be. */
function newKindOf(error: unknown, known: readonly string[]): string | null {
  if (known.length === 0 || !TypeValidationError.isInstance(error) || !isPiece(error.value)) return null;
  return known.includes(error.value.type) ? null : error.value.type;
}

const isPiece = (given: unknown): given is Piece =>
  typeof given === "object" && given !== null && "type" in given && typeof given.type === "string";

const textIn = (piece: Piece, field: string): string => {
  const value = piece[field];
  return typeof value === "string" ? value : value === undefined || value === null ? "" : (JSON.stringify(value) ?? "");
};

function stringsOf(piece: Piece, fields: readonly string[]): JsonObject {
  return Object.fromEntries(fields.flatMap((field) => (typeof piece[field] === "string" ? [[field, piece[field]]] : [])));
}

/** As JSON has it: no undefined, no dates, nobody else's object. */
function plain(value: unknown): Json | undefined {
  if (value === undefined || value === null) return undefined;
  try {
    return JSON.parse(JSON.stringify(value)) as Json;
  } catch {
    return undefined;
  }
}
