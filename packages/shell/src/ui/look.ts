/** The width of the screen, its colours, and whether a person reads it. */
import type { Paint } from "../terminal/paint.ts";

/** `me`: the principal at the keyboard, as principals are written; null or absent if unknown. */
export type ScreenLook = Readonly<{ columns: number; paint: Paint; showThinking: boolean; me?: string | null }>;

export const formatMoney = (micros: number): string => `$${(micros / 1_000_000).toFixed(micros < 10_000 ? 4 : 2)}`;
