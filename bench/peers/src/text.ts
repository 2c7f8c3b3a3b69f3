/** Figures as people read them. */
import type { Spread } from "./results.ts";

/** Three digits, thousands apart. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const fraction = size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return value.toLocaleString("en", { maximumFractionDigits: fraction, minimumFractionDigits: 0 });
}

/** A unit and how many of what is measured make one of it, greatest first. */
type Unit = readonly [name: string, size: number];
export type Scale = readonly Unit[];
export const BYTES: Scale = [
  ["GB", 1e9],
  ["MB", 1e6],
  ["kB", 1e3],
  ["B", 1],
];
export const KILOBYTES: Scale = [
  ["GB", 1e9 / 1_024],
  ["MB", 1e6 / 1_024],
  ["kB", 1e3 / 1_024],
];
export const MICROSECONDS: Scale = [
  ["s", 1e6],
  ["ms", 1e3],
  ["µs", 1],
];

const unitFor = (value: number, scale: Scale): Unit => scale.find(([, size]) => Math.abs(value) >= size) ?? scale.at(-1) ?? ["", 1];

export function amount(value: number, scale: Scale): string {
  const [name, size] = unitFor(value, scale);
  return `${digits(value / size)} ${name}`;
}

/** All three in the unit of the median. */
export function spreadText(spread: Spread | null, scale: Scale): string {
  if (spread === null) return "–";
  const [name, size] = unitFor(spread.median, scale);
  return `${digits(spread.median / size)} [${digits(spread.min / size)}–${digits(spread.max / size)}] ${name}`;
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
  return [line(head), `|${head.map(() => "---").join("|")}|`, ...rows.map(line)].join("\n");
}
