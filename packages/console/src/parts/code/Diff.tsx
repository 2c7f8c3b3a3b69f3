import { countNoun, type EditView } from "@orgate/protocol/view";
import css from "./Diff.module.css";

const MARKS = { same: " ", added: "+", removed: "−" } as const;
const SAYS = { same: "", added: "added: ", removed: "removed: " } as const;
const MOST = 400;

/** The change of a file, line by line. */
export function Diff({ edit }: Readonly<{ edit: EditView }>) {
  const lines = edit.lines.slice(0, MOST);
  return (
    <figure className={css.diff}>
      <figcaption>
        <code>{edit.path}</code>
        <span>
          <b className={css.plus}>+{edit.added}</b> <b className={css.minus}>−{edit.removed}</b>
          {edit.whole ? "" : " (the part that changed)"}
        </span>
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys */}
      <pre tabIndex={0}>
        {lines.map((line, i) =>
          line === null ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: a line is what it is by its place
            <span key={i} className={css.gap}>
              {"⋯\n"}
            </span>
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: a line is what it is by its place
            <span key={i} className={css[line.kind]}>
              <span aria-hidden="true">{MARKS[line.kind]} </span>
              <span className="unseen">{SAYS[line.kind]}</span>
              {line.text}
              {"\n"}
            </span>
          ),
        )}
        {edit.lines.length > MOST ? <span className={css.gap}>{`⋯ ${countNoun(edit.lines.length - MOST, "line")} more\n`}</span> : null}
      </pre>
      {edit.newly.length === 0 ? null : (
        <ul aria-label="decisions that would change">
          {edit.newly.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
    </figure>
  );
}
