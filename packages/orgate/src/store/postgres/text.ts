/** PostgreSQL's `text` and `jsonb` have no U+0000 and no lone surrogates; what people and models write may have both. */
const TO_ESCAPE = /[\\\0]/g;

export const toStoredText = (text: string): string => text.toWellFormed().replace(TO_ESCAPE, (c) => (c === "\0" ? "\\0" : "\\\\"));

export const fromStoredText = (text: string): string =>
  text.includes("\\") ? text.replace(/\\([\\0])/g, (_, c: string) => (c === "0" ? "\0" : "\\")) : text;
