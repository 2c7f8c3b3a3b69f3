/** A list in pages: its loading, error and empty states, and any number of rows. */
import type { ReactNode } from "react";
import type { Pages } from "../../link/pages.ts";
import type { Query } from "../../link/use.ts";
import { Button } from "../Button.tsx";
import { Failure, Loading } from "../States.tsx";
import css from "./PagedList.module.css";
import { VirtualList } from "./VirtualList.tsx";

type Props<T> = Readonly<{
  label: string;
  asked: Query<unknown>;
  pages: Pages<T>;
  /** The rows to show, where a filter leaves some out. */
  shown?: readonly T[];
  idOf(item: T): string;
  row(item: T): ReactNode;
  /** Height of a row before it is drawn. */
  estimate: number;
  /** Text of the button after the last row. */
  more: string;
  loading?: string;
  /** Shown when the list is empty. */
  children: ReactNode;
}>;

export function PagedList<T>({ label, asked, pages, shown = pages.items, idOf, row, estimate, more, loading, children }: Props<T>) {
  const none = queryFallback(asked, loading);
  if (none !== null) return none;
  const after = pages.hasMore ? (
    <div className={css.after}>
      <Button busy={pages.isLoading} onClick={pages.load}>
        {more}
      </Button>
    </div>
  ) : null;
  if (shown.length === 0)
    return (
      <>
        {children}
        {after}
      </>
    );
  return (
    <VirtualList
      className={css.list}
      snug
      label={label}
      count={shown.length}
      keyAt={(i) => {
        const one = shown[i];
        return one === undefined ? String(i) : idOf(one);
      }}
      estimate={estimate}
      row={(i) => {
        const one = shown[i];
        return one === undefined ? null : row(one);
      }}
      after={after}
    />
  );
}

/** A loading or error state while there is no value; null once there is one. */
export function queryFallback({ value, problem, reload }: Query<unknown>, loading?: string): ReactNode | null {
  if (value !== null) return null;
  return problem === null ? (
    <Loading {...(loading === undefined ? {} : { what: loading })} />
  ) : (
    <Failure problem={problem} again={reload} />
  );
}
