/** Where one speaks. What was said shows once it is in the journal; until then it is said to be on its way. */
import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from "react";
import { Button } from "../../parts/Button.tsx";
import css from "./Composer.module.css";

export type Speaking = "say" | "steer" | "later";
type Props = Readonly<{
  agent: string;
  /** A turn is in progress: one steers it, says what comes after it, or cancels it. */
  isRunning: boolean;
  isClosed: boolean;
  /** True once it is in the journal. */
  send(text: string, how: Speaking): Promise<boolean>;
  cancel(): void;
  first?: string;
}>;

export function Composer({ agent, isRunning, isClosed, send, cancel, first = "" }: Props) {
  const [text, setText] = useState(first);
  const [isBusy, setBusy] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (window.matchMedia("(pointer: fine)").matches) field.current?.focus();
  }, []);
  const speak = async (how: Speaking): Promise<void> => {
    const said = text.trim();
    if (said === "" || isBusy) return;
    setBusy(true);
    const isSaid = await send(said, how);
    if (isSaid) setText((now) => (now.trim() === said ? "" : now));
    setBusy(false);
    field.current?.focus();
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void speak(isRunning ? "steer" : "say");
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void speak(isRunning ? "steer" : "say");
  };
  if (isClosed) return <p className={css.closed}>This session is closed. Start another one to go on.</p>;
  return (
    <form className={css.composer} onSubmit={submit}>
      <label className="unseen" htmlFor="said">
        {isRunning ? `A word to ${agent} in this turn` : `Message to ${agent}`}
      </label>
      <textarea
        id="said"
        ref={field}
        rows={1}
        value={text}
        placeholder={isRunning ? "Steer the turn in progress…" : `Message ${agent}…`}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={press}
      />
      <div className={css.buttons}>
        {isRunning ? (
          <>
            <Button tone="bad" icon="stop" onClick={cancel}>
              Cancel
            </Button>
            <Button disabled={text.trim() === ""} onClick={() => void speak("later")}>
              After this turn
            </Button>
          </>
        ) : null}
        <Button type="submit" tone="first" icon="send" busy={isBusy} disabled={text.trim() === ""}>
          {isRunning ? "Steer" : "Send"}
        </Button>
      </div>
      <p className="unseen" role="status">
        {isBusy ? "Sending" : ""}
      </p>
    </form>
  );
}
