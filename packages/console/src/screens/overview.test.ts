import { expect, test } from "vitest";
import { overviewFigures } from "./overview.ts";

const well = { broken: 0, halted: 0, stopped: 0 };

test("O-6 an unknown count is never shown as fine: neither as nothing waiting nor as all running", () => {
  const { waiting, wrong, working } = overviewFigures(null, null, { ...well, halted: null });
  expect([working.value, waiting, wrong]).toMatchObject([
    "…",
    { value: "…", says: "not known yet", tone: "plain" },
    { value: "…", says: "not known yet", tone: "plain" },
  ]);
});

test("O-6 a known problem is shown while other counts are unknown; if all are schedules, it links there", () => {
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
