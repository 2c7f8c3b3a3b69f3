/** A hundred sessions at once: how far group commit carries, with the writer in the main thread and in one of its own. A thousand: how long the event loop is kept from others. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { bareTable, countStored } from "../floors.ts";
import { compare, type Effort, ratio, spread } from "../measure.ts";
import { type Bench, inFolder, openBench } from "../places.ts";
import { type Aim, digits, type Line, type Report } from "../report.ts";

const ITERATIONS = 10;

export const concurrent = ({ effort, sessions }: { readonly effort: Effort; readonly sessions: number }): Promise<Report> =>
  inFolder(async (folder) => {
    const main = await openBench(`${folder}/main`, { powerCut: "lose-nothing", thread: "main" });
    const worker = await openBench(`${folder}/worker`, { powerCut: "lose-nothing", thread: "worker" });
    const bare = bareTable(folder, "full");
    const units = sessions * ITERATIONS;
    await main.session(ITERATIONS);
    const { bytes, appends } = countStored(main.directory);
    const half = "x".repeat(Math.round(bytes / appends));
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

/** Appends under one seal, over all that was written. */
function groupsOf({ directory }: Bench): string {
  const { appends, seals } = countStored(directory);
  return `appends per seal: mean ${digits(appends / seals)}`;
}

// ── a thousand ──

const MB = 1_048_576;
const AIMS = { p50: 10, p99: 50, perSecond: 5_000 } as const;

type Driven = Readonly<{ perSecond: number; cpuUs: number; wallUs: number; p50: number; p99: number; most: number; peakMb: number }>;

/** Lag is reported for each thread apart: with a thread of its own the loop also waits for the writer, and is free meanwhile. */
export const thousand = ({ rounds, sessions }: { readonly rounds: number; readonly sessions: number }): Promise<Report> =>
  inFolder(async (folder) => {
    const lines: Line[] = [];
    const aims: Aim[] = [];
    for (const thread of ["main", "worker"] as const) {
      const bench = await openBench(`${folder}/${thread}`, { powerCut: "lose-nothing", thread });
      await driveAtOnce(bench, Math.min(sessions, 100)); // warm-up
      const all: Driven[] = [];
      for (let round = 0; round < rounds; round += 1) all.push(await driveAtOnce(bench, sessions));
      await bench.runtime.close();
      const of = (what: keyof Driven): number => spread(all.map((one) => one[what])).median;
      lines.push({
        label: `${sessions} sessions, ${thread} thread`,
        cpu: spread(all.map((one) => one.cpuUs)),
        wall: spread(all.map((one) => one.wallUs)),
        ratio: null,
        more: `lag at most ${digits(of("most"))} ms, heap at most ${digits(of("peakMb"))} MB`,
      });
      const [p50, p99, perSecond] = [of("p50"), of("p99"), of("perSecond")];
      aims.push(
        { what: `${thread}: lag p50`, want: `at most ${AIMS.p50} ms`, got: `${digits(p50)} ms`, met: p50 <= AIMS.p50 },
        { what: `${thread}: lag p99`, want: `at most ${AIMS.p99} ms`, got: `${digits(p99)} ms`, met: p99 <= AIMS.p99 },
        { what: `${thread}: iterations/s`, want: `at least ${AIMS.perSecond}`, got: digits(perSecond), met: perSecond >= AIMS.perSecond },
      );
    }
    return {
      name: "thousand",
      title: `${sessions} sessions driving at once, ${ITERATIONS} iterations each, synchronous FULL`,
      unit: "µs/iteration",
      by: "wall",
      lines,
      aims,
      notes: ["lag is what a timer of 1 ms waits beyond its time (perf_hooks.monitorEventLoopDelay)"],
    };
  });

async function driveAtOnce(bench: Bench, sessions: number): Promise<Driven> {
  globalThis.gc?.();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  let peak = process.memoryUsage().heapUsed;
  const base = peak;
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().heapUsed);
  }, 20);
  const [before, began] = [process.cpuUsage(), performance.now()];
  delay.enable();
  await atOnce(bench, sessions);
  delay.disable();
  const [used, wallMs] = [process.cpuUsage(before), performance.now() - began];
  clearInterval(watch);
  const units = sessions * ITERATIONS;
  const lagMs = (ns: number): number => Math.max(0, ns / 1e6 - 1);
  return {
    perSecond: (units * 1_000) / wallMs,
    cpuUs: (used.user + used.system) / units,
    wallUs: (wallMs * 1_000) / units,
    p50: lagMs(delay.percentile(50)),
    p99: lagMs(delay.percentile(99)),
    most: lagMs(delay.max),
    peakMb: (peak - base) / MB,
  };
}
