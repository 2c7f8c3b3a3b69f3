import { expect, test } from "vitest";
import { cronWords } from "./cron.ts";

test.each([
  ["* * * * *", "every minute"],
  ["*/15 * * * *", "every 15 minutes"],
  ["*/10 9-17 * * mon-fri", "every 10 minutes from 09:00 to 17:59 Monday to Friday"],
  ["0 * * * *", "every hour at :00"],
  ["30 */6 * * *", "every 6 hours at :30"],
  ["0 2 * * *", "at 02:00 every day"],
  ["0 9,13 * * 1,3,5", "at 09:00 and 13:00 on Mondays, Wednesdays and Fridays"],
  ["15 9-17 * * *", "every hour from 09:15 to 17:15 every day"],
  ["0 0 1,15 * *", "at 00:00 on the 1st and 15th of the month"],
  ["0 0 1-7 jan,jul *", "at 00:00 from the 1st to the 7th of the month in January and July"],
  ["0 8 13 * fri", "at 08:00 on the 13th of the month, and on Fridays"],
  ["0 8 * 12 *", "at 08:00 every day in December"],
  ["0 8 * * 7", "at 08:00 on Sundays"],
  ["*/20 * * * * *", "every 20 seconds"],
  ["30 0 8 * * *", "at 08:00:30 every day"],
] as const)("V-6 %s in words", (cron, words) => {
  expect(cronWords(cron)).toBe(words);
});

test.each(["0 0 L * *", "0 8 * * mon#2", "*/7 * * * *", "0 9-17/2 * * *", "1,2,3,4 1,2,3 * * *", "x", "", "61 * * * *", "* * * * * * *"])(
  "V-6 what cannot be said plainly is not said: %s",
  (cron) => {
    expect(cronWords(cron)).toBe(null);
  },
);
