/** Where one speaks. What was said shows once it is in the journal; until then it is said to be on its way. */
import { type Attachment, fileBytes } from "@orgate/core/vocab";
import { type FormEvent, type KeyboardEvent, useCallback, useEffect, useRef, useState } from "react";
import { Button } from "../../parts/Button.tsx";
import { attach } from "./attaching.ts";
import css from "./Composer.module.css";
import { Chosen } from "./Files.tsx";

export type Speaking = "say" | "steer" | "later";
type Props = Readonly<{
  agent: string;
  /** A turn is in progress: one steers it, says what comes after it, or cancels it. */
  isRunning: boolean;
  isClosed: boolean;
  /** True once it is in the journal. */
  send(text: string, how: Speaking, files: readonly Attachment[]): Promise<boolean>;
  cancel(): void;
  first?: string;
}>;

export function Composer({ agent, isRunning, isClosed, send, cancel, first = "" }: Props) {
  const [text, setText] = useState(first);
  const [isBusy, setBusy] = useState(false);
  const { files, why, add, remove, clear, isOver } = useFiles();
  const picker = useRef<HTMLInputElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (window.matchMedia("(pointer: fine)").matches) field.current?.focus();
  }, []);
  const speak = async (how: Speaking): Promise<void> => {
    const said = text.trim();
    if (said === "" || isBusy) return;
    setBusy(true);
    const isSaid = await send(said, how, files);
    if (isSaid) {
      setText((now) => (now.trim() === said ? "" : now));
      clear();
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
        placeholder={isRunning ? "Steer the turn in progress…" : `Message ${agent}…`}
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

/** What is attached: by the button, pasted, or dropped anywhere on the page. */
function useFiles() {
  const [files, setFiles] = useState<readonly Attachment[]>([]);
  const [why, setWhy] = useState<string | null>(null);
  const [isOver, setOver] = useState(false);
  const standing = useRef(files);
  standing.current = files;
  const add = useCallback((added: readonly File[]): void => {
    if (added.length === 0) return;
    void attach(standing.current, added).then((came) => {
      if (came.kind === "files") setFiles(came.files);
      setWhy(came.kind === "files" ? null : came.why);
    });
  }, []);
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
    add,
    remove: (at: number) => setFiles((all) => all.filter((_, i) => i !== at)),
    clear: () => {
      setFiles([]);
      setWhy(null);
    },
  };
}
