/**
 * One session: its timeline, every entry, and the state at each.
 * Every entry has a line, in order. Stepping shows the state as of an entry and its raw form with its hash; a fork can start there. The address names the
 * current entry.
 * A session of ten thousand entries has at most 600 elements on the page.
 */

import { isSessionId, type Seq, type SessionId, sessionTitle, seq as toSeq } from "@orgate/core/vocab";
import { type SessionView, tokensText } from "@orgate/protocol/view";
import { memo, useCallback, useState } from "react";
import { useHub } from "../../link/use.ts";
import { Button } from "../../parts/Button.tsx";
import { Link } from "../../parts/Link.tsx";
import { VirtualList } from "../../parts/lists/VirtualList.tsx";
import { Page } from "../../parts/Page.tsx";
import { Empty, Failure, Loading } from "../../parts/States.tsx";
import { Tabs } from "../../parts/Tabs.tsx";
import { Tag } from "../../parts/Tag.tsx";
import { Time } from "../../parts/time/Time.tsx";
import { countText, exactTime, moneyText } from "../../parts/time/time.ts";
import tones from "../../parts/tones.module.css";
import { chatPath, sessionPath } from "../../routing/addresses.ts";
import { navigate, setQuery } from "../../routing/router.ts";
import { useShortcuts } from "../../state/shortcuts.ts";
import { toast, toastProblem } from "../../state/toasts.ts";
import { type EntryRow, useEntryRows } from "./entry-rows.ts";
import { EntryPane, StatePane } from "./Panes.tsx";
import css from "./Session.module.css";
import { STATE_TONES } from "./states.ts";
import { Timeline } from "./Timeline.tsx";

export function SessionScreen({ session, query }: Readonly<{ session: string; query: URLSearchParams }>) {
  if (!isSessionId(session))
    return (
      <Page title="Session">
        <Empty icon="sessions" title="This is not a session id">
          <p>
            They look like <code>s_1a2b3c4d</code>. <Link to="/sessions">All sessions</Link>
          </p>
        </Empty>
      </Page>
    );
  return <Told session={session} wanted={Number(query.get("at"))} tab={query.get("show") === "entry" ? "entry" : "state"} />;
}

type Given = Readonly<{ session: SessionId; wanted: number; tab: "state" | "entry" }>;

function Told({ session, wanted, tab }: Given) {
  const { account, feed } = useEntryRows(session);
  const { rows, timeline } = account;
  const [goTo, setGoTo] = useState<number | null>(null);
  const last = rows.length;
  const at = Number.isSafeInteger(wanted) && wanted >= 1 && wanted <= last ? wanted : last;
  const row = rows[at - 1] ?? null;
  const step = useCallback((to: number, scroll = true) => {
    setQuery({ at: String(to) });
    if (scroll) setGoTo(to - 1);
  }, []);
  const choose = useCallback((seq: Seq) => step(seq), [step]);
  const by = (n: number): void => step(Math.min(last, Math.max(1, at + n)));
  const turnStarts = timeline.marks.filter(({ kind }) => kind === "turn");
  const turnAt = row === null ? 0 : turnStarts.filter(({ seq }) => seq <= row.seq).length;
  const toTurn = (n: number): void => {
    const found = turnStarts[turnAt - 1 + n];
    if (found !== undefined) step(found.seq);
  };
  useShortcuts([
    { keys: "j", says: "Next entry", run: () => by(1), repeats: true },
    { keys: "k", says: "Previous entry", run: () => by(-1), repeats: true },
    { keys: "n", says: "Next turn", run: () => toTurn(1), repeats: true },
    { keys: "p", says: "Previous turn", run: () => toTurn(-1), repeats: true },
    { keys: "e", says: "State or raw entry", run: () => setQuery({ show: tab === "entry" ? null : "entry" }) },
  ]);

  if (feed === null || last === 0) return <Nothing problem={feed?.ended?.problem ?? null} isThere={feed?.caughtUp === true} />;
  return (
    <Page
      title={`${feed.view.agent === "" ? "Session" : feed.view.agent}`}
      lead={<Lead view={feed.view} />}
      aside={<Doing session={session} at={row} />}
      fill
    >
      <div className={css.screen}>
        <Timeline timeline={timeline} version={rows.length} at={row} turn={turnAt === 0 ? null : turnAt} choose={choose} />
        <Stepping at={at} last={last} row={row} by={by} to={step} />
        <div className={css.panes}>
          <VirtualList
            className={css.entries}
            label="Entries"
            count={last}
            keyAt={(i) => String(rows[i]?.seq ?? i)}
            estimate={LINE_PX}
            goTo={goTo ?? (wanted >= 1 && (wanted <= last || feed.caughtUp) ? at - 1 : null)} // not past the end while entries still arrive
            onStep={by}
            row={(i) => {
              const one = rows[i];
              return one === undefined ? null : (
                <EntryLine row={one} isHere={one.seq === row?.seq} start={timeline.from ?? one.at} choose={step} />
              );
            }}
          />
          <div className={css.detail}>
            <Tabs
              label="State or raw entry"
              at={tab}
              choose={(to) => setQuery({ show: to === "entry" ? "entry" : null })}
              tabs={[
                { id: "state", title: `State at ${at}` },
                { id: "entry", title: "Raw entry" },
              ]}
            >
              {tab === "state" ? (
                <StatePane session={session} items={feed.items} at={at} />
              ) : row === null ? null : (
                <EntryPane session={session} row={row} />
              )}
            </Tabs>
          </div>
        </div>
      </div>
    </Page>
  );
}

