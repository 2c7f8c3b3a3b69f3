/**
 * The same as `/ws/v1` for clients that only listen: server-sent events. Each event's data is a frame; its id is where to go on from.
 * W-24 a stream of events tells what a subscription tells, at the reader's own pace; `Last-Event-ID` goes on exactly after what arrived.
 */
import { isFault } from "@orgate/core";
import { frameText, type Problem, wireProblem } from "@orgate/protocol";
import { problemIn } from "../../operations/refusal.ts";
import type { Sink } from "../../operations/result.ts";
import type { Fanout, FanoutEntry, Follow } from "./fanout.ts";

export const EVENT_STREAM = "text/event-stream";
/** The name that frames have where there is but one subscription. */
const STREAM = "stream";
const KEEP_ALIVE_MS = 15_000;

/** Where `Last-Event-ID` says to go on; null: it says nothing that can be understood. */
export const lastEventId = (header: string | null): number | null => (header !== null && /^\d{1,15}$/.test(header) ? Number(header) : null);

/** Ends with the stream that it follows, or with the signal; failures are sent as an `error`, like over a socket. */
export async function streamEvents(fanout: Fanout, follow: Follow, sink: Sink, keepAliveMs = KEEP_ALIVE_MS): Promise<void> {
  let isWriting = false;
  const alive = setInterval(() => {
    if (!isWriting) void sink.write(":\n\n"); // whoever does not read is told nothing more
  }, keepAliveMs).unref();
  try {
    for await (const told of fanout.follow(follow)) {
      isWriting = true;
      await sink.write(toServerSentEvent(told));
      isWriting = false;
    }
  } catch (error) {
    if (!follow.signal.aborted) await sink.write(errorEvent(problemIn(error)));
    if (!isFault(error)) throw error; // for the log
  } finally {
    clearInterval(alive);
  }
}

export function toServerSentEvent(told: FanoutEntry): string {
  switch (told.kind) {
    case "batch": {
      const { after, to, items } = told;
      return event("entries", `{"kind":"entries","id":"${STREAM}","after":${after},"to":${to},"items":[${items.join(",")}]}`, to);
    }
    case "words": {
      const { kind, asked: _, ...words } = told.words;
      return event(kind, frameText({ kind, id: STREAM, ...words }), null);
    }
    case "caught-up":
      return event("caught-up", frameText({ kind: "caught-up", id: STREAM, at: told.at }), told.at);
    case "closed":
      return event("ended", frameText({ kind: "ended", id: STREAM, at: told.at, why: "closed" }), told.at);
    case "hidden":
      return errorEvent(wireProblem("forbidden", "this may not be followed any more", "the policies say who may `read-journal`"));
  }
}

const errorEvent = (problem: Problem): string => event("error", frameText({ kind: "error", id: STREAM, problem }), null);

/** JSON has no line breaks of its own, so that one line of data is enough. */
const event = (name: string, data: string, id: number | null): string =>
  `event: ${name}\n${id === null ? "" : `id: ${id}\n`}data: ${data}\n\n`;
