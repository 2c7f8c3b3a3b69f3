import { expect, test } from "vitest";
import { type JournalEvent, KEYS, millis, type TimedEvent } from "../../vocab/index.ts";
import { SAMPLES, SESSION } from "../fixtures/samples.ts";
import { sealPorts, W1, W1_KEY } from "../fixtures/sealed.ts";
import { isResultOnly, isSealedAtOnce, SEAL_WITHIN_MS, sealEntries, UnsealedMarks } from "../index.ts";
import { EMPTY_STREAM } from "./seal.ts";

const at = (event: JournalEvent): TimedEvent => ({ at: millis(1), event });
const withUnknown = (event: JournalEvent): JournalEvent =>
  event.kind === "act.ended" ? { ...event, outcome: { kind: "unknown", cause: "crash", detail: "" } as never } : event;
const some = (kind: keyof typeof SAMPLES): TimedEvent => at(SAMPLES[kind][0] as JournalEvent);

test("J-33 only results and requests to the model may reach the disk later; a start, an ending, an answer or an unknown outcome never", () => {
  expect(isResultOnly(SESSION, [some("labels.added"), some("model.asked")])).toBe(true);
  const ended = SAMPLES["act.ended"].find((e) => e.kind === "act.ended" && e.outcome.kind === "done") as JournalEvent;
  const unknown = withUnknown(ended);
  expect(isResultOnly(SESSION, [at(ended), some("model.asked")])).toBe(true);
  expect(isResultOnly(SESSION, [at(unknown)])).toBe(false);
  expect(isResultOnly(KEYS, [some("note")])).toBe(false);
  for (const kind of [
    "act.started",
    "turn.ended",
    "turn.started",
    "approval.asked",
    "approval.answered",
    "child.opened",
    "model.replied",
  ] as const)
    expect(isResultOnly(SESSION, [at(ended), some(kind)]), kind).toBe(false);
});

test("J-31 a seal is due once the first append that waits for it has waited its time, or the clock was turned back", () => {
  const marks = new UnsealedMarks();
  const entries = sealEntries({ stream: SESSION, head: EMPTY_STREAM }, [some("note")], sealPorts(W1, W1_KEY), () => {
    throw new Error("no blob");
  });
  expect(marks.isDue(millis(10_000))).toBe(false);
  marks.add(entries, millis(1_000));
  marks.add(entries, millis(1_050));
  expect(marks.isDue(millis(1_000 + SEAL_WITHIN_MS - 1))).toBe(false);
  expect(marks.isDue(millis(1_000 + SEAL_WITHIN_MS))).toBe(true);
  expect(marks.isDue(millis(900))).toBe(true);
  marks.clear();
  expect(marks.isDue(millis(5_000))).toBe(false);
});

test("J-31 an outcome that nobody knows is sealed at once", () => {
  const ended = SAMPLES["act.ended"][0] as JournalEvent;
  expect(isSealedAtOnce(SESSION, [at(withUnknown(ended))])).toBe(true);
  expect(isSealedAtOnce(SESSION, [some("model.asked"), some("act.started")])).toBe(false);
});
