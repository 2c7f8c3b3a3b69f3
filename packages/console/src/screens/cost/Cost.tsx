/**
 * Cost by agent, model and day.
 * Days follow the viewer's clock; usage without a known price is reported, never counted as zero.
 */
import { dayOf, HOUR_MS, hourOf, sumUsage, type UsageCounts, type UsageRow, type UsageSum } from "@orgate/protocol/view";
import { useEffect, useMemo } from "react";
import { serverNow } from "../../link/clock.ts";
import { useQuery } from "../../link/use.ts";
import { type BarRow, Bars, Share } from "../../parts/charts/Bars.tsx";
import { Figures } from "../../parts/charts/Figures.tsx";
import { Fields, Select } from "../../parts/forms/Fields.tsx";
import { Link } from "../../parts/Link.tsx";
import table from "../../parts/lists/Table.module.css";
import { Page } from "../../parts/Page.tsx";
import { Empty, Failure, Loading } from "../../parts/States.tsx";
import { Tag } from "../../parts/Tag.tsx";
import { costText, countText, moneyText } from "../../parts/time/time.ts";
import { setQuery } from "../../routing/router.ts";
import { AgentSelect } from "../AgentSelect.tsx";
import type { ScreenProps } from "../index.ts";
import css from "./Cost.module.css";

const RANGES = [1, 7, 30, 90] as const;
const offsetMs = (at: number): number => -new Date(at).getTimezoneOffset() * 60_000;
const MOST_KINDS = 4;

export default function Cost({ query }: ScreenProps) {
  const days = RANGES.find((one) => String(one) === query.get("days")) ?? 7;
  const agent = query.get("agent") ?? "";
  const by = query.get("by") === "model" ? "model" : "agent";
  const end = hourOf(serverNow()) + 1;
  const starts = useMemo(() => dayStarts(days), [days]);
  const [start = end] = starts;
  const asked = useQuery("usage", { query: { from: start, to: end, days: starts.join(","), ...(agent === "" ? {} : { agent }) } }, [
    "turn.ended",
  ]);
  const behind = asked.value?.behind ?? 0;
  useEffect(() => {
    if (behind === 0) return;
    const timer = setTimeout(asked.reload, 1_000);
    return () => clearTimeout(timer);
  }, [behind, asked.reload]);
  return (
    <Page title="Cost" lead="Cost of models and tools, as recorded in the journal.">
      <Fields label="Filter cost" active={[days === 7, by === "agent", agent === ""].filter((isUsual) => !isUsual).length}>
        <Select
          label="Time"
          value={String(days)}
          choose={(value) => setQuery({ days: value })}
          choices={RANGES.map((n) => ({ value: String(n), text: n === 1 ? "Today" : `${n} days` }))}
        />
        <Select
          label="Bars by"
          value={by}
          choose={(value) => setQuery({ by: value })}
          choices={[
            { value: "agent", text: "agent" },
            { value: "model", text: "model" },
          ]}
        />
        <AgentSelect agent={agent} any="All" />
      </Fields>
      {behind > 0 ? <p role="status">{countText(behind)} newer entries are still being added up…</p> : null}
      {asked.value === null ? (
        asked.problem === null ? (
          <Loading what="Adding up" />
        ) : (
          <Failure problem={asked.problem} again={asked.reload} />
        )
      ) : (
        <>
          {asked.value.cut ? (
            <p role="status">
              <Tag tone="wait">incomplete</Tag> Too much to add up at once: these sums are incomplete. Choose a shorter time.
            </p>
          ) : null}
          <Told rows={asked.value.rows} by={by} starts={starts} />
        </>
      )}
    </Page>
  );
}

/** The hours at which the last `days` days begin here; where midnight is no whole hour, the first hour after it. */
const dayStarts = (days: number): readonly number[] =>
  Array.from({ length: days }, (_, i) => {
    const midnight = new Date();
    midnight.setHours(0, 0, 0, 0);
    midnight.setDate(midnight.getDate() - (days - 1 - i));
    return Math.ceil(midnight.getTime() / HOUR_MS);
  });

/** The start of a row's day. */
type Given = Readonly<{ rows: readonly UsageRow[]; by: "agent" | "model"; starts: readonly number[] }>;

