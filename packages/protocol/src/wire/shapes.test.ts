/** The shapes are the views of the other rooms, field by field: when one changes, this file no longer compiles. */

import type { Preview } from "@orgate/core";
import type { ListedApproval, ListedDeadLetter, SessionSummary, StandingGrant } from "@orgate/core/journal";
import type { StandingHalt } from "@orgate/core/vocab";
import { type Entry, millis, seq, streamId } from "@orgate/core/vocab";
import { expect, expectTypeOf, test } from "vitest";
import type * as z from "zod";
import * as s from "./shapes.ts";

test("W-4 what routes answer with are the journal's own views", () => {
  expectTypeOf<SessionSummary>().toEqualTypeOf<z.infer<typeof s.sessionSummary>>();
  expectTypeOf<ListedApproval>().toExtend<z.infer<typeof s.listedQuestion>>();
  expectTypeOf<StandingGrant & Readonly<{ says: string }>>().toExtend<z.infer<typeof s.standingGrant>>();
  expectTypeOf<StandingHalt>().toEqualTypeOf<z.infer<typeof s.standingHalt>>();
  expectTypeOf<ListedDeadLetter>().toExtend<z.infer<typeof s.deadLetter>>();
  expectTypeOf<Preview>().toExtend<z.infer<typeof s.preview>>();
});

test("W-4 an entry of a kind that is not known here is read, and known not to be known", () => {
  const known: Entry = {
    stream: streamId("s_aaaaaaaaaa"),
    seq: seq(1),
    at: millis(1),
    event: { kind: "hold.taken", epoch: 1, writer: "w" } as never,
  };
  expect(s.isKnownKind(s.entry.parse(known))).toBe(true);
  expect(s.isKnownKind(s.entry.parse({ ...known, event: { kind: "moon.risen", phase: 3 } }))).toBe(false);
  expect(s.entry.safeParse({ ...known, event: { phase: 3 } }).success).toBe(false);
});
