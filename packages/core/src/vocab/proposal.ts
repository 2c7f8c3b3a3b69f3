/** Proposals: tool calls that the model asks for. Always untrusted: nothing in here has been checked, let alone decided. */

import type { CallId } from "./ids.ts";
import { copyFrozen, type Json } from "./text/canonical.ts";
import { readJson } from "./text/json-text.ts";

/** A reply as the model port hands it over. `text` of a call is the arguments exactly as the model wrote them. */
export type ReplyPart =
  | { readonly kind: "text"; readonly text: string; readonly meta: Json }
  | { readonly kind: "thinking"; readonly text: string; readonly meta: Json }
  | { readonly kind: "call"; readonly id: string; readonly tool: string; readonly text: string; readonly meta: Json };

/** The same as journalled: every call has an id of ours. */
export type Part =
  | { readonly kind: "text"; readonly text: string; readonly meta: Json }
  | { readonly kind: "thinking"; readonly text: string; readonly meta: Json }
  | ({ readonly kind: "call" } & ProposedCall);

export type ProposedCall = Readonly<{
  id: CallId;
  /** The model's own id, unique in the session (a repeated one was replaced by ours, so that results find their call). */
  wireId: string;
  tool: string;
  /** The arguments, exactly as the model wrote them: `argumentsOf` reads them. */
  text: string;
  meta: Json;
}>;

export type ParsedArgs = { readonly kind: "json"; readonly value: Json } | { readonly kind: "not-json"; readonly detail: string };

/** Some providers send nothing at all for a call without arguments. An escape can name half a character: the value is well-formed, like all that is journalled. */
export function parseArgs(text: string): ParsedArgs {
  const read = readJson(text.trim() === "" ? "{}" : text);
  return read.kind === "json"
    ? { kind: "json", value: copyFrozen(read.value) }
    : { kind: "not-json", detail: `${read.detail} (line ${read.line}, column ${read.column})` };
}

/** The last ones are kept: a call is checked, gated and started one after the other, and a conversation must not hold its arguments twice. */
export function argumentsOf({ text }: Pick<ProposedCall, "text">): ParsedArgs {
  if (last?.text !== text) last = { text, args: parseArgs(text) };
  return last.args;
}
let last: Readonly<{ text: string; args: ParsedArgs }> | null = null;

export type Finish = "stop" | "calls" | "length" | "refused" | "filtered" | "other";

/** `cached` is the part of `input` that the provider read from its cache, `reasoning` the part of `output` that was thought, not said. */
export type Usage = Readonly<{ input: number; output: number; cached: number; reasoning: number }>;
export const NO_USAGE: Usage = Object.freeze({ input: 0, output: 0, cached: 0, reasoning: 0 });
/** Nothing is known of the parts, or nothing is to be said of them. */
export const toUsage = (input: number, output: number): Usage => ({ input, output, cached: 0, reasoning: 0 });
export const addUsage = (a: Usage, b: Usage): Usage => ({
  input: a.input + b.input,
  output: a.output + b.output,
  cached: a.cached + b.cached,
  reasoning: a.reasoning + b.reasoning,
});
export const totalTokens = (u: Usage): number => u.input + u.output;

/** Words of a reply in progress: no sequence number, never folded, replaced by `model.replied`. */
export type Preview =
  | Readonly<{ part: "text" | "thinking"; offset: number; text: string }>
  /** Arguments of a call, as the model writes them: of the `call`th call of the reply, counted from 0. `offset` is within that call's own text. */
  | Readonly<{ part: "call"; call: number; tool: string; offset: number; text: string }>;
