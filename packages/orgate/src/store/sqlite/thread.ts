/** The main thread's end of `worker.ts`: the same calls, answered later. */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { errorMessage, FaultError } from "@orgate/core/vocab";
import type { Reply, WorkerSetup } from "./worker.ts";
import type { SqliteWriter } from "./writer.ts";

/** A writer here or in another thread: who waits for it need not know. */
export type AnyWriter = {
  readonly [Name in keyof SqliteWriter]: (
    ...args: Parameters<SqliteWriter[Name]>
  ) => ReturnType<SqliteWriter[Name]> | Promise<ReturnType<SqliteWriter[Name]>>;
};

type Waiting = Readonly<{ done: (value: never) => void; failed: (error: unknown) => void }>;

export function openWriterThread(setup: WorkerSetup): AnyWriter {
  // Runs from source and compiled alike: the worker's file has the extension that this one has.
  const worker = new Worker(new URL(`./worker${extname(import.meta.url)}`, import.meta.url), { workerData: setup });
  const waiting = new Map<number, Waiting>();
  let last = 0;
  let ended: FaultError | null = null;
  worker.unref(); // keeps the process alive only while somebody waits for an answer

  const settle = (id: number): Waiting | undefined => {
    const who = waiting.get(id);
    waiting.delete(id);
    if (waiting.size === 0) worker.unref();
    return who;
  };
  worker.on("message", (reply: Reply) => {
    const who = settle(reply.id);
    if (reply.kind === "done") who?.done(reply.value as never);
    else who?.failed(reply.kind === "fault" ? new FaultError(reply.fault) : reply.error);
  });
  const end = (error: unknown): void => {
    ended ??= error instanceof FaultError ? error : new FaultError({ kind: "journal-unwritable", detail: errorMessage(error) }, error);
    for (const id of [...waiting.keys()]) settle(id)?.failed(ended);
  };
  worker.on("error", end);
  worker.on("exit", () => end(new Error("its thread has ended")));

  const ask =
    <Name extends keyof SqliteWriter>(name: Name) =>
    (...args: Parameters<SqliteWriter[Name]>): Promise<ReturnType<SqliteWriter[Name]>> =>
      new Promise((done, failed) => {
        if (ended !== null) return failed(ended);
        last += 1;
        waiting.set(last, { done, failed });
        worker.ref();
        worker.postMessage({ id: last, name, args });
      });
  return {
    commit: ask("commit"),
    take: ask("take"),
    release: ask("release"),
    put: ask("put"),
    erase: ask("erase"),
    keepCounts: ask("keepCounts"),
    probe: ask("probe"),
    close: ask("close"),
  };
}
