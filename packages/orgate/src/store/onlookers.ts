/** Whoever watches the journal, by stream: a commit calls those of its own streams, and another process's writes wake only whom they concern. */
import type { Journal, Position } from "@orgate/core/journal";
import type { StreamId } from "@orgate/core/vocab";
import type { SqliteReader } from "./sqlite/reader.ts";
import type { StoreInbox } from "./store.ts";

type Look = (stream: StreamId | null) => void;
type Needs = Readonly<{ reader: Pick<SqliteReader, "position" | "streamsAfter">; inbox: Pick<StoreInbox, "watchChanges"> }>;

export class Onlookers {
  readonly #needs: Needs;
  readonly #ofAll = new Set<Look>();
  readonly #ofStream = new Map<StreamId, Set<Look>>();
  #stop: (() => void) | null = null;
  #seen: Position = 0;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /** This process has written. */
  tell(streams: Iterable<StreamId>): void {
    for (const stream of streams) for (const look of [...this.#ofAll, ...(this.#ofStream.get(stream) ?? [])]) look(stream);
  }

  readonly watch: Journal["watch"] = (changed, only) => {
    const look: Look = (stream) => {
      try {
        changed(stream);
      } catch {
        // an onlooker's error is its own: what is written does not depend on who looks
      }
    };
    const set = only === undefined ? this.#ofAll : (this.#ofStream.get(only) ?? new Set());
    if (only !== undefined) this.#ofStream.set(only, set);
    set.add(look);
    this.#start();
    return () => {
      set.delete(look);
      if (only !== undefined && set.size === 0 && this.#ofStream.get(only) === set) this.#ofStream.delete(only);
      if (this.#ofAll.size + this.#ofStream.size > 0) return;
      this.#stop?.();
      this.#stop = null;
    };
  };

  #start(): void {
    if (this.#stop !== null) return;
    this.#seen = this.#needs.reader.position();
    this.#stop = this.#needs.inbox.watchChanges(() => this.#lookAtOthers());
  }

  /** What this process wrote meanwhile is among it: its onlookers look once more than they need. */
  #lookAtOthers(): void {
    for (const look of [...this.#ofAll]) look(null);
    const { last, streams } = this.#needs.reader.streamsAfter(this.#seen);
    this.#seen = last;
    for (const stream of streams) for (const look of [...(this.#ofStream.get(stream) ?? [])]) look(null);
  }
}
