/** The writing of what a turn has come to: announced, made durable, then done. */
import { messageOf } from "../../act/act.ts";
import { idFrom, lastSummary } from "../../knowledge/item.ts";
import { cut } from "../../observe/observe.ts";
import { FaultError, type JournalEvent, LAST_SUMMARY } from "../../vocab/index.ts";
import { type Cockpit, checkHold, consume } from "../effects.ts";
import type { Turn } from "../state.ts";
import { learntIn } from "./remember-state.ts";

export const KEEPING = "keep";

/** Announces the write, and hands back the doing of it. */
export function keep(c: Cockpit, t: Turn): (() => void) | null {
  const { p, s } = c;
  const text = learntIn(s, t);
  if (text === null || t.keep.gated.kind !== "allowed" || c.isFlying(KEEPING)) return null;
  const action = t.keep.gated.decided.id;
  const turn = t.number;
  const id = idFrom(p.hash, s.session, "turn", `${turn}.${t.iterations}`);
  const content = p.hash(text);
  consume(c, t.keep.gated.decided);
  c.record({ kind: "knowledge.keeping", turn, item: id, scope: "agent", key: LAST_SUMMARY, content });
  const origin = { agent: s.agent.name, labels: [...s.labels], from: { stream: s.session, seq: s.seq }, at: s.at };
  const item = lastSummary(id, text, origin);
  return () => {
    const permit = c.permitFor(action);
    checkHold(c);
    c.fly(KEEPING, async () => {
      const allowed = c.redeem(permit);
      if (allowed.kind !== "remember" || allowed.content !== content)
        throw new FaultError({ kind: "permit-refused", action, detail: "it is about something else" });
      const kept = (error: string | null): JournalEvent => ({ kind: "knowledge.kept", turn, item: id, error });
      try {
        await p.knowledge.put(item, c.stopOf(null));
        return () => [kept(null)];
      } catch (error) {
        return () => [kept(cut(messageOf(error), 500))];
      }
    });
  };
}
