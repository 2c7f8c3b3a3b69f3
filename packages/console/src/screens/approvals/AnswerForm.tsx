/**
 * An approval request with all that matters for the decision, and the answers.
 * O-4 it shows the exact action with hidden characters escaped, its resource, the policy that asks and why, who may answer, and the time left.
 *     An answer is bound to the digest on screen; if the request has changed by then, the answer is refused and the request is shown again.
 */

import { type Answer, type ApprovalId, escapeHidden, type SessionId } from "@orgate/core/vocab";
import type { Problem } from "@orgate/protocol";
import { policyRef } from "@orgate/protocol/view";
import { useEffect, useRef, useState } from "react";
import { useHub, useMyName, useQuery } from "../../link/use.ts";
import { Button } from "../../parts/Button.tsx";
import { Link } from "../../parts/Link.tsx";
import { Failure, Loading, Sentence, sentence } from "../../parts/States.tsx";
import { Tag } from "../../parts/Tag.tsx";
import { Arguments, ExactText } from "../../parts/text/ExactText.tsx";
import { Time, useNow } from "../../parts/time/Time.tsx";
import { formatCountdown } from "../../parts/time/time.ts";
import { Policies } from "../../parts/Verdict.tsx";
import { chatPath } from "../../routing/addresses.ts";
import { useShortcuts } from "../../state/shortcuts.ts";
import { toast } from "../../state/toasts.ts";
import { unsentTexts } from "../../state/unsent.ts";
import { DenyForm, EditForm, GrantForm } from "./AnswerDetails.tsx";
import css from "./AnswerForm.module.css";
import { type ApprovalRequest, approvedBy, describeAnswer } from "./answers.ts";

/** `version` changes with the request: the form reads it again only then, since reading a closed one is refused. */
type Props = Readonly<{ approval: ApprovalId; session: SessionId; version: string; keys?: boolean; inChat?: boolean }>;

export function AnswerForm({ approval, session, version, keys = false, inChat = false }: Props) {
  const asked = useQuery("approval", { params: { approval } });
  const { reload } = asked;
  const shown = useRef(version);
  useEffect(() => {
    if (shown.current === version) return;
    shown.current = version;
    reload();
  }, [version, reload]);
  if (asked.value === null && asked.problem !== null) return <ClosedRequest problem={asked.problem} />;
  if (asked.value === null) return <Loading />;
  return <OpenRequest question={asked.value} session={session} keys={keys} inChat={inChat} reload={asked.reload} />;
}

function ClosedRequest({ problem }: Readonly<{ problem: Problem }>) {
  if (problem.status !== 404 && problem.status !== 409) return <Failure problem={problem} />;
  return <p className={css.gone}>This request is no longer open: somebody answered it, its time was up, or its turn has ended.</p>;
}

type Mode = "choose" | "edit" | "deny" | "withdraw" | "grant";
type OpenProps = Readonly<{ question: ApprovalRequest; session: SessionId; keys: boolean; inChat: boolean; reload(): void }>;

