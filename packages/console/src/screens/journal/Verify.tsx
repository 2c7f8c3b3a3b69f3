import { escapeHidden } from "@orgate/core/vocab";
import type { VerifyLine } from "@orgate/protocol";
import { countNoun } from "@orgate/protocol/view";
import { useState } from "react";
import { Button } from "../../parts/Button.tsx";
import { Tag } from "../../parts/Tag.tsx";
import css from "./Journal.module.css";
import { readVerification } from "./verify-stream.ts";

type State =
  | Readonly<{ kind: "before" } | { kind: "running"; entries: number; of: number }>
  | Extract<VerifyLine, { kind: "result" | "failed" }>;

export function Verify() {
  const [state, setState] = useState<State>({ kind: "before" });
  const begin = async (): Promise<void> => {
    setState({ kind: "running", entries: 0, of: 0 });
    for await (const line of readVerification()) setState(line.kind === "progress" ? { ...line, kind: "running" } : line);
  };
  return (
    <section className={css.verify} aria-label="Verification">
      <Button icon="check" busy={state.kind === "running"} onClick={() => void begin()}>
        Verify the journal
      </Button>
      <div className={css.found} role="status">
        <Said state={state} />
      </div>
    </section>
  );
}

function Said({ state }: Readonly<{ state: State }>) {
  switch (state.kind) {
    case "before":
      return <span>Checks every hash, chain and seal. Store the printed head elsewhere, and nobody can remove an entry unnoticed.</span>;
    case "running":
      return (
        <>
          <progress aria-label="Entries verified" max={Math.max(1, state.of)} value={state.entries} />
          <span className="figures">
            {state.entries} of {state.of} entries
          </span>
        </>
      );
    case "failed":
      return (
        <>
          <Tag tone="bad">could not be verified</Tag> <span>{escapeHidden(state.detail)}</span>
        </>
      );
    case "result": {
      const { ok, entries, streams, seals, writers, erased, unsealed, textless, head, problems } = state.result;
      return (
        <>
          <Tag tone={ok ? "ok" : "bad"}>{ok ? "intact" : "altered"}</Tag>
          <span>
            {countNoun(entries, "entry", "entries")} in {countNoun(streams, "stream")}, {countNoun(seals, "seal")} of{" "}
            {countNoun(writers, "writer")}
            {erased > 0 ? `, ${erased} erased` : ""}.
          </span>
          {unsealed === 0 ? null : (
            <span>
              {countNoun(unsealed, "entry is", "entries are")} not sealed yet: written in the last moments, or right before a crash.
            </span>
          )}
          {textless === 0 ? null : (
            <span>
              {countNoun(textless, "set of policies has", "sets of policies have")} no text in the journal: recorded before texts were
              stored, or decided by a program's own gate.
            </span>
          )}
          {problems.slice(0, 20).map((problem) => (
            <span key={problem} className={css.problem}>
              {escapeHidden(problem)}
            </span>
          ))}
          <span>
            Head: <code className={css.head}>{head}</code>
          </span>
        </>
      );
    }
  }
}
