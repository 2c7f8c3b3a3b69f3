/**
 * Schedules and webhooks: work that starts without a person.
 * Schedules that need attention come first. Each says in words when it fires, its next time on the viewer's clock, and how the last firing ended. Buttons
 * for forbidden actions are left out.
 */
import { memo, useEffect, useState } from "react";
import { usePages } from "../../link/pages.ts";
import { useHub, useQuery } from "../../link/use.ts";
import { Button } from "../../parts/Button.tsx";
import { Fields, Select, Text } from "../../parts/forms/Fields.tsx";
import { Link } from "../../parts/Link.tsx";
import { PagedList } from "../../parts/lists/PagedList.tsx";
import { Page } from "../../parts/Page.tsx";
import { Empty } from "../../parts/States.tsx";
import { Tabs } from "../../parts/Tabs.tsx";
import { Tag } from "../../parts/Tag.tsx";
import { Due, Time, useNow } from "../../parts/time/Time.tsx";
import { schedulePath, sessionPath } from "../../routing/addresses.ts";
import { setQuery } from "../../routing/router.ts";
import { useCell } from "../../state/cell.ts";
import { AgentSelect } from "../AgentSelect.tsx";
import type { ScreenProps } from "../index.ts";
import { endingTone } from "../sessions/states.ts";
import { AddScheduleDialog } from "./AddSchedule.tsx";
import { describeState, describeWhen, type ListedSchedule as Schedule, TOPICS, timeZoneFor, whyNotPlanned } from "./describe.ts";
import { ScheduleDetail } from "./ScheduleDetail.tsx";
import css from "./Schedules.module.css";
import { Webhooks } from "./Webhooks.tsx";

export default function Schedules({ params, query }: ScreenProps) {
  const { schedule } = params;
  return schedule === undefined ? <All query={query} /> : <ScheduleDetail key={schedule} schedule={schedule} />;
}

function All({ query }: Readonly<{ query: URLSearchParams }>) {
  const hub = useHub();
  const who = useCell(hub.who);
  const [isAdding, setAdding] = useState(false);
  const tab = query.get("tab") === "webhooks" ? "webhooks" : "schedules";
  const actions = who.kind === "in" ? who.me.actions : null;
  const mayAdd = actions === null || actions.includes("edit-schedule");
  return (
    <Page
      title="Schedules"
      lead="Work that agents start by themselves: at set times, or when another system calls."
      aside={
        mayAdd ? (
          <Button icon="plus" onClick={() => setAdding(true)}>
            Add a schedule
          </Button>
        ) : undefined
      }
      fill
    >
      <Tabs
        label="Schedules and webhooks"
        at={tab}
        choose={(to) => setQuery({ tab: to === "schedules" ? null : to, state: null, agent: null, text: null })}
        tabs={[
          { id: "schedules", title: "Schedules" },
          { id: "webhooks", title: "Webhooks" },
        ]}
        fill
      >
        {tab === "webhooks" ? <Webhooks /> : <List query={query} />}
      </Tabs>
      <AddScheduleDialog open={isAdding} onClose={() => setAdding(false)} />
    </Page>
  );
}

const STATES = ["active", "paused", "stopped", "done", "off"] as const;
const PAGE = 200;

