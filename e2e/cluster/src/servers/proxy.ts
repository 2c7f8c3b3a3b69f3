/** A TCP proxy in front of a server: it can cut connections, refuse new ones, delay what passes, or let nothing pass and say nothing. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type Duplex, Transform } from "node:stream";

export type TcpProxy = Readonly<{
  port: number;
  /** Ends every open connection with a reset, as a broken network does. */
  cut(): void;
  /** Cuts, and resets new connections until `open`. */
  close(): void;
  /** Connections stay open and nothing passes in either direction until `open`. What was sent meanwhile passes then. */
  stall(): void;
  /** Each piece of data waits this long, in both directions. */
  delay(ms: number): void;
  open(): void;
  connections(): number;
  end(): Promise<void>;
}>;

type Mode = Readonly<{ kind: "open"; delayMs: number } | { kind: "stalled" } | { kind: "closed" }>;

/** `target` is asked for each connection, so that a server may come back on another port. */
export async function startProxy(target: () => number): Promise<TcpProxy> {
  let mode: Mode = { kind: "open", delayMs: 0 };
  const sockets = new Set<Socket>();
  const stalled = new Set<() => void>();
  const reset = (socket: Socket): void => void (socket.destroyed || socket.resetAndDestroy());

  /** Passes pieces on in order: now, later, or once the stall is over. */
  const pipe = (): Transform =>
    new Transform({
      transform(piece, _encoding, done) {
        const pass = (): void => {
          if (mode.kind === "stalled") stalled.add(pass);
          else if (mode.kind === "open" && mode.delayMs > 0) setTimeout(() => done(null, piece), mode.delayMs);
          else done(null, piece);
        };
        pass();
      },
    });
  const server = createServer((client) => {
    if (mode.kind === "closed") return reset(client);
    const upstream = connect(target(), "127.0.0.1");
    const join = (from: Duplex, to: Socket): void => void from.pipe(pipe()).pipe(to);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.setNoDelay(true);
      one.on("error", () => reset(other));
      one.on("close", () => {
        sockets.delete(one);
        other.destroySoon();
      });
      join(one, other);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const setMode = (to: Mode): void => {
    mode = to;
    if (mode.kind === "stalled") return;
    for (const pass of [...stalled]) {
      stalled.delete(pass);
      pass();
    }
  };
  const cut = (): void => [...sockets].forEach(reset);
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    close() {
      setMode({ kind: "closed" });
      cut();
    },
    stall: () => setMode({ kind: "stalled" }),
    delay: (ms) => setMode({ kind: "open", delayMs: ms }),
    open: () => setMode({ kind: "open", delayMs: 0 }),
    connections: () => sockets.size / 2,
    async end() {
      setMode({ kind: "closed" });
      cut();
      server.close();
      await once(server, "close");
    },
  };
}
