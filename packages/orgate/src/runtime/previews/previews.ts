/** Words of replies in progress, as those who follow sessions see them. Those of other processes come by `relay.ts`, which is loaded where there are any. */
import type { Entry, SessionId } from "@orgate/core";
import type { LiveText, WordsNow } from "./live-text.ts";

export type Previews = Readonly<{
  now(session: SessionId | null): WordsNow;
  watch(heard: (session: SessionId) => void): () => void;
  /** A reader has come by this entry: words of a reply that it ends are over. */
  passed(entry: Entry): void;
  /** Words of this session, of all with null, are wanted here until the result is called. */
  want(session: SessionId | null): () => void;
  close(): void;
}>;

/** Of the sessions that are driven here, alone. */
export const ownPreviews = (own: LiveText): Previews => ({ ...own, passed: () => {}, want: () => () => {}, close: () => {} });
