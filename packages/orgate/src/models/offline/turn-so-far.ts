/** The turn as the offline model sees it: the user's message, the calls made for it, and their results. */
import { fileLine, type Json, type Message } from "@orgate/core";

export type OfflineCall = Readonly<{ tool: string; wireId: string }>;
export type OfflineResult = Readonly<{ tool: string; text: string; isError: boolean }>;
export type OfflineTurn = Readonly<{
  input: string;
  called: readonly OfflineCall[];
  results: readonly OfflineResult[];
  latest: readonly OfflineResult[];
  callsBefore: number;
  files: string;
}>;

/** The conversation from the last message of the user. */
export function readTurnSoFar(messages: readonly Message[]): OfflineTurn {
  const start = messages.findLastIndex((message) => message.role === "user");
  const asked = messages[start];
  const called: OfflineCall[] = [];
  const results: OfflineResult[] = [];
  let latestFrom = 0;
  for (const message of messages.slice(start + 1)) {
    if (message.role === "assistant") {
      latestFrom = results.length;
      for (const part of message.parts) if (part.kind === "call") called.push({ tool: part.tool, wireId: part.wireId });
    }
    if (message.role === "tool") results.push({ tool: message.tool, text: message.text, isError: message.isError });
  }
  const callsBefore = messages.reduce((sum, message) => sum + (message.role === "assistant" ? message.parts.filter(isCall).length : 0), 0);
  return {
    input: asked?.role === "user" ? asked.text : "",
    called,
    results,
    latest: results.slice(latestFrom),
    callsBefore,
    files: filesIn(asked),
  };
}

const filesIn = (asked: Message | undefined): string => (asked?.role === "user" ? (asked.files ?? []).map(fileLine).join(", ") : "");

const isCall = (part: { readonly kind: string }): boolean => part.kind === "call";

/** JSON where the text is JSON, otherwise the text. */
export function parseResult(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
