/**
 * Before the model: what is known that may help. One block beside the instructions, of this one request; the conversation never has it (N-5).
 * N-4 decided as `recall` before each request, and journalled with what it brought: with the text, once a session, so that what was sent can be told from
 *    the journal alone. N-6 what cannot be looked up is on record, and the turn goes on without.
 */
import { blockOf, fittingItems, type Shown, shortenedItem } from "../../knowledge/block.ts";
import { itemText } from "../../knowledge/item.ts";
import type { Found, Search } from "../../knowledge/port.ts";
import { LAST_MESSAGES, searchTerms } from "../../knowledge/terms.ts";
import { cut } from "../../observe/observe.ts";
import { PER_MESSAGE } from "../../reason/tokens.ts";
import type { ActionId, JournalEvent, KnowledgeSettings, Label, RecalledItem, SessionEvent } from "../../vocab/index.ts";
import { requestTokens, roomFor } from "../limits/budgets.ts";
import { counted, reserveOf } from "../model/conversation.ts";
import { sanitisedText } from "../model/sanitise.ts";
import { RECALL_DUE, type State, type Turn } from "../state.ts";

export const recallAction = (t: Turn): ActionId => ({ kind: "recall", iteration: t.iterations + 1 });

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

export function recalledEvents(s: State, t: Turn, found: Found | Readonly<{ error: string }>): readonly JournalEvent[] {
  const iteration = t.iterations + 1;
  const error = "error" in found ? found.error : troubleOf(found);
  const hits = "error" in found ? [] : found.hits;
  const all = hits.map(({ item, relevance }): Shown => {
    const { id, body, confidence, labels } = item;
    return {
      id,
      kind: body.kind,
      relevance: rounded(relevance),
      confidence,
      labels,
      text: shortenedItem(sanitisedText(itemText(body), "clean")),
    };
  });
  const shown = fittingIn(s, t, all);
  const block = blockOf(shown);
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
const troubleOf = ({ trouble, cause }: Found): string | null =>
  trouble === null || cause === undefined ? trouble : `${trouble}: ${[...sanitisedText(cause, "clean")].slice(0, LONGEST_CAUSE).join("")}`;

const rounded = (n: number): number => Math.round(n * 10_000) / 10_000;
const tokensOf = (s: State, block: string): number => counted(s)(block) + PER_MESSAGE;

/** Knowledge never ends a turn: where there is no room for it, in the window or in what is left to spend, there is none. */
function fittingIn(s: State, t: Turn, all: readonly Shown[]): readonly Shown[] {
  const before = requestTokens(s);
  const room = Math.min(reserveOf(s), t.limits.contextTokens - before) - PER_MESSAGE;
  const shown = room <= 0 ? [] : fittingItems(all, room, counted(s));
  const block = blockOf(shown);
  if (block === null) return [];
  return roomFor(s, t, before + tokensOf(s, block), t.limits.outputTokens).short === null ? shown : [];
}

/** N-8 labels come back with what carries them: once for each item, so that a person who takes one off has seen to what the session had seen. */
function freshLabels(s: State, shown: readonly Shown[]): readonly Label[] {
  const carried = shown.flatMap(({ id, labels }) => {
    const before = s.recalled.get(id)?.labels ?? [];
    return labels.filter((one) => !before.includes(one));
  });
  return [...new Set(carried)].filter((one) => !s.labels.has(one)).sort();
}

// ── the fold ──

type Recalled = Extract<SessionEvent, { kind: "knowledge.recalled" }>;

export function recalled(s: State, t: Turn, e: Recalled): void {
  const shown = e.items.map((item): Shown => {
    const seen = s.recalled.get(item.id);
    const text = item.text ?? seen?.text ?? "";
    const labels = [...new Set([...(seen?.labels ?? []), ...item.labels])];
    if (item.text !== null || labels.length !== (seen?.labels.length ?? -1)) {
      s.recalled.set(item.id, { text, labels });
      s.recalledTexts.push({ text, labels });
    }
    return { ...item, text };
  });
  const block = blockOf(shown);
  t.recall = { ...t.recall, done: true };
  t.knowledge = block === null ? null : { text: block, tokens: e.tokens, ids: shown.map(({ id }) => id) };
}

/** A fresh one for what comes next: after a reply, after an attempt that failed. */
export function recallAnew(t: Turn): void {
  t.recall = RECALL_DUE;
}
