/**
 * Files in a conversation.
 * O-3 an image is drawn as a still picture (a canvas: no address, nothing that runs or is loaded), a text is shown with hidden characters escaped, and
 *     any file can be downloaded as bytes; no file becomes a page, a frame or a link.
 */

import type { Attachment } from "@orgate/core/vocab";
import type { Item } from "@orgate/protocol";
import type { ViewItem } from "@orgate/protocol/view";
import { createContext, type RefObject, use, useEffect, useRef, useState } from "react";
import { Button } from "../../parts/Button.tsx";
import { ExactText } from "../../parts/text/ExactText.tsx";
import { isImage, sizeText, toBlob } from "./attachments.ts";
import css from "./Files.module.css";

/** The entries of the session that is shown. */
export const EntriesContext = createContext<readonly Item[]>([]);

type Said = Extract<ViewItem, { kind: "said" }>;

/** The attachments of a message, from its entry: the view has only their names. */
function findAttachments({ seq, key }: Said, items: readonly Item[]): readonly Attachment[] {
  const found = items.find((item) => item.kind === "entry" && item.entry.seq === seq);
  const event = found?.kind === "entry" ? found.entry.event : null;
  switch (event?.kind) {
    case "turn.started":
    case "input.steered":
    case "input.queued":
      return event.files;
    case "session.opened": {
      const said = event.history[Number(key.split(":")[1])];
      return said?.role === "user" ? (said.files ?? []) : [];
    }
    default:
      return [];
  }
}

export function Files({ item }: Readonly<{ item: Said }>) {
  const items = use(EntriesContext);
  if (item.files.length === 0) return null;
  const files = findAttachments(item, items);
  return (
    <ul className={css.files} aria-label="Files">
      {item.files.map((line, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a file is what it is by its place
        <li key={i}>
          <Shown line={line} file={files[i] ?? null} />
        </li>
      ))}
    </ul>
  );
}

function Shown({ line, file }: Readonly<{ line: string; file: Attachment | null }>) {
  return (
    <>
      {file !== null && isImage(file) ? <Picture file={file} line={line} /> : null}
      <p className={css.line}>
        <span>{line}</span>
        {file === null ? null : (
          <Button size="small" onClick={() => keep(file)}>
            Download
          </Button>
        )}
      </p>
      {file?.kind === "text" ? (
        <details className={css.text}>
          <summary>Text</summary>
          <ExactText text={file.text} />
        </details>
      ) : null}
    </>
  );
}

const MOST_WIDE = 480;
const MOST_HIGH = 320;

function Picture({ file, line }: Readonly<{ file: Attachment; line: string }>) {
  const canvas: RefObject<HTMLCanvasElement | null> = useRef(null);
  const [isBad, setBad] = useState(false);
  useEffect(() => {
    let isGone = false;
    const draw = (bitmap: ImageBitmap): void => {
      const to = canvas.current;
      if (!isGone && to !== null) {
        const scale = Math.min(1, MOST_WIDE / bitmap.width, MOST_HIGH / bitmap.height);
        to.width = Math.max(1, Math.round(bitmap.width * scale));
        to.height = Math.max(1, Math.round(bitmap.height * scale));
        to.getContext("2d")?.drawImage(bitmap, 0, 0, to.width, to.height);
      }
      bitmap.close();
    };
    createImageBitmap(toBlob(file, file.mediaType)).then(draw, () => setBad(!isGone));
    return () => {
      isGone = true;
    };
  }, [file]);
  return isBad ? (
    <p className={css.line}>It cannot be displayed.</p>
  ) : (
    <canvas ref={canvas} className={css.picture} role="img" aria-label={line} width={1} height={1} />
  );
}

/** Downloads as bytes, whatever its type: a browser opens nothing of it. */
function keep(file: Attachment): void {
  const url = URL.createObjectURL(toBlob(file));
  const link = document.createElement("a");
  link.href = url;
  link.download = file.name ?? "file";
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

type ChosenProps = Readonly<{
  files: readonly Attachment[];
  why: string | null;
  remove(at: number): void;
  sizeOf(file: Attachment): number;
}>;

/** Files chosen for the next message. */
export function ChosenFiles({ files, why, remove, sizeOf }: ChosenProps) {
  return (
    <>
      {files.length === 0 ? null : (
        <ul className={css.chosen} aria-label="Files to be sent">
          {files.map((file, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a file is what it is by its place
            <li key={at}>
              <span>
                {file.name ?? "a file"} · {sizeText(sizeOf(file))}
              </span>
              <Button tone="quiet" size="small" icon="close" aria-label={`Remove ${file.name ?? "the file"}`} onClick={() => remove(at)} />
            </li>
          ))}
        </ul>
      )}
      {why === null ? null : (
        <p className={css.why} role="alert">
          Not attached: {why}.
        </p>
      )}
    </>
  );
}
