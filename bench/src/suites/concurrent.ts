/** A hundred sessions at once: how far group commit carries, with the writer in the main thread and in one of its own. */
import { parseRanges } from "@orgate/core/journal";
import { bareTable, storedBytes } from "../floors.ts";
import { compare, type Effort, ratio, spread } from "../measure.ts";
import { type Bench, inFolder, openBench } from "../places.ts";
import { digits, type Report } from "../report.ts";

const ITERATIONS = 10;

export const concurrent = ({ effort, sessions }: { readonly effort: Effort; readonly sessions: number }): Promise<Report> =>
  inFolder(async (folder) => {
    const main = await openBench(`${folder}/main`, { synchronous: "full", thread: "main" });
    const worker = await openBench(`${folder}/worker`, { synchronous: "full", thread: "worker" });
    const bare = bareTable(folder, "full");
    const units = sessions * ITERATIONS;
    await main.session(ITERATIONS);
    const { bytes, commits } = storedBytes(main.runtime.place.store.records);
    const half = "x".repeat(Math.round(bytes / commits));
    const measured = await compare(
      [
        {
          label: "two bare FULL inserts each (floor)",
          units,
          run: () => {
            for (let i = 0; i < units * 2; i += 1) bare.insert(half);
          },
        },
        { label: `${sessions} sessions, main thread`, units, run: () => atOnce(main, sessions) },
        { label: `${sessions} sessions, worker thread`, units, run: () => atOnce(worker, sessions) },
      ],
      effort,
    );
    const [floor] = measured;
    if (floor === undefined) throw new Error("nothing was measured");
    const groups = ["", groupsOf(main), groupsOf(worker)];
    bare.close();
    await main.runtime.close();
    await worker.runtime.close();
    return {
      name: "concurrent",
      title: `${sessions} sessions at once, ${ITERATIONS} iterations each, synchronous FULL`,
      unit: "µs/iteration",
      by: "wall",
      lines: measured.map((m, i) => ({
        ...m,
        ratio: m === floor ? null : ratio(m, floor, "wallUs"),
        more: `${digits(1e6 / m.wall.median)} iterations/s${groups[i] === "" ? "" : `, ${groups[i]}`}`,
      })),
      aims: [],
      notes: ["the floor is what as many iterations would wait for without group commit: one transaction per append"],
    };
  });

async function atOnce(bench: Bench, sessions: number): Promise<void> {
  await Promise.all(Array.from({ length: sessions }, () => bench.session(ITERATIONS)));
}

/** Sessions per commit, over all that was written. */
function groupsOf({ runtime }: Bench): string {
  const { records, slot } = runtime.place.store;
  const sizes = [...records.commits(slot.writer)].map((c) => parseRanges(c.ranges)?.length ?? 0);
  const { median, max } = spread(sizes);
  return `appends per commit: median ${median}, mean ${digits(sizes.reduce((a, b) => a + b, 0) / sizes.length)}, most ${max}`;
}
