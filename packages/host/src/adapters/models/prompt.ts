/**
 * From our request to a provider's prompt. Only what every version of the interface has is used.
 *
 * M46 What the model said goes back as it said it: thinking with its signature, arguments in their exact text, the provider's own marks on each part.
 * M47 A prompt is valid for every provider: the first message is a user's, results of parallel calls are one message right after their calls,
 *     no message is empty, and nothing is left out but what says nothing.
 */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import type { Json, JsonObject, Message, ModelRequest, Part, ToolSpec } from "@orgate/core";

import { closed } from "./answers.ts";

export type PromptOptions = Readonly<{
  /** Arguments go back as the text they came as. Only packages that are known to take text are given it. */
  exactArguments: boolean;
  /** The wire has a flag for a result that is an error. Without one its text says so, as ours always does, and is sent as it stands. */
  flagsErrors: boolean;
  providerOptions: Readonly<Record<string, JsonObject>>;
}>;

export function toCallOptions(request: ModelRequest, options: PromptOptions): LanguageModelV4CallOptions {
  const { tools, answer, temperature, maxOutputTokens } = request;
  return {
    prompt: toPrompt(request, options),
    temperature,
    maxOutputTokens,
    ...(tools.length === 0 ? {} : { tools: tools.map(toFunction), toolChoice: { type: answer?.kind === "call" ? "required" : "auto" } }),
    ...(answer?.kind === "text" ? { responseFormat: { type: "json", name: "answer", schema: copy(closed(answer.schema)) } } : {}),
    ...(Object.keys(options.providerOptions).length === 0 ? {} : { providerOptions: copy(options.providerOptions) }),
  };
}

const HIDDEN = "[the beginning of this conversation is not shown]";
const SILENT = "(no text)";

type Wire = Pick<PromptOptions, "exactArguments" | "flagsErrors">;

export function toPrompt({ system, messages }: Pick<ModelRequest, "system" | "messages">, wire: Wire): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Message[] = [];
  if (system.trim() !== "") prompt.push({ role: "system", content: system });
  const [first] = messages;
  if (first === undefined || first.role === "assistant" || first.role === "tool") prompt.push(said(HIDDEN));
  let results: LanguageModelV4ToolResultPart[] | null = null;
  for (const message of messages) {
    if (message.role === "tool") {
      if (results === null) {
        results = [];
        prompt.push({ role: "tool", content: results });
      }
      results.push(toResult(message, wire.flagsErrors));
      continue;
    }
    results = null;
    if (message.role !== "assistant") prompt.push(said(message.text));
    else {
      const content = message.parts.flatMap((part) => toContent(part, wire.exactArguments));
      if (content.length > 0) prompt.push({ role: "assistant", content });
    }
  }
  return prompt;
}

const said = (text: string): LanguageModelV4Message => ({
  role: "user",
  content: [{ type: "text", text: text.trim() === "" ? SILENT : text }],
});

function toResult({ wireId, tool, text, isError }: Extract<Message, { role: "tool" }>, flags: boolean): LanguageModelV4ToolResultPart {
  const value = text === "" ? SILENT : text;
  return {
    type: "tool-result",
    toolCallId: wireId,
    toolName: tool,
    output: isError && flags ? { type: "error-text", value } : { type: "text", value },
  };
}

type Content = Extract<LanguageModelV4Message, { role: "assistant" }>["content"];

function toContent(part: Part, exact: boolean): Content {
  const marks = marksOf(part.meta);
  switch (part.kind) {
    case "text":
      return part.text === "" && !("providerOptions" in marks) ? [] : [{ type: "text", text: part.text, ...marks }];
    case "thinking":
      return part.text === "" && !("providerOptions" in marks) ? [] : [{ type: "reasoning", text: part.text, ...marks }];
    case "call":
      return [{ type: "tool-call", toolCallId: part.wireId, toolName: part.tool, input: inputOf(part, exact), ...marks }];
  }
}

/** What is no object is wrapped: providers take nothing else, and the model should see what it wrote. */
function inputOf({ args, text }: Extract<Part, { kind: "call" }>, exact: boolean): unknown {
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