function Told({ rows, by, starts }: Given) {
  const [whole] = sumUsage(rows, () => "all");
  if (whole === undefined || whole.replies + whole.turns === 0)
    return (
      <Empty icon="cost" title="Nothing was used in this time">
        <p>
          Every reply of a model is counted here, with its tokens and its price. <Link to="/chat">Talk with an agent</Link>, or choose a
          longer time.
        </p>
      </Empty>
    );
  return (
    <>
      <Figures label="Total" of={figures(whole)} />
      <Chart rows={rows} by={by} starts={starts} money={whole.micros > 0} />
      <div className={css.tables}>
        <Sums title="By agent" sums={sumUsage(rows, ({ agent }) => agent)} />
        <Sums title="By model" sums={sumUsage(rows, ({ model, micros }) => (model === "" ? (micros > 0 ? "(tools)" : null) : model))} />
      </div>
    </>
  );
}

const figures = (whole: UsageCounts) =>
  [
    {
      name: "Cost",
      value: costText(whole),
      says: whole.unpriced > 0 ? `without ${countText(whole.unpriced)} replies of unknown price` : "every price is known",
      tone: whole.unpriced > 0 ? "wait" : "plain",
    },
    { name: "Tokens", value: countText(whole.tokens), says: `${countText(whole.replies)} replies` },
    {
      name: "Turns",
      value: countText(whole.turns),
      says: whole.turns === 0 ? "" : `${costText({ ...whole, micros: whole.micros / whole.turns })} each`,
    },
    { name: "Tool calls", value: countText(whole.calls), says: whole.calls === 0 ? "" : `${countText(whole.callsFailed)} failed` },
  ] as const;

const dayTitle = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });

function Chart({ rows, by, starts, money }: Given & Readonly<{ money: boolean }>) {
  const worth = (one: UsageCounts): number => (money ? one.micros : one.tokens);
  const nameOf = (row: UsageRow): string => (by === "agent" ? row.agent : row.model === "" ? "(tools)" : row.model);
  const ranked = [...sumUsage(rows, nameOf)].filter((one) => worth(one) > 0).sort((a, b) => worth(b) - worth(a));
  const top = ranked.slice(0, MOST_KINDS).map(({ name }) => name);
  const kinds = ranked.length > MOST_KINDS ? [...top, "the others"] : top;
  const cells = new Map<string, number>();
  for (const row of rows) {
    const kind = top.includes(nameOf(row)) ? nameOf(row) : "the others";
    const key = `${row.hour} ${kind}`;
    cells.set(key, (cells.get(key) ?? 0) + worth(row));
  }
  const bars = starts.map((start): BarRow => {
    const name = dayOf(start, offsetMs);
    const title = dayTitle.format(Date.parse(`${name}T00:00:00Z`));
    return { name, title, parts: kinds.map((of) => ({ of, value: cells.get(`${start} ${of}`) ?? 0 })) };
  });
  return (
    <Bars
      bars={bars}
      kinds={kinds}
      label={money ? "Cost by day" : "Tokens by day"}
      text={money ? moneyText : (n) => `${countText(Math.round(n))} tokens`}
    />
  );
}

function Sums({ title, sums }: Readonly<{ title: string; sums: readonly UsageSum[] }>) {
  const most = Math.max(...sums.map(({ micros }) => micros), 0);
  const mostTokens = Math.max(...sums.map(({ tokens }) => tokens), 0);
  return (
    <section>
      <h2>{title}</h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys */}
      <section className={table.scroll} tabIndex={0} aria-label={title}>
        <table className={table.table}>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">
                <span className="unseen">Share</span>
              </th>
              <th scope="col" className={table.number}>
                Cost
              </th>
              <th scope="col" className={table.number}>
                Tokens
              </th>
            </tr>
          </thead>
          <tbody>
            {sums.map(({ name, micros, tokens, unpriced }) => (
              <tr key={name}>
                <td>{name}</td>
                <td className={css.share}>{most > 0 ? <Share value={micros} of={most} /> : <Share value={tokens} of={mostTokens} />}</td>
                <td className={table.number}>{costText({ micros, unpriced })}</td>
                <td className={table.number}>{countText(tokens)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </section>
  );
}
