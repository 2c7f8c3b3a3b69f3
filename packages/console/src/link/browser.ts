/** How a browser reaches the server: `fetch` with its cookie, and a socket. */
import type { Dial, HttpTransport, Problem } from "@orgate/protocol";
import { problemSchema, wireProblem } from "@orgate/protocol";
import { clock } from "./clock.ts";

/** The CSRF token of this sign-in, readable only by this site's pages; requests that change something carry it. */
function csrfToken(): string {
  const { protocol, port } = location;
  const name = protocol === "https:" ? "__Host-orgate-csrf" : `orgate-csrf-${port || "80"}`;
  const found = document.cookie.split("; ").find((pair) => pair.startsWith(`${name}=`));
  return found?.slice(name.length + 1) ?? "";
}

export const transport: HttpTransport = async ({ method, path, headers, body, signal }) => {
  const sentAt = Date.now();
  const answer = await fetch(path, {
    method,
    headers: { ...headers, ...(method === "GET" ? {} : { "x-orgate-csrf": csrfToken() }) },
    body,
    signal,
    credentials: "same-origin",
    redirect: "error",
  });
  clock.heard(answer.headers.get("date"), sentAt, Date.now());
  return { status: answer.status, mediaType: answer.headers.get("content-type") ?? "", text: () => answer.text() };
};

export const dial: Dial = (events) => {
  const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws/v1`);
  socket.addEventListener("open", () => events.opened());
  socket.addEventListener("message", ({ data }) => events.heard(String(data)));
  socket.addEventListener("close", () => events.closed());
  return {
    send: (text) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(text);
    },
    close: () => socket.close(),
  };
};

export function later(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}

export const makeId = (): string => crypto.randomUUID();

/** Null on success. */
export async function signIn(link: string): Promise<Problem | null> {
  return posted("/sign-in", link);
}
export async function signOut(): Promise<Problem | null> {
  return posted("/sign-out", "");
}

async function posted(path: string, body: string): Promise<Problem | null> {
  try {
    const answer = await fetch(path, {
      method: "POST",
      body,
      headers: { "content-type": "text/plain", "x-orgate-csrf": csrfToken() },
      credentials: "same-origin",
    });
    if (answer.ok) return null;
    const read = problemSchema.safeParse(await answer.json());
    return read.success ? read.data : wireProblem("internal", `the server answered with ${answer.status}`, "try again");
  } catch {
    return UNREACHABLE;
  }
}

/** No answer came at all. Callers compare with this very problem, and retry by themselves (O-7). */
export const UNREACHABLE: Problem = Object.freeze(
  wireProblem("unavailable", "the server cannot be reached", "start it with `orgate up`; this page reconnects by itself"),
);
/** The delay before the `n`th retry in a row. */
export const retryDelayMs = (n: number): number => Math.min(15_000, 500 * 2 ** Math.min(n, 5));
