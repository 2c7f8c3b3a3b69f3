/** One session as it is told: its entries, exact and in order, and the words of replies in progress. Changes are shown once per frame, however many come. */
import type { SessionId } from "@orgate/core/vocab";
import type { Follower, Item, Problem, ServerFrame } from "@orgate/core/wire";
import { cell, type Watched } from "./cell.ts";

export type Preview = Extract<ServerFrame, { kind: "preview" }>;
export type Words = Readonly<{
  iteration: number;
  attempt: number;
  text: string;
  thinking: string;
  calls: readonly Readonly<{ tool: string; text: string }>[];
}>;

export type FeedState = Readonly<{
  /** Grows at its end, and is the same array: `count` tells that it did. */
  items: readonly Item[];
  count: number;
  /** Of the reply in progress; null when there is none. */
  words: Words | null;
  caughtUp: boolean;
  /** Nothing more comes; why, if something is wrong. */
  ended: Readonly<{ problem: Problem | null }> | null;
}>;
export type Feed = Watched<FeedState> & Readonly<{ session: SessionId }>;

const NONE: Words = { iteration: -1, attempt: -1, text: "", thinking: "", calls: [] };
/** What makes words in progress the past: the reply itself, its failing, and the ending of the turn. */
const REPLACES: ReadonlySet<string> = new Set(["model.replied", "model.failed", "turn.ended", "model.asked"]);

/** `soon` calls back once, before the next picture is drawn. */
export function openFeed(session: SessionId, soon: (run: () => void) => void = nextFrame): Readonly<{ feed: Feed; follower: Follower }> {
  const items: Item[] = [];
  let words: Words | null = null;
  let caughtUp = false;
  let ended: FeedState["ended"] = null;
  let isDue = false;
  const state = cell<FeedState>({ items, count: 0, words, caughtUp, ended });
  const show = (): void => {
    if (isDue) return;
    isDue = true;
    soon(() => {
      isDue = false;
      state.set({ items, count: items.length, words, caughtUp, ended });
    });
  };
  return {
    feed: { session, get: state.get, watch: state.watch },
    follower: {
      entries(fresh) {
        for (const item of fresh) {
          items.push(item);
          if (item.kind === "entry" && REPLACES.has(item.entry.event.kind)) words = null;
        }
        show();
      },
      preview(preview) {
        words = withPreview(words, preview);
        show();
      },
      caughtUp() {
        caughtUp = true;
        show();
      },
      ended(problem) {
        ended = { problem };
        show();
      },
    },
  };
}

/** An offset says where it goes: what was told before is not told twice. */
export function withPreview(words: Words | null, { iteration, attempt, preview }: Preview): Words {
  const same = words !== null && words.iteration === iteration && words.attempt === attempt;
  const now = same ? words : { ...NONE, iteration, attempt };
  if (preview.part === "call") {
    const calls = [...now.calls];
    const before = calls[preview.call] ?? { tool: preview.tool, text: "" };
    calls[preview.call] = { tool: preview.tool, text: before.text.slice(0, preview.offset) + preview.text };
    return { ...now, calls: Array.from(calls, (one) => one ?? { tool: "", text: "" }) };
  }
  return { ...now, [preview.part]: now[preview.part].slice(0, preview.offset) + preview.text };
}

/** A page that is not seen draws no frames, and still has to follow. */
function nextFrame(run: () => void): void {
  if (document.visibilityState === "visible") requestAnimationFrame(run);
  else setTimeout(run, 100);
}
