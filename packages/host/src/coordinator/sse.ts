/**
 * The same as `/ws/v1` for whoever only listens: server-sent events. Each event's data is a frame; its id is where to go on from.
 * W55 a stream of events tells what a subscription tells, at the reader's own pace; `Last-Event-ID` goes on exactly after what arrived.
 */
import { FaultError } from "@orgate/core";
import { frameText } from "@orgate/core/wire";
import type { Fanout, Follow, Told } from "./fanout.ts";

/** Where an HTTP answer is written to. Resolves when there is room for more, and when it is closed; never rejects. */
export type Sink = Readonly<{ write(text: string): Promise<void> }>;

export const SSE_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
});
/** The name that frames have where there is but one subscription. */
const STREAM = "stream";
const KEEP_ALIVE_MS = 15_000;

/** Where `Last-Event-ID` says to go on; null: it says nothing that can be understood. */
export const lastEventId = (header: string | undefined): number | null =>
  header !== undefined && /^\d{1,15}$/.test(header) ? Number(header) : null;

/** Ends with what it follows, or with the signal. Throws what is wrong before anything was written; later it is told as an `error` event by whoever called. */
export async function streamEvents(fanout: Fanout, follow: Follow, sink: Sink, keepAliveMs = KEEP_ALIVE_MS): Promise<void> {
  const alive = setInterval(() => void sink.write(":\n\n"), keepAliveMs).unref();
  try {
    for await (const told of fanout.follow(follow)) {
      if (told.kind === "hidden")
        throw new FaultError({
          kind: "not-permitted",
          user: "the caller",
          what: "follow this",
          reason: "the policies do not let them read it",
        });
      await sink.write(eventOf(told));
    }
  } finally {
    clearInterval(alive);
  }
}

export function eventOf(told: Exclude<Told, { kind: "hidden" }>): string {
  switch (told.kind) {
    case "batch": {
      const { after, to, items } = told;
      return event("entries", `{"kind":"entries","id":"${STREAM}","after":${after},"to":${to},"items":[${items.join(",")}]}`, to);
    }
    case "words": {
      const { kind, ...words } = told.words;
      return event(kind, frameText({ kind, id: STREAM, ...words }), null);
    }
    case "caught-up":
      return event("caught-up", frameText({ kind: "caught-up", id: STREAM, at: told.at }), told.at);
    case "closed":
      return event("ended", frameText({ kind: "ended", id: STREAM, at: told.at, why: "closed" }), told.at);
  }
}

/** JSON has no line breaks of its own, so that one line of data is enough. */
const event = (name: string, data: string, id: number | null): string =>
  `event: ${name}\n${id === null ? "" : `id: ${id}\n`}data: ${data}\n\n`;
