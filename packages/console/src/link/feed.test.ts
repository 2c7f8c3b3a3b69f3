import { millis, type SessionId, seq, sessionId } from "@orgate/core/vocab";
import type { Item, ServerFrame } from "@orgate/protocol";
import { expect, test } from "vitest";
import { openFeed } from "./feed.ts";

type Preview = Extract<ServerFrame, { kind: "preview" }>;

const session: SessionId = sessionId("s_00000001");
const closed = (n: number, kind: "session.closed" | "note" = "note"): Item => ({
  kind: "entry",
  position: null,
  entry: {
    stream: session,
    seq: seq(n),
    at: millis(n),
    event: kind === "note" ? { kind, from: "x", call: null, name: "n", value: n } : { kind, by: { kind: "user", id: "ana" }, reason: "" },
  },
});
const words = (offset: number, text: string, attempt = 1): Preview => ({
  kind: "preview",
  id: "s1",
  session,
  iteration: 1,
  attempt,
  preview: { part: "text", offset, text },
});

function opened() {
  const due: (() => void)[] = [];
  const { feed, follower } = openFeed(session, (run) => due.push(run));
  let shown = 0;
  feed.watch(() => {
    shown += 1;
  });
  const draw = (): void => {
    for (const run of due.splice(0)) run();
  };
  return { feed, follower, draw, shown: () => shown };
}

test("O-5 a feed holds every entry in order, and shows many changes at once", () => {
  const { feed, follower, draw, shown } = opened();
  follower.entries([closed(1), closed(2)], 2);
  follower.entries([closed(3, "session.closed")], 3);
  follower.caughtUp?.(3);
  expect([feed.get().count, shown()]).toEqual([0, 0]);
  draw();
  expect(shown()).toBe(1);
  expect(feed.get().items.map((item) => (item.kind === "entry" ? item.entry.seq : 0))).toEqual([1, 2, 3]);
  expect(feed.get().caughtUp).toBe(true);
});

test("O-5 text in progress is shown in its place, and so is an entry that cannot be read", () => {
  const { feed, follower, draw } = opened();
  for (const preview of [words(0, "Hel"), words(3, "lo"), words(3, "lo")]) follower.preview?.(preview);
  follower.entries([{ kind: "erased", stream: session, seq: seq(1), at: millis(1), position: null }], 1);
  draw();
  expect(feed.get().view.streaming?.text).toBe("Hello");
  expect(feed.get().view.items).toMatchObject([{ kind: "notice", text: "an entry was erased on request" }]);
});
