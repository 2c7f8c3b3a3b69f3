/** Rows of a conversation, one per item of the session's view. */
import {
  type EndedItem,
  type NoticeItem,
  type SaidItem,
  type SessionView,
  type Streaming,
  tokensText,
  type ViewItem,
} from "@orgate/protocol/view";
import { memo, use } from "react";
import { Icon } from "../../parts/Icon.tsx";
import { Sentence } from "../../parts/States.tsx";
import { Tag, type Tone } from "../../parts/Tag.tsx";
import { Markdown, PlainText } from "../../parts/text/Markdown.tsx";
import { Time } from "../../parts/time/Time.tsx";
import { countText, formatDuration, moneyText } from "../../parts/time/time.ts";
import { RequestCard } from "../approvals/RequestCard.tsx";
import { describeHalt, haltFor } from "../halts.ts";
import { OverviewContext } from "../overview.ts";
import { CallCard } from "./CallCard.tsx";
import { Files } from "./Files.tsx";
import css from "./Items.module.css";

type Given = Readonly<{ item: ViewItem; view: SessionView }>;

/** An unchanged item is the same object, so it is not drawn again. */
export const Row = memo(
  function Row({ item, view }: Given) {
    return (
      <div className={`${css.row} ${css[item.kind]}`}>
        <Item item={item} view={view} />
      </div>
    );
  },
  (a, b) => a.item === b.item,
);

function Item({ item, view }: Given) {
  switch (item.kind) {
    case "said":
      return <Said item={item} agent={view.agent} />;
    case "reply":
      return item.withheld ? (
        <p className={css.withheld}>
          <Icon name="deny" size={18} /> A reply that no policy permits to show. It is in the journal.
        </p>
      ) : (
        <Markdown text={item.text} />
      );
    case "thinking":
      return item.text === "" ? null : <Thinking text={item.text} />;
    case "call":
      return <CallCard item={item} session={view.session} />;
    case "question":
      return <RequestCard item={item} session={view.session} />;
    case "notice":
      return <Notice item={item} />;
    case "ended":
      return <Ended item={item} />;
  }
}

const HOW: Readonly<Record<SaidItem["how"], string | null>> = { turn: null, steered: "steered", queued: "queued", earlier: "earlier" };

/** Q-17 a queued message that waits says why. */
function Said({ item, agent }: Readonly<{ item: SaidItem; agent: string }>) {
  const halt = haltFor(use(OverviewContext).halts, agent);
  const how = item.how === "queued" && halt !== null ? `waits: ${describeHalt(halt)}` : HOW[item.how];
  return (
    <>
      <p className={css.by}>
        <strong>{item.by.replace(/^user:/, "")}</strong> {how === null ? null : <Tag tone="note">{how}</Tag>} <Time at={item.at} />
      </p>
      <PlainText text={item.text} />
      <Files item={item} />
    </>
  );
}

function Thinking({ text }: Readonly<{ text: string }>) {
  return (
    <details className={css.folded}>
      <summary>
        <Icon name="thinking" size={16} /> Thinking
      </summary>
      <PlainText text={text} />
    </details>
  );
}

const TONES: Readonly<Record<string, Tone>> = { good: "ok", bad: "bad", warn: "wait", accent: "reason" };
function Notice({ item }: Readonly<{ item: NoticeItem }>) {
  return (
    <p className={css.told}>
      {item.mark === "·" ? null : <Tag tone={TONES[item.tone] ?? "plain"}>{item.mark}</Tag>} <span>{item.text}</span> <Time at={item.at} />
    </p>
  );
}

function Ended({ item }: Readonly<{ item: EndedItem }>) {
  const isWell = item.ending === "completed";
  return (
    <>
      {item.output === null ? null : <Markdown text={item.output} />}
      <p className={css.told}>
        <Tag tone={isWell ? "ok" : "bad"}>{item.ending}</Tag>
        {isWell ? null : (
          <span>
            <Sentence text={item.detail ?? item.sentence} /> <Sentence text={item.next} />
          </span>
        )}
        <Totals item={item} />
      </p>
    </>
  );
}

function Totals({ item }: Readonly<{ item: EndedItem }>) {
  return (
    <span className={`${css.totals} figures`}>
      {tokensText(item, countText)} · {item.micros === null ? "cost unknown" : moneyText(item.micros)} · {item.calls}{" "}
      {item.calls === 1 ? "call" : "calls"} · {formatDuration(item.activeMs)} · <Time at={item.at} />
    </span>
  );
}

/** The reply in progress: text that is not in the journal yet. */
export function InProgress({ view }: Readonly<{ view: SessionView }>) {
  const { streaming, state, agent } = view;
  if (state !== "running") return null;
  return (
    <div className={`${css.row} ${css.live}`}>
      {streaming === null ? (
        <Working what={view.running.length > 0 ? "working" : `${agent} is thinking`} />
      ) : (
        <Streamed streaming={streaming} />
      )}
    </div>
  );
}

function Streamed({ streaming }: Readonly<{ streaming: Streaming }>) {
  return (
    <>
      {streaming.thinking === "" || streaming.text !== "" ? null : (
        <p className={css.by}>
          <Icon name="thinking" size={16} /> Thinking…
        </p>
      )}
      {streaming.text === "" ? null : <Markdown text={streaming.text} />}
      {streaming.calls.map(({ tool }, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a call in the making is what it is by its place
        <p key={i} className={css.by}>
          Proposes <code>{tool}</code>…
        </p>
      ))}
    </>
  );
}

function Working({ what }: Readonly<{ what: string }>) {
  return (
    <p className={css.by}>
      <span className={css.dot} /> {what}…
    </p>
  );
}
