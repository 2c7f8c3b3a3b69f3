/**
 * The message field. A message appears once it is in the journal; until then it is shown as being sent.
 * O-7 unsent text and files are there again when the person comes back.
 */
import { type Attachment, fileBytes } from "@orgate/core/vocab";
import { type FormEvent, type KeyboardEvent, type Ref, useEffect, useRef, useState } from "react";
import { Button } from "../../parts/Button.tsx";
import { useUnsentText } from "../../state/unsent.ts";
import css from "./Composer.module.css";
import { ChosenFiles } from "./Files.tsx";
import { useFiles } from "./use-files.ts";

export type SendMode = "say" | "steer" | "later";
type Props = Readonly<{
  agent: string;
  /** Unsent text is kept under this name. */
  name: string;
  /** A turn is in progress: input steers it, queues a message after it, or cancels it. */
  isRunning: boolean;
  isClosed: boolean;
  /** True once it is in the journal. */
  send(text: string, how: SendMode, files: readonly Attachment[]): Promise<boolean>;
  cancel(): void;
}>;

export function Composer({ agent, name, isRunning, isClosed, send, cancel }: Props) {
  const [text, setText] = useUnsentText(name);
  const [isBusy, setBusy] = useState(false);
  const { files, why, say, add, remove, clear, isOver } = useFiles(name);
  const typed = useRef(text);
  typed.current = text;
  const picker = useRef<HTMLInputElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (window.matchMedia("(pointer: fine)").matches) field.current?.focus();
  }, []);
  const speak = async (how: SendMode): Promise<void> => {
    const said = text.trim();
    if (isBusy) return;
    if (said === "") return files.length === 0 ? undefined : say(NO_TEXT);
    setBusy(true);
    const isSaid = await send(said, how, files);
    if (isSaid) {
      if (typed.current.trim() === said) setText("");
      clear(files);
    }
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
  const isEmpty = text.trim() === "" && files.length === 0;
  if (isClosed) return <p className={css.closed}>This session is closed. Start a new one to continue.</p>;
  return (
    <form className={`${css.composer} ${isOver ? css.over : ""}`} onSubmit={submit}>
      {files.length === 0 && why === null ? null : (
        <div className={css.files}>
          <ChosenFiles files={files} why={why} remove={remove} sizeOf={fileBytes} />
        </div>
      )}
      <MessageField
        ref={field}
        agent={agent}
        text={text}
        isRunning={isRunning}
        hasFiles={files.length > 0}
        change={setText}
        press={press}
        paste={add}
      />
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        aria-label="Files for the message"
        onChange={({ target }) => {
          add([...(target.files ?? [])]);
          target.value = "";
        }}
      />
      <Buttons
        isRunning={isRunning}
        isBusy={isBusy}
        isEmpty={isEmpty}
        attach={() => picker.current?.click()}
        cancel={cancel}
        sendLater={() => void speak("later")}
      />
      <p className="unseen" role="status">
        {isBusy ? "Sending" : ""}
      </p>
    </form>
  );
}

type FieldProps = Readonly<{
  ref: Ref<HTMLTextAreaElement>;
  agent: string;
  text: string;
  isRunning: boolean;
  hasFiles: boolean;
  change(text: string): void;
  press(event: KeyboardEvent): void;
  paste(files: readonly File[]): void;
}>;

function MessageField({ ref, agent, text, isRunning, hasFiles, change, press, paste }: FieldProps) {
  return (
    <>
      <label className="unseen" htmlFor="said">
        {isRunning ? `Message to ${agent} in this turn` : `Message to ${agent}`}
      </label>
      <textarea
        id="said"
        ref={ref}
        rows={1}
        value={text}
        placeholder={hasFiles ? "Say what to do with these files…" : isRunning ? "Steer the turn in progress…" : `Message ${agent}…`}
        onChange={({ target }) => change(target.value)}
        onKeyDown={press}
        onPaste={(event) => {
          const pasted = [...event.clipboardData.files];
          if (pasted.length === 0) return;
          event.preventDefault();
          paste(pasted);
        }}
      />
    </>
  );
}

type ButtonsProps = Readonly<{
  isRunning: boolean;
  isBusy: boolean;
  isEmpty: boolean;
  attach(): void;
  cancel(): void;
  sendLater(): void;
}>;

function Buttons({ isRunning, isBusy, isEmpty, attach, cancel, sendLater }: ButtonsProps) {
  return (
    <div className={css.buttons}>
      <Button icon="attach" aria-label="Attach files" title="Attach files: images, PDFs, texts" onClick={attach} />
      {isRunning ? (
        <>
          <Button tone="bad" icon="stop" onClick={cancel}>
            Cancel
          </Button>
          <Button disabled={isEmpty} onClick={sendLater}>
            After this turn
          </Button>
        </>
      ) : null}
      <Button type="submit" tone="first" icon="send" busy={isBusy} disabled={isEmpty}>
        {isRunning ? "Steer" : "Send"}
      </Button>
    </div>
  );
}

/** A file alone says nothing about the task, and every turn starts with one. */
const NO_TEXT = "a message needs text: say what to do with these files";
