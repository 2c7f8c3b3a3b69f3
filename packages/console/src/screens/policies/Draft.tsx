import { escapeHidden } from "@orgate/core/vocab";
import type { OperationOutput } from "@orgate/protocol";
import { countNoun } from "@orgate/protocol/view";
import { useMemo, useState } from "react";
import { useHub } from "../../link/use.ts";
import { Button } from "../../parts/Button.tsx";
import { CodeView } from "../../parts/code/CodeView.tsx";
import { Diff } from "../../parts/code/Diff.tsx";
import { Tag } from "../../parts/Tag.tsx";
import { toast, toastProblem } from "../../state/toasts.ts";
import { drafts } from "./drafts.ts";
import css from "./Policies.module.css";
import { Problems } from "./Problems.tsx";
import { editBetween, type PolicyFile } from "./policy-sets.ts";

const below = (path: string): string => path.replace(/^policies\//, "");

type Props = Readonly<{ file: PolicyFile; files: readonly PolicyFile[]; done(): void }>;

/** A draft of one policy file: checked together with all other files, and applied only as a whole. */
export function Draft({ file, files, done }: Props) {
  const hub = useHub();
  const [begun] = useState(() => drafts.of(file.path) ?? { text: file.text, base: file.text });
  const [text, setText] = useState(begun.text);
  const [checked, setChecked] = useState<Readonly<{ text: string; report: Report }> | null>(null);
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState<"check" | "apply" | null>(null);
  const all = files.map((one) => ({ path: below(one.path), text: one.path === file.path ? text : one.text }));
  const report = checked?.text === text ? checked.report : null;
  const marks = useMemo(
    () =>
      (checked === null ? [] : [...checked.report.problems, ...checked.report.warnings])
        .filter((one) => below(one.file) === below(file.path) || one.file.endsWith(`/${below(file.path)}`))
        .map(({ line, column, detail, hint }) => ({ line, column, message: escapeHidden(`${detail} (${hint})`) })),
    [checked, file.path],
  );
  const typed = (now: string): void => {
    setText(now);
    drafts.keep(file.path, { text: now, base: begun.base });
  };
  const check = async (): Promise<void> => {
    setBusy("check");
    const came = await hub.call("checkPolicies", { body: { files: all } });
    setBusy(null);
    if (came.kind === "problem") return toastProblem("The draft could not be checked", came.problem);
    setChecked({ text, report: came.value });
  };
  const apply = async (): Promise<void> => {
    setBusy("apply");
    const came = await hub.call("applyPolicies", { body: { files: all, reason } });
    setBusy(null);
    if (came.kind === "problem") return toastProblem("The draft was not applied", came.problem);
    drafts.drop(file.path);
    toast({ tone: "ok", title: "Applied", detail: came.value.changes.map(({ path, change }) => `${path} ${change}`).join(", ") });
    done();
  };
  const isChanged = text !== file.text;
  return (
    <div className={css.draft}>
      <CodeView text={text} language={file.table ? "json" : "cedar"} label={`Draft of ${file.path}`} marks={marks} onChange={typed} />
      {isChanged ? <Diff edit={editBetween(file.path, file.text, text)} /> : null}
      <div className={css.doing}>
        <Button onClick={() => void check()} busy={busy === "check"}>
          Check
        </Button>
        <label>
          Why <input required value={reason} maxLength={2_000} onChange={({ target }) => setReason(target.value)} />
        </label>
        <Button
          tone="first"
          disabled={!isChanged || report?.ok !== true || reason.trim() === ""}
          busy={busy === "apply"}
          onClick={() => void apply()}
        >
          Apply
        </Button>
        {isChanged ? (
          <Button
            onClick={() => {
              drafts.drop(file.path);
              done();
            }}
          >
            Discard the draft
          </Button>
        ) : null}
        <Status isChanged={isChanged} isStale={begun.base !== file.text} report={report} hasReason={reason.trim() !== ""} />
      </div>
      {report === null || report.ok ? null : <Problems of={report.problems} />}
    </div>
  );
}

type Report = OperationOutput<"checkPolicies">;
type StatusProps = Readonly<{ isChanged: boolean; isStale: boolean; report: Report | null; hasReason: boolean }>;

function Status({ isChanged, isStale, report, hasReason }: StatusProps) {
  return (
    <span role="status">
      {isChanged && isStale ? "The file changed after this draft was started: the diff is against the current file. " : null}
      {!isChanged
        ? "No changes yet."
        : report === null
          ? "Check the draft before you apply it."
          : report.ok
            ? `The draft loads, and every decision table passes.${hasReason ? "" : " Say why before you apply it."}`
            : ""}
      {report !== null && !report.ok ? <Tag tone="bad">{countNoun(report.problems.length, "problem")}</Tag> : null}
    </span>
  );
}
