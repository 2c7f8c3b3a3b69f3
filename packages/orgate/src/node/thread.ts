/**
 * One piece of long work in a thread of its own, which ends when it is done, when it fails, and when nobody waits for it any more.
 *
 * W444 long work runs aside: requests are answered meanwhile, and a thread is stopped when its caller has left.
 */
import { Worker } from "node:worker_threads";

export type Threaded<Message> = Readonly<{
  worker: Worker;
  /** Each message of the thread, in order; ends with the thread. Throws what it threw, and `AbortError` once nobody waits. */
  messages: AsyncIterableIterator<Message>;
}>;

/** `file`: the thread's own, by its address. The thread has ended when `messages` has. */
export function inThread<Message>(file: URL, workerData: unknown, gone: AbortSignal): Threaded<Message> {
  const worker = new Worker(file, { workerData });
  return { worker, messages: messagesOf<Message>(worker, gone) };
}

async function* messagesOf<Message>(worker: Worker, gone: AbortSignal): AsyncIterableIterator<Message> {
  const told: Message[] = [];
  let ended: Readonly<{ error: unknown }> | null = null;
  let wake = (): void => {};
  const end = (error: unknown): void => {
    ended ??= { error };
    wake();
  };
  const leave = (): void => end(gone.reason);
  worker.on("message", (message: Message) => {
    told.push(message);
    wake();
  });
  worker.once("error", end);
  worker.once("exit", () => end(null));
  gone.addEventListener("abort", leave, { once: true });
  if (gone.aborted) leave();
  try {
    for (;;) {
      const next = gone.aborted ? undefined : told.shift();
      if (next !== undefined) yield next;
      else if (ended !== null) {
        const { error }: Readonly<{ error: unknown }> = ended;
        if (error !== null) throw error;
        return;
      } else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    gone.removeEventListener("abort", leave);
    await worker.terminate();
  }
}
