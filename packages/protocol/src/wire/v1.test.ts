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
    [{ kind: "call", id: "a", operation: "dance" }, "a"],
    [{ kind: "call", id: "a", operation: "follow" }, "a"], // a stream: subscribe
    [{ kind: "call", id: "a", operation: "say", input: { params: {}, more: 1 } }, "a"],
    [{ kind: "call", id: "a", operation: "say", key: "a key" }, "a"],
    [{ kind: "history", id: "a", session, before: -1 }, "a"],
  ];
  for (const [value, id] of refusals) {
    const read = readClientFrame(typeof value === "string" ? value : JSON.stringify(value));
    expect(read, JSON.stringify(value)).toMatchObject({ kind: "refused", id, problem: { kind: "bad-request", status: 400 } });
  }
});

test("a call of an operation that the socket does not carry says what to use instead", () => {
  const refusals = [
    ["follow", "this operation is not for the socket: subscribe to the session"],
    ["export", "this operation is not for the socket: an export is a file: fetch it over HTTP"],
    ["dance", "there is no operation of this name"],
  ] as const;
  for (const [operation, text] of refusals) {
    const read = readClientFrame(JSON.stringify({ kind: "call", id: "a", operation }));
    expect(JSON.stringify(read), operation).toContain(text);
  }
});

test("W-4 what one side writes the other reads as it was written", () => {
  const mine: readonly ClientFrameInput[] = [
    { kind: "hello", version: 1, client: "test", resume: [{ id: "s", to: { kind: "all" }, after: 7, previews: false }] },
    { kind: "call", id: "1", operation: "execute", input: { params: { agent: "helper" }, body: { input: "hi" } } },
    { kind: "call", id: "2", operation: "cancel", input: { params: { session } }, key: "k" },
  ];
  for (const frame of mine) expect(readClientFrame(frameText(frame))).toEqual({ kind: "frame", frame });
  const theirs: readonly ServerFrame[] = [
    { kind: "caught-up", id: "s", at: 7 },
    { kind: "entries", id: "s", after: 0, to: 7, items: [{ kind: "erased", stream: session, seq: 7, at: 1, position: 7 } as never] },
    { kind: "pong", id: "p", at: { s: 7 } },
    { kind: "result", id: "1", status: 202, value: { session } },
  ];
  for (const frame of theirs) expect(readServerFrame(frameText(frame))).toEqual({ kind: "frame", frame });
});
