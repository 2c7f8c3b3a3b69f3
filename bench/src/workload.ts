/**
 * What every benchmark drives: a user's message, then N times one tool call (about 200 bytes of arguments, 1,024 characters back), then an answer.
 * The model answers at once and reads its counter from the newest message, so a run that ends proves that every result reached the model.
 */
import { type Agent, defineAgent, defineTool, type Limits, type Message, type Model, type ModelReply, type Row } from "@orgate/core";
import * as z from "zod";

/** Everything is permitted: a policy like any other, and it is decided and journalled like any other. */
export const PERMIT_ALL: readonly Row[] = [{ id: "permit-all", action: "*", verdict: "allow" }];

const FILLER = "x".repeat(150);
export const RESULT_CHARS = 1_024;
const PADDING = "r".repeat(RESULT_CHARS);

const input = z.strictObject({ n: z.number().int(), path: z.string(), query: z.string() });

/** The counter in front, padded to the full length: what the tool gives back, and what the model reads. */
export const resultOf = (n: number): string => `${n}|${PADDING}`.slice(0, RESULT_CHARS);

export const lookup = defineTool({
  name: "lookup",
  description: "Looks a thing up.",
  input,
  repeat: "read",
  effects: ["read"],
  resource: ({ path }) => ({ type: "File", id: path }),
  run: ({ n }) => resultOf(n),
});

export const argsText = (n: number): string => JSON.stringify({ n, path: `docs/chapter-${n % 10}.md`, query: FILLER });

/** Asks for `iterations` calls, then answers. Stateless: the newest message says how far it is. */
export function countingModel(iterations: number): Model {
  return {
    id: "bench/counting",
    ask: async ({ messages }) => {
      const done = counterIn(messages.at(-1));
      return done === iterations ? answer : call(done + 1);
    },
  };
}

function counterIn(message: Message | undefined): number {
  if (message?.role !== "tool") return 0;
  return Number(message.text.slice(0, message.text.indexOf("|")));
}

const usage = { input: 10, output: 5 };
const answer: ModelReply = {
  parts: [{ kind: "text", text: "done", meta: null }],
  finish: "stop",
  usage,
  model: "bench/counting",
  meta: null,
};
const call = (n: number): ModelReply => ({
  parts: [{ kind: "call", id: `call_${n}`, tool: "lookup", text: argsText(n), meta: null }],
  finish: "calls",
  usage,
  model: "bench/counting",
  meta: null,
});

/** Nothing of these ends a run early; the context budget is the usual one, so that requests stay as they are in practice. */
export const LIMITS: Partial<Limits> = { iterations: 100_000, calls: 100_000, tokens: 1_000_000_000, turnMs: 86_400_000 };

export const agent: Agent = defineAgent({
  name: "bench",
  instructions: "Look things up until told to stop.",
  model: "bench/counting",
  tools: [lookup],
  limits: LIMITS,
});
