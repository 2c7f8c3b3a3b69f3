/** Reproducible random numbers: mulberry32. */
export type Random = Readonly<{ below(n: number): number; between(low: number, high: number): number; pick<T>(from: readonly T[]): T }>;

export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const unit = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (n: number): number => Math.floor(unit() * n);
  return {
    below,
    between: (low, high) => low + unit() * (high - low),
    pick(from) {
      const found = from[below(from.length)];
      if (found === undefined) throw new RangeError("there is nothing to pick from");
      return found;
    },
  };
}
