/** Tokens are counted once per message, when it is made: by a tokenizer where one is known, by an estimate otherwise. */
export type TokenCount = (text: string) => number;

/** By a tokenizer's name; what is not known is estimated. */
export type Counters = (tokenizer: string) => TokenCount;

/**
 * Tokens per character of a byte-pair tokenizer, by script. C-4 not lower than 0.8 of the real count and not higher than 2 times, script by script:
 * measured in `orgate/src/models/tokenizers.test.ts`. Plain letters are cheap in words; digits, signs, and letters mixed with digits (keys, hashes) are not.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  let before = OTHER;
  for (let i = 0; i < text.length; i += 1) {
    const c = text.charCodeAt(i);
    if (c < ASCII) {
      tokens += COSTS[before * ASCII + c] ?? 0;
      before = CLASSES[c] ?? OTHER;
    } else {
      tokens += costOfScript(c);
      before = OTHER;
    }
  }
  return Math.ceil(tokens);
}

/** Costs of ASCII characters after a character of each class, looked up: every result of a tool goes through here, character by character. */
const ASCII = 0x80;
const [OTHER, LOWER, UPPER, DIGIT] = [0, 1, 2, 3];
const classOf = (c: string): number => (/[a-z]/.test(c) ? LOWER : /[A-Z]/.test(c) ? UPPER : /[0-9]/.test(c) ? DIGIT : OTHER);
const CLASSES = Uint8Array.from({ length: ASCII }, (_, c) => classOf(String.fromCharCode(c)));
const COSTS = Float64Array.from({ length: ASCII * 4 }, (_, at) => asciiCost(at % ASCII, Math.floor(at / ASCII)));

function asciiCost(c: number, before: number): number {
  switch (CLASSES[c]) {
    case LOWER:
      return before === DIGIT ? 0.8 : 0.2;
    case DIGIT:
      return before === LOWER || before === UPPER ? 0.8 : 0.5;
    case UPPER:
      return before === LOWER || before === DIGIT ? 1 : 0.5; // inside a word: another begins
    default:
      return c === 0x20 ? 0.1 : 0.5;
  }
}

/** Upper bound of a range, cost of one of its characters. */
const SCRIPTS: readonly (readonly [number, number])[] = [
  [0x0250, 1.2], // Latin with marks: where there is one, the letters around it are dearer too
  [0x0590, 0.42], // Greek, Cyrillic, Armenian
  [0x0900, 0.45], // Hebrew, Arabic
  [0x0f00, 0.48], // scripts of India, Thai, Lao
  [0x1100, 1.2], // Tibetan, Burmese, Georgian
  [0x1200, 1], // Hangul, in pieces
  [0x1e00, 2], // Ethiopic, Khmer, Mongolian and others that are rare
  [0x2000, 0.7], // Latin and Greek with more marks
  [0x2e80, 1], // signs
  [0xac00, 0.95], // Chinese, Japanese
  [0xd7b0, 0.7], // Korean
  [0xd800, 1],
  [0xe000, 1.2], // half of a pair: emoji, rare characters
  [0xf900, 2],
  [0x10000, 1],
];
const costOfScript = (c: number): number => SCRIPTS.find(([end]) => c < end)?.[1] ?? 2;

export const estimates: Counters = () => estimateTokens;

/** Tokens of a message beside its text: role, separators, ids. */
export const PER_MESSAGE = 6;
