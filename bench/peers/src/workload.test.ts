import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { bareLoop } from "./adapters/bare-loop.ts";
import { argsText, counterIn, FINAL, RESULT_CHARS, resultOf, tracesOf, type Work, workOf } from "./workload.ts";

const runWith = async (work: Work, loop = work): Promise<readonly string[]> => {
  const opened = await bareLoop({ work: loop, folder: "", policies: 1, pause: null });
  return [await opened.run(), await opened.run()];
};

test("X-1 the whole work is N + 1 model calls, N effects and the same text, run by run", async () => {
  const work = workOf(5);
  expect(() => work.check(0, [])).not.toThrow();
  work.check(2, await runWith(work));
});

test("X-1 an effect too many, a call too few or another text is no sample", async () => {
  const twice = workOf(5);
  const doubled: Work = {
    ...twice,
    effect(args) {
      twice.effect(args);
      return twice.effect(args);
    },
  };
  const texts = await runWith(twice, doubled);
  expect(() => twice.check(2, texts)).toThrow("20 effects, not 10");

  const fewer = workOf(5);
  const early = await runWith(fewer, {
    ...fewer,
    ask: (newest) => (newest?.startsWith("3|") ? { kind: "text", text: FINAL } : fewer.ask(newest)),
  });
  expect(() => fewer.check(2, early)).toThrow("6 model calls, not 12; 6 effects, not 10");

  const other = workOf(1);
  await runWith(other);
  expect(() => other.check(2, [FINAL, "something else"])).toThrow("a run ended with `something else`");
});

test("X-1 arguments are about 200 bytes, results 1,024 characters that do not pack away, and wrappers do not hide the counter", () => {
  for (const n of [1, 77, 1_000]) {
    expect(argsText(n).length).toBeGreaterThan(180);
    expect(argsText(n).length).toBeLessThan(220);
    expect(resultOf(n)).toHaveLength(RESULT_CHARS);
    expect(gzipSync(resultOf(n)).length).toBeGreaterThan(RESULT_CHARS / 2);
    expect(tracesOf(n).every((trace) => resultOf(n).includes(trace) && !resultOf(n + 1).includes(trace))).toBe(true);
    expect(counterIn(JSON.stringify({ type: "text", value: resultOf(n) }))).toBe(n);
  }
  expect(() => counterIn("no result")).toThrow("no result of the tool");
});
