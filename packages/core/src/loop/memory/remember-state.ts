/**
 * After a completed turn: what the assistant said in it is kept as working memory, where the agent wants that (off unless said: it is a way to poison memory).
 * N-10 it is a `remember` like any other: decided, announced, then written under an id that is the same however often it is tried, then on record; the turn
 *     ends after it. So a crash in between loses nothing and writes nothing twice; what cannot be written is on record, and the turn completes.
 */
import { learningsOf } from "../../knowledge/learnings.ts";
import { type Action, type ActionId, type Hash, LAST_SUMMARY, type SessionEvent } from "../../vocab/index.ts";
import { sanitisedText } from "../model/sanitise.ts";
import { KEEP_DUE, type State, type Turn } from "../state.ts";

/** Null: there is nothing to keep. */
export function learntIn(s: State, t: Turn): string | null {
  if (s.agent.knowledge?.keepLearnings !== true) return null;
  const learnt = learningsOf(t.learnt);
  return learnt === null ? null : sanitisedText(learnt, "clean");
}

export const keepAction = (t: Turn): ActionId => ({ kind: "remember", turn: t.number, iteration: t.iterations });

export const rememberingOf = (s: State, t: Turn, hash: Hash): Action => ({
  kind: "remember",
  scope: "agent",
  key: LAST_SUMMARY,
  content: hash(learntIn(s, t) ?? ""),
});

// ── the fold ──

type Of<K extends SessionEvent["kind"]> = Extract<SessionEvent, { kind: K }>;

export function keeping(t: Turn, e: Of<"knowledge.keeping">): void {
  t.keep = { ...t.keep, stage: "keeping", item: e.item };
}

export function kept(t: Turn, e: Of<"knowledge.kept">): void {
  if (t.keep.item === e.item) t.keep = { ...t.keep, stage: "over" };
}

/** Whoever was writing it is gone: it is decided and written again, under the same id. */
export function keepAnew(t: Turn): void {
  if (t.keep.stage !== "over") t.keep = KEEP_DUE;
}
