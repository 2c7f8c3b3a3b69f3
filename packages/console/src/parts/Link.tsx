import type { AnchorHTMLAttributes, MouseEvent } from "react";
import { navigate } from "../routing/router.ts";

/** A link within the console. Opening in a new tab and copying the address work as usual. */
export function Link({ to, onClick, ...rest }: Readonly<{ to: string }> & AnchorHTMLAttributes<HTMLAnchorElement>) {
  const follow = (event: MouseEvent<HTMLAnchorElement>): void => {
    onClick?.(event);
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(to);
  };
  return <a {...rest} href={to} onClick={follow} />;
}
