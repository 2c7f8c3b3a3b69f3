/** Answers that need more than one key: a reason, edited arguments, the width of a grant. */
import type { Answer } from "@orgate/core/vocab";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { serverNow } from "../../link/clock.ts";
import { Button } from "../../parts/Button.tsx";
import { sentence } from "../../parts/States.tsx";
import { useUnsentText } from "../../state/unsent.ts";
import css from "./AnswerForm.module.css";
import {
  type ApprovalRequest,
  describeCoverage,
  grantFor,
  offeredScopes,
  parseEdited,
  scopeText,
  toEditableJson,
  type Until,
  untilsWithin,
  untilText,
} from "./answers.ts";

type FormProps = Readonly<{ busy: boolean; send(answer: Answer): Promise<void>; back(): void }>;

/** Escape leaves a form as Back does. */
const onEscape = (back: () => void) => (event: KeyboardEvent) => {
  if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
  event.stopPropagation();
  back();
};

type Begun = Readonly<{ name: string; isBack: boolean }>;
function useFocus(isBack: boolean) {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (!isBack) field.current?.focus();
  }, [isBack]);
  return field;
}

/** Q-4 a denial has a reason. */
export function DenyForm({ kind, name, isBack, busy, send, back }: FormProps & Begun & Readonly<{ kind: "deny" | "withdraw" }>) {
  const [reason, setReason] = useUnsentText(name);
  const field = useFocus(isBack);
  return (
    <form
      className={css.form}
      onKeyDown={onEscape(back)}
      onSubmit={(event) => {
        event.preventDefault();
        if (reason.trim() !== "") void send({ kind, reason: reason.trim() });
      }}
    >
      <label htmlFor="deny-reason">
        {kind === "deny" ? "Why not? The agent sees this." : "Why is it no longer wanted? The agent sees this."}
      </label>
      <textarea id="deny-reason" ref={field} rows={2} maxLength={2_000} value={reason} onChange={({ target }) => setReason(target.value)} />
      <Ends busy={busy} back={back} tone="bad" says={kind === "deny" ? "Deny" : "Withdraw"} disabled={reason.trim() === ""} />
    </form>
  );
}

export function EditForm({ question, name, isBack, busy, send, back }: FormProps & Begun & Readonly<{ question: ApprovalRequest }>) {
  const [text, setText] = useUnsentText(name, toEditableJson(question.args ?? {}));
  const field = useFocus(isBack);
  const read = parseEdited(text);
  return (
    <form
      className={css.form}
      onKeyDown={onEscape(back)}
      onSubmit={(event) => {
        event.preventDefault();
        if (read.kind === "args") void send({ kind: "edit", args: read.args });
      }}
    >
      <label htmlFor="edit-args">Arguments to approve instead of the proposed ones</label>
      <textarea
        id="edit-args"
        ref={field}
        className={css.code}
        rows={Math.min(14, text.split("\n").length + 1)}
        spellCheck={false}
        value={text}
        onChange={({ target }) => setText(target.value)}
        aria-describedby="edit-wrong"
        aria-invalid={read.kind === "wrong"}
      />
      <p id="edit-wrong" className={css.aside}>
        {read.kind === "wrong" ? sentence(read.why) : "Edited arguments are checked and decided again before anything runs."}
      </p>
      <Ends busy={busy} back={back} tone="good" says="Approve as edited" disabled={read.kind === "wrong"} />
    </form>
  );
}

export function GrantForm({ question, busy, send, back }: FormProps & Readonly<{ question: ApprovalRequest }>) {
  const { widest } = question;
  const [scope, setScope] = useState<ReturnType<typeof offeredScopes>[number]>("digest");
  const [until, setUntil] = useState<Until>("turn");
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);
  if (widest === null) return null;
  return (
    <form
      className={css.form}
      onKeyDown={onEscape(back)}
      onSubmit={(event) => {
        event.preventDefault();
        void send(grantFor(scope, until, widest, serverNow()));
      }}
    >
      <fieldset>
        <legend>Do not ask again for</legend>
        {offeredScopes(question, widest).map((one, i) => (
          <label key={one}>
            <input ref={i === 0 ? first : null} type="radio" name="scope" checked={scope === one} onChange={() => setScope(one)} />{" "}
            {scopeText(one)}
          </label>
        ))}
      </fieldset>
      <fieldset>
        <legend>How long</legend>
        {untilsWithin(widest).map((one) => (
          <label key={one}>
            <input type="radio" name="until" checked={until === one} onChange={() => setUntil(one)} /> {untilText(one, widest.lifetime)}
          </label>
        ))}
      </fieldset>
      <p className={css.aside} aria-live="polite">
        It covers {describeCoverage(question, grantFor(scope, until, widest, serverNow()))}. It is listed under Grants, and can be revoked
        there.
      </p>
      <Ends busy={busy} back={back} tone="good" says="Approve and remember" />
    </form>
  );
}

type EndsProps = Readonly<{ busy: boolean; back(): void; tone: "good" | "bad"; says: string; disabled?: boolean }>;
function Ends({ busy, back, tone, says, disabled = false }: EndsProps) {
  return (
    <div className={css.choices}>
      <Button type="submit" tone={tone} busy={busy} disabled={disabled}>
        {says}
      </Button>
      <Button onClick={back}>Back</Button>
    </div>
  );
}
