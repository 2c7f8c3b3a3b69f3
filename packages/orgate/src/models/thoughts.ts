/**
 * How those who imitate OpenAI's Chat Completions hand out what a model thought, and how they want it back. Their package reads either name and sends
 * one; what OpenRouter signs it does not know.
 *
 * M-11 Thinking goes back under the name that the provider reads it by; what OpenRouter signed or sealed (`reasoning_details`) goes back whole, in its order.
 */
import type { Json, JsonObject, Part, ReplyPart } from "@orgate/core";

/** llama.cpp, DeepSeek and others read `reasoning_content`; Ollama and OpenRouter `reasoning`. `details`: whether it knows blocks with a signature. */
export type Thoughts = Readonly<{ field: "reasoning" | "reasoning_content"; details: boolean }>;

type Body = Record<string, unknown>;

/** The package's own way to change a body before it is sent. Nothing is added to what was decided: a field gets its name, or goes. */
export const readThoughts =
  (how: Thoughts) =>
  (body: Body): Body =>
    Array.isArray(body["messages"]) ? { ...body, messages: body["messages"].map((one: Body) => renamed(one, how)) } : body;

function renamed(message: Body, { field, details }: Thoughts): Body {
  const { reasoning_content: text, reasoning_details: blocks, ...rest } = message;
  if (details && blocks !== undefined) return { ...rest, reasoning_details: blocks };
  return text === undefined ? rest : { ...rest, [field]: text };
}

type Block = Record<string, Json>;
type Collected = { openrouter: { reasoning_details: Block[] } };

/** Collects them from a stream: consecutive pieces of one block are joined. */
export function collectDetails(): { processChunk(chunk: unknown): void; buildMetadata(): Collected | undefined } {
  const blocks: Block[] = [];
  return {
    processChunk(chunk) {
      for (const piece of piecesIn(chunk)) {
        const last = blocks.at(-1);
        if (last === undefined || last["type"] !== piece["type"] || last["index"] !== piece["index"]) blocks.push({ ...piece });
        else
          for (const [key, value] of Object.entries(piece))
            last[key] = GROWS.has(key) ? `${last[key] ?? ""}${value}` : (value ?? last[key] ?? null);
      }
    },
    buildMetadata: () => (blocks.length === 0 ? undefined : { openrouter: { reasoning_details: blocks } }),
  };
}
const GROWS: ReadonlySet<string> = new Set(["text", "summary", "data"]);

/** Untrusted, as all that is read. */
function piecesIn(chunk: unknown): readonly Block[] {
  const choices = fieldOf(chunk, "choices");
  const delta = fieldOf(Array.isArray(choices) ? choices[0] : undefined, "delta");
  const given = fieldOf(delta, "reasoning_details");
  return Array.isArray(given) ? given.filter((one): one is Block => typeof one === "object" && one !== null && !Array.isArray(one)) : [];
}
const fieldOf = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && key in value ? (value as Record<string, unknown>)[key] : undefined;

/** They belong to the reply as a whole, and are kept with what was thought; without a word of that, with a thought that says nothing. */
export function withDetails(parts: readonly ReplyPart[], marks: Json): readonly ReplyPart[] {
  const blocks = fieldOf(fieldOf(marks, "openrouter"), "reasoning_details");
  if (!Array.isArray(blocks)) return parts;
  const meta: JsonObject = { openrouter: { reasoning_details: blocks } };
  const at = parts.findIndex(({ kind }) => kind === "thinking");
  if (at < 0) return [{ kind: "thinking", text: "", meta }, ...parts];
  return parts.map((part, i) => (i === at ? { ...part, meta: { ...Object(part.meta), ...meta } } : part));
}

/** For the message that they go back with. */
export function readDetails(parts: readonly Part[]): Json[] | null {
  for (const { meta } of parts) {
    const blocks = fieldOf(fieldOf(meta, "openrouter"), "reasoning_details");
    if (Array.isArray(blocks)) return blocks as Json[];
  }
  return null;
}
