/** Words that were meant: for hints. */
const MAX_KNOWN = 12;
/** A suggestion, when one is near enough to be meant. */
export function suggestNearest(word: string, known: readonly string[]): string {
  const [best] = known.map((k) => ({ k, d: editDistance(word, k) })).sort((a, b) => a.d - b.d);
  return best !== undefined && best.d <= Math.max(2, Math.floor(best.k.length / 3))
    ? `did you mean \`${best.k}\`?`
    : `known: ${known.slice(0, MAX_KNOWN).join(", ")}${known.length > MAX_KNOWN ? ", …" : ""}`;
}

/** Close enough to be meant: a third of its letters wrong at most. */
export function findNearestWord(given: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let least = Math.max(1, Math.floor(given.length / 3)) + 1;
  for (const one of known) {
    const far = one.startsWith(given) && given.length >= 2 ? 1 : editDistance(given, one);
    if (far < least) [best, least] = [one, far];
  }
  return best;
}

/** Letters to change, add, leave out or swap with their neighbour. */
function editDistance(a: string, b: string): number {
  let [older, old] = [[] as number[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1];
      let least = Math.min((old[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (old[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, (older[j - 2] ?? 0) + 1);
      row.push(least);
    }
    [older, old] = [old, row];
  }
  return old[b.length] ?? 0;
}
