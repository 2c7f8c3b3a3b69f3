/** A dialog that holds the focus, closes with Escape and gives the focus back. */
import { Dialog as Base } from "@base-ui/react/dialog";
import type { ReactNode } from "react";
import { Button } from "../Button.tsx";
import css from "./Dialog.module.css";

type Props = Readonly<{ open: boolean; onClose(): void; title: string; titleHidden?: boolean; wide?: boolean; children: ReactNode }>;

export function Dialog({ open, onClose, title, titleHidden = false, wide = false, children }: Props) {
  return (
    <Base.Root open={open} onOpenChange={(isOpen) => (isOpen ? undefined : onClose())}>
      <Base.Portal>
        <Base.Backdrop className={css.backdrop ?? ""} />
        <Base.Popup className={`${css.popup} ${wide ? css.wide : ""}`}>
          <header className={titleHidden ? "unseen" : css.head}>
            <Base.Title>{title}</Base.Title>
            {titleHidden ? null : <Base.Close render={<Button tone="quiet" size="small" icon="close" aria-label="Close" />} />}
          </header>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
