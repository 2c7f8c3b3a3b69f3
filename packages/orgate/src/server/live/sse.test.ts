import { S1, S2 } from "@orgate/core/testing";
import { readServerFrame, type ServerFrame } from "@orgate/protocol";
import { expect, test } from "vitest";
import { openGround, settle } from "../fixtures/crank.ts";
import type { Follow } from "./fanout.ts";
import { lastEventId, streamEvents } from "./sse.ts";

/** As a browser reads it. */
function read(text: string): readonly Readonly<{ event: string; id: string | null; frame: ServerFrame }>[] {
  return text
    .split("\n\n")
    .filter((block) => block !== "" && !block.startsWith(":"))
    .map((block) => {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1] ?? null;
      const frame = readServerFrame(field("data") ?? "");
      if (frame.kind === "refused") throw new Error(frame.problem.detail);
      return { event: field("event") ?? "", id: field("id"), frame: frame.frame };
    });
}

test("W-24 events are the frames of a subscription, and `Last-Event-ID` goes on exactly after what arrived", async () => {
  const ground = openGround();
  await ground.open(S1);
  await ground.open(S2);
  const follow = (after: number, signal: AbortSignal): Follow => ({ to: { kind: "all" }, after, previews: true, sees: () => true, signal });
  let [text, last] = ["", 0];
  const positions: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    const cut = new AbortController();
    text = "";
    const write = async (chunk: string): Promise<void> => {
      text += chunk;
    };
    const streaming = streamEvents(ground.fanout, follow(last, cut.signal), { write });
    await settle();
    await ground.note(S1, `n${round}`);
    await settle();
    cut.abort();
    await streaming;
    await ground.note(S2, "while nobody listens");
    const events = read(text);
    expect(events.every(({ event, frame }) => event === frame.kind)).toBe(true);
    for (const { frame } of events) if (frame.kind === "entries") positions.push(...frame.items.flatMap(({ position }) => position ?? []));
    last = lastEventId(events.findLast(({ id }) => id !== null)?.id ?? null) ?? last;
  }
  expect(positions).toEqual(Array.from({ length: 11 }, (_, i) => i + 1));
});

test("W-24 a reader that does not read is written one batch, and ends with its session", async () => {
  const ground = openGround();
  await ground.open(S1);
  const written: string[] = [];
  let go = (): void => {};
  const write = (chunk: string): Promise<void> => {
    written.push(chunk);
    return new Promise((resolve) => {
      go = resolve;
    });
  };
  const signal = new AbortController().signal;
  const streaming = streamEvents(
    ground.fanout,
    { to: { kind: "session", session: S1 }, after: 0, previews: true, sees: () => true, signal },
    { write },
  );
  await settle();
  for (let i = 0; i < 20; i += 1) await ground.note(S1, `n${i}`);
  await ground.write(S1, { kind: "session.closed", by: { kind: "user", id: "ann" }, reason: "" });
  await settle();
  expect(written).toHaveLength(1);
  for (let i = 0; i < 4; i += 1) {
    go();
    await settle();
  }
  await streaming;
  const events = read(written.join(""));
  expect(events.at(-1)?.frame).toMatchObject({ kind: "ended", why: "closed", at: 22 });
  expect(events.flatMap(({ frame }) => (frame.kind === "entries" ? frame.items : []))).toHaveLength(22);
});

test("W-24 only a number is a place to go on from", () => {
  expect(lastEventId("12")).toBe(12);
  for (const text of [null, "", "-1", "1e3", "abc", "9".repeat(16)]) expect(lastEventId(text)).toBe(null);
});

test("W-24 what cannot be followed, or not any more, is told as an error", async () => {
  const ground = openGround();
  await ground.open(S1);
  const told = async (to: Follow["to"], sees: boolean): Promise<string> => {
    let text = "";
    const write = async (chunk: string): Promise<void> => {
      text += chunk;
    };
    await streamEvents(ground.fanout, { to, after: 0, previews: true, sees: () => sees, signal: new AbortController().signal }, { write });
    return text;
  };
  expect(read(await told({ kind: "session", session: S2 }, true))).toMatchObject([
    { event: "error", frame: { problem: { kind: "session-unknown" } } },
  ]);
  expect(read(await told({ kind: "session", session: S1 }, false))).toMatchObject([
    { event: "error", frame: { problem: { kind: "forbidden" } } },
  ]);
});
