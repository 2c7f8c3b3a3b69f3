// `node scripts/pages/crash-chart.ts` draws README's chart, docs/assets/crash.svg, from docs/benchmarks/crash.json.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

type Row = Readonly<{ peer: string; lost: boolean; effectsDoubled: number; callsRepeated: number }>;
type Score = Readonly<{ peer: string; cases: number; clean: number }>;

const WIDTH = 760;
const [LEFT, RIGHT, TOP, STEP] = [330, 700, 66, 26];
const OURS = "#e5484d";
const STYLE = `<style>
text{font:13px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#6f7883}
.title{font-weight:600;font-size:15px}
.ours{font-weight:700;fill:${OURS}}
@media (prefers-color-scheme:light){text{fill:#4b5563}.ours{fill:${OURS}}}
@media (prefers-color-scheme:dark){text{fill:#aab2bd}.ours{fill:${OURS}}}
</style>`;

const isClean = (row: Row): boolean => !row.lost && row.effectsDoubled === 0 && row.callsRepeated === 0;

/** A crash case is clean when the run ended, no effect happened twice and no answered model call was made again. */
export function scores(rows: readonly Row[]): readonly Score[] {
  return [...new Set(rows.map(({ peer }) => peer))]
    .map((peer) => {
      const own = rows.filter((row) => row.peer === peer);
      return { peer, cases: own.length, clean: own.filter(isClean).length };
    })
    .toSorted((a, b) => b.clean - a.clean);
}

export function crashChart(rows: readonly Row[]): string {
  const all = scores(rows);
  const most = Math.max(...all.map(({ cases }) => cases));
  const title = `kill -9 at ${most} points of a run, then restart: cases that end clean`;
  const bars = all.flatMap(({ peer, cases, clean }, i) => {
    const y = TOP + i * STEP;
    const ours = peer === "Orgate";
    const mark = ours ? ' class="ours"' : "";
    const width = Math.round(((RIGHT - LEFT) * clean) / most);
    return [
      `<text${mark} x="${LEFT - 10}" y="${y + 13}" text-anchor="end">${peer.replaceAll("`", "")}</text>`,
      `<rect x="${LEFT}" y="${y}" width="${RIGHT - LEFT}" height="18" rx="2" fill="#9ca3af" fill-opacity=".18"/>`,
      `<rect x="${LEFT}" y="${y}" width="${width}" height="18" rx="2" fill="${ours ? OURS : "#3b82c4"}"/>`,
      `<text${mark} x="${RIGHT + 8}" y="${y + 13}">${clean} of ${cases}</text>`,
    ];
  });
  const height = TOP + all.length * STEP + 12;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${title}">`,
    STYLE,
    `<text class="title" x="16" y="24">${title}</text>`,
    '<text x="16" y="46">clean: the run finishes, no effect happens twice, no answered model call is made again</text>',
    ...bars,
    "</svg>\n",
  ].join("\n");
}

if (import.meta.main) {
  const root = join(import.meta.dirname, "../..");
  const rows: readonly Row[] = JSON.parse(readFileSync(join(root, "docs/benchmarks/crash.json"), "utf8"));
  writeFileSync(join(root, "docs/assets/crash.svg"), crashChart(rows));
}