function OpenRequest({ question, session, keys, inChat, reload }: OpenProps) {
  const hub = useHub();
  const begun = unsentNames(question);
  const [mode, setMode] = useState<Mode>(() => restoredMode(begun));
  const [isBack] = useState(mode !== "choose"); // a restored form does not take the focus
  const back = (): void => {
    for (const name of Object.values(begun)) unsentTexts.drop(name);
    setMode("choose");
  };
  const [busy, setBusy] = useState<Answer["kind"] | null>(null);
  const [wrong, setWrong] = useState<string | null>(null);
  const { approval, digest, args, widest } = question;
  const me = useMyName();
  const isMine = question.requester.kind === "user" && question.requester.id === me?.replace(/^user:/, "");
  const hasSaidYes = question.votes.some(({ by }) => by === me);
  const mayNot = busy !== null || question.expired;
  const choices = useChoices(mode);

  const answer = async (given: Answer): Promise<void> => {
    if (busy !== null) return;
    setBusy(given.kind);
    setWrong(null);
    const answered = await hub.link.call("answer", { params: { approval }, body: { digest, answer: given } });
    setBusy(null);
    if (answered.kind === "problem") {
      setWrong(`${sentence(answered.problem.detail)} ${sentence(answered.problem.hint)}`);
      reload();
    } else {
      toast({ tone: "ok", ...describeAnswer(given, question) });
      back();
    }
  };
  useShortcuts(
    keys && mode === "choose" && !mayNot
      ? [
          ...(hasSaidYes ? [] : [{ keys: "a", says: "Approve once", run: () => void answer({ kind: "approve" }) }]),
          { keys: "d", says: "Deny, with a reason", run: () => setMode("deny") },
          ...(args === null || hasSaidYes ? [] : [{ keys: "e", says: "Edit and approve", run: () => setMode("edit") }]),
          ...(widest === null || hasSaidYes ? [] : [{ keys: "r", says: "Approve and remember", run: () => setMode("grant") }]),
        ]
      : [],
  );
  return (
    <div className={css.answering}>
      <RequestReasons question={question} />
      {inChat ? null : <RequestFacts question={question} session={session} />}
      <ExactAction question={question} />
      {wrong === null ? null : (
        <p className={css.wrong} role="alert">
          <Sentence text={wrong} />
        </p>
      )}
      {mode === "choose" ? (
        <div className={css.choices} ref={choices}>
          <Choices
            question={question}
            isMine={isMine}
            hasSaidYes={hasSaidYes}
            isApproving={busy === "approve"}
            disabled={mayNot}
            approve={() => void answer({ kind: "approve" })}
            setMode={setMode}
          />
        </div>
      ) : null}
      {mode === "deny" || mode === "withdraw" ? (
        <DenyForm kind={mode} name={begun[mode]} isBack={isBack} busy={busy === mode} send={answer} back={back} />
      ) : null}
      {mode === "edit" ? (
        <EditForm question={question} name={begun.edit} isBack={isBack} busy={busy === "edit"} send={answer} back={back} />
      ) : null}
      {mode === "grant" ? <GrantForm question={question} busy={busy === "grant"} send={answer} back={back} /> : null}
    </div>
  );
}

type ChoicesProps = Readonly<{
  question: ApprovalRequest;
  isMine: boolean;
  hasSaidYes: boolean;
  isApproving: boolean;
  disabled: boolean;
  approve(): void;
  setMode(mode: Mode): void;
}>;

function Choices({ question: { args, widest }, isMine, hasSaidYes, isApproving, disabled, approve, setMode }: ChoicesProps) {
  return (
    <>
      {hasSaidYes ? (
        <p className={css.aside}>You have approved. The other approvals must come from different people.</p>
      ) : (
        <>
          <Button tone="good" icon="check" busy={isApproving} disabled={disabled} onClick={approve}>
            Approve once
          </Button>
          {args === null ? null : (
            <Button icon="edit" data-mode="edit" disabled={disabled} onClick={() => setMode("edit")}>
              Edit and approve
            </Button>
          )}
          {widest === null ? null : (
            <Button icon="undo" data-mode="grant" disabled={disabled} onClick={() => setMode("grant")}>
              Approve and remember
            </Button>
          )}
        </>
      )}
      <Button tone="bad" icon="deny" data-mode="deny" disabled={disabled} onClick={() => setMode("deny")}>
        Deny
      </Button>
      {isMine ? (
        <Button icon="undo" data-mode="withdraw" disabled={disabled} onClick={() => setMode("withdraw")}>
          Withdraw
        </Button>
      ) : null}
    </>
  );
}

/** O-7 the text of an answer is kept until it is sent, for as long as the request is the same. */
const unsentNames = ({ approval, digest }: ApprovalRequest) => ({
  deny: `deny.${approval}`,
  withdraw: `withdraw.${approval}`,
  edit: `edit.${approval}.${digest}`,
});
const restoredMode = ({ deny, withdraw, edit }: ReturnType<typeof unsentNames>): Mode =>
  unsentTexts.of(deny) !== null
    ? "deny"
    : unsentTexts.of(withdraw) !== null
      ? "withdraw"
      : unsentTexts.of(edit) !== null
        ? "edit"
        : "choose";

