/** An export in a thread of its own: it reads every entry, and is made piece by piece, at its reader's pace. */
import { extname } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import type { StreamId } from "@orgate/core";
import { exportJournal, exportSession } from "@orgate/core/proof";
import { runInThread } from "../../node/thread.ts";
import { openSnapshot, PROOF_PORTS } from "../open-read-only.ts";

/** Some hundred entries. */
const PIECE = 256 * 1024;

type Asked = Readonly<{ export: string; session: StreamId | null }>;

/** `directory`: of a snapshot; `session`: null for the whole journal. The next piece is made when the one before was taken. */
export async function* exportInWorker(directory: string, session: StreamId | null, gone: AbortSignal): AsyncGenerator<string> {
  // runs from source and compiled alike: the thread's file is this one
  const file = new URL(`./export-worker${extname(import.meta.url)}`, import.meta.url);
  const { worker, messages } = runInThread<string>(file, { export: directory, session } satisfies Asked, gone);
  worker.postMessage("more");
  for await (const piece of messages) {
    yield piece;
    worker.postMessage("more");
  }
}

function serve({ export: directory, session }: Asked, port: NonNullable<typeof parentPort>): void {
  const store = openSnapshot(directory);
  const lines = session === null ? exportJournal(store.records, PROOF_PORTS) : exportSession(store.records, session, PROOF_PORTS);
  const make = (): void => {
    let piece = "";
    for (let next = lines.next(); ; next = lines.next()) {
      if (next.done !== true) piece += next.value;
      if (next.done !== true && piece.length < PIECE) continue;
      if (piece !== "") port.postMessage(piece);
      if (next.done !== true) return;
      port.off("message", make); // whoever has the last piece asks once more
      return void store.close().finally(() => port.close());
    }
  };
  port.on("message", make);
}

const given: unknown = workerData;
if (parentPort !== null && typeof given === "object" && given !== null && "export" in given) serve(given as Asked, parentPort);
