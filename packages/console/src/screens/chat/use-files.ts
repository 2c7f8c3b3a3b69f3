/** Files attached to a message that is being written: by the button, pasted, or dropped anywhere on the page. */
import type { Attachment } from "@orgate/core/vocab";
import { useCallback, useEffect, useRef, useState } from "react";
import { unsentTexts } from "../../state/unsent.ts";
import { attach } from "./attachments.ts";

/** Files of unsent messages, kept until the page is closed. */
const begun = unsentTexts.beside<readonly Attachment[]>();

export function useFiles(name: string) {
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
  /** Reads one drop after another: files are added in order, however long reading takes. */
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
      event.preventDefault(); // a file dropped beside the field would replace the console
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
    /** Removes the files that were sent; files added since stay. */
    clear: (sent: readonly Attachment[]) => {
      put(standing.current.filter((file) => !sent.includes(file)));
      setWhy(null);
    },
  };
}
