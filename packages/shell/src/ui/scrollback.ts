/**
 * The scrollback of a shell's conversations, and older items that were left out of it.
 * S-19 what can no longer change is printed once, in order; a heading says whose it is where the speaker changes.
 */
import { countNoun, type SessionId } from "@orgate/core/vocab";
import type { Conversation, Conversations } from "../conversations.ts";
import { visible } from "../terminal/visible.ts";
import type { ScreenLook } from "./look.ts";
import { countSettled, isQueued, renderItem } from "./screen.ts";
import { subAgentTotals } from "./sub-agents.ts";

export type Scrollback = Readonly<{
  /** To be printed now: what has settled since. */
  settled(look: ScreenLook): readonly string[];
  /** Items before those that were printed, oldest first. */
  earlier(talk: Conversation, most: number, look: ScreenLook): readonly string[];
}>;

/** Most items of an existing session that are printed at first. */
const MOST_EARLIER = 400;

export function openScrollback(talks: Pick<Conversations, "all">): Scrollback {
  /** Where the first item stands that was printed of a session. */
  const firstShown = new Map<SessionId, number>();
  let last: SessionId | null = null; // whose lines were printed last

  function newIn(talk: Conversation, look: ScreenLook): readonly string[] {
    if (!talk.isCaughtUp()) return [];
    const [from, upTo] = [talk.settled(), countSettled(talk.view, talk.settled())];
    if (upTo === from) return [];
    talk.settle(upTo);
    if (from === 0) firstShown.set(talk.session, Math.max(0, upTo - MOST_EARLIER));
    const lines = itemsFrom(talk, from, upTo, look);
    if (lines.length === 0) return []; // what waits for later is shown below
    const isSame = last === talk.session || (last === null && talks.all().length === 1);
    last = talk.session;
    return isSame ? lines : ["", look.paint("dim", `── ${visible(talk.view.agent)} ──`), ...lines];
  }
  return {
    settled: (look) => talks.all().flatMap((talk) => newIn(talk, look)),
    earlier(talk, most, look) {
      const upTo = firstShown.get(talk.session) ?? 0;
      if (upTo === 0) return [];
      const from = Math.max(0, upTo - most);
      firstShown.set(talk.session, from);
      const lines = talk.view.items.slice(from, upTo).flatMap((item) => (isQueued(item) ? [] : renderItem(item, look)));
      return from === 0 ? lines : [before(from, look), ...lines];
    },
  };
}

function itemsFrom({ view }: Conversation, from: number, upTo: number, look: ScreenLook): readonly string[] {
  const first = from === 0 ? Math.max(0, upTo - MOST_EARLIER) : from;
  const lines = view.items
    .slice(first, upTo)
    .flatMap((item) => (isQueued(item) ? [] : [...renderItem(item, look), ...subAgentTotals(view, item, look)]));
  return first === from ? lines : [before(first, look), ...lines];
}
const before = (items: number, look: ScreenLook): string => look.paint("dim", `… ${countNoun(items, "item")} before this: /history`);
