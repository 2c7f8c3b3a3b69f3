/** Token counts as text. */
import { totalTokens } from "@orgate/core/vocab";
import type { TurnTotals } from "./items.ts";

/** V-5 what was used, and apart from it what was reserved for a call that was cut off: nobody knows how much of that was used. */
export const tokensText = (used: Pick<TurnTotals, "usage" | "lost">, numberText: (n: number) => string = String): string =>
  tokenCountText({ tokens: totalTokens(used.usage), lost: totalTokens(used.lost) }, numberText);

/** The same text, from counts: `tokens` are those that were used, without `lost`. */
export function tokenCountText(
  { tokens, lost }: Readonly<{ tokens: number; lost: number }>,
  numberText: (n: number) => string = String,
): string {
  const cutOff = lost === 0 ? "" : `, and up to ${numberText(lost)} reserved for a call that was cut off`;
  return `${numberText(tokens)} ${tokens === 1 ? "token" : "tokens"}${cutOff}`;
}
