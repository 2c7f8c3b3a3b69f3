/** Plots as SVG, written by hand: lines on logarithmic scales with their names at the right end, and bars. Readable on light and dark pages. */

export type Line = Readonly<{ name: string; ours: boolean; floor: boolean; points: readonly (readonly [x: number, y: number])[] }>;
export type Bar = Readonly<{ name: string; ours: boolean; floor: boolean; value: number; label: string }>;

const WIDTH = 960;
/** Middle tones: each stands out from white and from near-black. */
const COLOURS = [
  "#3b82c4",
  "#c2762b",
  "#4c9f70",
  "#a36ac7",
  "#b8505c",
  "#7a8f2f",
  "#2f9c9c",
  "#b0609c",
  "#8c7355",
  "#5a78d6",
  "#997a00",
  "#6b8aa0",
];
const OURS = "#e5484d";
const FLOOR = "#8a8f98";

const STYLE = `<style>
text{font:13px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#6f7883}
.title{font-weight:600;font-size:15px}
.ours{font-weight:700;fill:${OURS}}
/* where nobody says which it is, a grey that is legible on both */
.grid{stroke:#9ca3af;stroke-opacity:.3}
@media (prefers-color-scheme:light){text{fill:#4b5563}.ours{fill:${OURS}}}
@media (prefers-color-scheme:dark){text{fill:#aab2bd}.ours{fill:${OURS}}}
</style>`;

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
const round = (n: number): string => String(Math.round(n * 10) / 10);

function frame(height: number, title: string, body: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escaped(title)}">`,
    STYLE,
    `<text class="title" x="16" y="24">${escaped(title)}</text>`,
    ...body,
    "</svg>\n",
  ].join("\n");
}

/** Names one below the other with room between them, each as near to its line's end as that allows. */
export function spaced(wanted: readonly number[], gap: number, least: number, most: number): readonly number[] {
  const order = wanted.map((y, i) => ({ y, i })).toSorted((a, b) => a.y - b.y);
  let last = least - gap;
  for (const place of order) {
    place.y = Math.max(place.y, last + gap);
    last = place.y;
  }
  let next = most + gap;
  for (const place of order.toReversed()) {
    place.y = Math.min(place.y, next - gap);
    next = place.y;
  }
  return wanted.map((_, i) => order.find((place) => place.i === i)?.y ?? least);
}

type Axes = Readonly<{ x: string; y: string; yText: (y: number) => string }>;

export function linePlot(title: string, { x: xName, y: yName, yText }: Axes, lines: readonly Line[]): string {
  const drawn = lines.filter(({ points }) => points.length > 0);
  const all = drawn.flatMap(({ points }) => points);
  if (all.length === 0) return frame(60, `${title}: nothing was measured`, []);
  const height = Math.max(420, 110 + drawn.length * 19);
  const [left, right, top, bottom] = [76, WIDTH - 410, 62, height - 48];
  const xs = [...new Set(all.map(([x]) => x))].toSorted((a, b) => a - b);
  const [x0, x1] = [Math.log10(xs[0] ?? 1), Math.log10(xs.at(-1) ?? 10)];
  const y0 = Math.log10(Math.min(...all.map(([, y]) => y))) - 0.15;
  const y1 = Math.max(y0 + 1, Math.log10(Math.max(...all.map(([, y]) => y))) + 0.15);
  const px = (x: number): number => (x1 === x0 ? left : left + ((Math.log10(x) - x0) / (x1 - x0)) * (right - left));
  const py = (y: number): number => bottom - ((Math.log10(y) - y0) / (y1 - y0)) * (bottom - top);
  const body: string[] = [];
  for (let e = Math.ceil(y0); e <= y1; e += 1) {
    const y = py(10 ** e);
    body.push(`<line class="grid" x1="${left}" x2="${right}" y1="${round(y)}" y2="${round(y)}"/>`);
    body.push(`<text x="${left - 8}" y="${round(y + 4)}" text-anchor="end">${escaped(yText(10 ** e))}</text>`);
  }
  for (const x of xs) body.push(`<text x="${round(px(x))}" y="${bottom + 20}" text-anchor="middle">${x.toLocaleString("en")}</text>`);
  body.push(`<text x="${round((left + right) / 2)}" y="${height - 8}" text-anchor="middle">${escaped(xName)}</text>`);
  body.push(`<text x="16" y="42">${escaped(yName)}</text>`);
  const ends = drawn.map(({ points }) => py(points.at(-1)?.[1] ?? 1));
  const places = spaced(ends, 18, top, bottom + 10);
  let next = 0;
  for (const [i, { name, ours, floor, points }] of drawn.entries()) {
    const colour = ours ? OURS : floor ? FLOOR : COLOURS[next++ % COLOURS.length];
    const path = points.map(([x, y]) => `${round(px(x))},${round(py(y))}`).join(" ");
    const dash = floor ? ' stroke-dasharray="5 4"' : "";
    body.push(`<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="${ours ? 3.5 : 1.8}"${dash}/>`);
    for (const [x, y] of points) body.push(`<circle cx="${round(px(x))}" cy="${round(py(y))}" r="${ours ? 4 : 3}" fill="${colour}"/>`);
    const [endX, endY, y] = [px(points.at(-1)?.[0] ?? 1), ends[i] ?? 0, places[i] ?? 0];
    body.push(
      `<path d="M${round(endX + 6)} ${round(endY)}L${right + 22} ${round(y)}" stroke="${colour}" stroke-opacity=".5" fill="none"/>`,
    );
    const last = points.at(-1)?.[1] ?? 0;
    body.push(`<text${ours ? ' class="ours"' : ""} x="${right + 28}" y="${round(y + 4)}">${escaped(`${yText(last)}  ${name}`)}</text>`);
  }
  return frame(height, title, body);
}

/** On a logarithmic scale: what differs by a factor of a thousand is still to be seen. */
export function barPlot(title: string, bars: readonly Bar[]): string {
  const drawn = bars.filter(({ value }) => value > 0).toSorted((a, b) => a.value - b.value);
  if (drawn.length === 0) return frame(60, `${title}: nothing was measured`, []);
  const [left, right, step] = [340, WIDTH - 110, 26];
  const least = Math.log10(Math.min(...drawn.map(({ value }) => value))) - 0.3;
  const most = Math.log10(Math.max(...drawn.map(({ value }) => value)));
  const body = drawn.flatMap(({ name, ours, floor, value, label }, i) => {
    const y = 44 + i * step;
    const width = 4 + ((Math.log10(value) - least) / Math.max(0.3, most - least)) * (right - left - 4);
    const colour = ours ? OURS : floor ? FLOOR : COLOURS[0];
    const mark = ours ? ' class="ours"' : "";
    return [
      `<text${mark} x="${left - 10}" y="${y + 13}" text-anchor="end">${escaped(name)}</text>`,
      `<rect x="${left}" y="${y}" width="${round(width)}" height="18" rx="2" fill="${colour}"/>`,
      `<text${mark} x="${round(left + width + 8)}" y="${y + 13}">${escaped(label)}</text>`,
    ];
  });
  return frame(44 + drawn.length * step + 16, `${title} (logarithmic)`, body);
}
