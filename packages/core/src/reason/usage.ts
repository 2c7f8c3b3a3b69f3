/**
 * Token usage of an exchange with a model, where its provider does not say.
 *
 * M-12 a count of zero for what was not empty is missing: limits and prices would never see that exchange. It is estimated, and said to be.
 */
import type { ReplyPart } from "../vocab/index.ts";
import type { ModelReply, ModelRequest } from "./port.ts";
import { estimateTokens } from "./tokens.ts";

export const estimatedInput = ({
  system,
  context,
  messages,
  tools,
}: Pick<ModelRequest, "system" | "context" | "messages" | "tools">): number =>
  estimateTokens(system) +
  context.reduce((sum, text) => sum + estimateTokens(text), 0) +
  messages.reduce((sum, { tokens }) => sum + tokens, 0) +
  (tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools)));

export const estimatedOutput = (parts: readonly ReplyPart[]): number => parts.reduce((sum, { text }) => sum + estimateTokens(text), 0);

/** The reply with what its adapter counted, or with an estimate in place of a zero that cannot be true. */
export function withBelievableUsage(reply: ModelReply, request: ModelRequest): ModelReply {
  const { usage, parts } = reply;
  if (usage.input > 0 && usage.output > 0) return reply;
  const input = usage.input > 0 ? usage.input : estimatedInput(request);
  const output = usage.output > 0 ? usage.output : estimatedOutput(parts);
  return input === usage.input && output === usage.output ? reply : { ...reply, usage: { ...usage, input, output } };
}
