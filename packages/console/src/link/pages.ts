/** Lists in pages: the first page is read again when something happens, later pages stay as they were. */
import type { Called } from "@orgate/protocol";
import { useCallback, useRef, useState } from "react";
import { toastProblem } from "../state/toasts.ts";

type PageOf<T, N> = Readonly<{ items: readonly T[]; next: N | null }>;
export type Pages<T> = Readonly<{ items: readonly T[]; hasMore: boolean; isLoading: boolean; load(): void }>;

type Given<T, N> = Readonly<{
  first: PageOf<T, N> | null;
  /** Identifies the query: another key starts over. */
  key: string;
  idOf(item: T): string | number;
  read(next: N): Promise<Called<PageOf<T, N>>>;
  /** `Older sessions could not be read`. */
  failed: string;
}>;

export function usePages<T, N>({ first, key, idOf, read, failed }: Given<T, N>): Pages<T> {
  const [pages, setPages] = useState<Readonly<{ key: string; items: readonly T[]; next: N | null }> | null>(null);
  const [isLoading, setLoading] = useState(false);
  const mine = pages?.key === key ? pages : null;
  const next = mine === null ? (first?.next ?? null) : mine.next;
  const reading = useRef(read);
  reading.current = read;
  const load = useCallback(() => {
    if (next === null) return;
    setLoading(true);
    void reading.current(next).then((came) => {
      setLoading(false);
      if (came.kind === "problem") toastProblem(failed, came.problem);
      else setPages((now) => ({ key, items: [...(now?.key === key ? now.items : []), ...came.value.items], next: came.value.next }));
    });
  }, [key, next, failed]);
  const shown = first?.items ?? [];
  const ids = new Set(shown.map(idOf));
  return { items: [...shown, ...(mine?.items ?? []).filter((item) => !ids.has(idOf(item)))], hasMore: next !== null, isLoading, load };
}
