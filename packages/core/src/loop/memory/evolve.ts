/** The fold of recalled knowledge, and of the memory that a turn leaves. */
import { type ShownItem, toKnowledgeBlock } from "../../knowledge/block.ts";
import type { SessionEvent } from "../../vocab/index.ts";
import { KEEP_DUE, RECALL_DUE, type State, type Turn } from "../state.ts";

type Of<K extends SessionEvent["kind"]> = Extract<SessionEvent, { kind: K }>;

export function foldRecalled(s: State, t: Turn, e: Of<"knowledge.recalled">): void {
  const shown = e.items.map((item): ShownItem => {
    const seen = s.recalled.get(item.id);
    const text = item.text ?? seen?.text ?? "";
    const labels = [...new Set([...(seen?.labels ?? []), ...item.labels])];
    if (item.text !== null || labels.length !== (seen?.labels.length ?? -1)) {
      s.recalled.set(item.id, { text, labels });
      s.recalledTexts.push({ text, labels });
    }
    return { ...item, text };
  });
  const block = toKnowledgeBlock(shown);
  t.recall = { ...t.recall, done: true };
  t.knowledge = block === null ? null : { text: block, tokens: e.tokens, ids: shown.map(({ id }) => id) };
}

/** The next request is searched for again: after a reply, and after an attempt that failed. */
export function reopenRecall(t: Turn): void {
  t.recall = RECALL_DUE;
}

export function foldKeeping(t: Turn, e: Of<"knowledge.keeping">): void {
  t.keep = { ...t.keep, stage: "keeping", item: e.item };
}

export function foldKept(t: Turn, e: Of<"knowledge.kept">): void {
  if (t.keep.item === e.item) t.keep = { ...t.keep, stage: "over" };
}

/** The process that was writing it is gone: the memory is decided and written again, under the same id. */
export function reopenKeep(t: Turn): void {
  if (t.keep.stage !== "over") t.keep = KEEP_DUE;
}
