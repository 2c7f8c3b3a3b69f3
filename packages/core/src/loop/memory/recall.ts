/**
 * Before the model: what is known that may help. One block beside the instructions, of this one request; the conversation never has it (N-5).
 * N-4 decided as `recall` before each request, and journalled with its result: with the text, once a session, so that the sent request can be read from
 *    the journal alone. N-6 what cannot be looked up is on record, and the turn goes on without.
 */

import { toErrorText } from "../../act/act.ts";
import { type ShownItem, selectFittingItems, shortenItem, toKnowledgeBlock } from "../../knowledge/block.ts";
import { itemText } from "../../knowledge/item.ts";
import type { Search, SearchResult } from "../../knowledge/port.ts";
import { LAST_MESSAGES, searchTerms } from "../../knowledge/terms.ts";
import { cut } from "../../observe/observe.ts";
import { PER_MESSAGE } from "../../reason/tokens.ts";
import { type ActionId, FaultError, type JournalEvent, type KnowledgeSettings, type Label, type RecalledItem } from "../../vocab/index.ts";
import { checkHold, consume, type EffectContext } from "../effect-context.ts";
import { requestTokens, roomFor } from "../limits/budgets.ts";
import { recallReserve, tokenCounter } from "../model/conversation.ts";
import { isPromise } from "../model/middleware.ts";
import { sanitisedText } from "../model/sanitise.ts";
import type { State, Turn } from "../state.ts";

export const toRecallId = (t: Turn): ActionId => ({ kind: "recall", iteration: t.iterations + 1 });

export function searchFor(s: State): Search {
  const { scope, maxItems, threshold } = settingsOf(s);
  const terms = searchTerms(s.messages.slice(-LAST_MESSAGES).map(spoken));
  const most = { memory: maxItems, knowledge: maxItems, all: 2 * maxItems };
  return {
    agent: s.agent.name,
    scope,
    terms,
    text: terms.join(" "),
    directory: null,
    most: terms.length === 0 ? NONE : most,
    threshold,
    now: s.at,
  };
}
const NONE = { memory: 0, knowledge: 0, all: 0 };
const spoken = (m: State["messages"][number]) =>
  m.role === "user" || m.role === "tool" ? { role: m.role, text: m.text } : { role: m.role };
const settingsOf = (s: State): KnowledgeSettings => s.agent.knowledge ?? fail();
function fail(): never {
  throw new Error("this agent has no knowledge");
}

export function recalledEvents(s: State, t: Turn, found: SearchResult | Readonly<{ error: string }>): readonly JournalEvent[] {
  const iteration = t.iterations + 1;
  const error = "error" in found ? found.error : troubleOf(found);
  const hits = "error" in found ? [] : found.hits;
  const all = hits.map(({ item, relevance }): ShownItem => {
    const { id, body, confidence, labels } = item;
    return {
      id,
      kind: body.kind,
      relevance: rounded(relevance),
      confidence,
      labels,
      text: shortenItem(sanitisedText(itemText(body), "clean")),
    };
  });
  const shown = fittingIn(s, t, all);
  const block = toKnowledgeBlock(shown);
  const event: JournalEvent = {
    kind: "knowledge.recalled",
    iteration,
    items: shown.map((one): RecalledItem => (s.recalled.get(one.id)?.text === one.text ? { ...one, text: null } : one)),
    tokens: block === null ? 0 : tokensOf(s, block),
    omitted: all.length - shown.length,
    error: error === null ? null : cut(error, 500),
  };
  const fresh = freshLabels(s, shown);
  return fresh.length === 0 ? [event] : [event, { kind: "labels.added", labels: fresh, from: null }];
}

const LONGEST_CAUSE = 200;
/** N-6 what another system said is cleaned and shortened, on the record too. */
const troubleOf = ({ trouble, cause }: SearchResult): string | null =>
  trouble === null || cause === undefined ? trouble : `${trouble}: ${[...sanitisedText(cause, "clean")].slice(0, LONGEST_CAUSE).join("")}`;

const rounded = (n: number): number => Math.round(n * 10_000) / 10_000;
const tokensOf = (s: State, block: string): number => tokenCounter(s)(block) + PER_MESSAGE;

