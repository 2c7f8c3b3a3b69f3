/**
 * Everything there is to see before answering, and the answers.
 * O-4 the exact action stands there, hidden characters shown as escapes: what it touches, why it is asked and by which policy, who may answer, how long there is.
 *     An answer is bound to the digest on screen; if the question is another by then, it is refused and shown anew.
 */

import { policyRef } from "@orgate/core/journal/view";
import { type Answer, type ApprovalId, escapeHidden, type SessionId } from "@orgate/core/vocab";
import type { Problem } from "@orgate/core/wire";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { serverNow } from "../../link/clock.ts";
import { useHub, useMyName, useQuery } from "../../link/use.ts";
import { Button } from "../../parts/Button.tsx";
import { Link } from "../../parts/Link.tsx";
import { Failing, Loading, Sentence, sentence } from "../../parts/States.tsx";
import { Tag } from "../../parts/Tag.tsx";
import { Arguments, ExactText } from "../../parts/text/ExactText.tsx";
import { Time, useNow } from "../../parts/time/Time.tsx";
import { formatCountdown } from "../../parts/time/time.ts";
import { Policies } from "../../parts/Verdict.tsx";
import { chatPath } from "../../routing/addresses.ts";
import { useShortcuts } from "../../state/shortcuts.ts";
import { toast } from "../../state/toasts.ts";
import { unsentTexts, useUnsentText } from "../../state/unsent.ts";
import css from "./AnswerForm.module.css";
import {
  approvedBy,
  coverage,
  describeAnswer,
  grantFor,
  parseEdited,
  type Question,
  scopesShown,
  scopeText,
  toEditableJson,
  type Until,
  untilsWithin,
  untilText,
} from "./answers.ts";

/** `version`: whoever shows the question knows when it is another; asking for one that is gone would only be refused. */
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
  if (asked.value === null && asked.problem !== null) return <Gone problem={asked.problem} />;
  if (asked.value === null) return <Loading />;
  return <Open question={asked.value} session={session} keys={keys} inChat={inChat} reload={asked.reload} />;
}

function Gone({ problem }: Readonly<{ problem: Problem }>) {
  if (problem.status !== 404 && problem.status !== 409) return <Failing problem={problem} />;
  return <p className={css.gone}>This question is not open any more: somebody has answered it, its time was up, or its turn has ended.</p>;
}

type Mode = "choose" | "edit" | "deny" | "withdraw" | "grant";
type OpenProps = Readonly<{ question: Question; session: SessionId; keys: boolean; inChat: boolean; reload(): void }>;

function Open({ question, session, keys, inChat, reload }: OpenProps) {
  const hub = useHub();
  const begun = namesOf(question);
  const [mode, setMode] = useState<Mode>(() => begunMode(begun));
  const [isBack] = useState(mode !== "choose"); // to what was begun: nothing takes the focus for that
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
      <Why question={question} />
      {inChat ? null : <What question={question} session={session} />}
      <Exactly question={question} />
      {wrong === null ? null : (
        <p className={css.wrong} role="alert">
          <Sentence text={wrong} />
        </p>
      )}
      {mode === "choose" ? (
        <div className={css.choices} ref={choices}>
          {hasSaidYes ? (
            <p className={css.aside}>You have said yes. The others have to be different people.</p>
          ) : (
            <>
              <Button tone="good" icon="check" busy={busy === "approve"} disabled={mayNot} onClick={() => void answer({ kind: "approve" })}>
                Approve once
              </Button>
              {args === null ? null : (
                <Button icon="edit" data-mode="edit" disabled={mayNot} onClick={() => setMode("edit")}>
                  Edit and approve
                </Button>
              )}
              {widest === null ? null : (
                <Button icon="undo" data-mode="grant" disabled={mayNot} onClick={() => setMode("grant")}>
                  Approve and remember
                </Button>
              )}
            </>
          )}
          <Button tone="bad" icon="deny" data-mode="deny" disabled={mayNot} onClick={() => setMode("deny")}>
            Deny
          </Button>
          {isMine ? (
            <Button icon="undo" data-mode="withdraw" disabled={mayNot} onClick={() => setMode("withdraw")}>
              Withdraw
            </Button>
          ) : null}
        </div>
      ) : null}
      {mode === "deny" || mode === "withdraw" ? (
        <Refusing kind={mode} name={begun[mode]} isBack={isBack} busy={busy === mode} send={answer} back={back} />
      ) : null}
      {mode === "edit" ? (
        <Editing question={question} name={begun.edit} isBack={isBack} busy={busy === "edit"} send={answer} back={back} />
      ) : null}
      {mode === "grant" ? <Granting question={question} busy={busy === "grant"} send={answer} back={back} /> : null}
    </div>
  );
}

/** O-7 what an answer says is kept until it is given, for as long as the question is the same. */
const namesOf = ({ approval, digest }: Question) => ({
  deny: `deny.${approval}`,
  withdraw: `withdraw.${approval}`,
  edit: `edit.${approval}.${digest}`,
});
const begunMode = ({ deny, withdraw, edit }: ReturnType<typeof namesOf>): Mode =>
  unsentTexts.of(deny) !== null
    ? "deny"
    : unsentTexts.of(withdraw) !== null
      ? "withdraw"
      : unsentTexts.of(edit) !== null
        ? "edit"
        : "choose";

/** Whoever comes back from a form stands at what opened it. */
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

function Why({ question }: Readonly<{ question: Question }>) {
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
                ? "whoever the policies let approve"
                : `for ${terms.approvers.map(escapeHidden).join(" or ")} to answer`}
              {terms.quorum > 1 ? ` · ${yes.length} of ${terms.quorum} have said yes${yes.length === 0 ? "" : `: ${yes.join(", ")}`}` : ""}
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

