/** How much of what: the same for everybody. Chosen so that five rounds of all of it take less than half an hour on two quiet cores. */

/** W5 and W6 are the crash matrix, src/crash. */
export type WorkloadId = "W1" | "W2" | "W3" | "W4" | "W7";
export const WORKLOADS: readonly WorkloadId[] = ["W4", "W7", "W1", "W2", "W3"]; // the short ones first

export type Plan = Readonly<{
  /** Iterations run before anything is measured, in runs of ten. */
  warmUp: number;
  /** Measured: so many runs, one after the other, of so many iterations. */
  sizes: readonly Readonly<{ n: number; runs: number }>[];
  /** At once. */
  sessions: number;
  policies: readonly number[];
  /** W7: decisions by themselves. */
  decisions: number;
}>;

const NONE: Plan = { warmUp: 0, sizes: [], sessions: 1, policies: [1], decisions: 0 };

const FULL: Readonly<Record<Exclude<WorkloadId, "W4">, Plan>> = {
  W1: { ...NONE, warmUp: 2_000, sizes: [sized(10, 50), sized(100, 3), sized(1_000, 1)] },
  W2: { ...NONE, warmUp: 300, sizes: [sized(10, 10), sized(100, 2), sized(500, 1), sized(1_000, 1)] },
  W3: { ...NONE, warmUp: 500, sizes: [sized(10, 1)], sessions: 1_000 },
  W7: { ...NONE, warmUp: 1_000, sizes: [sized(100, 5)], policies: [1, 10, 100], decisions: 2_000 },
};

/** For trying things: figures of a process that has hardly begun. */
const QUICK: typeof FULL = {
  W1: { ...NONE, warmUp: 50, sizes: [sized(10, 3), sized(100, 1)] },
  W2: { ...NONE, warmUp: 20, sizes: [sized(10, 2), sized(100, 1)] },
  W3: { ...NONE, warmUp: 50, sizes: [sized(10, 1)], sessions: 50 },
  W7: { ...NONE, warmUp: 50, sizes: [sized(100, 1)], policies: [1, 10, 100], decisions: 100 },
};

export const planOf = (workload: Exclude<WorkloadId, "W4">, quick: boolean): Plan => (quick ? QUICK : FULL)[workload];

/** W2, once per variant: half-way through this many iterations, how many finished results are in the store's files? */
export const MID_RUN = 40;

/** A process that has worked for so long on one cell is ended, and the cell says so. */
export const PATIENCE_MS = 120_000;

function sized(n: number, runs: number) {
  return { n, runs };
}
