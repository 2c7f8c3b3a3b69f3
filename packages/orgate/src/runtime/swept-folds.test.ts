import { setImmediate as turnOfLoop } from "node:timers/promises";
import { digest, type Fold, fold, type SessionId, seq, sessionId, ZERO } from "@orgate/core";
import { opened } from "@orgate/core/testing";
import { expect, test } from "vitest";
import { createSweptFolds } from "./swept-folds.ts";

const journal = { hashAt: async () => ZERO, streams: async () => [] };
function foldOf(session: SessionId): Fold {
  const state = fold([{ stream: session, seq: seq(1), at: 0 as never, event: opened("echo") }]);
  if (state === null) throw new Error("there is no state");
  return { state, hash: digest("0".repeat(64)), erasures: 0 };
}
const [A, B] = [sessionId("s_sweeping0001"), sessionId("s_sweeping0002")];

test("L-23 folds that nobody takes are gone after a while without anybody asking, and those that are taken are not", async () => {
  let now = 0;
  const folds = createSweptFolds(journal, () => now, { sessions: 8, chars: 1_000, idleMs: 5 });
  folds.put(foldOf(A));
  now = 3;
  folds.put(foldOf(B));
  now = 6;
  while (folds.size().sessions > 1) await turnOfLoop(); // its own timer looks
  expect(folds.take(A)).toBe(null);
  expect(folds.take(B)?.state.session).toBe(B);
  folds.put(foldOf(B));
  now = 20;
  while (folds.size().sessions > 0) await turnOfLoop();
  folds.put(foldOf(A));
  folds.clear();
  expect(folds.size()).toEqual({ sessions: 0, chars: 0 });
});
