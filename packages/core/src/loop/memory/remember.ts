/**
 * After a completed turn: what the assistant said in it is kept as working memory, where the agent wants that (off unless said: it is a way to poison memory).
 * N-10 it is a `remember` like any other: decided, announced, then written under an id that is the same however often it is tried, then on record; the turn
 *  ends after it. So a crash in between loses nothing and writes nothing twice; what cannot be written is on record, and the turn completes.
 */
import { toErrorText } from "../../act/act.ts";
import { deriveKnowledgeId, lastSummary } from "../../knowledge/item.ts";
import { toLearnings } from "../../knowledge/learnings.ts";
import { cut } from "../../observe/observe.ts";
import { type Action, type ActionId, FaultError, type Hash, type JournalEvent, LAST_SUMMARY } from "../../vocab/index.ts";
import { checkHold, consume, type EffectContext } from "../effect-context.ts";
import { sanitisedText } from "../model/sanitise.ts";
import type { State, Turn } from "../state.ts";

/** Null: there is nothing to keep. */
export function learningsIn(s: State, t: Turn): string | null {
  if (s.agent.knowledge?.keepLearnings !== true) return null;
  const learnt = toLearnings(t.learnt);
  return learnt === null ? null : sanitisedText(learnt, "clean");
}

export const toRememberId = (t: Turn): ActionId => ({ kind: "remember", turn: t.number, iteration: t.iterations });

export const toRememberAction = (s: State, t: Turn, hash: Hash): Action => ({
  kind: "remember",
  scope: "agent",
  key: LAST_SUMMARY,
  content: hash(learningsIn(s, t) ?? ""),
});

const KEEPING = "keep";

/** Announces the write, and returns the function that launches it. */
export function rememberTurn(c: EffectContext, t: Turn): (() => void) | null {
  const { p, s } = c;
  const text = learningsIn(s, t);
  if (text === null || t.keep.gated.kind !== "allowed" || c.isInFlight(KEEPING)) return null;
  const action = t.keep.gated.decided.id;
  const turn = t.number;
  const id = deriveKnowledgeId(p.hash, s.session, "turn", `${turn}.${t.iterations}`);
  const content = p.hash(text);
  consume(c, t.keep.gated.decided);
  c.record({ kind: "knowledge.keeping", turn, item: id, scope: "agent", key: LAST_SUMMARY, content });
  const origin = { agent: s.agent.name, labels: [...s.labels], from: { stream: s.session, seq: s.seq }, at: s.at };
  const item = lastSummary(id, text, origin);
  return () => {
    const permit = c.permitFor(action);
    checkHold(c);
    c.launch(KEEPING, async () => {
      const allowed = c.redeem(permit);
      if (allowed.kind !== "remember" || allowed.content !== content)
        throw new FaultError({ kind: "permit-refused", action, detail: "it is about something else" });
      const kept = (error: string | null): JournalEvent => ({ kind: "knowledge.kept", turn, item: id, error });
      try {
        await p.knowledge.put(item, c.stopOf(null));
        return () => [kept(null)];
      } catch (error) {
        return () => [kept(cut(toErrorText(error), 500))];
      }
    });
  };
}
