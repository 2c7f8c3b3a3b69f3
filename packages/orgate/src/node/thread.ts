/**
 * One piece of long work in a thread of its own, which ends when it is done, when it fails, and when nobody waits for it any more.
 *
 * W-20 long work runs aside: requests are answered meanwhile, and a thread is stopped when its caller has left.
 */

import { Worker } from "node:worker_threads";
import { onAbort } from "@orgate/core/vocab";
import { openBell } from "./bell.ts";

export type ThreadRun<Message> = Readonly<{
  worker: Worker;
  /** Each message of the thread, in order; ends with the thread. Throws what it threw, and `AbortError` once nobody waits. */
  messages: AsyncIterableIterator<Message>;
}>;

/** `file`: the thread's own, by its address. The thread has ended when `messages` has. */
export function runInThread<Message>(file: URL, workerData: unknown, gone: AbortSignal): ThreadRun<Message> {
  const worker = new Worker(file, { workerData });
  return { worker, messages: messagesOf<Message>(worker, gone) };
}

async function* messagesOf<Message>(worker: Worker, gone: AbortSignal): AsyncIterableIterator<Message> {
  const queue: Message[] = [];
  const bell = openBell(gone);
  let ended: Readonly<{ error: unknown }> | null = null;
  const end = (error: unknown): void => {
    ended ??= { error };
    bell.ring();
  };
  worker.on("message", (message: Message) => {
    queue.push(message);
    bell.ring();
  });
  worker.once("error", end);
  worker.once("exit", () => end(null));
  const stopListening = onAbort(gone, () => end(gone.reason));
  try {
    for (;;) {
      bell.still();
      const next = gone.aborted ? undefined : queue.shift();
      if (next !== undefined) yield next;
      else if (ended !== null) {
        const { error }: Readonly<{ error: unknown }> = ended;
        if (error !== null) throw error;
        return;
      } else await bell.rung();
    }
  } finally {
    stopListening();
    bell.remove();
    await worker.terminate();
  }
}