/** Leaving a form returns the focus to the button that opened it. */
function useChoices(mode: Mode) {
  const box = useRef<HTMLDivElement>(null);
  const before = useRef<Mode>(mode);
  useEffect(() => {
    const from = before.current;
    before.current = mode;
    if (mode === "choose" && from !== "choose") box.current?.querySelector<HTMLElement>(`[data-mode=${from}]`)?.focus();
  }, [mode]);
  return box;
}

function RequestReasons({ question }: Readonly<{ question: ApprovalRequest }>) {
  return (
    <div className={css.why}>
      {question.asks.map(({ policy, question: text, terms }) => {
        const yes = approvedBy(question, policy);
        return (
          <div key={policy}>
            <p className={css.question}>
              <ExactText text={text} />
            </p>
            <p className={css.aside}>
              Asked <Policies of={[policyRef(policy)]} /> ·{" "}
              {terms.approvers.length === 0
                ? "anyone whom the policies allow to approve"
                : `for ${terms.approvers.map(escapeHidden).join(" or ")} to answer`}
              {terms.quorum > 1 ? ` · ${yes.length} of ${terms.quorum} approved${yes.length === 0 ? "" : `: ${yes.join(", ")}`}` : ""}
            </p>
          </div>
        );
      })}
      {question.again === null ? null : <p className={css.aside}>Asked again: {escapeHidden(question.again)}</p>}
      {question.resolved.map((since) => (
        <p key={since} className={css.aside}>
          {sentence(escapeHidden(since))}
        </p>
      ))}
      {question.halted === null ? null : <p className={css.aside}>{sentence(escapeHidden(question.halted))}</p>}
      <Countdown expiresAt={question.expiresAt} onExpiry={question.onExpiry} expired={question.expired} />
    </div>
  );
}

function Countdown({ expiresAt, onExpiry, expired }: Pick<ApprovalRequest, "expiresAt" | "onExpiry" | "expired">) {
  const now = useNow("second");
  if (expiresAt === null) return null;
  const left = expiresAt - now;
  const then = onExpiry === "halt" ? "then the turn is halted" : "then it is denied";
  return (
    <p className={`${css.countdown} ${left < 60_000 ? css.soon : ""}`} role="timer">
      {expired || left <= 0 ? "Its time is up" : `${formatCountdown(left)} left, ${then}`}
    </p>
  );
}

function RequestFacts({ question, session }: Readonly<{ question: ApprovalRequest; session: SessionId }>) {
  const { agent, tool, resource, requester, subject, lineage, askedAt, editedBy } = question;
  return (
    <dl className={css.what}>
      <dt>Action</dt>
      <dd>
        <strong>{escapeHidden(agent)}</strong> proposes <code>{escapeHidden(tool)}</code>
        {lineage.length === 0 ? "" : `, delegated by ${lineage.map(escapeHidden).join(" → ")}`}
      </dd>
      <dt>Resource</dt>
      <dd>{resource === null ? "none that has a name" : <ExactText text={`${resource.type} ${resource.id}`} />}</dd>
      <dt>For</dt>
      <dd>
        {escapeHidden(requester.id)}
        {subject === null ? "" : `, serving ${escapeHidden(subject)}`}
      </dd>
      <dt>Asked</dt>
      <dd>
        <Time at={askedAt} /> in <Link to={chatPath(session)}>its conversation</Link>
      </dd>
      {editedBy === null ? null : (
        <>
          <dt>Edited</dt>
          <dd>
            <Tag tone="note">by {escapeHidden(editedBy)}</Tag>
          </dd>
        </>
      )}
    </dl>
  );
}

function ExactAction({ question: { args, text } }: Readonly<{ question: ApprovalRequest }>) {
  return (
    <>
      {args === null ? null : <Arguments args={args} />}
      {text === null ? null : (
        <div className={css.text}>
          <ExactText text={text} />
        </div>
      )}
    </>
  );
}
