import type { ButtonHTMLAttributes, ReactNode } from "react";
import css from "./Button.module.css";
import { Icon, type IconName } from "./Icon.tsx";

type Props = Readonly<{
  tone?: "plain" | "first" | "good" | "bad" | "quiet";
  size?: "normal" | "small";
  icon?: IconName;
  /** Its action is under way: the button stays in place and cannot be pressed twice. */
  busy?: boolean;
  children?: ReactNode;
}> &
  Omit<ButtonHTMLAttributes<HTMLButtonElement>, "children">;

export function Button({ tone = "plain", size = "normal", icon, busy = false, children, className = "", ...rest }: Props) {
  const only = children === undefined ? css.only : "";
  return (
    <button
      type="button"
      {...rest}
      aria-busy={busy || undefined}
      disabled={rest.disabled === true || busy}
      className={`${css.button} ${css[tone]} ${css[size]} ${only} ${className}`}
    >
      {icon === undefined ? null : <Icon name={icon} size={size === "small" ? 16 : 18} />}
      {children === undefined ? null : <span>{children}</span>}
    </button>
  );
}
