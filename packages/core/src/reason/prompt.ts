/** From the conversation to a request, and the request's digest. The digest rolls over the messages once each, however long the run. */
import { canonical, type Digest, type Hash, type ToolSpec, ZERO } from "../vocab/index.ts";
import type { Message, ModelRequest } from "./port.ts";
import { shown, type Window } from "./window.ts";

export type PromptParts = Readonly<{
  system: string;
  messages: readonly Message[];
  window: Window;
  tools: readonly ToolSpec[];
  toolsDigest: Digest;
  model: string;
  temperature: number;
  maxOutputTokens: number;
  attempt: number;
}>;

export function prompter(hash: Hash): (parts: PromptParts) => { request: ModelRequest; digest: Digest } {
  let count = 0;
  let spoken: Digest = ZERO;
  return ({ system, messages, window, tools, toolsDigest, model, temperature, maxOutputTokens, attempt }) => {
    for (; count < messages.length; count += 1) spoken = hash(`${spoken}\n${canonical(messages[count])}`);
    const { from, task, masked } = window;
    const summary = window.summary === null ? null : canonical(window.summary.message);
    const digest = hash(
      canonical({ model, system, tools: toolsDigest, spoken, from, task, masked, summary, temperature, maxOutputTokens }),
    );
    return { request: { system, messages: shown(messages, window), tools, temperature, maxOutputTokens, attempt }, digest };
  };
}
