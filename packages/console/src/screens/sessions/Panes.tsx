/** The session's state at an entry, and the stored entry. */
import type { SessionId } from "@orgate/core/vocab";
import type { Item } from "@orgate/protocol";
import { type SessionView, tokensText } from "@orgate/protocol/view";
import { useDeferredValue, useMemo } from "react";
import { useQuery } from "../../link/use.ts";
import { Facts } from "../../parts/charts/Figures.tsx";
import { Link } from "../../parts/Link.tsx";
import { Failure, Loading } from "../../parts/States.tsx";
import { StoredEntry } from "../../parts/StoredEntry.tsx";
import { Tag } from "../../parts/Tag.tsx";
import { countText, formatDuration, moneyText } from "../../parts/time/time.ts";
import { approvalPath } from "../../routing/addresses.ts";
import { type EntryRow, openStepper } from "./entry-rows.ts";
import css from "./Session.module.css";
import { endingTone, STATE_TONES } from "./states.ts";

export function StatePane({ session, items, at }: Readonly<{ session: SessionId; items: readonly Item[]; at: number }>) {
  const until = useDeferredValue(at);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another feed has another array
  const step = useMemo(() => openStepper(session), [session, items]);
  const view = useMemo(() => step(items, until), [step, items, until]);
  const turn = view.turns.at(-1);
  return (
    <div className={css.pane}>
      <Facts
        of={[
          [
            "State",
            <Tag key="s" tone={STATE_TONES[view.state]}>
              {view.state}
            </Tag>,
          ],
          ["Turn", turn === undefined ? "none yet" : `${turn.turn}, iteration ${view.iteration}`],
          ...(turn?.ending === undefined || turn.ending === null
            ? []
            : [
                [
                  "Ended",
                  <Tag key="e" tone={endingTone(turn.ending)}>
                    {turn.ending}
                  </Tag>,
                ] as const,
              ]),
          ["Held by", view.writer === null ? "nobody" : `${view.writer}, hold ${view.epoch}`],
          ["Model", view.model],
          ["Labels", view.labels.length === 0 ? "none" : <Labels key="l" of={view.labels} />],
          ["Running", view.running.length === 0 ? "nothing" : <Calls key="r" view={view} ids={view.running} />],
          ["Waiting", view.openQuestions.length === 0 ? "for nobody" : <Questions key="q" view={view} />],
          ["Unknown", view.openUnknowns.length === 0 ? "nothing" : <Calls key="u" view={view} ids={view.openUnknowns} />],
          ["Used in the turn", turn === undefined ? "nothing" : `${tokensText(turn.totals, countText)}; ${costText(turn.totals.micros)}`],
          ["Used so far", `${tokensText(view.totals, countText)}; ${costText(view.totals.micros)}`],
        ]}
      />
      <h2>Conversation up to here</h2>
      <ol className={css.lately}>
        {view.items.slice(-LATELY).map((item) => (
          <li key={item.key}>{describeItem(item)}</li>
        ))}
      </ol>
    </div>
  );
}
const LATELY = 6;
const costText = (micros: number | null): string => (micros === null ? "cost unknown" : moneyText(micros));

function Labels({ of }: Readonly<{ of: SessionView["labels"] }>) {
  return (
    <span className={css.tags}>
      {of.map((label) => (
        <Tag key={label} tone="bad">
          {label}
        </Tag>
      ))}
    </span>
  );
}
function Calls({ view, ids }: Readonly<{ view: SessionView; ids: readonly string[] }>) {
  return ids
    .map((id) => view.items.findLast((item) => item.kind === "call" && item.call === id))
    .map((item) => (item?.kind === "call" ? `${item.tool} (${item.summary})` : ""))
    .join(", ");
}
function Questions({ view }: Readonly<{ view: SessionView }>) {
  return (
    <span className={css.tags}>
      {view.openQuestions.map((approval) => (
        <Link key={approval} to={approvalPath(approval)}>
          {approval}
        </Link>
      ))}
    </span>
  );
}

function describeItem(item: SessionView["items"][number]): string {
  switch (item.kind) {
    case "said":
      return `${item.by}: ${item.text.slice(0, 160)}`;
    case "reply":
      return item.withheld ? "a reply, withheld" : `answer: ${item.text.slice(0, 160)}`;
    case "thinking":
      return `thought: ${item.text.slice(0, 80)}`;
    case "call":
      return `${item.tool} (${item.summary}): ${item.status}${item.durationMs === null ? "" : `, ${formatDuration(item.durationMs)}`}`;
    case "question":
      return `asked: ${item.asks.map(({ question }) => question).join(" ")} (${item.state})`;
    case "notice":
      return item.text;
    case "ended":
      return `${item.ending}: ${item.sentence}`;
  }
}

export function EntryPane({ session, row }: Readonly<{ session: SessionId; row: EntryRow }>) {
  const asked = useQuery("storedEntry", { params: { session, seq: row.seq } });
  if (asked.problem !== null && asked.value === null) return <Failure problem={asked.problem} again={asked.reload} />;
  return asked.value === null ? <Loading /> : <StoredEntry of={asked.value} />;
}
