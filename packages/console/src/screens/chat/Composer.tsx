/**
 * Where one speaks. What was said shows once it is in the journal; until then it is said to be on its way.
 * O-7 what was begun and not said is there again, files included, when one comes back.
 */
import { type Attachment, fileBytes } from "@orgate/core/vocab";
import { type FormEvent, type KeyboardEvent, useCallback, useEffect, useRef, useState } from "react";
import { Button } from "../../parts/Button.tsx";
import { unsentTexts, useUnsentText } from "../../state/unsent.ts";
import { attach } from "./attachments.ts";
import css from "./Composer.module.css";
import { Chosen } from "./Files.tsx";

export type Speaking = "say" | "steer" | "later";
type Props = Readonly<{
  agent: string;
  /** What is begun here is kept under this name. */
  name: string;
  /** A turn is in progress: one steers it, says what comes after it, or cancels it. */
  isRunning: boolean;
  isClosed: boolean;
  /** True once it is in the journal. */
  send(text: string, how: Speaking, files: readonly Attachment[]): Promise<boolean>;
  cancel(): void;
}>;

/** Files of messages that were begun: until the page is closed. */
const begun = unsentTexts.beside<readonly Attachment[]>();

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
  const speak = async (how: Speaking): Promise<void> => {
    const said = text.trim();
    if (isBusy) return;
    if (said === "") return files.length === 0 ? undefined : say(NO_WORDS);
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
  if (isClosed) return <p className={css.closed}>This session is closed. Start another one to go on.</p>;
  return (
    <form className={`${css.composer} ${isOver ? css.over : ""}`} onSubmit={submit}>
      {files.length === 0 && why === null ? null : (
        <div className={css.files}>
          <Chosen files={files} why={why} remove={remove} sizeOf={fileBytes} />
        </div>
      )}
      <label className="unseen" htmlFor="said">
        {isRunning ? `A word to ${agent} in this turn` : `Message to ${agent}`}
      </label>
      <textarea
        id="said"
        ref={field}
        rows={1}
        value={text}
        placeholder={
          files.length > 0 ? "Say what is to be done with these files…" : isRunning ? "Steer the turn in progress…" : `Message ${agent}…`
        }
        onChange={({ target }) => setText(target.value)}
        onKeyDown={press}
        onPaste={(event) => {
          const pasted = [...event.clipboardData.files];
          if (pasted.length === 0) return;
          event.preventDefault();
          add(pasted);
        }}
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
      <div className={css.buttons}>
        <Button icon="attach" aria-label="Attach files" title="Attach files: images, PDFs, texts" onClick={() => picker.current?.click()} />
        {isRunning ? (
          <>
            <Button tone="bad" icon="stop" onClick={cancel}>
              Cancel
            </Button>
            <Button disabled={isEmpty} onClick={() => void speak("later")}>
              After this turn
            </Button>
          </>
        ) : null}
        <Button type="submit" tone="first" icon="send" busy={isBusy} disabled={isEmpty}>
          {isRunning ? "Steer" : "Send"}
        </Button>
      </div>
      <p className="unseen" role="status">
        {isBusy ? "Sending" : ""}
      </p>
    </form>
  );
}

/** A file alone tells an agent nothing of what is wanted, and every turn begins with what is. */
const NO_WORDS = "a message needs words: say what is to be done with these files";

/** What is attached: by the button, pasted, or dropped anywhere on the page. */
function useFiles(name: string) {
  const [files, setFiles] = useState<readonly Attachment[]>(() => begun.get(name) ?? []);
  const [why, setWhy] = useState<string | null>(null);
  const [isOver, setOver] = useState(false);
  const standing = useRef(files);
  const reading = useRef<Promise<void>>(Promise.resolve());
  const put = useCallback(
    (now: readonly Attachment[]): void => {
      standing.current = now;
      begun.set(name, now);
      setFiles(now);
    },
    [name],
  );
  /** One after another: those of one drop are added to those of the drop before, however long they take to be read. */
  const add = useCallback(
    (added: readonly File[]): void => {
      if (added.length === 0) return;
      reading.current = reading.current.then(async () => {
        const before = standing.current;
        const came = await attach(before, added);
        if (came.kind === "files") put([...standing.current, ...came.files.slice(before.length)]);
        setWhy(came.kind === "files" ? null : came.why);
      });
    },
    [put],
  );
  useEffect(() => {
    const hasFiles = ({ dataTransfer }: DragEvent): boolean => dataTransfer?.types.includes("Files") === true;
    const over = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault(); // a file that misses would be opened instead of the console
      setOver(event.type === "dragover");
      if (event.type === "drop") add([...(event.dataTransfer?.files ?? [])]);
    };
    const kinds = ["dragover", "dragleave", "drop"] as const;
    for (const kind of kinds) document.addEventListener(kind, over);
    return () => {
      for (const kind of kinds) document.removeEventListener(kind, over);
    };
  }, [add]);
  return {
    files,
    why,
    isOver,
    say: setWhy,
    add,
    remove: (at: number) => {
      put(standing.current.filter((_, i) => i !== at));
      setWhy(null);
    },
    /** Those that were sent: what came since stays. */
    clear: (sent: readonly Attachment[]) => {
      put(standing.current.filter((file) => !sent.includes(file)));
      setWhy(null);
    },
  };
}
