/** Code with its colours, loaded when there is some to show. Until then, and where it cannot be loaded, the text itself. */
import { lazy, Suspense } from "react";
import css from "./CodeView.module.css";

export type CodeMark = Readonly<{ line: number; column: number; message: string }>;
export type CodeProps = Readonly<{
  text: string;
  language: "cedar" | "json" | "plain";
  label: string;
  /** Errors in place. */
  marks?: readonly CodeMark[];
  /** Shown first, and stands out. */
  line?: number | null;
  /** Null: it cannot be changed. */
  onChange?: ((text: string) => void) | null;
}>;

const Loaded = lazy(() => import("./CodeMirror.tsx"));

export function CodeView(props: CodeProps) {
  return (
    <Suspense
      fallback={
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
        <pre className={css.plain} tabIndex={0}>
          <code>{props.text}</code>
        </pre>
      }
    >
      <Loaded {...props} />
    </Suspense>
  );
}
