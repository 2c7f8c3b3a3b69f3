import { callId, type Entry, intentId, millis, reconciledEvent, type SessionEvent, seq } from "@orgate/core";
import { callDecided, lost, opened, S1, started } from "@orgate/core/testing";
import { expect, test } from "vitest";
import { buildEnvelope } from "./evidence.ts";

const CALL = callId("1.0");
const journal = (...events: readonly SessionEvent[]): readonly Entry[] =>
  events.map((event, i) => ({ stream: S1, seq: seq(i + 1), at: millis(1_000 + i), event }));
const before = [opened("clerk"), callDecided("1.0"), started("1.0"), lost("1.0")];
const settledBy = (...after: readonly SessionEvent[]) => buildEnvelope(journal(...before, ...after), CALL)?.settled;

const late: SessionEvent = { kind: "act.late", call: CALL, outcome: { kind: "done", output: 1 }, intent: intentId("i_late") };
const resolved = (as: "happened" | "abandon"): SessionEvent => ({
  kind: "unknown.resolved",
  call: CALL,
  as,
  by: { kind: "user", id: "ana" },
  note: "I looked",
  intent: intentId("i_resolve"),
});

test("T-9 an outcome that was unknown says what became of it: late, asked of its tool, or by a person's word, with who and where", () => {
  expect(buildEnvelope(journal(...before), CALL)).toMatchObject({ outcome: "unknown (hold-lost)", settled: null });
  expect(settledBy(late)).toEqual({ how: "late", as: "done", detail: "", by: null, at: 1_004, entry: 5 });
  expect(settledBy(resolved("happened"))).toMatchObject({ how: "person", as: "happened", by: "user:ana", detail: "I looked" });
  expect(settledBy(resolved("abandon"))).toMatchObject({ as: "given-up" });
  expect(settledBy(reconciledEvent(CALL, "did-not-happen", "no trace"))).toMatchObject({ how: "tool", as: "did-not-happen", entry: 5 });
});

test("T-9 who cannot tell settles nothing, the first word counts, and of another call nothing is taken", () => {
  const cannot = reconciledEvent(CALL, "cannot-tell", "?");
  expect(settledBy(cannot)).toBeNull();
  expect(settledBy(cannot, resolved("happened"), late)).toMatchObject({ how: "person", entry: 6 });
  expect(settledBy({ ...late, call: callId("2.0") })).toBeNull();
});
