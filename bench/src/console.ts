/** The console with a session of ten thousand entries, timed by a real browser. Started as a process: the browser's kit is `e2e`'s. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { spread } from "./measure.ts";
import type { Report } from "./report.ts";

type Told = Readonly<{
  opened: readonly number[];
  whole: readonly number[];
  tasks: readonly number[];
  scrolling: readonly number[];
  nodes: number;
}>;

export async function consoleSession({ rounds }: Readonly<{ rounds: number }>): Promise<Report> {
  const script = join(import.meta.dirname, "..", "..", "e2e", "src", "console", "measure.ts");
  const ran = spawnSync(process.execPath, [script, String(rounds)], { encoding: "utf8" });
  if (ran.status !== 0) throw new Error(ran.stderr);
  const { opened, whole, tasks, scrolling, nodes }: Told = JSON.parse(ran.stdout);
  const first = spread(opened);
  const longest = Math.max(...scrolling);
  const line = (label: string, values: readonly number[], more = ""): Report["lines"][number] => ({
    label,
    cpu: null,
    wall: spread(values),
    ratio: null,
    more,
  });
  return {
    name: "console",
    title: "A session of 10,000 entries in the console",
    unit: "ms",
    by: "wall",
    lines: [
      line("opened: from the click to its entries on the page", opened),
      line("all of it followed and folded", whole),
      line("longest task over 50 ms while it opens (0: none)", tasks),
      line("longest task over 50 ms while scrolling (0: none)", scrolling, `${nodes} elements at the most`),
    ],
    aims: [
      { what: "opening it", want: "< 1 s", got: `${Math.round(first.median)} ms`, met: first.median < 1_000 },
      {
        what: "the longest task while scrolling",
        want: "≤ 50 ms",
        got: longest === 0 ? "none above" : `${Math.round(longest)} ms`,
        met: longest === 0,
      },
    ],
    notes: [],
  };
}
