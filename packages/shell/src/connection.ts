/**
 * A connection to a server: one typed client and one live link, for the local server and for remote ones alike.
 * S-1 whatever the shell shows or does goes through the API and the link, in both cases: there is no second way in.
 */
import { randomUUID } from "node:crypto";
import type { FaultError } from "@orgate/core/vocab";
import { type Client, createClient, type Dial, type HttpTransport, type Link, type LinkState, openLink } from "@orgate/protocol";
import { WebSocket } from "ws";

export type ServerConnection = Readonly<{
  client: Client;
  open(changed: (state: LinkState) => void): Link;
  /** The name shown in the footer. */
  name: string;
  isLocal: boolean;
  /** Settles when a server of the shell's own has ended by itself. */
  lost: Promise<FaultError> | null;
  /** Runs a command of the command line beside the server; null where the server is another's. */
  runCommand: ((argv: readonly string[]) => Promise<Readonly<{ code: number; text: string }>>) | null;
  close(): Promise<void>;
}>;

/** `token` goes into a header only: an address is written down by too many. */
export function connectTo(url: string, token: string): Pick<ServerConnection, "client" | "open"> {
  const authorization = `Bearer ${token}`;
  const transport: HttpTransport = async ({ method, path, headers, body, signal }) => {
    const answer = await fetch(new URL(path, url), { method, headers: { ...headers, authorization }, body, signal, redirect: "error" });
    return { status: answer.status, mediaType: answer.headers.get("content-type") ?? "", text: () => answer.text() };
  };
  const address = new URL("/ws/v1", url);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  const dial: Dial = (events) => {
    const socket = new WebSocket(address, { headers: { authorization }, followRedirects: false });
    socket.on("open", () => events.opened());
    socket.on("message", (text) => events.heard(String(text)));
    socket.on("error", () => {}); // a close follows, and the link dials again
    socket.on("close", () => events.closed());
    return {
      send: (text) => {
        if (socket.readyState === WebSocket.OPEN) socket.send(text);
      },
      close: () => socket.close(),
    };
  };
  return {
    client: createClient(transport, randomUUID),
    open: (changed) => openLink({ dial, makeId: randomUUID, later, changed, client: "shell" }),
  };
}

function later(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}
