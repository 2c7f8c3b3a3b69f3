import { countNoun, type Fault, FaultError, seq, sessionId } from "@orgate/core/vocab";
import { expect, test } from "vitest";
import * as z from "zod";
import { faultToProblem, problemFrom, problemSchema, unreadable, wireProblem } from "./problem.ts";

test("W-3 a fault is a problem of RFC 9457, with its kind, its hint and a status of its own", () => {
  const problem = faultToProblem({ kind: "session-unknown", session: "s_aaaaaaaa" });
  expect(problem).toEqual({
    type: "urn:orgate:problem:session-unknown",
    title: "session unknown",
    status: 404,
    detail: "there is no session `s_aaaaaaaa`",
    kind: "session-unknown",
    hint: "`orgate sessions list` shows those of this project",
    issues: [],
  });
  expect(problemSchema.parse(JSON.parse(JSON.stringify(problem)))).toEqual(problem);
  expect(wireProblem("too-many", "one too many", "wait")).toMatchObject({ status: 429, kind: "too-many", issues: [] });
});

test("a fault of an unknown kind is an internal problem that the client can read", () => {
  const problem = faultToProblem({ kind: "cheese-lost" } as unknown as Fault);
  expect(problem).toMatchObject({ kind: "internal", status: 500 });
  expect(problem.detail).toBe("a fault of a kind that this version does not know: `cheese-lost`");
  expect(problemSchema.parse(problem)).toEqual(problem);
});

test("W-3 a problem names no file of the machine, and no error that is not ours", () => {
  const faults: readonly Fault[] = [
    { kind: "journal-unreadable", file: "/srv/somebody/.orgate/journal.db", detail: "at /srv/somebody" },
    { kind: "journal-unwritable", detail: "/srv/somebody is full" },
    { kind: "file-bad", file: "/srv/somebody/orgate.toml", line: 1, column: 1, detail: "bad", hint: "see /srv/somebody" },
    { kind: "project-missing", from: "/srv/somebody" },
    { kind: "policies-missing", folder: "/srv/somebody/policies" },
    { kind: "key-bad", key: "/srv/somebody/key", detail: "bad", hint: "bad" },
  ];
  for (const fault of faults) expect(JSON.stringify(faultToProblem(fault))).not.toContain("somebody");
  expect(JSON.stringify(problemFrom(new Error("secret of /srv/somebody")))).not.toMatch(/secret|somebody/);
  expect(problemFrom(new FaultError({ kind: "entry-bad", stream: sessionId("s_aaaaaaaa"), seq: seq(3), detail: "torn" }))).toMatchObject({
    status: 500,
    detail: "entry 3 of stream `s_aaaaaaaa` is bad: torn",
  });
});

test("W-3 what a value was expected to be is told as it is spelled", () => {
  const read = z.strictObject({ kind: z.literal("ChatSend") }).safeParse({ kind: "chatsend" });
  if (read.success) throw new Error("it is read");
  expect(unreadable("the frame", read.error).detail).toBe('the frame: `kind` invalid input: expected "ChatSend"');
});

test("V-6 one of a thing is told in the singular", () => {
  expect([countNoun(1, "writer"), countNoun(2, "writer"), countNoun(1, "entry", "entries"), countNoun(0, "entry", "entries")]).toEqual([
    "1 writer",
    "2 writers",
    "1 entry",
    "0 entries",
  ]);
});
