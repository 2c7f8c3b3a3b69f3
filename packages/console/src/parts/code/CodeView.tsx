/** Code with syntax colours, loaded on demand. Until then, and if loading fails, plain text. */
import { escapeHiddenLines } from "@orgate/core/vocab";
import { lazy, Suspense } from "react";
import css from "./CodeView.module.css";

export type CodeMark = Readonly<{ line: number; column: number; message: string }>;
export type CodeProps = Readonly<{
  text: string;
  language: "cedar" | "json" | "plain";
  label: string;
  /** Errors, each at its position. */
  marks?: readonly CodeMark[];
  /** Scrolled to and highlighted. */
  line?: number | null;
  /** Null: it cannot be changed. */
  onChange?: ((text: string) => void) | null;
}>;

const Loaded = lazy(() => import("./CodeMirror.tsx").catch(() => ({ default: Plain })));

function Plain({ text, onChange = null }: CodeProps) {
  return (
    <>
      {onChange === null ? null : <p role="alert">The editor could not be loaded: reload the page. Unsent text is kept.</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys */}
      <pre className={css.plain} tabIndex={0}>
        <code>{escapeHiddenLines(text)}</code>
      </pre>
    </>
  );
}

export function CodeView(props: CodeProps) {
  return (
    <Suspense fallback={<Plain {...props} onChange={null} />}>
      <Loaded {...props} />
    </Suspense>
  );
}
