/** Problems of policy files, each with its place and its remedy. */
import { escapeHidden } from "@orgate/core/vocab";
import css from "./Policies.module.css";
import type { PolicyFiles } from "./policy-sets.ts";

export function Problems({ of, isAlert = false }: Readonly<{ of: PolicyFiles["problems"]; isAlert?: boolean }>) {
  return (
    <ul className={css.rows} role={isAlert ? "alert" : undefined}>
      {of.map(({ file, line, column, detail, hint }) => (
        <li key={`${file}:${line}:${column}:${detail}`}>
          <code>
            {escapeHidden(file)}:{line}:{column}
          </code>{" "}
          {escapeHidden(`${detail}. ${hint}`)}
        </li>
      ))}
    </ul>
  );
}
