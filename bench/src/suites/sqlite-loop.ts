/** The loop as users run it, against two bare inserts of the same bytes per iteration: append before effect takes two commits. */
import { bareTable, countStored } from "../floors.ts";
import { type Contender, compare, type Effort, type Measured, ratio } from "../measure.ts";
import { type Bench, inFolder, openBench } from "../places.ts";
import { type Aim, digits, type Report } from "../report.ts";

const FULL_ITERATIONS = 100;
const AIM_FULL = 1.5;
const AIM_CPU_US = 250;
const AIM_FLAT = 1.2;

type Options = Readonly<{ effort: Effort; iterations: number }>;

/** Synchronous FULL: what a durable iteration takes. */
export const sqliteFull = ({ effort }: Options): Promise<Report> =>
  inFolder(async (folder) => {
    const bench = await openBench(folder, { powerCut: "lose-nothing", thread: "main" });
    const bare = bareTable(folder, "full");
    const half = "x".repeat(await bytesPerAppend(bench));
    const measured = await compare(
      [
        { label: "two bare FULL inserts (floor)", units: FULL_ITERATIONS, run: twice(FULL_ITERATIONS, () => bare.insert(half)) },
        { label: `loop, SQLite FULL, N=${FULL_ITERATIONS}`, units: FULL_ITERATIONS, run: () => bench.session(FULL_ITERATIONS) },
      ],
      effort,
    );
    bare.close();
    await bench.runtime.close();
    const [floor, ours] = pair(measured);
    const wall = ratio(ours, floor, "wallUs");
    return {
      name: "sqlite-full",
      title: "Loop on SQLite, synchronous FULL",
      unit: "µs/iteration",
      by: "wall",
      lines: [
        { ...floor, ratio: null, more: "" },
        { ...ours, ratio: wall, more: "" },
      ],
      aims: [{ what: "wall against two bare FULL inserts", want: `at most ${AIM_FULL}×`, got: `${digits(wall)}×`, met: wall <= AIM_FULL }],
      notes: [`each insert writes ${half.length} bytes, what one append of the loop stores on average`],
    };
  });

/** Synchronous OFF: the disk does not count, so this is work. */
export const sqliteOff = ({ effort, iterations }: Options): Promise<Report> =>
  inFolder(async (folder) => {
    const bench = await openBench(folder, { powerCut: "lose-last-moments", thread: "main" });
    const bare = bareTable(folder, "off");
    const half = "x".repeat(await bytesPerAppend(bench));
    const sizes = [10, 100, 1_000].filter((n) => n <= iterations);
    const contenders: readonly Contender[] = [
      { label: "two bare OFF inserts (floor)", units: iterations, run: twice(iterations, () => bare.insert(half)) },
      ...sizes.map((n) => ({ label: `loop, SQLite OFF, N=${n}`, units: iterations, run: () => sessions(bench, iterations / n, n) })),
    ];
    const measured = await compare(contenders, effort);
    bare.close();
    await bench.runtime.close();
    const [floor] = pair(measured);
    const ours = measured.slice(1);
    return {
      name: "sqlite-off",
      title: "Loop on SQLite, synchronous OFF",
      unit: "µs/iteration",
      by: "cpu",
      lines: measured.map((m) => ({ ...m, ratio: m === floor ? null : ratio(m, floor, "cpuUs"), more: "" })),
      aims: aimsOfWork(ours, sizes),
      notes: ["N=10 carries the opening and the ending of a session in every ten iterations"],
    };
  });

function aimsOfWork(ours: readonly Measured[], sizes: readonly number[]): readonly Aim[] {
  const [small, big] = [ours[0], ours.at(-1)];
  if (small === undefined || big === undefined) return [];
  const growth = ratio(big, small, "cpuUs");
  const cpu = big.cpu.median;
  return [
    { what: `CPU per iteration, N=${sizes.at(-1)}`, want: `at most ${AIM_CPU_US} µs`, got: `${digits(cpu)} µs`, met: cpu <= AIM_CPU_US },
    {
      what: `CPU per iteration, N=${sizes.at(-1)} against N=${sizes[0]}`,
      want: `flat: at most ${AIM_FLAT}×`,
      got: `${digits(growth)}×`,
      met: growth <= AIM_FLAT,
    },
  ];
}

const twice = (times: number, step: () => void) => (): void => {
  for (let i = 0; i < times * 2; i += 1) step();
};

async function sessions(bench: Bench, times: number, iterations: number): Promise<void> {
  for (let i = 0; i < times; i += 1) await bench.session(iterations);
}

function pair(measured: readonly Measured[]): readonly [Measured, Measured] {
  const [floor, ours] = measured;
  if (floor === undefined || ours === undefined) throw new Error("nothing was measured");
  return [floor, ours];
}

async function bytesPerAppend({ directory, session }: Bench): Promise<number> {
  const before = countStored(directory);
  await session(FULL_ITERATIONS);
  const after = countStored(directory);
  return Math.round((after.bytes - before.bytes) / (after.appends - before.appends));
}
