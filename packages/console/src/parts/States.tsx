/** Empty, failed and loading states. Each says what to do next. */
import { escapeHidden } from "@orgate/core/vocab";
import type { Problem } from "@orgate/protocol";
import type { ReactNode } from "react";
import { Button } from "./Button.tsx";
import { Icon, type IconName } from "./Icon.tsx";
import css from "./States.module.css";

export function Empty({ icon, title, children }: Readonly<{ icon: IconName; title: string; children?: ReactNode }>) {
  return (
    <div className={css.state}>
      <span className={css.mark}>
        <Icon name={icon} size={28} />
      </span>
      <p className={css.title}>{title}</p>
      {children === undefined ? null : <div className={css.what}>{children}</div>}
    </div>
  );
}

export function Failure({ problem, again }: Readonly<{ problem: Problem; again?: () => void }>) {
  return (
    <div className={`${css.state} ${css.failing}`} role="alert">
      <span className={css.mark}>
        <Icon name="warning" size={28} />
      </span>
      <p className={css.title}>
        <Sentence text={problem.detail} />
      </p>
      <div className={css.what}>
        <p>
          <Sentence text={problem.hint} />
        </p>
      </div>
      {again === undefined ? null : <Button onClick={again}>Try again</Button>}
    </div>
  );
}

/** Shown only when it takes long enough to be noticed. */
export function Loading({ what = "Loading" }: Readonly<{ what?: string }>) {
  return (
    <p className={css.loading} role="status">
      <span className={css.dots} aria-hidden="true" />
      {what}…
    </p>
  );
}

/** Renders text in backticks as code. */
export function Sentence({ text }: Readonly<{ text: string }>) {
  const pieces = sentence(text).split("`");
  return pieces.map((piece, i) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: a piece is what it is by its place
    i % 2 === 1 && i < pieces.length - 1 ? <code key={i}>{piece}</code> : i % 2 === 1 ? `\`${piece}` : piece,
  );
}

/** Turns a fault's lower-case text into a sentence. It may quote untrusted text, so hidden characters are escaped. */
export function sentence(text: string): string {
  const trimmed = escapeHidden(text.trim());
  if (trimmed === "") return "";
  const first = trimmed.startsWith("`") ? trimmed : trimmed.charAt(0).toUpperCase() + trimmed.slice(1);
  return /[.!?…]$/.test(first) ? first : `${first}.`;
}
