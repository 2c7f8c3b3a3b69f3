/**
 * Folds kept between turns: a process that takes a session up again goes on from the state it left, so that a turn costs the same however many came
 * before it (rule 8). A cache and never the truth: a fold counts only while the journal still has the entry that it ends with, and nothing was erased.
 * L-23 whatever does not fit is dropped, and the session is folded from its entries. L-23 what is kept is bounded in sessions, in characters and in time.
 */
import type { Journal } from "../../journal/port.ts";
import type { Message } from "../../reason/port.ts";
import { type Digest, ERASURES, type SessionId } from "../../vocab/index.ts";
import type { State } from "../state.ts";

/** A state and where it stands: the hash of its last entry, and how many erasures there had been. */
export type Fold = Readonly<{ state: State; hash: Digest; erasures: number }>;

export type FoldCache = Readonly<{
  /** Notes where a state stands. Call it under the hold, when all that the state holds is durable. */
  mark(state: State): Promise<Fold | null>;
  /** Stores a fold. From here on only the driver that takes it may touch its state. */
  put(fold: Fold | null): void;
  /** Removes the fold from the cache: it is the caller's. */
  take(session: SessionId): Fold | null;
  /** Whether the journal still has what was folded. Call it under the hold; what others appended since is left to the caller to fold. */
  fits(fold: Fold): Promise<boolean>;
}>;

/** Keeps nothing: every session is folded from its first entry on. */
export const NO_FOLDS: FoldCache = Object.freeze({ mark: async () => null, put: () => {}, take: () => null, fits: async () => false });

export type FoldLimits = Readonly<{
  sessions: number;
  /** Of all conversations together. The newest fold is kept whatever its size: it has just been in use. */
  chars: number;
  /** A fold that nobody took for so long is dropped by `sweep`. */
  idleMs: number;
}>;
export const DEFAULT_FOLD_LIMITS: FoldLimits = Object.freeze({ sessions: 64, chars: 16_000_000, idleMs: 300_000 });

export type BoundedFolds = FoldCache &
  Readonly<{
    size(): Readonly<{ sessions: number; chars: number }>;
    /** Drops what has been idle for too long; true while something is left. */
    sweep(): boolean;
    clear(): void;
  }>;

type Kept = Fold & Readonly<{ chars: number; since: number }>;
type FoldPorts = Readonly<{ journal: Pick<Journal, "hashAt" | "streams">; elapsed(): number }>;

export function foldCache({ journal, elapsed }: FoldPorts, limits: FoldLimits = DEFAULT_FOLD_LIMITS): BoundedFolds {
  const kept = new Map<SessionId, Kept>(); // the one that was put last is the last
  const charsOf = charCounter();
  let chars = 0;

  function drop(session: SessionId): Kept | undefined {
    const found = kept.get(session);
    kept.delete(session);
    chars -= found?.chars ?? 0;
    return found;
  }
  const erasures = async (): Promise<number> => (await journal.streams(ERASURES)).find(({ stream }) => stream === ERASURES)?.seq ?? 0;

  return {
    async mark(state) {
      if (state.closed) return null; // nothing more is done in it
      const hash = await journal.hashAt(state.session, state.seq);
      return hash === null ? null : { state, hash, erasures: await erasures() };
    },
    put(fold) {
      if (fold === null) return;
      const { session } = fold.state;
      drop(session);
      const size = charsOf(fold.state);
      kept.set(session, { ...fold, chars: size, since: elapsed() });
      chars += size;
      for (const oldest of kept.keys()) {
        if (kept.size === 1 || (kept.size <= limits.sessions && chars <= limits.chars)) break;
        drop(oldest);
      }
    },
    take: (session) => drop(session) ?? null,
    fits: async (fold) => (await journal.hashAt(fold.state.session, fold.state.seq)) === fold.hash && (await erasures()) === fold.erasures,
    size: () => ({ sessions: kept.size, chars }),
    sweep() {
      const oldest = elapsed() - limits.idleMs;
      for (const [session, { since }] of kept) if (since <= oldest) drop(session);
      return kept.size > 0;
    },
    clear() {
      kept.clear();
      chars = 0;
    },
  };
}

/** Characters that a state holds on to. Counted as they come: nothing is counted twice, however often the state is kept. */
function charCounter(): (state: State) => number {
  const seen = new WeakMap<readonly Message[], { messages: number; recalled: number; chars: number }>();
  return ({ messages, recalledTexts }) => {
    const at = seen.get(messages) ?? { messages: 0, recalled: 0, chars: 0 };
    for (; at.messages < messages.length; at.messages += 1) at.chars += charsIn(messages[at.messages]);
    for (; at.recalled < recalledTexts.length; at.recalled += 1) at.chars += recalledTexts[at.recalled]?.text.length ?? 0;
    seen.set(messages, at);
    return at.chars;
  };
}

function charsIn(message: Message | undefined): number {
  if (message === undefined) return 0;
  if (message.role === "assistant") return message.parts.reduce((sum, part) => sum + part.text.length, 0);
  const files = message.role === "user" ? (message.files ?? []) : [];
  return files.reduce((sum, file) => sum + ("text" in file ? file.text : file.base64).length, message.text.length);
}
