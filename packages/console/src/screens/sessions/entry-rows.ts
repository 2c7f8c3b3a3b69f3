/** A session entry by entry: one line each, and the timeline. Grows with the feed; no entry is folded twice. */
import type { Millis, Seq, SessionId } from "@orgate/core/vocab";
import { type Item, shapes } from "@orgate/protocol";
import {
  createNarrator,
  createSessionFold,
  createTimelineFold,
  type Line,
  type Phase,
  type SessionView,
  type TimelineView,
  toEntryLine,
  toPhase,
} from "@orgate/protocol/view";
import { useMemo } from "react";
import type { FeedState } from "../../link/feed.ts";
import { useFeed } from "../../link/use.ts";

export type EntryRow = Readonly<{
  seq: Seq;
  at: Millis;
  kind: string;
  phase: Phase | null;
  line: Pick<Line, "mark" | "tone" | "text">;
  item: Item;
}>;
export type EntryRows = Readonly<{ rows: readonly EntryRow[]; timeline: TimelineView }>;

type Growing = EntryRows & Readonly<{ grow(items: readonly Item[], count: number): void }>;

export function openEntryRows(): Growing {
  const rows: EntryRow[] = [];
  const timeline = createTimelineFold();
  const narrate = createNarrator();
  const rowOf = (item: Item): EntryRow => {
    if (item.kind !== "entry")
      return {
        seq: item.seq,
        at: item.at,
        kind: item.kind,
        phase: null,
        line: { mark: "✗", tone: "warn", text: item.kind === "erased" ? "erased on request" : item.detail },
        item,
      };
    const { entry } = item;
    const { kind } = entry.event;
    if (!shapes.isKnownKind(entry))
      return {
        seq: entry.seq,
        at: entry.at,
        kind,
        phase: null,
        line: { mark: "?", tone: "warn", text: "an entry kind that this console does not know" },
        item,
      };
    timeline.add(entry);
    const line = toEntryLine(entry, narrate(entry)) ?? ({ mark: "·", tone: "dim", text: kind } as const);
    return { seq: entry.seq, at: entry.at, kind, phase: toPhase(kind), line, item };
  };
  return {
    rows,
    timeline: timeline.view,
    grow(items, count) {
      for (let i = rows.length; i < count; i += 1) {
        const item = items[i];
        if (item !== undefined) rows.push(rowOf(item));
      }
    },
  };
}

const NOTHING: readonly Item[] = [];

/** Null until the session is followed. */
export function useEntryRows(session: SessionId): Readonly<{ account: EntryRows; feed: FeedState | null }> {
  const feed = useFeed(session);
  const items = feed?.items ?? NOTHING;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another feed has another array
  const account = useMemo(openEntryRows, [items]);
  account.grow(items, feed?.count ?? 0); // folds each item once, however often this is drawn
  return { account, feed };
}

/** The state as of an entry: stepping forward continues the fold, stepping back starts over. */
export function openStepper(session: SessionId): (items: readonly Item[], upTo: number) => SessionView {
  let fold = createSessionFold(session);
  let done = 0;
  return (items, upTo) => {
    if (upTo < done) [fold, done] = [createSessionFold(session), 0];
    for (; done < upTo; done += 1) {
      const item = items[done];
      if (item?.kind === "entry") fold.add(item.entry);
      else if (item !== undefined) fold.miss(item, item.kind);
    }
    return { ...fold.view };
  };
}
