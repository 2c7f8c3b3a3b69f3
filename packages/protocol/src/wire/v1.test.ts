import { expect, test } from "vitest";
import { type ClientFrameInput, frameText, readClientFrame, readServerFrame, type ServerFrame } from "./v1.ts";

const session = "s_aaaaaaaaaa";

test("W-4 a frame with an unknown kind, an unknown field or a wrong type is refused whole, under its id where it has one", () => {
  const refusals: readonly [unknown, string | null][] = [
    ["{", null],
    [[], null],
    [{ kind: "dance", id: "a" }, "a"],
    [{ kind: "ping", id: "a", more: 1 }, "a"],
    [{ kind: "ping", id: "a b" }, null],
    [{ kind: "hello", version: 2 }, null],
    [{ kind: "subscribe", id: "a", to: { kind: "session", session: "x" }, after: 0 }, "a"],
    [{ kind: "subscribe", id: "a", to: { kind: "all" }, after: -1 }, "a"],
    [{ kind: "chat", id: "a", agent: "x", session: null, text: "" }, "a"],
    [{ kind: "chat", id: "a", agent: "x", session: null, text: "hi", files: [{ mediaType: "image/png", base64: "AAAA" }] }, "a"],
    [{ kind: "answer", id: "a", approval: "q", digest: "short", answer: { kind: "approve" } }, "a"],
  ];
  for (const [value, id] of refusals) {
    const read = readClientFrame(typeof value === "string" ? value : JSON.stringify(value));
    expect(read, JSON.stringify(value)).toMatchObject({ kind: "refused", id, problem: { kind: "bad-request", status: 400 } });
  }
});

test("W-4 what one side writes the other reads as it was written", () => {
  const mine: readonly ClientFrameInput[] = [
    { kind: "hello", version: 1, client: "test", resume: [{ id: "s", to: { kind: "all" }, after: 7, previews: false }] },
    { kind: "chat", id: "1", agent: "helper", session: null, text: "hi" },
    { kind: "cancel", id: "2", session: session as never, reason: "", all: true },
  ];
  for (const frame of mine) expect(readClientFrame(frameText(frame))).toEqual({ kind: "frame", frame });
  const theirs: readonly ServerFrame[] = [
    { kind: "caught-up", id: "s", at: 7 },
    { kind: "entries", id: "s", after: 0, to: 7, items: [{ kind: "erased", stream: session, seq: 7, at: 1, position: 7 } as never] },
    { kind: "pong", id: "p", at: { s: 7 } },
  ];
  for (const frame of theirs) expect(readServerFrame(frameText(frame))).toEqual({ kind: "frame", frame });
});
