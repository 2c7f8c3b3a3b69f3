/**
 * Line diff of two texts: the shortest script of lines removed and added (Myers), with equal beginnings and ends set aside first.
 * Texts that are too far apart are shown as all removed, all added: a diff that nobody can read is not worth the computation.
 */
export type DiffLine = Readonly<{ kind: "same" | "added" | "removed"; text: string }>;

/** Most lines removed and added that are matched one by one. */
const MOST_EDITS = 600;

export function diffLines(before: string, after: string): readonly DiffLine[] {
  const [a, b] = [linesOf(before), linesOf(after)];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  return [
    ...told("same", a.slice(0, head)),
    ...between(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...told("same", a.slice(a.length - tail)),
  ];
}

const linesOf = (text: string): readonly string[] => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));
const told = (kind: DiffLine["kind"], lines: readonly string[]): readonly DiffLine[] => lines.map((text) => ({ kind, text }));

/** The furthest place in `a` that d edits reach on each diagonal, for every d: the way back is read from them. */
function between(a: readonly string[], b: readonly string[]): readonly DiffLine[] {
  const whole = (): readonly DiffLine[] => [...told("removed", a), ...told("added", b)];
  if (a.length === 0 || b.length === 0) return whole();
  const most = Math.min(a.length + b.length, MOST_EDITS);
  const trail: Map<number, number>[] = [];
  const reach = new Map<number, number>([[1, 0]]);
  for (let d = 0; d <= most; d += 1) {
    trail.push(new Map(reach));
    for (let k = -d; k <= d; k += 2) {
      let x = isDown(reach, k, d) ? (reach.get(k + 1) ?? 0) : (reach.get(k - 1) ?? 0) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      reach.set(k, x);
      if (x >= a.length && x - k >= b.length) return wayBack(a, b, trail);
    }
  }
  return whole();
}

const isDown = (reach: ReadonlyMap<number, number>, k: number, d: number): boolean =>
  k === -d || (k !== d && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));

function wayBack(a: readonly string[], b: readonly string[], trail: readonly ReadonlyMap<number, number>[]): readonly DiffLine[] {
  const lines: DiffLine[] = [];
  let [x, y] = [a.length, b.length];
  for (let d = trail.length - 1; d >= 0; d -= 1) {
    const reach = trail[d] ?? new Map<number, number>();
    const k = x - y;
    const from = isDown(reach, k, d) ? k + 1 : k - 1;
    const fromX = reach.get(from) ?? 0;
    const fromY = fromX - from;
    while (x > fromX && y > fromY && x > 0 && y > 0) {
      lines.push({ kind: "same", text: a[x - 1] ?? "" });
      [x, y] = [x - 1, y - 1];
    }
    if (d === 0) break;
    if (x === fromX) lines.push({ kind: "added", text: b[y - 1] ?? "" });
    else lines.push({ kind: "removed", text: a[x - 1] ?? "" });
    [x, y] = [fromX, fromY];
  }
  return lines.reverse();
}

/** Only the changes, with this many lines around each; null where lines were left out. */
export function withContext(lines: readonly DiffLine[], around: number): readonly (DiffLine | null)[] {
  const shown = lines.map(() => false);
  for (const [i, { kind }] of lines.entries())
    if (kind !== "same") for (let j = Math.max(0, i - around); j <= Math.min(lines.length - 1, i + around); j += 1) shown[j] = true;
  return lines.flatMap((line, i) => (shown[i] ? [line] : shown[i - 1] ? [null] : []));
}