function List({ query }: Readonly<{ query: URLSearchParams }>) {
  const hub = useHub();
  const state = STATES.find((one) => one === query.get("state")) ?? null;
  const [agent, text] = [query.get("agent") ?? "", query.get("text") ?? ""];
  const isFiltered = state !== null || agent !== "" || text !== "";
  const asked = {
    limit: PAGE,
    order: "need" as const,
    ...(state === null ? {} : { state }),
    ...(agent === "" ? {} : { agent }),
    ...(text === "" ? {} : { text }),
  };
  const first = useQuery("schedules", { query: asked }, TOPICS);
  useAgainWhenDue(first.value?.items ?? [], first.reload);
  const pages = usePages({
    first: first.value,
    key: JSON.stringify(asked),
    idOf: ({ schedule }) => schedule,
    read: (cursor) => hub.call("schedules", { query: { ...asked, cursor } }),
    failed: "More schedules could not be read",
  });
  return (
    <>
      <Fields label="Filter schedules" active={[state, agent, text].filter((one) => one !== null && one !== "").length}>
        <Select
          label="State"
          value={state ?? ""}
          choose={(value) => setQuery({ state: value })}
          choices={[{ value: "", text: "Any" }, ...STATES.map((value) => ({ value, text: value }))]}
        />
        <AgentSelect agent={agent} />
        <Text label="Name" value={text} set={(value) => setQuery({ text: value })} />
      </Fields>
      <PagedList
        label="Schedules"
        asked={first}
        pages={pages}
        idOf={({ schedule }) => schedule}
        row={(one) => <Row of={one} />}
        estimate={66}
        more="Load more"
      >
        <None isFiltered={isFiltered} />
      </PagedList>
    </>
  );
}

/** Reads again as time passes: some people may list schedules but receive none of their entries. */
function useAgainWhenDue(items: readonly Schedule[], reload: () => void): void {
  const now = useNow();
  const isPast = items.some(({ nextAt }) => nextAt !== null && nextAt <= now);
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked again with each tick, for as long as something is due
  useEffect(() => {
    if (isPast) reload();
  }, [isPast, now, reload]);
}

function None({ isFiltered }: Readonly<{ isFiltered: boolean }>) {
  return isFiltered ? (
    <Empty icon="search" title="No schedule matches">
      <p>Remove a filter to see more.</p>
      <Button onClick={() => setQuery({ state: null, agent: null, text: null })}>Show all</Button>
    </Empty>
  ) : (
    <Empty icon="schedules" title="No schedules">
      <p>
        A schedule is declared in <code>orgate.toml</code>, beside an agent or in a <code>.symbi</code> file; or add one here, or with{" "}
        <code>orgate schedules add</code>. Each firing opens a session, governed by the policies like any other.
      </p>
    </Empty>
  );
}

const Row = memo(function Row({ of }: Readonly<{ of: Schedule }>) {
  const { tone, word } = describeState(of);
  const [next, ...later] = of.upcoming;
  const zone = timeZoneFor(of.spec);
  return (
    <div className={css.row}>
      <span className={css.state}>
        <Tag tone={tone}>{word}</Tag>
      </span>
      <span className={css.name}>
        <Link to={schedulePath(of.schedule)}>{of.schedule}</Link>
        <span className={css.small}>
          {of.spec.agent} for {of.spec.owner}
        </span>
      </span>
      <span className={css.when}>
        {describeWhen(of.spec)}
        <span className={css.small}>{of.spec.when.kind === "cron" ? `${of.spec.when.cron} · ${of.spec.when.timezone}` : ""}</span>
      </span>
      <span className={css.next}>
        <span className={css.label}>Next</span> {next === undefined ? whyNotPlanned(of) : <Due at={next} zone={zone} />}
        <span className={css.small}>
          {later.map((at, i) => (
            <span key={at}>
              {i === 0 ? "then " : ", "}
              <Due at={at} zone={zone} />
            </span>
          ))}
        </span>
      </span>
      <span className={css.last}>
        <Last of={of} />
      </span>
    </div>
  );
});

function Last({ of: { last } }: Readonly<{ of: Schedule }>) {
  if (last === null)
    return (
      <>
        <span className={css.label}>Last</span> never
      </>
    );
  return (
    <>
      <span className={css.label}>Last</span>{" "}
      <Link to={sessionPath(last.session)}>
        <Time at={last.at} />
      </Link>{" "}
      {last.ending === null ? <Tag tone="act">running</Tag> : <Tag tone={endingTone(last.ending)}>{last.ending}</Tag>}
    </>
  );
}
