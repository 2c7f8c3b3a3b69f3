/** Runs the writer in its own thread: the event loop goes on while a commit waits for the disk. */
import { parentPort, workerData } from "node:worker_threads";
import { type Fault, FaultError } from "@orgate/core/vocab";
import { type DatabasePaths, type OpenOptions, openDatabase } from "./schema.ts";
import { type Counting, openWriter, type SqliteWriter } from "./writer.ts";

export type WorkerSetup = Readonly<{ places: DatabasePaths; open: OpenOptions; counting: Counting }>;
export type Request = {
  [Name in keyof SqliteWriter]: Readonly<{ id: number; name: Name; args: Parameters<SqliteWriter[Name]> }>;
}[keyof SqliteWriter];
export type Reply = Readonly<
  { id: number } & ({ kind: "done"; value: unknown } | { kind: "fault"; fault: Fault } | { kind: "bug"; error: unknown })
>;

if (parentPort !== null) serve(workerData as WorkerSetup, parentPort);

function serve({ places, open, counting }: WorkerSetup, port: NonNullable<typeof parentPort>): void {
  const writer = openWriter(openDatabase(places, open), places, counting);
  port.on("message", (request: Request) => {
    port.postMessage(answer(writer, request));
    if (request.name === "close") port.close();
  });
}

function answer(writer: SqliteWriter, { id, name, args }: Request): Reply {
  try {
    const call = writer[name] as (...args: unknown[]) => unknown;
    return { id, kind: "done", value: call.apply(writer, [...args]) };
  } catch (error) {
    return error instanceof FaultError ? { id, kind: "fault", fault: error.fault } : { id, kind: "bug", error };
  }
}
