/**
 * Tokenizers by name. Loaded when the first text is counted by one: half a second and 30 MB that a run without it does not pay.
 * Text is text: what looks like a special token in it is counted as it is written.
 */
import { createRequire } from "node:module";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { type Counters, estimateTokens, type TokenCount } from "@orgate/core";

const load = createRequire(import.meta.url); // counting is synchronous
const MODULES: Readonly<Record<string, URL>> = {
  o200k_base: new URL(`./encodings/o200k${extname(import.meta.url)}`, import.meta.url),
  cl100k_base: new URL(`./encodings/cl100k${extname(import.meta.url)}`, import.meta.url),
};

type Encoding = Readonly<{ countTokens(text: string, options: Readonly<{ disallowedSpecial: ReadonlySet<string> }>): number }>;

const known = new Map<string, TokenCount>();

/** A name that is not known here is estimated: counts differ a little, and nothing else does. */
export const tokenizers: Counters = (name) => {
  const found = known.get(name);
  if (found !== undefined) return found;
  const module = Object.hasOwn(MODULES, name) ? MODULES[name] : undefined;
  const count = module === undefined ? estimateTokens : counting(module);
  known.set(name, count);
  return count;
};

const NONE: ReadonlySet<string> = new Set();

function counting(module: URL): TokenCount {
  let encoding: Encoding | null = null;
  return (text) => {
    encoding ??= load(fileURLToPath(module)) as Encoding; // what the file says it exports
    let tokens = 0;
    for (const piece of piecesOf(text)) tokens += encoding.countTokens(piece, { disallowedSpecial: NONE });
    return tokens;
  };
}

/**
 * A run without a space costs the square of its length to count: 24,000 characters of Chinese take 6 seconds whole, 60 milliseconds in pieces.
 * At most one token too many for each piece.
 */
function piecesOf(text: string): readonly string[] {
  if (text.length <= LONG_RUN || !/\S{200}/.test(text)) return [text];
  return text.replace(/(\S{200})(?=\S)/gu, "$1\0").split("\0");
}
const LONG_RUN = 200;
