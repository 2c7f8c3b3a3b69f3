/** Open WebSockets of one server: accepted, pinged, cut off when their caller's access ends (W-12), and told when the server leaves. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex as Stream } from "node:stream";
import { CLOSE, MOST_FRAME_BYTES, type Problem, wireProblem } from "@orgate/protocol";
import { type WebSocket, WebSocketServer } from "ws";
import type { Caller } from "../../operations/access.ts";
import type { Log } from "../../operations/logs.ts";
import type { Access } from "../identity/authentication.ts";

/** The client's end of a WebSocket. */
export type SocketDuplex = Readonly<{ send(text: string): Promise<void>; close(code: number, reason: string): void }>;
/** The server's end: what is spoken over one WebSocket. */
export type SocketProtocol = Readonly<{
  hear(text: string): void;
  gone(): void;
  leave(problem: Problem, again: boolean, code?: number): void;
}>;
/** Counts a request of the connection's caller against the rate that HTTP requests count against: 0, or how many milliseconds to wait. */
export type CountRequest = (what: "halt" | "other") => number;
/** By path. */
export type SocketProtocols = Readonly<
  Record<string, (caller: Caller, id: string, duplex: SocketDuplex, countRequest: CountRequest) => SocketProtocol>
>;

type Connection = { readonly protocol: SocketProtocol; alive: boolean };
type Begin = (id: string, duplex: SocketDuplex) => SocketProtocol;
type Upgrade = Readonly<{ message: IncomingMessage; socket: Stream; head: Buffer }>;
type Opened = Readonly<{ caller: Caller; path: string }>;

const PING_MS = 20_000;

export class SocketConnections {
  readonly #access: Pick<Access, "watch">;
  readonly #log: Log;
  readonly #open = new Map<WebSocket, Connection>();
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MOST_FRAME_BYTES,
    perMessageDeflate: false,
    clientTracking: false,
  });
  readonly #pings = setInterval(() => this.#ping(), PING_MS).unref();

  constructor({ access, log }: Readonly<{ access: Pick<Access, "watch">; log: Log }>) {
    this.#access = access;
    this.#log = log;
  }

  size(): number {
    return this.#open.size;
  }

  upgrade({ message, socket, head }: Upgrade, begin: Begin, opened: Opened): void {
    this.#sockets.handleUpgrade(message, socket, head, (ws) => this.#accept(ws, begin, opened));
  }

  stopPings(): void {
    clearInterval(this.#pings);
  }

  /** Tells every client why the server leaves, and that it may come back. */
  leave(why: Problem): void {
    this.stopPings();
    for (const { protocol } of this.#open.values()) protocol.leave(why, true, CLOSE.goingAway);
  }

  terminate(): void {
    for (const ws of this.#open.keys()) ws.terminate();
  }

  #accept(ws: WebSocket, begin: Begin, { caller, path }: Opened): void {
    const log = this.#log;
    const id = randomUUID();
    const protocol = begin(id, duplexOf(ws));
    const one: Connection = { protocol, alive: true };
    this.#open.set(ws, one);
    const unwatch = this.#access.watch(caller, (why) => {
      log("info", "socket.cut", { connection: id });
      protocol.leave(wireProblem("unauthenticated", why, "sign in again, or show another key"), false, CLOSE.policy);
    });
    log("info", "socket.opened", { connection: id, path, user: caller.principal.id });
    ws.on("message", (bytes, isBinary) => {
      one.alive = true;
      if (isBinary) ws.close(CLOSE.policy, "text only");
      else protocol.hear(String(bytes));
    });
    ws.on("pong", () => {
      one.alive = true;
    });
    ws.on("error", () => ws.terminate()); // an oversize frame among them: `ws` has closed it with its code
    ws.on("close", (code) => {
      this.#open.delete(ws);
      unwatch();
      protocol.gone();
      log("info", "socket.closed", { connection: id, code });
    });
  }

  /** A client that has not answered the last ping is gone. */
  #ping(): void {
    for (const [ws, one] of this.#open) {
      if (!one.alive) ws.terminate();
      else {
        one.alive = false;
        ws.ping();
      }
    }
  }
}

/** `send` resolves once the text was written: a writer that is faster than its reader waits there. */
function duplexOf(ws: WebSocket): SocketDuplex {
  return {
    send: (text) =>
      new Promise((resolve) => {
        if (ws.readyState !== ws.OPEN) return resolve();
        ws.send(text, () => resolve());
      }),
    close: (code, reason) => ws.close(code, Buffer.from(reason).subarray(0, 120).toString()),
  };
}
