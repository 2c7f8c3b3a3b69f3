/** Figures to see at a glance: a number, its unit, and whether it is fine. */
import type { ReactNode } from "react";
import { Link } from "../Link.tsx";
import css from "./Figures.module.css";

export type Figure = Readonly<{ name: string; value: string; says?: string; tone?: "plain" | "ok" | "wait" | "bad"; to?: string }>;

export function Figures({ label, of }: Readonly<{ label: string; of: readonly Figure[] }>) {
  return (
    <ul className={css.figures} aria-label={label}>
      {of.map(({ name, value, says = "", tone = "plain", to }) => (
        <li key={name} className={css[tone]}>
          <Framed to={to}>
            <span className={css.name}>{name}</span>
            <span className={css.value}>{value}</span>
            <span className={css.says}>{says}</span>
          </Framed>
        </li>
      ))}
    </ul>
  );
}

function Framed({ to, children }: Readonly<{ to: string | undefined; children: ReactNode }>) {
  return to === undefined ? (
    <div className={css.figure}>{children}</div>
  ) : (
    <Link className={css.figure} to={to}>
      {children}
    </Link>
  );
}

/** Names and their values. */
export function Facts({ of }: Readonly<{ of: readonly (readonly [string, ReactNode])[] }>) {
  return (
    <dl className={css.facts}>
      {of.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
