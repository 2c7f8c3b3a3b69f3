/** What a run leaves behind, and what is computed from it. All of docs/benchmarks is made from this and nothing else. */
import type { WorkloadId } from "./plan.ts";

/** Per iteration, decision or start, of `units` of them; memory in kilobytes. */
export type Figures = Readonly<{
  units: number;
  cpuUs: number;
  wallUs: number;
  written: number | null;
  disk: number | null;
  rssBefore: number | null;
  rssPeak: number | null;
}>;
export type Cell = Readonly<{ n: number; policies: number; what: "loop" | "decision" | "mid-run" | "start" }>;
export type Told = Cell & (Readonly<{ kind: "figures" } & Figures> | Readonly<{ kind: "mid-run"; finished: number; found: number }>);

/** One process. */
export type Sample = Readonly<{
  workload: WorkloadId;
  variant: string;
  round: number;
  /** The mid-run check of W2: one for each variant. */
  mid: boolean;
  told: readonly Told[];
  /** Why there is not more; null when all was told. */
  failure: string | null;
  seconds: number;
}>;

export type Size = Readonly<{ id: string; bytes: number; packages: number }>;

export type Results = Readonly<{
  format: 1;
  complete: boolean;
  quick: boolean;
  date: string;
  rounds: number;
  machine: Readonly<{ cpu: string; cores: number; memoryGb: number; system: string; node: string }>;
  /** Load average (one minute) when it began, and the most that was seen between samples. */
  load: Readonly<{ first: number; most: number }>;
  versions: Readonly<Record<string, string>>;
  /** Of compiled Orgate and the lock files: a run that is taken up again must measure the same. */
  digest: string;
  /** The commit that was measured; `+` behind it when files had been changed. Absent in results that are older than this field. */
  commit?: string;
  sizes: readonly Size[];
  samples: readonly Sample[];
}>;

export type Spread = Readonly<{ median: number; min: number; max: number }>;

export function spreadOf(values: readonly number[]): Spread | null {
  const sorted = values.toSorted((a, b) => a - b);
  const [min, max] = [sorted[0], sorted.at(-1)];
  if (min === undefined || max === undefined) return null;
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? max;
  return { median: sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2, min, max };
}

export type Metric = "cpuUs" | "wallUs" | "written" | "disk" | "rssPerSession" | "rssPeak";
export type Where = Readonly<{ workload: WorkloadId; variant: string; n: number; policies?: number; what?: Cell["what"] }>;

/** One value per round, in the order of the rounds; rounds without one are left out. */
export function valuesOf({ samples }: Results, where: Where, metric: Metric): ReadonlyMap<number, number> {
  const { workload, variant, n, policies = 1, what = "loop" } = where;
  const found = new Map<number, number>();
  for (const sample of samples) {
    if (sample.workload !== workload || sample.variant !== variant) continue;
    for (const told of sample.told) {
      if (told.kind !== "figures" || told.n !== n || told.policies !== policies || told.what !== what) continue;
      const value = figureOf(told, metric);
      if (value !== null) found.set(sample.round, value);
    }
  }
  return found;
}

function figureOf(figures: Figures & Cell, metric: Metric): number | null {
  if (metric !== "rssPerSession") return figures[metric];
  if (figures.rssBefore === null || figures.rssPeak === null) return null;
  return (Math.max(0, figures.rssPeak - figures.rssBefore) * 1_024) / (figures.units / figures.n);
}

export const spreadAt = (results: Results, where: Where, metric: Metric): Spread | null =>
  spreadOf([...valuesOf(results, where, metric).values()]);

/** Round by round, then the median: what slowed one down in a round slowed its neighbours too. */
export function ratioAt(results: Results, of: Where, to: Where, metric: Metric): number | null {
  const base = valuesOf(results, to, metric);
  const ratios = [...valuesOf(results, of, metric)].flatMap(([round, value]) => {
    const other = base.get(round);
    return other === undefined || other === 0 ? [] : [value / other];
  });
  return spreadOf(ratios)?.median ?? null;
}

/** The slope between two sizes on logarithmic scales: 0 is a cost per iteration that does not grow, 1 a total that grows with the square. */
export function growthOf(results: Results, where: Where, to: number, metric: Metric): number | null {
  const [from, there] = [spreadAt(results, where, metric), spreadAt(results, { ...where, n: to }, metric)];
  if (from === null || there === null || from.median <= 0 || there.median <= 0) return null;
  return Math.log(there.median / from.median) / Math.log(to / where.n);
}

export function failureAt({ samples }: Results, workload: WorkloadId, variant: string): string | null {
  return samples.find((s) => s.workload === workload && s.variant === variant && s.failure !== null)?.failure ?? null;
}

export function midRunOf({ samples }: Results, variant: string): Readonly<{ finished: number; found: number }> | null {
  for (const sample of samples) if (sample.variant === variant) for (const told of sample.told) if (told.kind === "mid-run") return told;
  return null;
}

export function decodeResults(text: string): Results {
  const found = JSON.parse(text) as Results;
  if (found.format !== 1) throw new Error(`results of format ${found.format} are not known here`);
  return found;
}
