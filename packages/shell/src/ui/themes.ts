/**
 * How a shell looks.
 * V-2 what colour says, words say too: `plain` has none, and NO_COLOR is stronger than a theme that has.
 */
import { coloured, type Paint, plain, type Tone } from "../terminal/paint.ts";

export const THEMES = ["colour", "contrast", "plain"] as const;
export type Theme = (typeof THEMES)[number];
export const parseTheme = (text: string): Theme | null => THEMES.find((one) => one === text) ?? null;

/** For bright rooms and tired eyes: nothing faint, everything that matters bold. */
const STRONG: Readonly<Record<Exclude<Tone, "plain">, readonly [string, string]>> = {
  strong: ["1", "22"],
  dim: ["39", "39"],
  good: ["1;92", "22;39"],
  bad: ["1;97;41", "22;39;49"],
  warn: ["1;93", "22;39"],
  accent: ["1;96", "22;39"],
};
const contrast: Paint = (tone, text) => {
  if (tone === "plain" || text === "") return text;
  const [on, off] = STRONG[tone];
  return `\u001b[${on}m${text}\u001b[${off}m`;
};

/** `own`: what this terminal is painted with by itself. */
export function themePaint(theme: Theme, own: Paint): Paint {
  if (theme === "plain" || own("strong", "x") === "x") return plain;
  return theme === "contrast" ? contrast : coloured;
}
