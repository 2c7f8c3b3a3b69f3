import type { Live, RunResult } from "@orgate/core";
import type { Run } from "./api.ts";

type Track = <T>(work: (signal: AbortSignal) => Promise<T>) => Promise<T>;

/** One run, seen by callback, by any number of iterators, or by its result alone. An iterator sees what happens from its start on. */
export function startRun(
  on: ((live: Live) => void) | undefined,
  track: Track,
  start: (watch: (live: Live) => void, signal: AbortSignal) => Promise<RunResult>,
): Run {
  const readers = new Set<{ readonly queue: Live[]; wake: () => void }>();
  let over = false;
  let failed: { readonly error: unknown } | null = null;
  const watch = (live: Live) => {
    for (const reader of readers) {
      reader.queue.push(live);
      reader.wake();
    }
    if (failed !== null) return;
    try {
      on?.(live);
    } catch (error) {
      failed = { error }; // the run does not depend on who looks; whoever awaits it hears of this at its end
    }
  };
  const result = track(async (signal) => {
    await Promise.resolve(); // whoever iterates has begun to
    const came = await start(watch, signal);
    if (failed !== null) throw failed.error;
    return came;
  }).finally(() => {
    over = true;
    for (const reader of readers) reader.wake();
  });
  result.catch(() => {}); // whoever awaits `result` or iterates hears of it; a run that nobody awaits does not bring the process down
  return {
    result,
    [Symbol.asyncIterator]() {
      const reader = { queue: [] as Live[], wake: () => {} };
      readers.add(reader); // now, not at the first `next`: nothing in between is missed
      return read(reader);
    },
  };

  async function* read(reader: { readonly queue: Live[]; wake: () => void }): AsyncGenerator<Live> {
    try {
      for (;;) {
        for (let live = reader.queue.shift(); live !== undefined; live = reader.queue.shift()) yield live;
        if (over) break;
        await new Promise<void>((resolve) => {
          reader.wake = resolve;
        });
      }
      await result; // a failed run ends its iterator with the failure
    } finally {
      readers.delete(reader);
    }
  }
}
