/** Names by their time, the earliest first. Setting and taking cost the logarithm of how many there are. */
import type { Millis } from "@orgate/core";

export type Heap = Readonly<{
  /** Null: it is in here no more. */
  set(name: string, at: Millis | null): void;
  /** When the first one is due. */
  first(): Millis | null;
  /** Removes and returns those that are due by now, at most `most`. */
  due(now: Millis, most: number): readonly string[];
  size(): number;
}>;

export function createHeap(): Heap {
  const rows: { name: string; at: Millis }[] = [];
  const places = new Map<string, number>();
  const put = (i: number, row: { name: string; at: Millis }): void => {
    rows[i] = row;
    places.set(row.name, i);
  };
  const atOf = (i: number): number => rows[i]?.at ?? Number.POSITIVE_INFINITY;

  function up(i: number): void {
    const row = rows[i];
    if (row === undefined) return;
    let at = i;
    for (let above = (at - 1) >> 1; at > 0 && atOf(above) > row.at; above = (at - 1) >> 1) {
      const parent = rows[above];
      if (parent !== undefined) put(at, parent);
      at = above;
    }
    put(at, row);
  }
  function down(i: number): void {
    const row = rows[i];
    if (row === undefined) return;
    let at = i;
    for (;;) {
      const left = 2 * at + 1;
      const child = atOf(left + 1) < atOf(left) ? left + 1 : left;
      const below = rows[child];
      if (below === undefined || below.at >= row.at) break;
      put(at, below);
      at = child;
    }
    put(at, row);
  }
  function remove(name: string): void {
    const i = places.get(name);
    if (i === undefined) return;
    places.delete(name);
    const last = rows.pop();
    if (last === undefined || last.name === name) return;
    put(i, last);
    up(i);
    down(places.get(last.name) ?? i);
  }
  return {
    set(name, at) {
      remove(name);
      if (at === null) return;
      rows.push({ name, at });
      places.set(name, rows.length - 1);
      up(rows.length - 1);
    },
    first: () => rows[0]?.at ?? null,
    due(now, most) {
      const out: string[] = [];
      for (let row = rows[0]; row !== undefined && row.at <= now && out.length < most; row = rows[0]) {
        out.push(row.name);
        remove(row.name);
      }
      return out;
    },
    size: () => rows.length,
  };
}
