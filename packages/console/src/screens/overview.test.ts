import { expect, test } from "vitest";
import { overviewFigures } from "./overview.ts";

const well = { broken: 0, halted: 0, stopped: 0 };

test("O-6 what the server has not said is never told as well: neither that nothing waits nor that all runs", () => {
  const { waiting, wrong, working } = overviewFigures(null, null, { ...well, halted: null });
  expect([working.value, waiting, wrong]).toMatchObject([
    "…",
    { value: "…", says: "not known yet", tone: "plain" },
    { value: "…", says: "not known yet", tone: "plain" },
  ]);
});

test("O-6 what is known to be wrong is told, though the rest is not known; where all of it is schedules, it leads there", () => {
  expect(overviewFigures(1, 2, { ...well, broken: 2, halted: null }).wrong).toMatchObject({
    value: "2",
    says: "2 breakers",
    tone: "bad",
    to: "/fleet",
  });
  expect(overviewFigures(1, 0, { ...well, stopped: 1 }).wrong).toMatchObject({
    value: "1",
    says: "1 schedule",
    tone: "bad",
    to: "/schedules",
  });
  expect(overviewFigures(120, 0, well)).toMatchObject({
    working: { value: "100+" },
    waiting: { says: "nothing to answer", tone: "ok" },
    wrong: { value: "0", says: "all runs", tone: "ok" },
  });
});
