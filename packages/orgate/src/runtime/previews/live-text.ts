/**
 * Words of replies in progress, once per session. A reply is known by the entry that asked for it: iterations and attempts are counted anew in each turn.
 */
import type { Entry, Live, Seq, SessionId } from "@orgate/core";

/** `asked`: the entry that asked for the reply; null: it was not heard of here. */
export type TextPreview = Extract<Live, { kind: "preview" }> & Readonly<{ asked: Seq | null }>;

export type Spoken = {
  readonly asked: Seq | null;
  readonly iteration: number;
  readonly attempt: number;
  text: string;
  thinking: string;
  /** Arguments so far, by the call's place in the reply. */
  calls: readonly Readonly<{ tool: string; text: string }>[];
};
export type WordsNow = ReadonlyMap<SessionId, Readonly<Spoken>>;

export type LiveText = Readonly<{
  add(live: Live | TextPreview): void;
  /** Its words are of no use any more. */
  forget(session: SessionId): void;
  now(session: SessionId | null): WordsNow;
  /** The entry that asked for the reply in progress; null: nothing is known of one. */
  askedOf(session: SessionId): Seq | null;
  /** How much is kept, of all sessions together. */
  chars(): number;
  watch(heard: (session: SessionId) => void): () => void;
}>;

export function openLiveText(): LiveText {
  const speaking = new Map<SessionId, Spoken>();
  const requests = new Map<SessionId, Seq>();
  const listeners = new Set<(session: SessionId) => void>();
  let chars = 0;
  const forget = (session: SessionId): void => {
    chars -= lengthOf(speaking.get(session));
    speaking.delete(session);
    requests.delete(session);
  };
  const askedOf = (session: SessionId): Seq | null => requests.get(session) ?? null;

  /** A reader may come by old entries of the session while a later reply is in progress. */
  function pass({ stream, seq, event: { kind } }: Entry): void {
    const session = stream as SessionId; // words are only heard of a session
    const since = requests.get(session) ?? speaking.get(session)?.asked ?? null;
    if (since !== null && seq <= since) return;
    if (ENDS_WORDS.has(kind)) forget(session);
    else if (kind === "model.asked") requests.set(session, seq);
  }

  return {
    add(live) {
      if (live.kind === "entry") return pass(live.entry);
      const { session, iteration, attempt, preview } = live;
      const asked = "asked" in live ? live.asked : askedOf(session);
      const before = speaking.get(session);
      chars -= lengthOf(before);
      const isSame = before?.asked === asked && before.iteration === iteration && before.attempt === attempt;
      const spoken: Spoken = isSame ? before : { asked, iteration, attempt, text: "", thinking: "", calls: [] };
      if (preview.part === "call") {
        const { call, tool, offset, text } = preview;
        spoken.calls = spoken.calls.toSpliced(call, 1, { tool, text: (spoken.calls[call]?.text ?? "").slice(0, offset) + text });
      } else spoken[preview.part] = spoken[preview.part].slice(0, preview.offset) + preview.text;
      speaking.set(session, spoken);
      chars += lengthOf(spoken);
      for (const heard of [...listeners]) heard(session);
    },
    forget,
    now(session) {
      if (session === null) return new Map([...speaking].map(([s, spoken]) => [s, { ...spoken }]));
      const spoken = speaking.get(session);
      return spoken === undefined ? new Map() : new Map([[session, { ...spoken }]]);
    },
    askedOf,
    chars: () => chars,
    watch(heard) {
      const mine = (session: SessionId): void => heard(session);
      listeners.add(mine);
      return () => listeners.delete(mine);
    },
  };
}
const lengthOf = (spoken: Spoken | undefined): number =>
  spoken === undefined ? 0 : spoken.calls.reduce((sum, { text }) => sum + text.length, spoken.text.length + spoken.thinking.length);
/** After one of these, nothing more comes of the reply that was asked for before it. */
export const ENDS_WORDS: ReadonlySet<Entry["event"]["kind"]> = new Set(["model.replied", "model.failed", "turn.ended", "hold.taken"]);

/** Remembers what a reader has received, and returns what is new. */
export function createTextCursor(): (now: WordsNow) => readonly TextPreview[] {
  const told = new Map<SessionId, Spoken>();
  return (now) => {
    for (const session of told.keys()) if (!now.has(session)) told.delete(session);
    return [...now].flatMap(([session, spoken]) => {
      const { iteration, attempt, asked } = spoken;
      const before = told.get(session);
      const isSame = before?.asked === asked && before.iteration === iteration && before.attempt === attempt;
      const seen = isSame ? before : { text: "", thinking: "", calls: [] };
      told.set(session, { ...spoken });
      const words = (["thinking", "text"] as const).map((part): TextPreview["preview"] => {
        const offset = seen[part].length;
        return { part, offset, text: spoken[part].slice(offset) };
      });
      const calls = spoken.calls.map(({ tool, text }, call): TextPreview["preview"] => {
        const offset = seen.calls[call]?.text.length ?? 0;
        return { part: "call", call, tool, offset, text: text.slice(offset) };
      });
      return [...words, ...calls].flatMap((preview): readonly TextPreview[] =>
        preview.text === "" ? [] : [{ kind: "preview", session, asked, iteration, attempt, preview }],
      );
    });
  };
}
