/** Names, texts, patterns and decimals as Cedar writes them. */

/** Reads an optional attribute only where it is present; `unknown` is the value elsewhere. */
export const guardText = (guards: readonly string[], text: string, unknown: boolean): string =>
  guards.length === 0 ? text : `(if ${guards.join(" && ")} then ${text} else ${unknown})`;

const RESERVED = ["true", "false", "if", "then", "else", "in", "is", "like", "has", "__cedar"];
export const isCedarName = (name: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !RESERVED.includes(name);

export const escapeCedar = (text: string): string =>
  text.replace(/["\\]|[^\x20-\x7e]/gu, (c) => (c === '"' || c === "\\" ? `\\${c}` : `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`));
export const cedarText = (text: string): string => `"${escapeCedar(text)}"`;

/** `*` stands for anything. */
export const cedarPattern = (text: string): string => escapeCedar(text);

const MOST_DECIMAL = 9_223_372_036_854_775_807n;
/** At most four places, as Cedar writes one; null where it would have to be rounded. */
export function decimalText(text: string): string | null {
  const [, sign = "", whole = "", places = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  const short = places.replace(/0+$/, "");
  if (whole === "" || short.length > 4) return null;
  if (BigInt(whole + short.padEnd(4, "0")) > MOST_DECIMAL) return null;
  return `${sign}${BigInt(whole)}.${short === "" ? "0" : short}`;
}
