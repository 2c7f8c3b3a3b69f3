import { expect, test } from "vitest";
import { millis } from "../ids.ts";
import { toDecisionTime } from "./decision-time.ts";

const at = (text: string, zone: string) => toDecisionTime(millis(Date.parse(text)), zone);

test("G-41 the time is read off the clocks of the zone, over changes of the clock, of the day and of the year", () => {
  expect(at("2026-03-29T00:59:59.999Z", "Europe/Berlin")).toEqual({
    epoch: 1774745999,
    date: "2026-03-29",
    weekday: 7,
    hour: 1,
    minute: 59,
  });
  expect(at("2026-03-29T01:00:00Z", "Europe/Berlin")).toMatchObject({ hour: 3, minute: 0 });
  expect(at("2026-12-31T23:30:00Z", "Europe/Berlin")).toMatchObject({ date: "2027-01-01", weekday: 5, hour: 0 });
  expect(at("2026-01-01T00:30:00Z", "America/New_York")).toMatchObject({ date: "2025-12-31", weekday: 3, hour: 19, minute: 30 });
  expect(at("2026-11-18T00:00:00Z", "UTC")).toEqual({ epoch: 1794960000, date: "2026-11-18", weekday: 3, hour: 0, minute: 0 });
  expect(at("2026-11-18T00:00:00Z", "Asia/Kolkata")).toMatchObject({ hour: 5, minute: 30 });
});
