/**
 * How things are measured here: every contender of a benchmark runs in the same process, in turns, round after round, so that what else
 * the machine does falls on all of them. CPU time is the figure to trust on a shared machine; wall time stands beside it.
 */

/** One thing to measure: `run` does `units` of it. */
export type Contender = Readonly<{ label: string; units: number; run(): Promise<void> | void }>;

/** Over the rounds, per unit, in microseconds. */
export type Spread = Readonly<{ median: number; min: number; max: number }>;
export type Measured = Readonly<{ label: string; cpu: Spread; wall: Spread; rounds: readonly Sample[] }>;
export type Sample = Readonly<{ cpuUs: number; wallUs: number }>;

export type Effort = Readonly<{ rounds: number; warmUps: number }>;

/** Warm-up is the same for all: each runs `warmUps` times before any is measured. The order turns with each round. */
export async function compare(contenders: readonly Contender[], { rounds, warmUps }: Effort): Promise<readonly Measured[]> {
  const samples = contenders.map((): Sample[] => []);
  for (let i = 0; i < warmUps; i += 1) for (const contender of contenders) await contender.run();
  for (let round = 0; round < rounds; round += 1) {
    for (let i = 0; i < contenders.length; i += 1) {
      const turn = (i + round) % contenders.length;
      const contender = contenders[turn];
      if (contender !== undefined) samples[turn]?.push(await sample(contender));
    }
  }
  return contenders.map(({ label }, i) => {
    const taken = samples[i] ?? [];
    return { label, cpu: spread(taken.map((s) => s.cpuUs)), wall: spread(taken.map((s) => s.wallUs)), rounds: taken };
  });
}

async function sample({ units, run }: Contender): Promise<Sample> {
  globalThis.gc?.();
  const began = performance.now();
  const before = process.cpuUsage();
  await run();
  const used = process.cpuUsage(before);
  const wall = performance.now() - began;
  return { cpuUs: (used.user + used.system) / units, wallUs: (wall * 1_000) / units };
}

export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  const median = sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
  return { median, min: sorted[0] ?? 0, max: sorted.at(-1) ?? 0 };
}

/** Round by round, then the median: what slowed one down in a round slowed its neighbour too. */
export function ratio(of: Measured, to: Measured, by: keyof Sample): number {
  return spread(of.rounds.map((s, i) => s[by] / (to.rounds[i]?.[by] ?? Number.NaN))).median;
}

/** Bytes in use once everything that can go has gone; needs `--expose-gc`. */
export async function bytesInUse(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error("run it with --expose-gc");
  for (let times = 0; times < 5; times += 1) {
    await new Promise((turn) => setImmediate(turn));
    globalThis.gc();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
