/** Colours that no tool can look at: a canvas and bars are pictures to it. */
import { expect, test } from "vitest";
import css from "./tokens.css?raw";

type Scheme = "light" | "dark";

function colour(name: string, scheme: Scheme): string {
  const value = new RegExp(`--${name}: ([^;]+);`).exec(css)?.[1] ?? "";
  const [, light, dark] = /^light-dark\((#\w+), (#\w+)\)$/.exec(value) ?? [];
  const [, other] = /^var\(--([\w-]+)\)$/.exec(value) ?? [];
  return other === undefined ? ((scheme === "light" ? light : dark) ?? value) : colour(other, scheme);
}

/** WCAG's own: relative luminance of two colours against each other. */
function contrast(a: string, b: string): number {
  const luminance = (hex: string): number => {
    const [r = 0, g = 0, blue = 0] = [1, 3, 5].map((i) => {
      const part = Number.parseInt(hex.slice(i, i + 2), 16) / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * blue;
  };
  const [dark = 0, light = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

const GROUNDS = ["paper", "surface", "sunken"];
const DRAWN = ["observe", "reason", "gate", "act", "ok", "bad", "wait", "focus", "line-strong"];
const WRITTEN = ["ink", "ink-2", "ink-3", "accent", "observe", "reason", "gate", "act", "ok", "bad"];

test.each(["light", "dark"] as const)(
  "O-10 in %s colours phases, marks and rings stand out 3:1 from every ground, and words 4.5:1, also on a phase",
  (scheme) => {
    const of = (name: string): string => colour(name, scheme);
    const weak = [
      ...GROUNDS.flatMap((ground) => DRAWN.map((name) => [name, ground, 3] as const)),
      ...GROUNDS.flatMap((ground) => WRITTEN.map((name) => [name, ground, 4.5] as const)),
      ...["observe", "reason", "gate", "act", "bad", "wait"].map((name) => ["surface", name, 4.5] as const),
    ].filter(([a, b, least]) => contrast(of(a), of(b)) < least);
    expect(weak.map(([a, b]) => `${a} on ${b}: ${contrast(of(a), of(b)).toFixed(2)}`)).toEqual([]);
  },
);
