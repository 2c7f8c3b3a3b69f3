import { describeFault, isFault, millis, type ScheduleTime } from "@orgate/core";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isTimeZone } from "../config/time-zone.ts";
import { openCalendar, readTime } from "./calendar.ts";

const calendar = openCalendar();
const at = (text: string) => millis(Date.parse(text));
const cron = (text: string, timezone = "UTC"): ScheduleTime => ({ kind: "cron", cron: text, timezone });
/** The next due times after one, as UTC, without what they share. */
const after = (when: ScheduleTime, from: string, n: number): readonly string[] => {
  const out: string[] = [];
  for (let t = calendar.next(when, at(from)); t !== null && out.length < n; t = calendar.next(when, t))
    out.push(new Date(t).toISOString().slice(0, 19));
  return out;
};

/** Worked out by hand from the tz database: when the clocks of each zone change, and what that does to these. */
const TABLE: readonly (readonly [string, string, string, string, readonly string[]])[] = [
  [
    "spring gap, fixed: right after it",
    "30 2 * * *",
    "Europe/Berlin",
    "2026-03-28T12:00:00Z",
    ["2026-03-29T01:00:00", "2026-03-30T00:30:00"],
  ],
  [
    "spring gap, fixed: right after it",
    "30 2 * * *",
    "America/New_York",
    "2026-03-07T12:00:00Z",
    ["2026-03-08T07:00:00", "2026-03-09T06:30:00"],
  ],
  [
    "spring gap, every half hour: evenly",
    "*/30 * * * *",
    "Europe/Berlin",
    "2026-03-29T00:15:00Z",
    ["2026-03-29T00:30:00", "2026-03-29T01:00:00", "2026-03-29T01:30:00"],
  ],
  [
    "autumn, fixed: once, the first time",
    "30 2 * * *",
    "Europe/Berlin",
    "2026-10-24T12:00:00Z",
    ["2026-10-25T00:30:00", "2026-10-26T01:30:00"],
  ],
  [
    "autumn, fixed: once, the first time",
    "30 1 * * *",
    "America/New_York",
    "2026-10-31T12:00:00Z",
    ["2026-11-01T05:30:00", "2026-11-02T06:30:00"],
  ],
  [
    "autumn, hourly: every hour there is",
    "0 * * * *",
    "Europe/Berlin",
    "2026-10-24T23:30:00Z",
    ["2026-10-25T00:00:00", "2026-10-25T01:00:00", "2026-10-25T02:00:00"],
  ],
  [
    "half an hour of summer, hourly",
    "0 * * * *",
    "Australia/Lord_Howe",
    "2026-04-04T13:30:00Z",
    ["2026-04-04T14:00:00", "2026-04-04T15:30:00"],
  ],
  ["midnight that is left out", "0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00Z", ["2018-11-04T03:00:00", "2018-11-05T02:00:00"]],
  ["no summer at all", "30 2 * * *", "Asia/Kolkata", "2026-03-28T22:00:00Z", ["2026-03-29T21:00:00", "2026-03-30T21:00:00"]],
  ["UTC", "30 2 * * *", "UTC", "2026-03-28T12:00:00Z", ["2026-03-29T02:30:00", "2026-03-30T02:30:00"]],
  ["six fields", "*/20 0 0 * * *", "UTC", "2026-01-01T00:00:00Z", ["2026-01-01T00:00:20", "2026-01-01T00:00:40", "2026-01-02T00:00:00"]],
  ["a day that is rare", "0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", ["2028-02-29T00:00:00", "2032-02-29T00:00:00"]],
  ["day of month or weekday", "0 0 13 * 5", "UTC", "2026-01-10T00:00:00Z", ["2026-01-13T00:00:00", "2026-01-16T00:00:00"]],
  ["the last day of a month", "0 0 L * *", "UTC", "2026-01-15T00:00:00Z", ["2026-01-31T00:00:00", "2026-02-28T00:00:00"]],
];
describe("due times", () => {
  test.each(TABLE)("Z-1 %s (%s %s)", (_, text, zone, from, expected) => {
    expect(after(cron(text, zone), from, expected.length)).toEqual(expected);
  });

  test("Z-1 one time comes once", () => {
    const when = { kind: "at", at: at("2030-01-01T00:00:00Z") } as const;
    expect(after(when, "2026-01-01T00:00:00Z", 3)).toEqual(["2030-01-01T00:00:00"]);
    expect(calendar.next(when, when.at)).toBe(null);
  });

  test("Z-1 after the year 9999 nothing is due, and asking about it is no error", () => {
    expect(calendar.next(cron("* * * * *"), at("9999-06-01T00:00:00Z"))).toBe(null);
    expect(calendar.next(cron("* * * * *"), millis(8.64e15))).toBe(null);
  });

  test("Z-5 the last due time of a stretch is found without walking it", () => {
    const stretch = fc.tuple(fc.integer({ min: 0, max: 40 * 86_400 }), fc.integer({ min: 0, max: 3 * 86_400 }));
    const expressions = fc.constantFrom("0 * * * *", "30 2 * * *", "*/7 1-3 * * *", "0 12 1 * *", "30 0 0 * * *", "15 3 29 3 *");
    const zones = fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe");
    fc.assert(
      fc.property(expressions, zones, stretch, (text, zone, [offset, length]) => {
        const from = millis(Date.UTC(2026, 2, 1) + offset * 1_000);
        const until = millis(from + length * 1_000);
        let walked: number | null = null;
        for (let t = calendar.next(cron(text, zone), from); t !== null && t <= until; t = calendar.next(cron(text, zone), t)) walked = t;
        expect(calendar.last(cron(text, zone), from, until)).toBe(walked);
      }),
      { numRuns: 150 },
    );
    const started = Date.UTC(2020, 0, 1);
    expect(calendar.last(cron("* * * * * *"), millis(started), millis(Date.UTC(2026, 0, 1) + 500))).toBe(Date.UTC(2026, 0, 1));
  });
});

