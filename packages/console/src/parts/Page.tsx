/** The frame of a screen: its title, what belongs beside it, and the rest. */
import { type ReactNode, useEffect } from "react";
import css from "./Page.module.css";

type Props = Readonly<{ title: string; aside?: ReactNode; lead?: ReactNode; children: ReactNode; fill?: boolean }>;

/** `fill`: the screen is as high as the window, and what is in it scrolls by itself. */
export function Page({ title, aside, lead, children, fill = false }: Props) {
  useEffect(() => {
    document.title = `${title} · Orgate`; // tabs and histories tell one session from another
  }, [title]);
  return (
    <div className={`${css.page} ${fill ? css.fill : ""}`}>
      <header className={css.head}>
        <div className={css.words}>
          <h1>{title}</h1>
          {lead === undefined ? null : <p className={css.lead}>{lead}</p>}
        </div>
        {aside === undefined ? null : <div className={css.aside}>{aside}</div>}
      </header>
      {children}
    </div>
  );
}
