/**
 * Under which labels a value was seen in a session: an index of the tokens of what its tools brought, kept as it comes. To look a value up takes
 * as long as the value is, however long the session. It may say too much (tokens of one value seen apart), never too little (G-29).
 */
import { plainText } from "./targets.ts";

export type SeenValues = Readonly<{
  add(text: string, labels: readonly string[]): void;
  under(value: string): readonly string[];
}>;

/** Beyond this number values are no longer distinguished: from then on everything counts as seen under what is added. */
const MOST_TOKENS = 100_000;
const MAX_TOKEN = 120;

export function createSeenIndex(most = MOST_TOKENS): SeenValues {
  const bits = new Map<string, number>();
  const tokens = new Map<string, number>();
  let beyond = 0;

  function maskOf(labels: readonly string[]): number {
    let mask = 0;
    for (const one of labels) {
      if (!bits.has(one) && bits.size < 30) bits.set(one, 1 << bits.size);
      mask |= bits.get(one) ?? ALL;
    }
    return mask;
  }

  return {
    add(text, labels) {
      const mask = maskOf(labels);
      if (mask === 0) return;
      for (const token of tokensOf(text)) {
        const before = tokens.get(token);
        if (before === undefined && tokens.size >= most) beyond |= mask;
        else tokens.set(token, (before ?? 0) | mask);
      }
    },
    under(value) {
      let mask = ALL;
      let some = false;
      for (const token of runsOf(plainText(value).toLowerCase())) {
        mask &= (tokens.get(token) ?? 0) | beyond;
        some = true;
      }
      return some ? [...bits].flatMap(([one, bit]) => ((mask & bit) === 0 ? [] : [one])).sort() : [];
    },
  };
}
const ALL = 0x3fffffff;

/** Runs of letters, digits and what joins them in names, hosts and addresses. A value that stands somewhere as a whole is made of whole runs. */
function* runsOf(text: string): Iterable<string> {
  for (const [run] of text.matchAll(/[\p{L}\p{N}\p{M}_.@+-]+/gu)) {
    const bare = run.replace(/^[.@+-]+|[.@+-]+$/g, "");
    if (bare !== "") yield bare.length > MAX_TOKEN ? bare.slice(0, MAX_TOKEN) : bare;
  }
}

/** Of a text as it is and, where it may be JSON, with its escapes as blanks; of an address its parts too. */
function tokensOf(text: string): ReadonlySet<string> {
  const plain = plainText(text).toLowerCase();
  const found = new Set(runsOf(plain));
  if (plain.includes("\\")) for (const run of runsOf(plain.replace(/\\(?:[nrtbf"\\/]|u[0-9a-f]{4})/g, " "))) found.add(run);
  for (const run of [...found]) if (run.includes("@")) for (const part of run.split("@")) found.add(part);
  return found;
}
