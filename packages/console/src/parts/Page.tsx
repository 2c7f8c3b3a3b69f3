/** The frame of a screen: title, lead, side content, body. */
import { type ReactNode, useEffect } from "react";
import css from "./Page.module.css";

type Props = Readonly<{ title: string; aside?: ReactNode; lead?: ReactNode; children: ReactNode; fill?: boolean }>;

/** `fill`: the screen is as high as the window, and its content scrolls. */
export function Page({ title, aside, lead, children, fill = false }: Props) {
  useEffect(() => {
    document.title = `${title} · Orgate`; // distinguishes sessions in tabs and history
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
