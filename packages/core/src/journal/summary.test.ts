import fc from "fast-check";
import { expect, test } from "vitest";
import { opened } from "../testing/journal-contract.ts";
import { type JournalEvent, millis, seq } from "../vocab/index.ts";
import { SAMPLES, SESSION } from "./fixtures/samples.ts";
import { isPlainProgress, type SessionSummary, summariseProgress, summariseSession } from "./index.ts";

const events: readonly JournalEvent[] = Object.values(SAMPLES).flat();

test("J-6 a session's row after plain progress is what its events make of it one by one", () => {
  const first = summariseSession(null, { stream: SESSION, seq: seq(1), at: millis(1), event: opened("echo") });
  if (first === null) throw new Error("it is opened");
  const plain = events.filter((event) => isPlainProgress([{ at: millis(1), event }]));
  expect(plain.map((e) => e.kind)).toContain("model.replied");
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...plain), { minLength: 1, maxLength: 8 }), (said) => {
      const timed = said.map((event, i) => ({ at: millis(10 + i), event }));
      const end = { seq: seq(1 + said.length), at: millis(9 + said.length) };
      const each = timed.reduce<SessionSummary | null>(
        (line, { at, event }, i) => summariseSession(line, { stream: SESSION, seq: seq(2 + i), at, event }),
        first,
      );
      expect(summariseProgress(first, end, timed)).toEqual(each);
    }),
  );
});

test("J-6 what begins, ends, waits, or changes a list is no plain progress", () => {
  const kinds = ["session.opened", "turn.started", "turn.ended", "approval.asked", "grant.used", "known.learned", "child.opened"];
  for (const event of events) if (kinds.includes(event.kind)) expect(isPlainProgress([{ at: millis(1), event }]), event.kind).toBe(false);
});