/** Knowledge never ends a turn: where there is no room for it, in the window or in what is left to spend, there is none. */
function fittingIn(s: State, t: Turn, all: readonly ShownItem[]): readonly ShownItem[] {
  const before = requestTokens(s);
  const room = Math.min(recallReserve(s), t.limits.contextTokens - before) - PER_MESSAGE;
  const shown = room <= 0 ? [] : selectFittingItems(all, room, tokenCounter(s));
  const block = toKnowledgeBlock(shown);
  if (block === null) return [];
  return roomFor(s, t, { tokens: before + tokensOf(s, block), most: t.limits.outputTokens }).short === null ? shown : [];
}

/** N-8 labels come back with what carries them: once for each item, so that a person who takes one off has seen to what the session had seen. */
function freshLabels(s: State, shown: readonly ShownItem[]): readonly Label[] {
  const carried = shown.flatMap(({ id, labels }) => {
    const before = s.recalled.get(id)?.labels ?? [];
    return labels.filter((one) => !before.includes(one));
  });
  return [...new Set(carried)].filter((one) => !s.labels.has(one)).sort();
}

// ── the search itself ──

/**
 * Where the search stays in this process, decision and result are one commit with the request; where another system is asked, the decision is durable first.
 */
export const RECALLING = "recall";

export type Recaller = Readonly<{
  /** At once, where nobody else is asked. True: it is on record. */
  now(t: Turn): boolean;
  /** Events that must be durable first. */
  later(t: Turn): (() => void) | null;
}>;

export function createRecaller(c: EffectContext): Recaller {
  const { p, s } = c;
  function resultsIn(t: Turn, found: SearchResult | Readonly<{ error: string }>): readonly JournalEvent[] {
    return s.turn === t && !t.recall.done && t.recall.gated.kind === "allowed" ? recalledEvents(s, t, found) : []; // its turn has ended meanwhile
  }
  async function search(t: Turn, came: () => SearchResult | Promise<SearchResult>): Promise<() => readonly JournalEvent[]> {
    try {
      const found = await searchUnlessStopped(c.stopOf(null), came);
      return () => resultsIn(t, found);
    } catch (error) {
      return () => resultsIn(t, { error: toErrorText(error) });
    }
  }
  return {
    now(t) {
      if (p.knowledge.reach !== "local" || c.isInFlight(RECALLING)) return false;
      let found: ReturnType<typeof p.knowledge.search> | Readonly<{ error: string }>;
      try {
        found = p.knowledge.search(searchFor(s), c.stopOf(null));
      } catch (error) {
        found = { error: toErrorText(error) };
      }
      if (isPromise(found)) {
        const came = found;
        c.launch(RECALLING, () => search(t, () => came));
        return false;
      }
      const came = resultsIn(t, found);
      if (came.length > 0 && t.recall.gated.kind === "allowed") consume(c, t.recall.gated.decided);
      for (const event of came) c.record(event);
      return came.length > 0;
    },
    later(t) {
      if (p.knowledge.reach !== "remote" || c.isInFlight(RECALLING) || t.recall.gated.kind !== "allowed") return null;
      const sought = searchFor(s);
      const action = t.recall.gated.decided.id;
      consume(c, t.recall.gated.decided);
      return () => {
        const permit = c.permitFor(action);
        checkHold(c);
        c.launch(RECALLING, async () => {
          const allowed = c.redeem(permit);
          if (allowed.kind !== "recall" || allowed.scope !== sought.scope)
            throw new FaultError({ kind: "permit-refused", action, detail: "it is about another scope" });
          return search(t, () => p.knowledge.search(sought, c.stopOf(null)));
        });
      };
    },
  };
}

/** A store that ignores the abort signal is not waited for. */
async function searchUnlessStopped(signal: AbortSignal, came: () => SearchResult | Promise<SearchResult>): Promise<SearchResult> {
  let onStop = () => {};
  const stopped = new Promise<never>((_, reject) => {
    onStop = () => reject(new Error(`stopped: ${String(signal.reason)}`));
  });
  if (signal.aborted) onStop();
  signal.addEventListener("abort", onStop, { once: true });
  try {
    return await Promise.race([came(), stopped]);
  } finally {
    signal.removeEventListener("abort", onStop);
  }
}
