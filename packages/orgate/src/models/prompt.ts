/**
 * From our request to a provider's prompt. Only what every version of the interface has is used.
 *
 * M-11 A prompt is valid for every provider: the first message is a user's, results of parallel calls are one message right after their calls,
 *     no message is empty, an id of a call that another provider gave fits this one's rules, and nothing is left out but what says nothing.
 * M-11 What stands beside the instructions reaches every provider: as blocks of its one system field, as messages of their own, or joined to the
 *      instructions where a server may take only one.
 * Marks for a provider's cache stand at the end of what stays: the tools and the instructions, what the request before ended with, what this one
 *      ends with. They change no word of it.
 * M-22 A file goes as the provider's own kind of part; a text goes as words, named. One that the provider does not take is refused before anything is sent.
 */
import { createHash } from "node:crypto";
import type {
  JSONValue,
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import {
  type Attachment,
  argumentsOf,
  type Json,
  type JsonObject,
  type Message,
  type ModelRequest,
  type Part,
  type ToolSpec,
} from "@orgate/core";
import { closeObjects } from "./answers.ts";
import { readDetails } from "./thoughts.ts";
import { WireTrouble } from "./wire-trouble.ts";

export type PromptOptions = Readonly<{
  /** Arguments go back as the text they came as. Only packages that are known to take text are given it. */
  exactArguments: boolean;
  /** The wire has a flag for a result that is an error. Without one its text says so, as ours always does, and is sent as it stands. */
  flagsErrors: boolean;
  /** The form of call ids that the wire accepts; an id of another provider may not have it. Null: any. */
  callIds: RegExp | null;
  /** Takes the instructions and what stands beside them apart; otherwise they are one text. */
  splitsSystem: boolean;
  /** Where what stays ends is marked for the provider's cache, in Anthropic's way; those who have no such marks do not look at them. */
  cacheMarks: boolean;
  files: FileWire;
  providerOptions: Readonly<Record<string, JsonObject>>;
}>;

/** How files go. */
export type FileWire = Readonly<{
  /** Media types that it takes; null: whatever there is, and it says so itself if not. Texts go as words to everybody. */
  takes: readonly string[] | null;
  /** Before the words, where the provider says that it reads them better so. */
  first: boolean;
  /** Versions 2 and 3 of the interface have the bytes as they are; from 4 on it is said what they are. */
  tagged: boolean;
}>;
export const ANY_FILES: FileWire = Object.freeze({ takes: null, first: false, tagged: true });

export function toCallOptions(request: ModelRequest, options: PromptOptions): LanguageModelV4CallOptions {
  const { answer, temperature, maxOutputTokens } = request;
  const tools = request.tools.map(toFunction);
  const prompt = toPrompt(request, options);
  if (options.cacheMarks) markStable(prompt, tools);
  return {
    prompt,
    temperature,
    maxOutputTokens,
    ...(tools.length === 0 ? {} : { tools, toolChoice: { type: answer?.kind === "call" ? "required" : "auto" } }),
    ...(answer?.kind === "text" ? { responseFormat: { type: "json", name: "answer", schema: copy(closeObjects(answer.schema)) } } : {}),
    ...(Object.keys(options.providerOptions).length === 0 ? {} : { providerOptions: copy(options.providerOptions) }),
  };
}

const HIDDEN = "[the beginning of this conversation is not shown]";
const SILENT = "(no text)";

type Wire = Pick<PromptOptions, "exactArguments" | "flagsErrors" | "splitsSystem" | "callIds" | "files">;
type Said = Pick<ModelRequest, "system" | "context" | "messages">;

export function toPrompt({ system, context, messages }: Said, wire: Wire): LanguageModelV4Prompt {
  const texts = [system, ...context].filter((text) => text.trim() !== "");
  const told = wire.splitsSystem || texts.length === 0 ? texts : [texts.join("\n\n")];
  const prompt: LanguageModelV4Message[] = told.map((content) => ({ role: "system", content }));
  const [first] = messages;
  if (first === undefined || first.role === "assistant" || first.role === "tool") prompt.push(said(HIDDEN));
  let results: LanguageModelV4ToolResultPart[] | null = null;
  for (const message of messages) {
    if (message.role === "tool") {
      if (results === null) {
        results = [];
        prompt.push({ role: "tool", content: results });
      }
      results.push(toResult(message, wire));
      continue;
    }
    results = null;
    if (message.role === "user") prompt.push(said(message.text, message.files, wire.files));
    else if (message.role === "note") prompt.push(said(message.text));
    else {
      const content = message.parts.flatMap((part) => toContent(part, wire));
      const details = readDetails(message.parts);
      const thought = details === null ? {} : { providerOptions: { openaiCompatible: { reasoning_details: copy<JSONValue>(details) } } };
      if (content.length > 0) prompt.push({ role: "assistant", content, ...thought });
    }
  }
  return prompt;
}

const CACHED: SharedV4ProviderOptions = Object.freeze({ anthropic: { cacheControl: { type: "ephemeral" } } });

/** At most three, where four are allowed. What is beside the instructions comes after their mark: it may be another the next time. */
function markStable(prompt: LanguageModelV4Prompt, tools: readonly LanguageModelV4FunctionTool[]): void {
  const marked: { providerOptions?: SharedV4ProviderOptions }[] = [];
  const [first] = prompt;
  const lastTool = tools.at(-1);
  if (first?.role === "system") marked.push(first);
  else if (lastTool !== undefined) marked.push(lastTool);
  const replied = prompt.findLastIndex(({ role }) => role === "assistant");
  const [before, now] = [prompt[replied - 1], prompt.at(-1)];
  for (const end of [before, now]) if (end?.role === "user" || end?.role === "tool") marked.push(end);
  for (const one of marked) one.providerOptions = { ...one.providerOptions, ...CACHED };
}

function said(text: string, files: readonly Attachment[] = [], wire: FileWire = ANY_FILES): LanguageModelV4Message {
  const shown = files.map((file) => toFile(file, wire));
  if (text.trim() === "") return { role: "user", content: shown.length === 0 ? [{ type: "text", text: SILENT }] : shown };
  const words = { type: "text", text } as const;
  return { role: "user", content: wire.first ? [...shown, words] : [words, ...shown] };
}

function toFile(file: Attachment, { takes, tagged }: FileWire): LanguageModelV4TextPart | LanguageModelV4FilePart {
  const { mediaType, name } = file;
  if (file.kind === "text") return { type: "text", text: `[file ${name ?? "without a name"}, ${mediaType}]\n${file.text}` };
  if (takes !== null && !takes.includes(mediaType))
    throw new WireTrouble({ detail: notTaken(file, takes), status: NOT_TAKEN, broke: false });
  const named = name === null ? {} : { filename: name };
  const data = tagged ? { type: "data", data: file.base64 } : file.base64;
  return { type: "file", mediaType, ...named, data: data as LanguageModelV4FilePart["data"] };
}

/** As HTTP has it, and as a provider would say it: another model may be asked in its place. */
const NOT_TAKEN = 415;
const notTaken = ({ mediaType, name }: Attachment, takes: readonly string[]): string =>
  `it takes no ${mediaType}${name === null ? "" : ` (\`${name}\`)`}; it takes ${[...takes, "text/…"].join(", ")}`;

function toResult({ wireId, tool, text, isError }: Extract<Message, { role: "tool" }>, wire: Wire): LanguageModelV4ToolResultPart {
  const value = text === "" ? SILENT : text;
  return {
    type: "tool-result",
    toolCallId: idOn(wire, wireId),
    toolName: tool,
    output: isError && wire.flagsErrors ? { type: "error-text", value } : { type: "text", value },
  };
}

/** The same for the same id, in a call and in its result, in every process and at any time. */
const idOn = ({ callIds }: Wire, id: string): string =>
  callIds === null || callIds.test(id) ? id : `orgate_${createHash("sha256").update(id).digest("hex").slice(0, 24)}`;

type Content = Extract<LanguageModelV4Message, { role: "assistant" }>["content"];

function toContent(part: Part, wire: Wire): Content {
  const marks = marksOf(part.meta);
  switch (part.kind) {
    case "text":
      return part.text === "" && !("providerOptions" in marks) ? [] : [{ type: "text", text: part.text, ...marks }];
    case "thinking":
      return part.text === "" && !("providerOptions" in marks) ? [] : [{ type: "reasoning", text: part.text, ...marks }];
    case "call":
      return [
        {
          type: "tool-call",
          toolCallId: idOn(wire, part.wireId),
          toolName: part.tool,
          input: inputOf(part, wire.exactArguments),
          ...marks,
        },
      ];
  }
}

/** Wraps arguments that are no object: providers accept nothing else, and the model should see what it wrote. */
function inputOf(call: Extract<Part, { kind: "call" }>, exact: boolean): unknown {
  const { text } = call;
  const args = argumentsOf(call);
  if (args.kind === "not-json" || !isObject(args.value)) return { rawInvalidInput: text };
  return exact && text.trim() !== "" ? text : copy(args.value);
}

const marksOf = (meta: Json): { providerOptions?: SharedV4ProviderOptions } => (isMarks(meta) ? { providerOptions: copy(meta) } : {});

/** By provider, an object each: what came with the part. */
const isMarks = (meta: Json): meta is Readonly<Record<string, JsonObject>> =>
  isObject(meta) && Object.keys(meta).length > 0 && Object.values(meta).every(isObject);

const isObject = (value: Json | undefined): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);

const toFunction = ({ name, description, inputSchema }: ToolSpec): LanguageModelV4FunctionTool => ({
  type: "function",
  name,
  description,
  inputSchema: copy(inputSchema),
});

/** Ours is frozen JSON, and the libraries' types are not readonly. The type of what goes out is theirs to say. */
const copy = <T>(value: Json | Readonly<Record<string, JsonObject>>): T => structuredClone(value) as T;
