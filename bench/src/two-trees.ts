/**
 * `npm run bench:trees`: the same benchmarks in two checkouts, in turns, in one run: before and after a change.
 * node bench/src/two-trees.ts --before DIR --only NAME[,NAME] [--turns 8] [--quick] [--json]
 * Each turn runs both trees, the order turning with each; a ratio is the median over the turns of after / before.
 */
import { execFileSync } from "node:child_process";
import { loadavg } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { spread } from "./measure.ts";
import { digits, type Report } from "./report.ts";

const { values } = parseArgs({
  options: {
    before: { type: "string" },
    only: { type: "string", default: "memory-loop,sqlite-full,gate-loop,start" },
    turns: { type: "string", default: "8" },
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});

type Figure = Readonly<{ cpu: number | null; wall: number | null }>;
type Pair = { before: Figure[]; after: Figure[] };

function measure(tree: string, name: string): ReadonlyMap<string, Figure> {
  const args = [join(tree, "bench/src/run.ts"), "--only", name, "--json", ...(values.quick ? ["--quick"] : [])];
  const text = execFileSync(process.execPath, args, { cwd: tree, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  const { reports } = JSON.parse(text) as { readonly reports: readonly Report[] };
  return new Map(
    reports.flatMap((report) =>
      report.lines.map((line): [string, Figure] => [
        `${report.name} · ${line.label}`,
        { cpu: line.cpu?.median ?? null, wall: line.wall?.median ?? null },
      ]),
    ),
  );
}

function compareTrees(before: string, after: string, turns: number): ReadonlyMap<string, Pair> {
  const figures = new Map<string, Pair>();
  for (const name of values.only.split(","))
    for (let turn = 0; turn < turns; turn += 1) {
      const order = turn % 2 === 0 ? (["before", "after"] as const) : (["after", "before"] as const);
      for (const side of order)
        for (const [label, figure] of measure(side === "before" ? before : after, name)) {
          const pair = figures.get(label) ?? { before: [], after: [] };
          figures.set(label, pair);
          pair[side].push(figure);
        }
      if (!values.json) process.stderr.write(`${name}: turn ${turn + 1} of ${turns}, load ${(loadavg()[0] ?? 0).toFixed(1)}\n`);
    }
  return figures;
}

function toRatio({ before, after }: Pair, by: keyof Figure) {
  const ratios = after.flatMap((figure, turn) => {
    const [mine, theirs] = [figure[by], before[turn]?.[by] ?? null];
    return mine === null || theirs === null || theirs === 0 ? [] : [mine / theirs];
  });
  return ratios.length === 0 ? null : spread(ratios);
}

if (values.before === undefined || !(Number(values.turns) >= 1)) {
  console.error("usage: npm run bench:trees -- --before DIR [--only NAME,NAME] [--turns 8] [--quick] [--json]");
  process.exitCode = 2;
} else {
  const figures = compareTrees(resolve(values.before), resolve(import.meta.dirname, "../.."), Number(values.turns));
  const rows = [...figures].map(([label, pair]) => ({ label, cpu: toRatio(pair, "cpu"), wall: toRatio(pair, "wall"), turns: pair }));
  if (values.json) console.log(JSON.stringify({ node: process.version, load: loadavg(), rows }, null, 2));
  else
    for (const { label, cpu, wall } of rows) {
      const show = (s: typeof cpu) => (s === null ? "–" : `${digits(s.median)}× [${digits(s.min)}–${digits(s.max)}]`);
      console.log(`${label.padEnd(60)} after/before: CPU ${show(cpu)}, wall ${show(wall)}`);
    }
}