function Countdown({ expiresAt, onExpiry, expired }: Pick<Question, "expiresAt" | "onExpiry" | "expired">) {
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

function What({ question, session }: Readonly<{ question: Question; session: SessionId }>) {
  const { agent, tool, resource, requester, lineage, askedAt, editedBy } = question;
  return (
    <dl className={css.what}>
      <dt>Action</dt>
      <dd>
        <strong>{escapeHidden(agent)}</strong> wants <code>{escapeHidden(tool)}</code>
        {lineage.length === 0 ? "" : `, asked by ${lineage.map(escapeHidden).join(" → ")}`}
      </dd>
      <dt>Touches</dt>
      <dd>{resource === null ? "nothing that has a name" : <ExactText text={`${resource.type} ${resource.id}`} />}</dd>
      <dt>For</dt>
      <dd>{escapeHidden(requester.id)}</dd>
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

function Exactly({ question: { args, text } }: Readonly<{ question: Question }>) {
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

// ── answers with more to them ──

type More = Readonly<{ busy: boolean; send(answer: Answer): Promise<void>; back(): void }>;

/** Escape leaves a form as Back does. */
const leaving = (back: () => void) => (event: KeyboardEvent) => {
  if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
  event.stopPropagation();
  back();
};

type Begun = Readonly<{ name: string; isBack: boolean }>;
function useFocus(isBack: boolean) {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (!isBack) field.current?.focus();
  }, [isBack]);
  return field;
}

/** Q-4 a no says why. */
function Refusing({ kind, name, isBack, busy, send, back }: More & Begun & Readonly<{ kind: "deny" | "withdraw" }>) {
  const [reason, setReason] = useUnsentText(name);
  const field = useFocus(isBack);
  return (
    <form
      className={css.form}
      onKeyDown={leaving(back)}
      onSubmit={(event) => {
        event.preventDefault();
        if (reason.trim() !== "") void send({ kind, reason: reason.trim() });
      }}
    >
      <label htmlFor="deny-reason">
        {kind === "deny" ? "Why not? The agent is told." : "Why is it not wanted any more? The agent is told."}
      </label>
      <textarea id="deny-reason" ref={field} rows={2} maxLength={2_000} value={reason} onChange={({ target }) => setReason(target.value)} />
      <Ends busy={busy} back={back} tone="bad" says={kind === "deny" ? "Deny" : "Withdraw"} disabled={reason.trim() === ""} />
    </form>
  );
}

function Editing({ question, name, isBack, busy, send, back }: More & Begun & Readonly<{ question: Question }>) {
  const [text, setText] = useUnsentText(name, toEditableJson(question.args ?? {}));
  const field = useFocus(isBack);
  const read = parseEdited(text);
  return (
    <form
      className={css.form}
      onKeyDown={leaving(back)}
      onSubmit={(event) => {
        event.preventDefault();
        if (read.kind === "args") void send({ kind: "edit", args: read.args });
      }}
    >
      <label htmlFor="edit-args">Arguments to approve in place of the proposed ones</label>
      <textarea
        id="edit-args"
        ref={field}
        className={css.code}
        rows={Math.min(14, text.split("\n").length + 1)}
        spellCheck={false}
        value={text}
        onChange={({ target }) => setText(target.value)}
        aria-describedby="edit-wrong"
        aria-invalid={read.kind === "wrong"}
      />
      <p id="edit-wrong" className={css.aside}>
        {read.kind === "wrong" ? sentence(read.why) : "They are checked and decided again before anything runs."}
      </p>
      <Ends busy={busy} back={back} tone="good" says="Approve as edited" disabled={read.kind === "wrong"} />
    </form>
  );
}

function Granting({ question, busy, send, back }: More & Readonly<{ question: Question }>) {
  const { widest } = question;
  const [scope, setScope] = useState<ReturnType<typeof scopesShown>[number]>("digest");
  const [until, setUntil] = useState<Until>("turn");
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);
  if (widest === null) return null;
  return (
    <form
      className={css.form}
      onKeyDown={leaving(back)}
      onSubmit={(event) => {
        event.preventDefault();
        void send(grantFor(scope, until, widest, serverNow()));
      }}
    >
      <fieldset>
        <legend>Do not ask again for</legend>
        {scopesShown(question, widest).map((one, i) => (
          <label key={one}>
            <input ref={i === 0 ? first : null} type="radio" name="scope" checked={scope === one} onChange={() => setScope(one)} />{" "}
            {scopeText(one)}
          </label>
        ))}
      </fieldset>
      <fieldset>
        <legend>How long</legend>
        {untilsWithin(widest).map((one) => (
          <label key={one}>
            <input type="radio" name="until" checked={until === one} onChange={() => setUntil(one)} /> {untilText(one, widest.lifetime)}
          </label>
        ))}
      </fieldset>
      <p className={css.aside} aria-live="polite">
        It covers {coverage(question, grantFor(scope, until, widest, serverNow()))}. It is listed under Grants, and can be revoked there.
      </p>
      <Ends busy={busy} back={back} tone="good" says="Approve and remember" />
    </form>
  );
}

type EndsProps = Readonly<{ busy: boolean; back(): void; tone: "good" | "bad"; says: string; disabled?: boolean }>;
function Ends({ busy, back, tone, says, disabled = false }: EndsProps) {
  return (
    <div className={css.choices}>
      <Button type="submit" tone={tone} busy={busy} disabled={disabled}>
        {says}
      </Button>
      <Button onClick={back}>Back</Button>
    </div>
  );
}
