import { useCell } from "../state/cell.ts";
import { dismiss, toasts } from "../state/toasts.ts";
import { Button } from "./Button.tsx";
import { Sentence } from "./States.tsx";
import css from "./Toasts.module.css";

export function Toasts() {
  const all = useCell(toasts);
  return (
    <section aria-label="Notices" className={css.toasts} aria-live="polite">
      {all.map(({ id, tone, title, detail }) => (
        <div key={id} className={`${css.toast} ${css[tone]}`} role={tone === "bad" ? "alert" : "status"}>
          <div>
            <p className={css.title}>{title}</p>
            {detail === "" ? null : (
              <p>
                <Sentence text={detail} />
              </p>
            )}
          </div>
          <Button tone="quiet" size="small" icon="close" aria-label="Dismiss this notice" onClick={() => dismiss(id)} />
        </div>
      ))}
    </section>
  );
}
