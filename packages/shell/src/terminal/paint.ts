/** V-2 colour only on a terminal, and never against NO_COLOR; what colour says, words say too. */

import type { Tone } from "@orgate/protocol/view";

export type { Tone } from "@orgate/protocol/view";
export type Paint = (tone: Tone, text: string) => string;

const CODES: Readonly<Record<Exclude<Tone, "plain">, readonly [number, number]>> = {
  strong: [1, 22],
  dim: [2, 22],
  good: [32, 39],
  bad: [31, 39],
  warn: [33, 39],
  accent: [36, 39],
};

export const plain: Paint = (_, text) => text;
export const coloured: Paint = (tone, text) => {
  if (tone === "plain" || text === "") return text;
  const [on, off] = CODES[tone];
  return `\u001b[${on}m${text}\u001b[${off}m`;
};

/** FORCE_COLOR is for one who passes our output on to a terminal, as the demo does. */
export function paintFor(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): Paint {
  if (env.NO_COLOR) return plain;
  if (env.FORCE_COLOR && env.FORCE_COLOR !== "0") return coloured;
  return isTerminal && env.TERM !== "dumb" ? coloured : plain;
}
