/** Words are for people who trust them: checked against the calendar that fires. */
import { millis } from "@orgate/core";
import { cronWords } from "@orgate/protocol/view";
import fc from "fast-check";
import { expect, test } from "vitest";
import { openCalendar } from "./calendar.ts";

const calendar = openCalendar();
const oneOf = (...texts: readonly string[]) => fc.constantFrom(...texts);
const expressions = fc
  .tuple(
    oneOf("*", "*/1", "*/15", "0,15,30,45", "0", "00", "5,6", "0-59"),
    oneOf("*", "0-23", "*/6", "9", "9-11", "9,10,11", "11,9"),
    oneOf("*", "1", "1-3", "1,2,3", "1-31"),
    oneOf("*", "1", "jan", "1-12", "JAN,feb", "1,2"),
    oneOf("*", "1", "MON", "1-5", "mon-fri", "0", "7", "sun", "0-6", "1,2,3,4,5"),
  )
  .map((fields) => fields.join(" "));

function due(cron: string): readonly (number | null)[] {
  const when = { kind: "cron", cron, timezone: "Europe/Berlin" } as const;
  const out: (number | null)[] = [];
  for (let at: number | null = Date.UTC(2026, 0, 30); at !== null && out.length < 12; ) {
    at = calendar.next(when, millis(at));
    out.push(at);
  }
  return out;
}

test("V-6 what is said in the same words is due at the same times", () => {
  const said = new Map<string, Readonly<{ cron: string; due: readonly (number | null)[] }>>();
  let again = 0;
  fc.assert(
    fc.property(expressions, (cron) => {
      const words = cronWords(cron);
      if (words === null) return;
      const before = said.get(words);
      const now = { cron, due: due(cron) };
      if (before === undefined) said.set(words, now);
      else if (before.cron !== cron) {
        again += 1;
        expect([before.cron, before.due]).toEqual([before.cron, now.due]);
      }
    }),
    { numRuns: 600 },
  );
  expect(again).toBeGreaterThan(50);
});
