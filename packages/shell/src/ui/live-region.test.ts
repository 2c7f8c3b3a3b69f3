import fc from "fast-check";
import { expect, test } from "vitest";
import { liveRegion, type Region } from "./live-region.ts";

/** A terminal that knows what we send, and fails on anything else. */
function terminal(columns: number) {
  const lines: string[] = [""];
  let [row, at] = [0, 0];
  const put = (text: string): void => {
    for (const c of text) {
      if (c === "\r") at = 0;
      else if (c === "\n") {
        row += 1;
        lines[row] ??= "";
      } else {
        const line = (lines[row] ?? "").padEnd(at);
        lines[row] = line.slice(0, at) + c + line.slice(at + 1);
        at += 1;
        if (at > columns) throw new Error(`a row is wider than ${columns}`);
      }
    }
  };
  const write = (sent: string): void => {
    let rest = sent;
    while (rest !== "") {
      const match = /^\u001b\[(\?)?(\d*)([A-Zhlm])/.exec(rest);
      if (match === null) {
        put(rest[0] ?? "");
        rest = rest.slice(1);
        continue;
      }
      const [whole, , n = "", what] = match;
      rest = rest.slice(whole.length);
      const count = Number(n === "" ? 1 : n);
      if (what === "A") row -= count;
      else if (what === "B") row += count;
      else if (what === "G") at = count - 1;
      else if (what === "J") {
        if (row === 0 && at === 0) throw new Error("everything is cleared: tmux keeps a copy");
        lines[row] = (lines[row] ?? "").slice(0, at);
        lines.length = row + 1;
      } else if (what === "K") lines[row] = "";
      if (row < 0 || row >= lines.length) throw new Error(`the cursor left the screen: ${row}`);
    }
  };
  return { write, lines: () => lines, cursor: () => [row, at] };
}

/** Rows below that hold nothing are nothing. */
const seen = (lines: readonly string[]): string =>
  lines
    .map((line) => line.trimEnd())
    .join("\n")
    .trimEnd();

const region = (rows: readonly string[], row = Math.max(rows.length - 1, 0), column = 0): Region => ({ rows, cursor: { row, column } });

test("S-19 what is settled stands above in order, the region below it is the last one drawn, and never is everything cleared for it", () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          settled: fc.array(
            fc.string({ maxLength: 9 }).map((s) => s.replace(/[^ -~]/g, "x")),
            { maxLength: 2 },
          ),
          rows: fc.array(fc.constantFrom("a", "bb", "ccc", ""), { minLength: 1, maxLength: 5 }),
          row: fc.nat(4),
        }),
        { maxLength: 12 },
      ),
      (frames) => {
        const screen = terminal(20);
        const live = liveRegion(20);
        const settled: string[] = [];
        for (const frame of frames) {
          const next = region(frame.rows, Math.min(frame.row, frame.rows.length - 1), 1);
          screen.write(live.draw(frame.settled, next));
          settled.push(...frame.settled);
          expect(seen(screen.lines())).toBe(seen([...settled, ...frame.rows]));
          expect(screen.cursor()).toEqual([settled.length + (next.cursor?.row ?? 0), 1]);
        }
      },
    ),
    { numRuns: 150 },
  );
});

test("the same frame again writes nothing, and one row that changed is one row written", () => {
  const live = liveRegion(40);
  live.draw([], region(["status", "prompt", "footer"]));
  expect(live.draw([], region(["status", "prompt", "footer"]))).toBe("");
  const text = live.draw([], region(["status", "prompt!", "footer"]));
  expect(text).toContain("prompt!");
  expect(text).not.toContain("status");
  expect(text).not.toContain("footer");
});

test("S-19 cleared, nothing of the region is left", () => {
  const screen = terminal(20);
  const live = liveRegion(20);
  screen.write(live.draw(["kept"], region(["a", "b"])));
  screen.write(live.clear());
  expect([screen.lines().filter((line) => line !== ""), screen.cursor()]).toEqual([["kept"], [1, 0]]);
});
