/**
 * Policy files, their problems, decision tables, and test decisions.
 * O-8 an error is shown in its line; the server's own loader checks a draft before it can be applied, and the whole shown diff is applied.
 */

import { escapeHidden, escapeHiddenLines, policyId } from "@orgate/core/vocab";
import type { OperationOutput } from "@orgate/protocol";
import { countNoun, countSet, policyRef, setText } from "@orgate/protocol/view";
import { useMemo, useState } from "react";
import { useQuery } from "../../link/use.ts";
import { Button } from "../../parts/Button.tsx";
import { CodeView } from "../../parts/code/CodeView.tsx";
import { Page } from "../../parts/Page.tsx";
import { Empty, Failure, Loading } from "../../parts/States.tsx";
import { Tabs } from "../../parts/Tabs.tsx";
import { Tag } from "../../parts/Tag.tsx";
import { setQuery } from "../../routing/router.ts";
import type { ScreenProps } from "../index.ts";
import { Draft } from "./Draft.tsx";
import { drafts, useDraft } from "./drafts.ts";
import { Evaluate } from "./Evaluate.tsx";
import { History } from "./History.tsx";
import css from "./Policies.module.css";
import { Problems } from "./Problems.tsx";
import type { PolicyFile, PolicyFiles } from "./policy-sets.ts";

const TOPICS = ["policy.loaded", "policy.applied", "policy.refused"] as const;

export default function Policies({ query }: ScreenProps) {
  const files = useQuery("policyFiles", {}, TOPICS);
  const inForce = useQuery("policies", {}, TOPICS);
  const show = query.get("show");
  const tab = show === "evaluate" || show === "cases" || show === "history" ? show : "files";
  if (files.value === null)
    return (
      <Page title="Policies">
        {files.problem === null ? <Loading what="Reading the policies" /> : <Failure problem={files.problem} again={files.reload} />}
      </Page>
    );
  const { cases, problems, warnings } = files.value;
  const failed = cases.filter(({ passed }) => !passed).length;
  const wanted = query.get("policy");
  return (
    <Page title="Policies" lead={<Lead files={files.value} inForce={inForce.value} />}>
      <Tabs
        label="Policies"
        at={tab}
        choose={(to) => setQuery({ show: to === "files" ? null : to, set: null, before: null })}
        tabs={[
          { id: "files", title: "Files", count: problems.length + warnings.length },
          { id: "cases", title: "Decision tables", count: failed },
          { id: "evaluate", title: "Test a decision" },
          { id: "history", title: "History" },
        ]}
      >
        {tab === "files" ? (
          <FilesPane
            files={files.value}
            inForce={inForce.value?.policies ?? []}
            at={query.get("file")}
            policy={wanted}
            agent={query.get("agent")}
            reload={files.reload}
          />
        ) : tab === "cases" ? (
          <Cases cases={cases} />
        ) : tab === "history" ? (
          <History files={files.value} set={query.get("set")} before={query.get("before")} />
        ) : (
          <Evaluate agent={query.get("agent") ?? ""} />
        )}
      </Tabs>
    </Page>
  );
}

function Lead({ files: { problems, files }, inForce }: Readonly<{ files: PolicyFiles; inForce: OperationOutput<"policies"> | null }>) {
  const digest = inForce?.digest ?? null;
  const below = new Set(files.map(({ path }) => path));
  const own = (inForce?.policies ?? []).flatMap(({ file, agents }) => (below.has(file) ? [] : agents.map((agent) => `${file}#${agent}`)));
  return (
    <span className={css.lead}>
      {problems.length > 0 ? <Tag tone="bad">cannot be loaded: the previous set stays in force</Tag> : <Tag tone="ok">in force</Tag>}
      <span>{setText(countSet([...below, ...own]))}</span>
      {digest === null ? null : (
        <span>
          digest <code>{digest.slice(0, 12)}</code>
        </span>
      )}
    </span>
  );
}

type InForce = OperationOutput<"policies">["policies"];
type PaneProps = Readonly<{
  files: PolicyFiles;
  inForce: InForce;
  at: string | null;
  policy: string | null;
  agent: string | null;
  reload(): void;
}>;

