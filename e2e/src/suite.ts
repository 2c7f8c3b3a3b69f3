/** A suite and its bench: how it judges cases and reports. */
import type { Violation } from "./checks.ts";
import type { Stand } from "./stand/stand.ts";

export type Suite = Readonly<{ name: string; run(bench: Bench): Promise<void> }>;

export type Bench = Readonly<{
  stand: Stand;
  seed: number;
  long: boolean;
  /** A line for people, and for docs/results/e2e.txt. */
  say(text: string): void;
  /** Runs one case: it passes if no violation is found. */
  judge(name: string, find: () => Promise<readonly Violation[]>): Promise<void>;
}>;

/** Two cores, two at a time. */
const LANES = 2;

export async function inLanes<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const lane = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}
export const lanes = (): readonly number[] => Array.from({ length: LANES }, (_, i) => i);
