/** One followed session: its entries, exact and in order, and their fold. Changes are published once per frame, however many arrive. */
import type { SessionId } from "@orgate/core/vocab";
import type { Follower, Item, Problem } from "@orgate/protocol";
import { createSessionFold, type SessionView } from "@orgate/protocol/view";
import { cell, type Watched } from "../state/cell.ts";

export type FeedState = Readonly<{
  /** Grows at its end, and stays the same array: `count` changes. */
  items: readonly Item[];
  count: number;
  /** Changes in place: `version` changes with it. */
  view: SessionView;
  version: number;
  caughtUp: boolean;
  /** Nothing more comes; why, if something is wrong. */
  ended: Readonly<{ problem: Problem | null }> | null;
}>;
export type Feed = Watched<FeedState> & Readonly<{ session: SessionId }>;

/** `soon` calls back once, before the next frame. */
export function openFeed(session: SessionId, soon: (run: () => void) => void = nextFrame): Readonly<{ feed: Feed; follower: Follower }> {
  const items: Item[] = [];
  const fold = createSessionFold(session);
  let [caughtUp, ended, version, isDue]: [boolean, FeedState["ended"], number, boolean] = [false, null, 0, false];
  const now = (): FeedState => ({ items, count: items.length, view: fold.view, version, caughtUp, ended });
  const state = cell<FeedState>(now());
  const show = (): void => {
    version += 1;
    if (isDue) return;
    isDue = true;
    soon(() => {
      isDue = false;
      state.set(now());
    });
  };
  return {
    feed: { session, get: state.get, watch: state.watch },
    follower: {
      entries(fresh) {
        for (const item of fresh) {
          items.push(item);
          if (item.kind === "entry") fold.add(item.entry);
          else fold.miss(item, item.kind === "erased" ? "an entry was erased on request" : `an entry cannot be read: ${item.detail}`);
        }
        show();
      },
      preview({ iteration, attempt, preview }) {
        fold.preview({ iteration, attempt, preview });
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

/** A hidden page draws no frames, and still has to follow. */
function nextFrame(run: () => void): void {
  if (document.visibilityState === "visible") requestAnimationFrame(run);
  else setTimeout(run, 100);
}
