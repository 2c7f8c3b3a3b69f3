/** From the conversation to a request, and the request's digest. The digest rolls over the messages once each, however many turns there are. */
import { type Attachment, type Digest, type Hash, type OutputSpec, type ToolSpec, toCanonicalJson, ZERO } from "../vocab/index.ts";
import type { Message, ModelRequest, Words } from "./port.ts";
import { listShownMessages, type Window } from "./window.ts";

export type PromptParts = Readonly<{
  system: string;
  /** Beside the instructions. */
  context: readonly string[];
  messages: readonly Message[];
  window: Window;
  tools: readonly ToolSpec[];
  toolsDigest: Digest;
  /** The form of the answer; null: any text. */
  output: OutputSpec | null;
  model: string;
  temperature: number;
  maxOutputTokens: number;
  attempt: number;
}>;

/** How far the digest of a conversation has come: it goes on with the conversation from one drive to the next. */
const ROLLED = new WeakMap<readonly Message[], { count: number; spoken: Digest }>();

function spokenIn(messages: readonly Message[], hash: Hash): Digest {
  const at = ROLLED.get(messages) ?? { count: 0, spoken: ZERO };
  for (; at.count < messages.length; at.count += 1) at.spoken = hash(`${at.spoken}\n${toCanonicalJson(saidIn(messages[at.count], hash))}`);
  ROLLED.set(messages, at);
  return at.spoken;
}

export function prompter(hash: Hash): (parts: PromptParts) => { request: ModelRequest; digest: Digest } {
  let instructions: Readonly<{ text: string; digest: Digest }> | null = null;
  return ({ system, context, messages, window, tools, toolsDigest, output, model, temperature, maxOutputTokens, attempt }) => {
    const spoken = spokenIn(messages, hash);
    if (instructions?.text !== system) instructions = { text: system, digest: hash(system) }; // long, and the same in every request
    const { from, task } = window;
    const asked = output === null ? {} : { output: output.digest };
    const answer = output === null ? null : ({ kind: "text", schema: output.schema } as const);
    const beside = context.length === 0 ? {} : { context }; // without any it has the digest it always had
    const lines = window.lines.size === 0 ? [] : [...window.lines.values()].map(wordsOf);
    const summary = window.summary === null ? null : wordsOf(window.summary.message);
    const digest = hash(
      toCanonicalJson({
        ...beside,
        from,
        lines,
        maxOutputTokens,
        model,
        ...asked,
        spoken,
        summary,
        system: instructions.digest,
        task,
        temperature,
        tools: toolsDigest,
      }),
    );
    return {
      request: { system, context, messages: listShownMessages(messages, window), tools, answer, temperature, maxOutputTokens, attempt },
      digest,
    };
  };
}

/** Of a file its digest: bytes are gone over once, here, and the record can be checked against the file that was meant. */
function saidIn(message: Message | undefined, hash: Hash): unknown {
  const words = wordsOf(message);
  if (words?.role !== "user" || words.files === undefined) return words;
  return { ...words, files: words.files.map((file) => digestedFile(file, hash)) };
}

const digestedFile = (file: Attachment, hash: Hash) => {
  const { mediaType, name } = file;
  return { mediaType, name, sha256: hash(file.kind === "text" ? file.text : file.base64) };
};

/** The part of a message that is sent: how it is counted and where it comes from is nobody else's business. */
function wordsOf(message: Message | undefined): Words | null {
  switch (message?.role) {
    case undefined:
      return null;
    case "user":
      return message.files === undefined
        ? { role: message.role, text: message.text }
        : { files: message.files, role: message.role, text: message.text };
    case "assistant":
      return { parts: message.parts, role: message.role };
    case "tool":
      return { isError: message.isError, role: message.role, text: message.text, tool: message.tool, wireId: message.wireId };
    case "note":
      return { role: message.role, text: message.text };
  }
}
