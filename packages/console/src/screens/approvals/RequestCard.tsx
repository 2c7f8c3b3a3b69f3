/** An approval request in its conversation: open ones can be answered there, closed ones show their answers. */
import type { SessionId } from "@orgate/core/vocab";
import type { QuestionItem, QuestionState } from "@orgate/protocol/view";
import { Icon } from "../../parts/Icon.tsx";
import { Tag, type Tone } from "../../parts/Tag.tsx";
import { Time } from "../../parts/time/Time.tsx";
import { AnswerForm } from "./AnswerForm.tsx";
import css from "./RequestCard.module.css";

const TONES: Readonly<Record<QuestionState, Tone>> = {
  open: "wait",
  approved: "ok",
  edited: "ok",
  granted: "ok",
  denied: "bad",
  expired: "bad",
  withdrawn: "plain",
};

export function RequestCard({ item, session }: Readonly<{ item: QuestionItem; session: SessionId }>) {
  const isOpen = item.state === "open";
  return (
    <article className={`${css.card} ${isOpen ? css.open : ""}`} aria-label={`Approval request for ${item.tool}`}>
      <header className={css.head}>
        <Icon name="approvals" size={18} />
        <strong>{item.tool}</strong>
        <span className={css.summary}>{item.resource ?? item.summary}</span>
        <Tag tone={TONES[item.state]}>{isOpen ? "waits for a person" : item.state}</Tag>
      </header>
      {isOpen ? (
        <AnswerForm approval={item.approval} session={session} version={`${item.digest} ${item.answers.length}`} inChat />
      ) : (
        <p className={css.question}>{item.asks.map(({ question }) => question).join(" ")}</p>
      )}
      {item.answers.map(({ by, answer, reason, at }) => (
        <p key={`${by}${at}`} className={css.aside}>
          <strong>{by.replace(/^user:/, "")}</strong> {answer}
          {reason === null || reason === "" ? "" : `: ${reason}`} <Time at={at} />
        </p>
      ))}
    </article>
  );
}