const read = (written: Partial<Parameters<typeof readTime>[0]>) =>
  readTime({ cron: null, at: null, timezone: "UTC", ...written }, calendar);
const refusal = (written: Partial<Parameters<typeof readTime>[0]>): string => {
  try {
    return JSON.stringify(read(written));
  } catch (error) {
    if (!isFault(error)) throw error;
    return error.message;
  }
};

describe("what is written", () => {
  test.each([
    [{}, "a schedule has `cron` or `at`"],
    [{ cron: "* * * * *", at: "2030-01-01T00:00:00Z" }, "and not both"],
    [{}, "nothing says when"],
    [{ cron: "* * * * *", timezone: "Nowhere/Land" }, "there is no time zone `Nowhere/Land`"],
    [{ cron: "* * * * *", timezone: "+02:00" }, "there is no time zone"],
    [{ cron: "* * * * *", timezone: "../etc/passwd" }, "there is no time zone"],
    [{ cron: "0 0 30 2 *" }, "`0 0 30 2 *` never comes"],
    [{ cron: "61 * * * *" }, "no cron expression: Invalid value for minute: 61"],
    [{ cron: "* * * *" }, "is no cron expression"],
    [{ cron: "0 0 0 1 1 * 2030" }, "is no cron expression"],
    [{ cron: "@reboot" }, "is no cron expression"],
    [{ cron: "" }, "is no cron expression"],
    [{ cron: "x y z a b" }, "is no cron expression"],
    [{ at: "tomorrow" }, "`tomorrow` is no time"],
    [{ at: "2030-02-30T00:00:00Z" }, "is no time"],
    [{ at: "2030-01-01T25:00:00Z" }, "is no time"],
    [{ at: "9999-12-31T00:00:00Z" }, "is no time"],
    [{ at: "2030-01-01" }, "is no time"],
  ] as const)("Z-1 %j is refused", (written, message) => {
    expect(refusal(written)).toContain(message);
  });

  test("Z-1 what may have been meant is told: a zone that is nearly one, and what others have a word for", () => {
    const hintOf = (written: Parameters<typeof read>[0]): string => {
      try {
        read(written);
      } catch (error) {
        if (isFault(error)) return describeFault(error.fault).hint;
      }
      return "";
    };
    expect(hintOf({ cron: "@Daily" })).toBe("write `0 0 * * *`");
    expect(hintOf({ cron: "* * * * *", timezone: "Europe/Berln" })).toBe("did you mean `Europe/Berlin`?");
    expect(hintOf({ cron: "* * * * *", timezone: "Mars/Base" })).toBe("use an IANA name, such as UTC, Europe/Berlin or America/New_York");
  });

  test("Z-1 a time of its own offset, or on the clocks of a zone, gap and double hour included", () => {
    expect(read({ at: "2030-01-31T08:00:00+02:00" })).toEqual({ kind: "at", at: at("2030-01-31T06:00:00Z") });
    expect(read({ at: "2026-07-01T08:00", timezone: "Europe/Berlin" })).toEqual({ kind: "at", at: at("2026-07-01T06:00:00Z") });
    expect(read({ at: "2026-03-29T02:30", timezone: "Europe/Berlin" })).toEqual({ kind: "at", at: at("2026-03-29T01:00:00Z") });
    expect(read({ at: "2026-10-25T02:30", timezone: "Europe/Berlin" })).toEqual({ kind: "at", at: at("2026-10-25T00:30:00Z") });
    expect(read({ at: "2026-01-01T00:30", timezone: "Pacific/Auckland" })).toEqual({ kind: "at", at: at("2025-12-31T11:30:00Z") });
    expect([isTimeZone("Europe/Berlin"), isTimeZone("UTC"), isTimeZone("Etc/GMT+5"), isTimeZone("")]).toEqual([true, true, true, false]);
  });
});
