/** A form in a dialog: fields, errors above the buttons, and nothing sent twice. */
import type { Problem } from "@orgate/protocol";
import { type FormEvent, type ReactNode, useId, useState } from "react";
import { Button } from "../Button.tsx";
import type { IconName } from "../Icon.tsx";
import { Sentence } from "../States.tsx";
import css from "./Form.module.css";

type Props = Readonly<{
  /** Null on success, otherwise the problem to show in the form. */
  send(): Promise<Problem | null>;
  does: string;
  icon?: IconName;
  tone?: "first" | "bad";
  cancel?: () => void;
  children: ReactNode;
}>;

export function Form({ send, does, icon, tone = "first", cancel, children }: Props) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    const wrong = await send();
    setBusy(false);
    setProblem(wrong);
  };
  return (
    <form className={css.form} onSubmit={(event) => void submit(event)}>
      {children}
      {problem === null ? null : (
        <p className={css.problem} role="alert">
          <Sentence text={problem.detail} /> <Sentence text={problem.hint} />
        </p>
      )}
      <div className={css.doing}>
        <Button type="submit" tone={tone} busy={busy} {...(icon === undefined ? {} : { icon })}>
          {does}
        </Button>
        {cancel === undefined ? null : <Button onClick={cancel}>Cancel</Button>}
      </div>
    </form>
  );
}

export function Field({ label, children }: Readonly<{ label: string; children(id: string): ReactNode }>) {
  const id = useId();
  return (
    <div className={css.field}>
      <label htmlFor={id}>{label}</label>
      {children(id)}
    </div>
  );
}

export const TwoColumns = ({ children }: Readonly<{ children: ReactNode }>) => <div className={css.two}>{children}</div>;
