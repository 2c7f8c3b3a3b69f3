/**
 * Reach of a forgetting with `erase`: the sessions that hold the text, their relatives, and the items stored from there (N-13).
 * N-13 an item that was forgotten before is known by its tombstone: a second request reaches what the first left.
 */
import {
  type Entry,
  ERASURES,
  isFault,
  KNOWLEDGE,
  type KnowledgeId,
  type KnowledgeStore,
  type Principal,
  type Seq,
  type SessionId,
  type StoredItem,
  type StreamId,
  seq,
  toCanonicalJson,
} from "@orgate/core";
import { eachSession, type Journal, type SessionSummary } from "@orgate/core/journal";
import { findStreamEnd } from "../../store/stream-end.ts";

type Reading = Pick<Journal, "sessions" | "read" | "streams">;

/** A session that holds what was said, and which of its entries. */
export type AffectedSession = Readonly<{
  session: SessionId;
  first: Seq;
  last: Seq;
  why: "it came from here" | "it was recalled here" | "it works for, or goes on from, one of them";
}>;

/** Items and sessions that go with it: an erased session takes the items stored from it, and they the sessions that recalled them. */
export type ForgetReach = Readonly<{ ids: readonly KnowledgeId[]; sessions: readonly AffectedSession[] }>;

/** N-13 what a session that had read it has stored may say it again, and its place in the journal is gone: it goes too. */
export async function findForgetReach(
  journal: Reading,
  store: Pick<KnowledgeStore, "get" | "list">,
  named: readonly KnowledgeId[],
): Promise<ForgetReach> {
  const before = await forgottenBefore(journal, new Set(named));
  for (let ids: readonly KnowledgeId[] = [...new Set([...named, ...before.ids])]; ; ) {
    const items = (await Promise.all(ids.map((id) => store.get(id)))).filter((one) => one !== null);
    const sessions = await findAffectedSessions(journal, ids, items, before.erased);
    const first = new Map<string, Seq>(sessions.map((one) => [one.session, one.first]));
    const seen = new Set(ids);
    const more: StoredItem[] = [];
    for await (const one of everyItem(store))
      if (one.from !== null && !seen.has(one.id) && one.from.seq >= (first.get(one.from.stream) ?? Infinity)) more.push(one);
    if (more.length === 0) return { ids, sessions };
    ids = [...ids, ...more.map(({ id }) => id)];
  }
}

/** The reason of an erasure that a forgetting asked for: it leads back to it. */
export const erasureReason = (reason: string): string => `forgotten: ${reason}`.toWellFormed();

/** Tombstones that follow one another, of one person and one reason, are one forgetting: its other items, and the sessions that it erased. */
async function forgottenBefore(
  journal: Pick<Journal, "read" | "streams">,
  named: ReadonlySet<KnowledgeId>,
): Promise<Readonly<{ ids: readonly KnowledgeId[]; erased: ReadonlySet<string> }>> {
  const ids: KnowledgeId[] = [];
  const reasons = new Set<string>();
  let run: { key: string; ids: KnowledgeId[] } = { key: "", ids: [] };
  const end = (): void => {
    if (run.ids.some((id) => named.has(id))) {
      ids.push(...run.ids);
      reasons.add(run.key);
    }
  };
  for await (const { event } of readable(journal, KNOWLEDGE, await findStreamEnd(journal, KNOWLEDGE))) {
    const isOne = event.kind === "knowledge.forgotten" && event.erased;
    const key = isOne ? keyOf(event.by, erasureReason(event.reason)) : "";
    if (key !== run.key) {
      end();
      run = { key, ids: [] };
    }
    if (isOne) run.ids.push(...event.items.map(({ id }) => id));
  }
  end();
  const erased = new Set<string>();
  if (reasons.size > 0)
    for await (const { event } of readable(journal, ERASURES, await findStreamEnd(journal, ERASURES)))
      if (event.kind === "content.erased" && reasons.has(keyOf(event.by, event.reason))) erased.add(event.stream);
  return { ids, erased };
}
const keyOf = (by: Principal, reason: string): string => toCanonicalJson([by.kind, by.id, reason]);

async function* everyItem(store: Pick<KnowledgeStore, "list">): AsyncGenerator<StoredItem> {
  for (let after: KnowledgeId | null = null; ; ) {
    const page: readonly StoredItem[] = await store.list({ after, most: 1_000 });
    yield* page;
    after = page.at(-1)?.id ?? null;
    if (page.length < 1_000) return;
  }
}

/**
 * The session it came from, whole: what was said before it was stored has it too. Those that recalled it, from there on: whatever came after may repeat it.
 * And their relatives: delegates and whom they work for, forks. Of those that are `erased` already, the relatives alone.
 */
export async function findAffectedSessions(
  journal: Pick<Journal, "sessions" | "read">,
  ids: readonly KnowledgeId[],
  items: readonly StoredItem[],
  erased: ReadonlySet<string> = new Set(),
): Promise<readonly AffectedSession[]> {
  const there = new Set(items.map(({ id }) => id));
  const gone = ids.filter((id) => !there.has(id)); // nobody knows any more where it came from
  const origins = new Set(items.flatMap(({ from }) => (from === null ? [] : [from.stream as string])));
  const first = new Map<SessionId, Seq>();
  const all: { summary: SessionSummary; forkedFrom: SessionId | null }[] = [];
  for await (const summary of eachSession(journal)) {
    let forkedFrom: SessionId | null = null;
    for await (const { seq: at, event } of readable(journal, summary.session, summary.seq)) {
      if (event.kind === "session.forked") forkedFrom = event.from;
      if (first.get(summary.session) === 1 || (gone.length === 0 && first.has(summary.session))) continue;
      const text = toCanonicalJson(event);
      if (mentions(text, gone)) first.set(summary.session, seq(1));
      else if (!first.has(summary.session) && mentions(text, ids)) first.set(summary.session, at);
    }
    all.push({ summary, forkedFrom });
  }
  const found = new Map<SessionId, AffectedSession>();
  const add = (one: SessionSummary, from: Seq, why: AffectedSession["why"]): void =>
    void found.set(one.session, { session: one.session, first: from, last: one.seq, why });
  for (const { summary } of all) {
    const at = first.get(summary.session);
    if (origins.has(summary.session)) add(summary, seq(1), "it came from here");
    else if (at !== undefined) add(summary, at, "it was recalled here");
  }
  const isOne = (session: SessionId): boolean => found.has(session) || erased.has(session);
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const { summary, forkedFrom } of all) {
      if (isOne(summary.session)) continue;
      const isParent = all.some(({ summary: other }) => other.parent === summary.session && isOne(other.session));
      if (isParent || [summary.parent, forkedFrom].some((one) => one !== null && isOne(one)))
        add(summary, seq(1), "it works for, or goes on from, one of them");
    }
  }
  return [...found.values()];
}

const mentions = (text: string, ids: readonly KnowledgeId[]): boolean => ids.some((id) => text.includes(id));

/** Skips entries that were erased before. */
async function* readable(journal: Pick<Journal, "read">, stream: StreamId, end: Seq): AsyncGenerator<Entry> {
  for (let after = seq(0), step = 500; after < end; ) {
    try {
      const page = await journal.read(stream, after, step);
      yield* page;
      after = page.at(-1)?.seq ?? end;
      step = 500;
    } catch (error) {
      if (!isFault(error, "entry-erased")) throw error;
      if (step === 1) after = seq(after + 1);
      else step = 1;
    }
  }
}
