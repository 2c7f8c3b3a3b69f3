/**
 * The history of policy sets: since when, by whom, why. A recorded set shows its text and its difference to the current files, and can be applied again
 * with a reason.
 */

import { escapeHidden, escapeHiddenLines } from "@orgate/core/vocab";
import type { OperationOutput, Problem } from "@orgate/protocol";
import { countSet, setText } from "@orgate/protocol/view";
import { useMemo, useState } from "react";
import { useHub, useQuery } from "../../link/use.ts";
import { Button } from "../../parts/Button.tsx";
import { CodeView } from "../../parts/code/CodeView.tsx";
import { Diff } from "../../parts/code/Diff.tsx";
import { Dialog } from "../../parts/forms/Dialog.tsx";
import { Field, Form } from "../../parts/forms/Form.tsx";
import { Empty, Failure, Loading } from "../../parts/States.tsx";
import { Tag } from "../../parts/Tag.tsx";
import { Time } from "../../parts/time/Time.tsx";
import { setQuery } from "../../routing/router.ts";
import { toast } from "../../state/toasts.ts";
import css from "./Policies.module.css";
import { editsBetween, listAppliable, type PolicyFiles, type PolicyText } from "./policy-sets.ts";

type Row = OperationOutput<"policyHistory">["rows"][number];
type KnownSet = OperationOutput<"policySet">;
const TOPICS = ["policy.loaded", "policy.applied", "policy.refused"] as const;

/** `set`: the set to show. `before`: only entries older than this one. */
export function History({ files, set, before }: Readonly<{ files: PolicyFiles; set: string | null; before: string | null }>) {
  const asked = useQuery("policyHistory", { query: before === null ? { limit: 50 } : { limit: 50, before: Number(before) } }, TOPICS);
  if (set !== null) return <OneSet digest={set} files={files} />;
  if (asked.value === null)
    return asked.problem === null ? <Loading what="Reading the history" /> : <Failure problem={asked.problem} again={asked.reload} />;
  const { rows, next } = asked.value;
  if (rows.length === 0)
    return (
      <Empty icon="policies" title="No policies have been loaded yet">
        <p>The set that a server or a run works under is recorded before its first decision.</p>
      </Empty>
    );
  return (
    <div className={css.file}>
      <ol className={css.rows} aria-label="Sets of policies, newest first">
        {rows.map((row) => (
          <HistoryRow key={row.seq} row={row} />
        ))}
      </ol>
      <div className={css.doing}>
        {before === null ? null : (
          <Button size="small" onClick={() => setQuery({ before: null })}>
            Newest
          </Button>
        )}
        {next === null ? null : (
          <Button size="small" onClick={() => setQuery({ before: String(next) })}>
            Older
          </Button>
        )}
      </div>
    </div>
  );
}

const TONES = { loaded: "plain", applied: "ok", refused: "bad" } as const;

function HistoryRow({ row }: Readonly<{ row: Row }>) {
  const { at, kind, by, digest, files, counts, stored, changes, reason, problems } = row;
  const [set, name] = [files ?? digest, digest ?? files]; // sets that differ in comments alone share the digest that sessions name
  return (
    <li>
      <Tag tone={TONES[kind]}>{kind}</Tag>
      <Time at={at} />
      {name === null || kind === "refused" ? null : stored ? (
        <button type="button" className={css.go} onClick={() => setQuery({ set })}>
          {name.slice(0, 12)}
        </button>
      ) : (
        <span>
          <code>{name.slice(0, 12)}</code> (recorded before texts were stored)
        </span>
      )}
      {files === null ? null : (
        <span>
          files <code>{files.slice(0, 12)}</code>
        </span>
      )}
      {counts === null ? null : <span>{setText(counts)}</span>}
      <span>by {escapeHidden(by)}</span>
      {reason === "" ? null : <span>“{escapeHidden(reason)}”</span>}
      {changes.map(({ path, change }) => (
        <code key={path}>{escapeHidden(`${change} ${path}`)}</code>
      ))}
      {problems.slice(0, 1).map((problem) => (
        <span key={problem}>{escapeHidden(problem)}</span>
      ))}
    </li>
  );
}

const below = ({ files }: PolicyFiles): readonly PolicyText[] =>
  files.map(({ path, text }) => ({ path: path.replace(/^policies\//, ""), text }));

function OneSet({ digest, files }: Readonly<{ digest: string; files: PolicyFiles }>) {
  const asked = useQuery("policySet", { params: { digest } });
  const [isApplying, setApplying] = useState(false);
  const back = (
    <Button size="small" onClick={() => setQuery({ set: null })}>
      All sets
    </Button>
  );
  const set = asked.value;
  const edits = useMemo(() => (set === null ? [] : editsBetween(listAppliable(set.texts), below(files))), [set, files]);
  if (set === null)
    return (
      <div className={css.file}>
        <div className={css.doing}>{back}</div>
        {asked.problem === null ? <Loading what="Reading the set" /> : <Failure problem={asked.problem} again={asked.reload} />}
      </div>
    );
  return (
    <div className={css.file}>
      <div className={css.doing}>
        {back}
        <span>
          Set <code>{(set.digest ?? set.files).slice(0, 12)}</code>, {setText(countSet(set.texts.map(({ path }) => path)))}, since{" "}
          <Time at={set.at} /> by {escapeHidden(set.by)}
        </span>
        <Button size="small" disabled={edits.length === 0} onClick={() => setApplying(true)}>
          Apply it again
        </Button>
      </div>
      <h2>From this set to the current files</h2>
      {edits.length === 0 ? <p>The current files are the same.</p> : edits.map((edit) => <Diff key={edit.path} edit={edit} />)}
      {set.texts.map(({ path, text }) => (
        <section key={path} className={css.file}>
          <h2>{escapeHidden(path)}</h2>
          <CodeView text={escapeHiddenLines(text)} language={path.endsWith(".json") ? "json" : "cedar"} label={path} />
        </section>
      ))}
      <ApplyDialog set={set} files={files} open={isApplying} onClose={() => setApplying(false)} />
    </div>
  );
}

type ApplyProps = Readonly<{ set: KnownSet; files: PolicyFiles; open: boolean; onClose(): void }>;

/** Shows the change that will be made: from the current files to the set. */
function ApplyDialog({ set, files, open, onClose }: ApplyProps) {
  const hub = useHub();
  const [reason, setReason] = useState("");
  const edits = useMemo(() => editsBetween(below(files), listAppliable(set.texts)), [set, files]);
  const send = async (): Promise<Problem | null> => {
    const came = await hub.call("applyPolicies", { body: { set: set.files, reason } });
    if (came.kind === "problem") return came.problem;
    toast({ tone: "ok", title: "Applied", detail: came.value.changes.map(({ path, change }) => `${path} ${change}`).join(", ") });
    onClose();
    setQuery({ set: null });
    return null;
  };
  return (
    <Dialog open={open} onClose={onClose} title={`Apply ${(set.digest ?? set.files).slice(0, 12)} again`} wide>
      <Form send={send} does="Apply" cancel={onClose}>
        {edits.map((edit) => (
          <Diff key={edit.path} edit={edit} />
        ))}
        <Field label="Why">
          {(id) => <input id={id} required maxLength={2_000} value={reason} onChange={({ target }) => setReason(target.value)} />}
        </Field>
        <p>It is checked with its decision tables, decided like any other change, and recorded under your name.</p>
      </Form>
    </Dialog>
  );
}