function Nothing({ problem, isThere }: Readonly<{ problem: Parameters<typeof Failure>[0]["problem"] | null; isThere: boolean }>) {
  return (
    <Page title="Session">
      {problem !== null ? (
        <Failure problem={problem} />
      ) : isThere ? (
        <Empty icon="sessions" title="This session has no entries" />
      ) : (
        <Loading what="Reading the session" />
      )}
    </Page>
  );
}

function Lead({ view }: Readonly<{ view: SessionView }>) {
  const { totals } = view;
  const first = view.items.find((item) => item.kind === "said");
  const title = first?.kind === "said" ? sessionTitle(first.text, []) : null;
  return (
    <span className={css.lead}>
      {title === null ? null : <strong>{title}</strong>}
      <Tag tone={STATE_TONES[view.state]}>{view.state}</Tag>
      <code>{view.session}</code>
      <span>for {view.principal?.id ?? "nobody"}</span>
      <span>{view.surface}</span>
      <span>
        {view.turns.length} {view.turns.length === 1 ? "turn" : "turns"}
      </span>
      <span>{tokensText(totals, countText)}</span>
      <span>{totals.micros === null ? "cost unknown" : moneyText(totals.micros)}</span>
      {view.openedAt === null ? null : (
        <span>
          opened <Time at={view.openedAt} />
        </span>
      )}
      {view.parent === null ? null : <Link to={sessionPath(view.parent)}>sub-agent of another session</Link>}
      {view.forkedFrom === null ? null : (
        <Link to={sessionPath(view.forkedFrom.session, view.forkedFrom.at)}>forked from another session</Link>
      )}
      {view.labels.map((label) => (
        <Tag key={label} tone="bad">
          {label}
        </Tag>
      ))}
    </span>
  );
}

function Doing({ session, at }: Readonly<{ session: SessionId; at: EntryRow | null }>) {
  const hub = useHub();
  const [busy, setBusy] = useState(false);
  const fork = async (): Promise<void> => {
    if (at === null) return;
    setBusy(true);
    const came = await hub.call("fork", { params: { session }, body: { at: at.seq } });
    setBusy(false);
    if (came.kind === "problem") return toastProblem("It was not forked", came.problem);
    toast({
      tone: "ok",
      title: "Forked",
      detail: `a new session continues from entry ${at.seq}; this one is unchanged`,
    });
    navigate(chatPath(came.value.session));
  };
  return (
    <>
      <Button size="small" icon="undo" busy={busy} disabled={at === null} onClick={() => void fork()}>
        Fork from here
      </Button>
      <Link to={chatPath(session)}>Open as a chat</Link>
      <a href={`/api/v1/journal/export?session=${encodeURIComponent(session)}`} download={`${session}.jsonl`}>
        Export with proof
      </a>
    </>
  );
}

type Steps = Readonly<{ at: number; last: number; row: EntryRow | null; by(n: number): void; to(seq: number): void }>;

function Stepping({ at, last, row, by, to }: Steps) {
  return (
    <div className={css.stepping}>
      <Button size="small" aria-label="Previous entry" disabled={at <= 1} onClick={() => by(-1)}>
        ←
      </Button>
      <input
        type="range"
        min={1}
        max={last}
        value={at}
        aria-label="Entry"
        aria-valuetext={row === null ? "" : `${row.seq} of ${last}: ${row.line.text}`}
        onChange={({ target }) => to(Number(target.value))}
      />
      <Button size="small" aria-label="Next entry" disabled={at >= last} onClick={() => by(1)}>
        →
      </Button>
      <span className="figures">
        {at} of {last}
      </span>
    </div>
  );
}

/** Height of a line that does not wrap. A row with another height makes the list recompute all rows below it. */
const LINE_PX = 27;

type LineProps = Readonly<{ row: EntryRow; isHere: boolean; start: number; choose(seq: number, scroll?: boolean): void }>;

const EntryLine = memo(function EntryLine({ row, isHere, start, choose }: LineProps) {
  const { seq, at, kind, phase, line } = row;
  return (
    <button
      type="button"
      className={`${css.line} ${phase === null ? "" : tones[phase]} ${css[line.tone]}`}
      aria-current={isHere}
      tabIndex={isHere ? 0 : -1} // the list is one stop for Tab, however long it is; arrow keys move inside
      onClick={() => choose(toSeq(seq), false)}
      title={`${kind} · ${exactTime(at)}`}
    >
      <span className={css.seq}>{seq}</span>
      <span className={css.when}>{clockAfter(at - start)}</span>
      <span className={css.mark} aria-hidden="true">
        {line.mark}
      </span>
      <span className={css.text}>{line.text}</span>
    </button>
  );
});

/** Time since the start. */
function clockAfter(ms: number): string {
  if (ms < 1_000) return `+${Math.max(0, Math.round(ms))} ms`;
  if (ms < 100_000) return `+${(ms / 1_000).toFixed(2)} s`;
  if (ms < 3_600_000) return `+${(ms / 60_000).toFixed(1)} min`;
  return `+${(ms / 3_600_000).toFixed(1)} h`;
}
