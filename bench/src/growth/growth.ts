/** What must not grow with the journal, on a small one and on one a hundred times as large, in turns; and what reads all of it, per entry and in memory. */

import { type Effort, type Sample, type Spread, spread } from "../measure.ts";
import { digits, type Line, type Report } from "../report.ts";
import { type Filled, inLargeJournals } from "./large-journal.ts";
import { OPERATIONS, type Operation, type Served, serve } from "./operations.ts";
import { type Ran, recordStatements, totalOf } from "./statements.ts";

const AIM = 1.25;
const MB = 1_048_576;

/** `small` and `large` are numbers of sessions, with fifty-nine entries each. */
export type Growing = Readonly<{ effort: Effort; small: number; large: number }>;

export const growth = ({ effort, small, large }: Growing): Promise<Report> =>
  inLargeJournals([small, large], async (folders, filled) => {
    const served: Served[] = [];
    for (const folder of folders) served.push(await serve(folder));
    // first, so that a search is measured when what it looks in is there
    const lines: Line[] = [...(await readAll("views, made once, per entry", makeViews, served, filled))];
    for (const operation of OPERATIONS) lines.push(...(await inTurns(operation, served, effort)));
    for (const [name, path] of WHOLE) lines.push(...(await readAll(name, ({ drain }) => drain(path), served, filled)));
    for (const one of served) await one.close();
    const grown = lines.filter(({ ratio }) => (ratio ?? 0) > AIM).map(({ label, ratio }) => `${label} ${digits(ratio ?? 0)}×`);
    const [few, many] = filled.map(({ sessions, entries }) => `${digits(entries)} entries of ${digits(sessions)} sessions`);
    return {
      name: "growth",
      title: `${few} against ${many}`,
      unit: "µs",
      by: "cpu",
      lines,
      aims: [
        {
          what: "CPU on the large journal against the small one",
          want: `at most ${AIM}× each`,
          got: grown.join(", ") || "all",
          met: grown.length === 0,
        },
      ],
      notes: ["CPU is of the whole process, its threads included; operations go through the server's own HTTP where there is a route"],
    };
  });

/** The order turns with each round. */
async function inTurns({ name, run }: Operation, served: readonly Served[], { rounds, warmUps }: Effort): Promise<readonly Line[]> {
  for (let i = 0; i < warmUps; i += 1) for (const one of served) await run(one);
  const samples = served.map((): Sample[] => []);
  for (let round = 0; round < rounds; round += 1)
    for (let i = 0; i < served.length; i += 1) {
      const turn = (i + round) % served.length;
      const one = served[turn];
      if (one !== undefined) samples[turn]?.push(await sample(() => run(one)));
    }
  const counts: Ran[] = [];
  for (const one of served) counts.push(totalOf(await recordStatements(() => run(one))));
  return toLines(name, samples, (i) => `${digits(counts[i]?.calls ?? 0)} statements, ${digits(counts[i]?.rows ?? 0)} rows`);
}

async function sample(work: () => Promise<void>): Promise<Sample> {
  const [before, began] = [process.cpuUsage(), performance.now()];
  await work();
  const used = process.cpuUsage(before);
  return { cpuUs: used.user + used.system, wallUs: (performance.now() - began) * 1_000 };
}

function toLines(name: string, samples: readonly (readonly Sample[])[], more: (of: number) => string): readonly Line[] {
  const of = (i: number, what: keyof Sample): Spread => spread((samples[i] ?? []).map((s) => s[what]));
  const line = (i: number, label: string, ratio: number | null): Line => ({
    label,
    cpu: of(i, "cpuUs"),
    wall: of(i, "wallUs"),
    ratio,
    more: more(i),
  });
  return [line(0, name, null), line(1, `${name}, large`, of(1, "cpuUs").median / of(0, "cpuUs").median)];
}

/** These read every entry, in a thread of their own. */
const WHOLE = [
  ["verify, per entry", "/journal/verify"],
  ["export, per entry", "/journal/export"],
] as const;

/** Each look makes some more of them. */
async function makeViews({ get }: Served): Promise<void> {
  const look = async () => (await get("/journal/entries?limit=1&kind=turn.ended")) as Readonly<{ behind: number }>;
  while ((await look()).behind > 0);
}

type ReadsAll = (one: Served) => Promise<void>;

async function readAll(name: string, read: ReadsAll, served: readonly Served[], filled: readonly Filled[]): Promise<readonly Line[]> {
  const samples: Sample[][] = [];
  const memory: string[] = [];
  for (const [i, one] of served.entries()) {
    const { entries } = filled[i] ?? { entries: 1 };
    globalThis.gc?.();
    const base = process.memoryUsage.rss();
    let peak = base;
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage.rss());
    }, 20);
    const { cpuUs, wallUs } = await sample(() => read(one));
    clearInterval(watch);
    samples.push([{ cpuUs: cpuUs / entries, wallUs: wallUs / entries }]);
    memory.push(`${digits((peak - base) / MB)} MB more at most`);
  }
  return toLines(name, samples, (i) => memory[i] ?? "");
}
