/** The console with a session of ten thousand entries, timed by a real browser. Started as a process: the browser's kit is `e2e`'s. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { spread } from "../measure.ts";
import type { Line, Report } from "../report.ts";

type Longest = Readonly<{ wall: number; cpu: number }>;
type Told = Readonly<{
  opened: readonly number[];
  whole: readonly number[];
  opening: readonly Longest[];
  scrolling: readonly Longest[];
  nodes: number;
}>;

export async function consoleSession({ rounds }: Readonly<{ rounds: number }>): Promise<Report> {
  const script = join(import.meta.dirname, "..", "..", "..", "e2e", "src", "console", "measure.ts");
  const ran = spawnSync(process.execPath, [script, String(rounds)], { encoding: "utf8" });
  if (ran.status !== 0) throw new Error(ran.stderr);
  const { opened, whole, opening, scrolling, nodes }: Told = JSON.parse(ran.stdout);
  const first = spread(opened);
  const scrolled = spread(scrolling.map(({ cpu }) => cpu));
  const timed = (label: string, values: readonly number[]): Line => ({ label, cpu: null, wall: spread(values), ratio: null, more: "" });
  const task = (label: string, of: readonly Longest[], more: string): Line => ({
    label,
    cpu: spread(of.map(({ cpu }) => cpu)),
    wall: spread(of.map(({ wall }) => wall)),
    ratio: null,
    more,
  });
  return {
    name: "console",
    title: "A session of 10,000 entries in the console",
    unit: "ms",
    by: "wall",
    lines: [
      timed("opened: from the click to its entries on the page", opened),
      timed("all of it followed and folded", whole),
      task("longest task while it opens", opening, ""),
      task("longest task while scrolling", scrolling, `${nodes} elements at the most`),
    ],
    aims: [
      { what: "opening it", want: "< 1 s", got: `${Math.round(first.median)} ms`, met: first.median < 1_000 },
      {
        what: "the longest task while scrolling, by the processor",
        want: "≤ 50 ms",
        got: `${Math.round(scrolled.max)} ms`,
        met: scrolled.max <= 50,
      },
    ],
    notes: ["By the browser's own trace: wall counts what else the machine did meanwhile."],
  };
}
