/** One tool call: proposal, verdict, outcome. */
import type { SessionId } from "@orgate/core/vocab";
import type { CallItem, CallStatus } from "@orgate/protocol/view";
import { useState } from "react";
import { Diff } from "../../parts/code/Diff.tsx";
import { Icon, type IconName } from "../../parts/Icon.tsx";
import { Link } from "../../parts/Link.tsx";
import { Tag, type Tone } from "../../parts/Tag.tsx";
import { useNow } from "../../parts/time/Time.tsx";
import { formatDuration } from "../../parts/time/time.ts";
import tones from "../../parts/tones.module.css";
import { Verdict } from "../../parts/Verdict.tsx";
import { chatPath, sessionPath } from "../../routing/addresses.ts";
import css from "./CallCard.module.css";

const STATUS: Readonly<Record<CallStatus, Readonly<{ tone: Tone; icon: IconName; says: string }>>> = {
  proposed: { tone: "plain", icon: "wait", says: "proposed" },
  asking: { tone: "wait", icon: "wait", says: "waits for a person" },
  deferred: { tone: "wait", icon: "wait", says: "deferred" },
  denied: { tone: "bad", icon: "deny", says: "denied" },
  allowed: { tone: "ok", icon: "wait", says: "allowed" },
  running: { tone: "act", icon: "wait", says: "running" },
  recovering: { tone: "wait", icon: "undo", says: "retrying" },
  done: { tone: "ok", icon: "check", says: "done" },
  failed: { tone: "bad", icon: "warning", says: "failed" },
  unknown: { tone: "wait", icon: "warning", says: "outcome unknown" },
  dropped: { tone: "plain", icon: "close", says: "not run" },
};

export function CallCard({ item, session }: Readonly<{ item: CallItem; session: SessionId }>) {
  const { tone, icon, says } = STATUS[item.status];
  const isOpenAtFirst = item.edit !== null || item.status === "failed" || item.status === "unknown";
  const [chosen, choose] = useState<boolean | null>(null);
  const isOpen = chosen ?? isOpenAtFirst;
  return (
    <article className={`${css.card} ${tones[tone]}`} aria-label={`Call of ${item.tool}`}>
      <header className={css.head}>
        <Icon name={icon} size={18} />
        <strong className={css.tool}>{item.tool}</strong>
        <span className={css.summary}>{item.summary}</span>
        <span className={css.end}>
          <Duration item={item} />
          <Tag tone={tone}>{says}</Tag>
        </span>
      </header>
      {item.verdict === null ? null : <Verdict verdict={item.verdict} />}
      {item.live === "" ? null : (
        <pre className={css.live}>
          <span className="unseen">Output so far: </span>
          {item.live}
        </pre>
      )}
      {item.recovery.length === 0 ? null : (
        <ul className={css.aside}>
          {item.recovery.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
      {item.child === null ? null : (
        <p className={css.aside}>
          Delegated to <Link to={chatPath(item.child.session)}>{item.child.agent}</Link>
          {item.child.ending === null ? ", at work" : `: ${item.child.ending}`}
        </p>
      )}
      <button type="button" className={css.more} aria-expanded={isOpen} onClick={() => choose(!isOpen)}>
        {isOpen ? "Less" : "Arguments, result, evidence"}
      </button>
      {isOpen ? <Details item={item} session={session} /> : null}
    </article>
  );
}

function Details({ item, session }: Readonly<{ item: CallItem; session: SessionId }>) {
  return (
    <div className={css.details}>
      {item.edit === null ? null : <Diff edit={item.edit} />}
      <Text title="Arguments" text={item.args} />
      {item.resource === null ? null : (
        <p className={css.aside}>
          Touches <code>{item.resource}</code>
        </p>
      )}
      {item.result === null ? null : <Text title={item.status === "done" ? "Result" : "Output"} text={item.result} cut={item.cut} />}
      <p className={css.aside}>
        {item.labels.map((label) => (
          <Tag key={label} tone="wait">
            {label}
          </Tag>
        ))}
        {item.starts > 1 ? <span>started {item.starts} times</span> : null}
        <Link to={sessionPath(session, item.evidence ?? item.seq)}>
          {item.evidence === null ? "Journal entry" : "Evidence, in the journal"}
        </Link>
      </p>
    </div>
  );
}

function Text({ title, text, cut = 0 }: Readonly<{ title: string; text: string; cut?: number }>) {
  return (
    <section className={css.text}>
      <p className={css.title}>{title}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys */}
      <pre tabIndex={0} dir="auto">
        {text}
      </pre>
      {cut === 0 ? null : <p className={css.aside}>{cut} more characters are in the journal.</p>}
    </section>
  );
}

function Duration({ item }: Readonly<{ item: CallItem }>) {
  if (item.durationMs !== null) return <span className="figures">{formatDuration(item.durationMs)}</span>;
  return item.status === "running" && item.startedAt !== null ? <Running since={item.startedAt} /> : null;
}
function Running({ since }: Readonly<{ since: number }>) {
  const now = useNow("second");
  return <span className="figures">{formatDuration(Math.max(0, now - since))}</span>;
}
