/**
 * The network of a program that has a scope. Its namespace has none; on its loopback there is a proxy, and behind that this gateway, which
 * asks the same guard as HTTP tools. A program that does not talk to proxies has no network: hosts can only be distinguished where they are named.
 * Rule: T-30.
 */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import type { PathAccess, ProcessLimits } from "../contract/running.ts";
import { type AddressScope, readScope } from "./addresses.ts";
import { pinnedLookup, type ResolveHost, resolveInScope, systemResolve } from "./resolve-host.ts";
import type { Objection } from "./sandbox-bubblewrap.ts";

export type Gateway = Readonly<{
  paths: readonly PathAccess[];
  /** Before the program, inside. */
  before: readonly string[];
  env: Readonly<Record<string, string>>;
  /** With room for the process that passes things on. */
  widened(limits: ProcessLimits): ProcessLimits;
  close(): void;
}>;

const PORT = 3128;
const FORWARDER = fileURLToPath(new URL(`./sandbox-forwarder${extname(import.meta.url)}`, import.meta.url));
const ROOM = { memoryBytes: 128 * 1_048_576, processes: 16, openFiles: 64 };
const HOP = ["connection", "proxy-connection", "proxy-authorization", "keep-alive", "te", "trailer", "upgrade"];

export async function openGateway(hosts: readonly string[], resolve: ResolveHost = systemResolve): Promise<Gateway | Objection> {
  const read = readScope(hosts);
  if (read.kind === "unreadable")
    return {
      reason: `\`${read.entry}\` is no host, address or range`,
      hint: "write api.example.com, *.example.com, 10.0.0.0/8 or host:port",
    };
  const folder = mkdtempSync(join(tmpdir(), "orgate-gateway-"));
  const path = join(folder, "socket");
  const open = new Set<Duplex>();
  const server = createServer((asked, answer) => void forward(read.scope, resolve, asked, answer));
  server.on(
    "connect",
    (asked: IncomingMessage, inner: Duplex, head: Buffer) => void tunnel(read.scope, resolve, asked, { inner, head, open }),
  );
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  await new Promise<void>((done, failed) => server.once("error", failed).listen(path, done));
  if (process.getuid?.() === 0) {
    // the program may run as another user; the folder's name is not to be guessed, and cannot be listed
    chmodSync(folder, 0o711);
    chmodSync(path, 0o666);
  }
  const proxy = `http://127.0.0.1:${PORT}`;
  return {
    paths: [process.execPath, FORWARDER, folder].map((granted) => ({ path: granted, access: "read" as const })),
    before: [process.execPath, FORWARDER, path, String(PORT)],
    env: {
      HTTP_PROXY: proxy,
      HTTPS_PROXY: proxy,
      http_proxy: proxy,
      https_proxy: proxy,
      ALL_PROXY: proxy,
      NO_PROXY: "",
      NODE_USE_ENV_PROXY: "1",
    },
    widened: (limits) => ({
      ...limits,
      memoryBytes: limits.memoryBytes + ROOM.memoryBytes,
      processes: limits.processes + ROOM.processes,
      openFiles: limits.openFiles + ROOM.openFiles,
    }),
    close() {
      server.close();
      for (const socket of open) socket.destroy();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

type Tunnel = Readonly<{ inner: Duplex; head: Buffer; open: Set<Duplex> }>;

async function tunnel(scope: AddressScope, resolve: ResolveHost, asked: IncomingMessage, { inner, head, open }: Tunnel): Promise<void> {
  inner.on("error", () => inner.destroy());
  const url = URL.canParse(`http://${asked.url}`) ? new URL(`http://${asked.url}`) : null;
  // a URL drops the port that is usual for its scheme
  const port = Number(/:(\d+)$/.exec(asked.url ?? "")?.[1] ?? 443);
  if (url === null || url.pathname !== "/" || url.username !== "" || url.search !== "")
    return turnedAway(inner, "400 Bad Request", "no host to connect to");
  const reached = await resolveInScope(scope, url.hostname, port, resolve);
  if (reached.kind === "refused") return turnedAway(inner, "403 Forbidden", reached.reason);
  const outer = connect({ host: url.hostname.replace(/^\[|\]$/g, ""), port, lookup: pinnedLookup(reached.addresses) });
  open.add(outer);
  outer.once("close", () => {
    open.delete(outer);
    inner.destroy();
  });
  inner.once("close", () => outer.destroy());
  outer.once("error", () => turnedAway(inner, "502 Bad Gateway", "no connection"));
  outer.once("connect", () => {
    inner.write("HTTP/1.1 200 Connection established\r\n\r\n");
    outer.write(head);
    inner.pipe(outer).pipe(inner);
  });
}

function turnedAway(inner: Duplex, status: string, reason: string): void {
  if (!inner.destroyed)
    inner.end(
      `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(reason)}\r\n\r\n${reason}`,
    );
}

async function forward(scope: AddressScope, resolve: ResolveHost, asked: IncomingMessage, answer: ServerResponse): Promise<void> {
  const say = (status: number, text: string): void =>
    void (answer.headersSent ? answer.destroy() : answer.writeHead(status, { "content-type": "text/plain" }).end(text));
  const url = URL.canParse(asked.url ?? "") ? new URL(asked.url ?? "") : null;
  if (url === null || url.protocol !== "http:" || url.username !== "" || url.password !== "")
    return say(400, "only whole http addresses without credentials");
  const reached = await resolveInScope(scope, url.hostname, Number(url.port || 80), resolve);
  if (reached.kind === "refused") return say(403, reached.reason);
  const headers = Object.fromEntries(Object.entries(asked.headers).filter(([name]) => !HOP.includes(name)));
  const outer = request(url, {
    method: asked.method ?? "GET",
    headers: { ...headers, host: url.host },
    lookup: pinnedLookup(reached.addresses),
    agent: false,
  });
  outer.once("error", () => say(502, "no connection"));
  outer.once("response", (response) => {
    const kept = Object.fromEntries(Object.entries(response.headers).filter(([name]) => !HOP.includes(name)));
    answer.writeHead(response.statusCode ?? 502, kept);
    response.pipe(answer);
  });
  answer.once("close", () => outer.destroy());
  asked.pipe(outer);
}
