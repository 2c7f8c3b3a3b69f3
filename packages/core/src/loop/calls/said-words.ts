/**
 * What the user wrote, in this turn and before: the newest turns of the same person, up to a limit, so that a decision costs the same however long the
 * session is. What lies further back was not said (G-28).
 */
import { type MatchRequest, toMatchRequest } from "../../gate/arguments/match.ts";
import { type Millis, oldestSaid, type Said } from "../../vocab/index.ts";
import type { SaidTurn, State, Turn } from "../state.ts";

const MOST_TURNS = 50;
const MOST_CHARS = 100_000;

/** Part of the fold: forgets the oldest turns beyond the limits. */
export function keepSaid(said: SaidTurn[], { number, startedAt, by, words }: Pick<Turn, "number" | "startedAt" | "by" | "words">): void {
  const chars = words.reduce((sum, text) => sum + text.length, 0);
  if (chars === 0) return;
  said.push({ number, at: startedAt, by, words, chars });
  let all = said.reduce((sum, one) => sum + one.chars, 0);
  while (said.length > MOST_TURNS || all > MOST_CHARS) all -= said.shift()?.chars ?? 0;
}

export type SaidWords = Readonly<{
  /** Of this turn. */
  now(): MatchRequest;
  /** Null unless each of them was said, and for none. */
  each<T>(values: readonly T[], isIn: (request: MatchRequest, value: T) => boolean): Said | null;
}>;

const REQUESTS = new WeakMap<readonly string[], Readonly<{ count: number; request: MatchRequest }>>();
/** Words of a turn only ever grow in number. */
function requestFor(words: readonly string[]): MatchRequest {
  const known = REQUESTS.get(words);
  if (known?.count === words.length) return known.request;
  const request = toMatchRequest(words);
  REQUESTS.set(words, { count: words.length, request });
  return request;
}
const NOTHING: readonly string[] = Object.freeze([]);

export function createSaidWords(s: Pick<State, "said">, t: Turn | null, now: Millis): SaidWords {
  const turns = t === null ? [] : [{ number: t.number, at: t.startedAt, words: t.words }, ...earlierTurns(s.said, t)];
  function last<T>(value: T, isIn: (request: MatchRequest, value: T) => boolean): Said | null {
    const found = turns.find(({ words }) => isIn(requestFor(words), value));
    if (found === undefined || t === null) return null;
    return { turnsAgo: t.number - found.number, secondsAgo: Math.max(0, Math.floor((now - found.at) / 1_000)) };
  }
  return {
    now: () => requestFor(t?.words ?? NOTHING),
    each: (values, isIn) => oldestSaid(values.map((value) => last(value, isIn))),
  };
}

/** The newest first; what somebody else said is nobody's leave for this one. */
const earlierTurns = (said: readonly SaidTurn[], { by }: Turn): readonly SaidTurn[] =>
  said.filter((one) => one.by.kind === by.kind && one.by.id === by.id).toReversed();
