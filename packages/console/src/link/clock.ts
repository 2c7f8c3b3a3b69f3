/**
 * The server's clock, as far as this browser can tell. The server decides when an approval request expires, so a browser whose clock is wrong must not
 * show another time.
 * O-7 a correction counts at once: content of an answer is never shown by the clock from before that answer.
 * O-7 times are shown by the server's clock: every answer carries its time to the second, and the least correction that fits them all is used.
 */
import { cell, type Watched } from "../state/cell.ts";

export type Clock = Readonly<{
  heard(date: string | null, sentAt: number, heardAt: number): void;
  aheadMs(): number;
  /** Changes when the correction moved by a second or more, before the caller receives that answer. */
  corrected: Watched<number>;
}>;

export function openClock(): Clock {
  let [least, most] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  const corrected = cell(0);
  const aheadMs = (): number => (least > 0 ? least : most < 0 ? most : 0);
  return {
    heard(date, sentAt, heardAt) {
      const said = date === null ? Number.NaN : Date.parse(date);
      if (Number.isNaN(said)) return;
      const [from, to] = [said - heardAt, said + 1_000 - sentAt]; // it read its clock between the two, and cut off the fraction of the second
      const isSame = from <= most && to >= least; // otherwise one of the clocks was set
      [least, most] = isSame ? [Math.max(least, from), Math.min(most, to)] : [from, to];
      const ahead = aheadMs();
      if (Math.abs(ahead - corrected.get()) >= 1_000) corrected.set(ahead);
    },
    aheadMs,
    corrected,
  };
}

export const clock = openClock();
export const serverNow = (): number => Date.now() + clock.aheadMs();
