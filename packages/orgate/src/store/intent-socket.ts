/**
 * The first of the three ways into an inbox: a unix socket of the process that drives the session, `<journal>/run/<writer>.sock`.
 * One line of JSON in, `{"kind":"put","version":1,"intent":…}`; one line of JSON out; then the connection ends.
 *
 * W-1 an intent that was answered `new` or `known` is durable in the inbox; the answer comes after that, never before.
 * W-2 the socket is its owner's alone (folder 0700), and goes when the process ends; one left by a process that was killed is replaced.
 * W-2 where no socket can be opened (too long a path, no rights), the row in the database is the second way in.
 */

import { chmodSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { type ReadIntent, readIntent } from "@orgate/core/inbox";
import {
  errorMessage,
  type Intent,
  type Json,
  lowerFirst,
  readJson,
  type SessionId,
  toCanonicalJson,
  type WriterId,
} from "@orgate/core/vocab";
import * as z from "zod";

export const MAX_LINE_BYTES = 1024 * 1024;
/** `sun_path` holds 104 bytes where it is shortest, its closing zero included. */
const MAX_PATH_BYTES = 103;
const PATIENCE_MS = 5_000;

const envelope = z.strictObject({ kind: z.literal("put"), version: z.literal(1), intent: z.json() });

export type SocketAnswer =
  | Readonly<{ kind: "new" | "known" }>
  /** Another process drives that session, or none. */
  | Readonly<{ kind: "elsewhere" }>
  | Readonly<{ kind: "refused"; reason: string }>;
const answerSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.enum(["new", "known"]) }),
  z.strictObject({ kind: z.literal("elsewhere") }),
  z.strictObject({ kind: z.literal("refused"), reason: z.string() }),
]);

export function readRequest(text: string): ReadIntent {
  const json = readJson(text);
  if (json.kind === "not-json") return { kind: "refused", reason: `not JSON: ${json.detail} (column ${json.column})` };
  const read = envelope.safeParse(json.value);
  if (read.success) return readIntent(read.data.intent);
  const [issue] = read.error.issues;
  return { kind: "refused", reason: `not an intent: \`${issue?.path.join(".") ?? ""}\` ${lowerFirst(issue?.message ?? "")}`.trim() };
}

// the server

export type IntentListenerPorts = Readonly<{
  drives(session: SessionId): boolean;
  /** With the keys of now. */
  authenticate(intent: Intent): Promise<Readonly<{ kind: "genuine" } | { kind: "refused"; reason: string }>>;
  put(intent: Intent): Promise<"new" | "known">;
}>;
export type IntentListener = Readonly<{ path: string; close(): Promise<void> }>;

const runFolder = (directory: string): string => join(directory, "run");
const socketFile = (directory: string, writer: WriterId): string => join(runFolder(directory), `${writer}.sock`);

/** Null where no socket can be opened (W-2). The writer's slot is ours alone, so a socket of its name is a leftover. */
export async function listenForIntents(
  directory: string,
  writer: WriterId,
  reception: IntentListenerPorts,
): Promise<IntentListener | null> {
  const path = socketFile(directory, writer);
  if (process.platform === "win32" || Buffer.byteLength(path) > MAX_PATH_BYTES) return null;
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket.on("close", () => open.delete(socket)));
    receive(socket, reception);
  });
  try {
    mkdirSync(runFolder(directory), { recursive: true, mode: 0o700 });
    chmodSync(runFolder(directory), 0o700);
    rmSync(path, { force: true });
    await listening(server, path);
  } catch {
    return null;
  }
  server.unref(); // who only listens does not live for it
  return {
    path,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed()); // takes the file with it
        for (const socket of open) socket.destroy();
      }),
  };
}

function listening(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => {
      server.off("error", reject);
      server.on("error", () => {}); // a failed accept concerns the one who knocked
      resolve();
    });
  });
}

function receive(socket: Socket, reception: IntentListenerPorts): void {
  const reply = (answered: SocketAnswer): void => void socket.end(`${JSON.stringify(answered)}\n`);
  socket.on("error", () => socket.destroy());
  socket.setTimeout(PATIENCE_MS, () => socket.destroy());
  readLine(socket, (line) => {
    socket.removeAllListeners("data");
    socket.resume();
    if (line === null) return reply({ kind: "refused", reason: `a line holds at most ${MAX_LINE_BYTES} bytes` });
    void admit(line, reception).then(reply, (error: unknown) => reply({ kind: "refused", reason: errorMessage(error) }));
  });
}

async function admit(line: string, reception: IntentListenerPorts): Promise<SocketAnswer> {
  const read = readRequest(line);
  if (read.kind === "refused") return read;
  const { intent } = read;
  if (!reception.drives(intent.session)) return { kind: "elsewhere" };
  const genuine = await reception.authenticate(intent);
  return genuine.kind === "refused" ? genuine : { kind: await reception.put(intent) };
}

/** One line of at most `MAX_LINE_BYTES`; null if it is longer, or no text. Never buffers more. */
function readLine(socket: Socket, done: (line: string | null) => void): void {
  const pieces: Buffer[] = [];
  let size = 0;
  socket.on("data", (piece: Buffer) => {
    const end = piece.indexOf(0x0a);
    const part = end < 0 ? piece : piece.subarray(0, end);
    size += part.length;
    if (size > MAX_LINE_BYTES) return done(null);
    pieces.push(part);
    if (end >= 0) done(Buffer.concat(pieces).toString("utf8"));
  });
}

// the client

/** Sockets of this journal's processes, living or not. */
export function listSockets(directory: string): readonly string[] {
  try {
    return readdirSync(runFolder(directory))
      .filter((file) => file.endsWith(".sock"))
      .sort()
      .map((file) => join(runFolder(directory), file));
  } catch {
    return [];
  }
}

/** Null when nobody answers there, and for what is longer than a line may be: images go by way of the row. */
export function offerIntent(path: string, intent: Intent, patienceMs = PATIENCE_MS): Promise<SocketAnswer | null> {
  const line = `${toCanonicalJson({ kind: "put", version: 1, intent } as unknown as Json)}\n`;
  if (Buffer.byteLength(line) > MAX_LINE_BYTES) return Promise.resolve(null);
  return new Promise((resolve) => {
    const socket = createConnection(path);
    const done = (answered: SocketAnswer | null): void => {
      socket.destroy();
      resolve(answered);
    };
    socket.on("error", () => done(null));
    socket.on("close", () => resolve(null));
    socket.setTimeout(patienceMs, () => done(null));
    socket.on("connect", () => socket.write(line));
    readLine(socket, (line) => {
      const json = line === null ? null : readJson(line);
      const read = json?.kind === "json" ? answerSchema.safeParse(json.value) : null;
      done(read?.success === true ? read.data : null);
    });
  });
}
