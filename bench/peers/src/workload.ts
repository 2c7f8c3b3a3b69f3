/**
 * The work everybody does: a user's message, then N times one tool call (about 200 bytes of arguments, 1,024 characters back), then a text.
 * The model answers at once and reads its counter from the newest message, so a run that ends has shown every result to the model. It costs
 * the same whatever the history holds: what grows with the history is the framework's own.
 */

export const PROMPT = "Look things up until told to stop.";
export const TOOL = "lookup";
export const DESCRIPTION = "Looks a thing up.";
export const FINAL = "All of it has been looked up.";
export const RESULT_CHARS = 1_024;
const QUERY_CHARS = 150;

/** Words that do not compress much and need no escape in JSON: a store that packs repeated characters gains nothing here. */
const POOL = ((): string => {
  let state = 0x2545f491;
  const next = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
  let text = "";
  while (text.length < 1 << 17) text += `${next().toString(36)} `;
  return text;
})();

/** A string of its own: a slice would only point into the pool, and nobody's memory would grow by it. */
const textAt = (place: number, length: number): string => {
  const from = (place * 7_919) % (POOL.length - length);
  return Buffer.from(POOL.slice(from, from + length), "latin1").toString("latin1");
};

export type Args = Readonly<{ n: number; path: string; query: string }>;
export const argsOf = (n: number): Args => ({ n, path: `docs/chapter-${n % 10}.md`, query: textAt(n, QUERY_CHARS) });
export const argsText = (n: number): string => JSON.stringify(argsOf(n));
export const resultOf = (n: number): string => `${n}|${textAt(n + 1_000_003, RESULT_CHARS - 1 - String(n).length)}`;

export type Reply = Readonly<{ kind: "call"; n: number; id: string }> | Readonly<{ kind: "text"; text: string }>;

/** What one process asks of one framework, and what it counts. */
export type Work = Readonly<{
  iterations: number;
  /** What a model would answer to a conversation whose newest message is this; null before any tool has run. */
  ask(newest: string | null): Reply;
  /** The tool: an effect is counted, the result is made. */
  effect(args: Args): string;
  /** Counted elsewhere, where another process does the work. */
  tally(asked: number, effects: number): void;
  /** Throws unless so many runs were the whole work: N + 1 model calls, N effects and the same text each. */
  check(runs: number, texts: readonly string[]): void;
}>;

export function workOf(iterations: number, during: (n: number) => void = () => {}): Work {
  let [asked, effects] = [0, 0];
  return {
    iterations,
    ask(newest) {
      asked += 1;
      const done = newest === null ? 0 : counterIn(newest);
      return done === iterations ? { kind: "text", text: FINAL } : { kind: "call", n: done + 1, id: `call_${done + 1}` };
    },
    effect({ n }) {
      effects += 1;
      during(n);
      return resultOf(n);
    },
    tally(moreAsked, moreEffects) {
      asked += moreAsked;
      effects += moreEffects;
    },
    check(runs, texts) {
      const wrong: string[] = [];
      if (asked !== runs * (iterations + 1)) wrong.push(`${asked} model calls, not ${runs * (iterations + 1)}`);
      if (effects !== runs * iterations) wrong.push(`${effects} effects, not ${runs * iterations}`);
      if (texts.length !== runs) wrong.push(`${texts.length} runs ended, not ${runs}`);
      const other = texts.find((text) => text !== FINAL);
      if (other !== undefined) wrong.push(`a run ended with \`${other.slice(0, 80)}\``);
      [asked, effects] = [0, 0];
      if (wrong.length > 0) throw new Error(`not the same work: ${wrong.join("; ")}`);
    },
  };
}

/** A framework may put quotes or a wrapper around a tool's text; the counter is the number in front of the first bar. */
export function counterIn(text: string): number {
  const bar = text.indexOf("|");
  const found = /(\d+)$/.exec(text.slice(Math.max(0, bar - 12), bar));
  if (bar < 0 || found === null) throw new Error(`the newest message is no result of the tool: ${text.slice(0, 80)}`);
  return Number(found[1]);
}

/** Three pieces of a result: any of them on disk means that the result is, wherever a page ends. */
export const tracesOf = (n: number): readonly string[] => {
  const text = resultOf(n);
  return [100, 450, 800].map((at) => text.slice(at, at + 40));
};