function FilesPane({ files, inForce, at, policy, agent, reload }: PaneProps) {
  const found = policy === null ? undefined : inForce.find(({ id }) => id === policy);
  const wanted = at ?? found?.file ?? (policy === null ? null : policyRef(policyId(policy)).file);
  const about = agent === null ? inForce : inForce.filter(({ agents }) => agents.includes(agent));
  const isAbout = ({ path }: PolicyFile): boolean => agent === null || about.some((one) => one.file === path);
  const file =
    files.files.find(({ path }) => path === wanted) ??
    files.files.find((one) => !one.table && isAbout(one)) ??
    files.files.find(({ table }) => !table) ??
    files.files[0];
  const [isEditing, setEditing] = useState(false);
  const hasDraft = useDraft(file?.path ?? "");
  if (at === null && found !== undefined && !files.files.some(({ path }) => path === found.file)) return <OwnRule of={found} />;
  if (file === undefined)
    return files.problems.length > 0 ? (
      <Problems of={files.problems} isAlert />
    ) : (
      <Empty icon="policies" title="There are no policies">
        <p>
          Without policies nothing runs. <code>orgate init</code> writes starter policies.
        </p>
      </Empty>
    );
  return (
    <div className={css.panes}>
      <FileList
        files={{ ...files, files: files.files.filter((one) => isAbout(one) || one === file) }}
        at={file.path}
        choose={(path) => {
          setEditing(false);
          setQuery({ file: path, policy: null });
        }}
      />
      <div className={css.file}>
        {agent === null ? null : <About agent={agent} policies={about.length} files={new Set(about.map((one) => one.file)).size} />}
        <div className={css.head}>
          <h2>{escapeHidden(file.path)}</h2>
          {file.shadow ? <Tag tone="note">shadow: recorded, never enforced</Tag> : null}
          {file.surface === null ? <Tag>everywhere</Tag> : <Tag>sessions from {file.surface}</Tag>}
          <Button size="small" icon={isEditing ? "close" : "edit"} onClick={() => setEditing(!isEditing)}>
            {isEditing ? "Close the draft" : hasDraft ? "Continue the draft" : "Edit a draft"}
          </Button>
        </div>
        {isEditing ? (
          <Draft
            key={file.path}
            file={file}
            files={files.files}
            done={() => {
              setEditing(false);
              reload();
            }}
          />
        ) : (
          <Reading file={file} files={files} line={found?.file === file.path ? found.line : null} />
        )}
        <InFile inForce={about.filter((one) => one.file === file.path)} policy={policy} agent={agent} />
      </div>
    </div>
  );
}

/** A rule in an agent's own file: it is changed with the agent, not here. */
function OwnRule({ of: { id, file, line, agents, effect, shadow } }: Readonly<{ of: InForce[number] }>) {
  return (
    <div className={css.file}>
      <div className={css.head}>
        <h2>
          {file}, line {line}
        </h2>
        {shadow ? <Tag tone="note">shadow: recorded, never enforced</Tag> : <Tag>{effect}</Tag>}
      </div>
      <p>
        <code>{id}</code> is a rule of the file of <strong>{agents.join(", ")}</strong>.{" "}
        <code>orgate agents explain {agents[0] ?? ""}</code> shows its Cedar text.
      </p>
      <Button size="small" onClick={() => setQuery({ policy: null })}>
        Show all policies
      </Button>
    </div>
  );
}

/** Says that only policies of one agent are shown. */
function About({ agent, policies, files }: Readonly<{ agent: string; policies: number; files: number }>) {
  return (
    <div className={css.head}>
      <span>
        {policies === 0 ? (
          <>
            No policy applies to <strong>{agent}</strong>: everything it proposes is denied.
          </>
        ) : (
          <>
            {countNoun(policies, "policy", "policies")} in {countNoun(files, "file")} apply to <strong>{agent}</strong>.
          </>
        )}
      </span>
      <Button size="small" onClick={() => setQuery({ show: "evaluate" })}>
        Test a decision
      </Button>
      <Button size="small" onClick={() => setQuery({ agent: null })}>
        Show all policies
      </Button>
    </div>
  );
}

