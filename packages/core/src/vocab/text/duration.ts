const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `30s`, `15m`, `8h`, `60d` in milliseconds; null for anything else. */
export function durationWords(text: string): number | null {
  const m = /^([1-9]\d{0,5})(s|m|h|d)$/.exec(text);
  return m === null ? null : Number(m[1]) * (UNITS[m[2] ?? ""] ?? 0);
}
