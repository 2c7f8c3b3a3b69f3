/** Words that were meant: for hints. */
const MAX_KNOWN = 12;
/** A suggestion, when one is near enough to be meant. */
export function nearest(word: string, known: readonly string[]): string {
  const [best] = known.map((k) => ({ k, d: distance(word, k) })).sort((a, b) => a.d - b.d);
  return best !== undefined && best.d <= Math.max(2, Math.floor(best.k.length / 3))
    ? `did you mean \`${best.k}\`?`
    : `known: ${known.slice(0, MAX_KNOWN).join(", ")}${known.length > MAX_KNOWN ? ", …" : ""}`;
}

function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1)
      next[j] = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length] ?? 0;
}