function Reading({ file, files, line }: Readonly<{ file: PolicyFile; files: PolicyFiles; line: number | null }>) {
  const marks = useMemo(
    () =>
      [...files.problems, ...files.warnings]
        .filter((one) => one.file === file.path)
        .map(({ line: at, column, detail, hint }) => ({ line: at, column, message: escapeHidden(`${detail} (${hint})`) })),
    [files, file.path],
  );
  return (
    <>
      {marks.length === 0 ? null : (
        <p role="alert" className={css.wrong}>
          {countNoun(marks.length, "problem")} in this file, first in line {marks[0]?.line}: {marks[0]?.message}
        </p>
      )}
      <CodeView text={escapeHiddenLines(file.text)} language={file.table ? "json" : "cedar"} label={file.path} marks={marks} line={line} />
    </>
  );
}

function FileList({ files, at, choose }: Readonly<{ files: PolicyFiles; at: string; choose(path: string): void }>) {
  const wrong = new Set(files.problems.map(({ file }) => file));
  const odd = new Set(files.warnings.map(({ file }) => file));
  const failing = new Set(files.cases.filter(({ passed }) => !passed).map(({ file }) => file));
  return (
    <ul className={css.list} aria-label="Files">
      {files.files.map(({ path, table }) => (
        <li key={path}>
          <button type="button" aria-current={path === at} onClick={() => choose(path)}>
            <span className={table ? css.table : ""}>{escapeHidden(path.replace(/^policies\//, ""))}</span>
            {wrong.has(path) ? (
              <Tag tone="bad">error</Tag>
            ) : failing.has(path) ? (
              <Tag tone="bad">fails</Tag>
            ) : odd.has(path) ? (
              <Tag tone="wait">warning</Tag>
            ) : null}
            {drafts.of(path) === null ? null : <Tag tone="note">draft</Tag>}
          </button>
        </li>
      ))}
    </ul>
  );
}

function InFile({ inForce, policy, agent }: Readonly<{ inForce: InForce; policy: string | null; agent: string | null }>) {
  if (inForce.length === 0) return null;
  return (
    <>
      <h3>Policies in it{agent === null ? "" : ` that apply to ${agent}`}</h3>
      <ul className={css.rows}>
        {inForce.map(({ id, effect, line, annotations }) => (
          <li key={id} aria-current={id === policy}>
            <Tag tone={effect === "permit" ? "ok" : "bad"}>{effect}</Tag>
            <button type="button" className={css.go} onClick={() => setQuery({ policy: id, file: null })}>
              {id}
            </button>
            <span>line {line}</span>
            {Object.entries(annotations)
              .filter(([name]) => name !== "id")
              .map(([name, value]) => (
                <code key={name}>
                  @{name}
                  {value === null ? "" : escapeHidden(`("${value}")`)}
                </code>
              ))}
          </li>
        ))}
      </ul>
    </>
  );
}

function Cases({ cases }: Readonly<{ cases: PolicyFiles["cases"] }>) {
  if (cases.length === 0)
    return (
      <Empty icon="policies" title="No decision tables">
        <p>
          Beside <code>x.cedar</code>, a file <code>x.cases.json</code> states the expected decisions: it is checked whenever the policies
          load.
        </p>
      </Empty>
    );
  const byFile = Map.groupBy(cases, ({ file }) => file);
  return [...byFile].map(([file, rows]) => (
    <section key={file} className={css.cases}>
      <h2>
        {escapeHidden(file)}{" "}
        <Tag tone={rows.every(({ passed }) => passed) ? "ok" : "bad"}>
          {rows.filter(({ passed }) => passed).length} of {rows.length} pass
        </Tag>
      </h2>
      <ul className={css.rows}>
        {rows.map(({ name, passed, detail, line }) => (
          <li key={`${line}:${name}`}>
            <Tag tone={passed ? "ok" : "bad"}>{passed ? "passes" : "fails"}</Tag>
            <button type="button" className={css.go} onClick={() => setQuery({ show: null, file, policy: null })}>
              {escapeHidden(name)}
            </button>
            {passed ? null : <span>{escapeHidden(detail)}</span>}
          </li>
        ))}
      </ul>
    </section>
  ));
}
