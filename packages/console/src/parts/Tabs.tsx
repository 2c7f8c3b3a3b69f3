import { Tabs as Base } from "@base-ui/react/tabs";
import type { ReactNode } from "react";
import css from "./Tabs.module.css";

type Props<T extends string> = Readonly<{
  label: string;
  at: T;
  choose(to: T): void;
  tabs: readonly Readonly<{ id: T; title: string; count?: number }>[];
  children: ReactNode;
  /** Its content scrolls by itself. */
  fill?: boolean;
}>;

export function Tabs<T extends string>({ label, at, choose, tabs, children, fill = false }: Props<T>) {
  const taken = (value: unknown): void => {
    const found = tabs.find(({ id }) => id === value);
    if (found !== undefined) choose(found.id);
  };
  return (
    <Base.Root value={at} onValueChange={taken} className={`${css.root} ${fill ? css.fill : ""}`}>
      <Base.List className={css.list} aria-label={label} activateOnFocus>
        {tabs.map(({ id, title, count }) => (
          <Base.Tab key={id} value={id} className={css.tab}>
            {title}
            {count === undefined || count === 0 ? null : <span className={css.count}>{count}</span>}
          </Base.Tab>
        ))}
      </Base.List>
      <Base.Panel value={at} className={css.panel}>
        {children}
      </Base.Panel>
    </Base.Root>
  );
}
