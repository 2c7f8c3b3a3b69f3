/** What a benchmark has to say, and how it looks in a terminal. */
import type { Spread } from "./measure.ts";

export type Line = Readonly<{
  label: string;
  cpu: Spread | null;
  wall: Spread | null;
  /** Against the floor of the same report, by what `Report.by` names; null for the floor itself. */
  ratio: number | null;
  /** What else was found out about it. */
  more: string;
}>;

/** What we hope for. A missed aim is reported, never hidden and never a failure: a shared machine can miss any of them. */
export type Aim = Readonly<{ what: string; want: string; got: string; met: boolean }>;

export type Report = Readonly<{
  name: string;
  title: string;
  /** What the figures are per: `µs per iteration`. */
  unit: string;
  by: "cpu" | "wall";
  lines: readonly Line[];
  aims: readonly Aim[];
  notes: readonly string[];
}>;

const BAR = 30;

export function toText({ title, unit, by, lines, aims, notes }: Report): string {
  const most = Math.max(...lines.map((l) => l[by]?.median ?? 0));
  const rows = lines.map((l) => [
    l.label,
    figure(l.cpu),
    figure(l.wall),
    l.ratio === null ? "" : `${digits(l.ratio)}×`,
    bar(l[by]?.median ?? 0, most),
    l.more,
  ]);
  const head = ["", `cpu ${unit}`, `wall ${unit}`, "to floor", by, ""];
  const table = columns([head, ...rows]);
  const hopes = aims.map((a) => `  ${a.met ? "met   " : "MISSED"} ${a.what}: ${a.got} (aim ${a.want})`);
  return [`\n${title}`, table, ...hopes, ...notes.map((n) => `  ${n}`)].join("\n");
}

const figure = (s: Spread | null): string => (s === null ? "" : `${digits(s.median)} [${digits(s.min)}–${digits(s.max)}]`);

export function digits(n: number): string {
  if (!Number.isFinite(n)) return "–";
  if (n >= 1_000) return Math.round(n).toLocaleString("en-US");
  return n >= 100 ? n.toFixed(0) : n >= 10 ? n.toFixed(1) : n.toFixed(2);
}

const bar = (value: number, most: number): string => (most > 0 ? "█".repeat(Math.max(1, Math.round((value / most) * BAR))) : "");

function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((r) => r[i]?.length ?? 0)));
  return rows
    .map((r) =>
      `  ${r
        .map((cell, i) => (i === 0 || i > 3 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
        .join("  ")
        .trimEnd()}`.trimEnd(),
    )
    .join("\n");
}
