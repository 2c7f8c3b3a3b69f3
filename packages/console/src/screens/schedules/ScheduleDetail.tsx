/** One schedule: status, actions, history. */
import { isEventKind, principalName, type SessionId } from "@orgate/core/vocab";
import type { Problem } from "@orgate/protocol";
import { scheduleLine } from "@orgate/protocol/view";
import { type ReactNode, useState } from "react";
import { usePages } from "../../link/pages.ts";
import { useHub, useQuery } from "../../link/use.ts";
import { Button } from "../../parts/Button.tsx";
import { Facts } from "../../parts/charts/Figures.tsx";
import { ReasonDialog } from "../../parts/forms/ReasonDialog.tsx";
import { Link } from "../../parts/Link.tsx";
import { queryFallback } from "../../parts/lists/PagedList.tsx";
import { Page } from "../../parts/Page.tsx";
import { Tag } from "../../parts/Tag.tsx";
import { ExactText } from "../../parts/text/ExactText.tsx";
import { Due, Time } from "../../parts/time/Time.tsx";
import { formatDuration, zoneTime } from "../../parts/time/time.ts";
import { chatWithPath, sessionPath } from "../../routing/addresses.ts";
import { navigate } from "../../routing/router.ts";
import { toast, toastProblem } from "../../state/toasts.ts";
import { endingTone } from "../sessions/states.ts";
import {
  describeMissed,
  describeOverlap,
  describeState,
  describeWhen,
  FIRED_WHY,
  type ListedSchedule,
  type ScheduleEvent,
  SKIPPED_WHY,
  TOPICS,
  timeZoneFor,
  whyNotPlanned,
} from "./describe.ts";
import css from "./Schedules.module.css";

export function ScheduleDetail({ schedule }: Readonly<{ schedule: string }>) {
  const asked = useQuery("schedule", { params: { schedule } }, TOPICS);
  const of = asked.value;
  if (of === null)
    return (
      <Page title={schedule} lead={<Back />}>
        {queryFallback(asked)}
      </Page>
    );
  const { tone, word } = describeState(of);
  return (
    <Page
      title={of.schedule}
      lead={
        <>
          <Back /> <Tag tone={tone}>{word}</Tag> {describeWhen(of.spec)}
        </>
      }
      aside={<Doing of={of} reload={asked.reload} />}
    >
      <Trouble of={of} />
      <div className={css.columns}>
        <section aria-labelledby="stands">
          <h2 id="stands">Status</h2>
          <Standing of={of} />
        </section>
        <History schedule={schedule} />
      </div>
    </Page>
  );
}

const Back = () => <Link to="/schedules">All schedules</Link>;

/** Failures and their remedy, shown first. */
function Trouble({ of }: Readonly<{ of: ListedSchedule }>) {
  const { state, failures, setAside, last } = of;
  if (state !== "stopped" && setAside.length === 0) return null;
  const [latest] = setAside;
  return (
    <div className={css.trouble} role="note">
      <p>
        {state === "stopped" ? (
          <>
            <strong>It has stopped</strong> after {failures === 1 ? "one failed firing" : `${failures} failed firings in a row`}. Look at
            what went wrong, fix it, and resume it.
          </>
        ) : (
          <>Some firings failed on every attempt.</>
        )}
      </p>
      {latest === undefined ? (
        last === null ? null : (
          <Link to={sessionPath(last.session)}>The last firing</Link>
        )
      ) : (
        <ul aria-label="Failed firings">
          {setAside.slice(0, 5).map(({ dueAt, session }) => (
            <li key={session}>
              <Tag tone="bad">failed</Tag> due <Time at={dueAt} />: <Link to={sessionPath(session)}>{session}</Link>{" "}
              {of.may.run ? <Again schedule={of.schedule} dueAt={dueAt} /> : null}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Again({ schedule, dueAt }: Readonly<{ schedule: string; dueAt: ListedSchedule["setAside"][number]["dueAt"] }>) {
  const hub = useHub();
  const [busy, setBusy] = useState(false);
  const again = async (): Promise<void> => {
    setBusy(true);
    const came = await hub.call("retrySchedule", { params: { schedule }, body: { dueAt } });
    setBusy(false);
    if (came.kind === "problem") toastProblem("It was not fired again", came.problem);
  };
  return (
    <Button size="small" busy={busy} onClick={() => void again()}>
      Fire it again
    </Button>
  );
}

function Standing({ of }: Readonly<{ of: ListedSchedule }>) {
  const { spec, upcoming, last, open, from, fired } = of;
  const zone = timeZoneFor(spec);
  const rows: (readonly [string, ReactNode])[] = [
    [
      "Next",
      upcoming.length === 0 ? (
        whyNotPlanned(of)
      ) : (
        <ul key="next">
          {upcoming.map((at) => (
            <li key={at}>
              <Due at={at} zone={zone} /> {zone === null ? null : <span className={css.small}>{`${zoneTime(at, zone)} in ${zone}`}</span>}
            </li>
          ))}
        </ul>
      ),
    ],
    [
      "Last",
      last === null ? (
        "never fired"
      ) : (
        <span key="last">
          <Time at={last.at} />: <Firing session={last.session} ending={last.ending} />
        </span>
      ),
    ],
    ...(open.length === 0
      ? []
      : [
          [
            "In progress",
            open.map((session) => (
              <span key={session}>
                <Link to={sessionPath(session)}>{session}</Link>{" "}
              </span>
            )),
          ] as const,
        ]),
    [
      "Agent",
      <span key="agent">
        <Link to={chatWithPath(spec.agent)}>{spec.agent}</Link>, on behalf of {spec.owner}
      </span>,
    ],
    ["Message", <ExactText key="says" text={spec.input} />],
    ...(spec.when.kind === "cron" ? [["Cron", <code key="cron">{`${spec.when.cron} ${spec.when.timezone}`}</code>] as const] : []),
    ["While one runs", `the next ${describeOverlap(spec)}`],
    ["Missed times", describeMissed(spec)],
    ["A failure", failureWords(spec)],
    ["Session", spec.session === "fresh" ? "a new one each time" : "one for all firings"],
    ...(spec.jitterMs > 0 ? [["Jitter", `up to ${formatDuration(spec.jitterMs)} later, the same everywhere`] as const] : []),
    ["Declared", from === null ? "by a person" : <code key="from">{from}</code>],
    ["Fired", `${fired} ${fired === 1 ? "time" : "times"}`],
  ];
  return <Facts of={rows} />;
}

const failureWords = ({ retries, failures }: ListedSchedule["spec"]): string =>
  `${retries === 0 ? "is not retried" : `is retried ${retries === 1 ? "once" : `${retries} times`}`}, then it counts as failed${
    failures === 0 ? "" : `; ${failures} in a row stop it`
  }`;

function Firing({ session, ending }: Readonly<{ session: SessionId; ending: string | null }>) {
  return (
    <>
      <Link to={sessionPath(session)}>{session}</Link>{" "}
      {ending === null ? <Tag tone="act">running</Tag> : <Tag tone={endingTone(ending)}>{ending}</Tag>}
    </>
  );
}

// ── actions ──

const CHANGES = {
  pause: {
    route: "pauseSchedule",
    does: "Pause",
    done: "Paused",
    says: "It does not fire in any process until somebody resumes it. Running sessions continue; times that pass meanwhile are not made up for.",
  },
  resume: {
    route: "resumeSchedule",
    does: "Resume",
    done: "Resumed",
    says: "It fires again at its times from now on. Times that passed meanwhile are not made up for.",
  },
  remove: {
    route: "removeSchedule",
    does: "Remove",
    done: "Removed",
    says: "It no longer fires. Its history stays in the journal; a schedule of the same name can be added again.",
  },
} as const;

type DoingProps = Readonly<{ of: ListedSchedule; reload(): void }>;

function Doing({ of, reload }: DoingProps) {
  const hub = useHub();
  const [busy, setBusy] = useState<string | null>(null);
  const [dialog, setDialog] = useState<keyof typeof CHANGES | null>(null);
  const { schedule, state, may, from } = of;
  const at = { params: { schedule } };
  const run = async (): Promise<void> => {
    setBusy("run");
    const came = await hub.call("runSchedule", at);
    setBusy(null);
    if (came.kind === "problem") return toastProblem("It was not fired", came.problem);
    toast({ tone: "ok", title: "Fired", detail: "in addition to its times; its session is under Last" });
    reload();
  };
  const change = async (how: keyof typeof CHANGES, reason: string): Promise<Problem | null> => {
    const came = await hub.call(CHANGES[how].route, { ...at, body: { reason } });
    if (came.kind === "problem") return came.problem;
    toast({ tone: "ok", title: CHANGES[how].done, detail: schedule });
    if (how === "remove") navigate("/schedules");
    else reload();
    return null;
  };
  if (!may.edit && !may.run) return <span className={css.small}>You may read it. The policies decide who may change or run it.</span>;
  return (
    <>
      {may.run ? (
        <Button icon="send" busy={busy === "run"} onClick={() => void run()}>
          Run now
        </Button>
      ) : null}
      {may.edit && (state === "paused" || state === "stopped") ? (
        <Button tone="first" onClick={() => setDialog("resume")}>
          Resume
        </Button>
      ) : null}
      {may.edit && state === "active" ? <Button onClick={() => setDialog("pause")}>Pause</Button> : null}
      {may.edit && from === null ? (
        <Button tone="bad" onClick={() => setDialog("remove")}>
          Remove
        </Button>
      ) : null}
      {dialog === null ? null : (
        <ReasonDialog
          title={`${CHANGES[dialog].does} ${schedule}`}
          does={CHANGES[dialog].does}
          tone={dialog === "remove" ? "bad" : "first"}
          optional
          send={(reason) => change(dialog, reason)}
          close={() => setDialog(null)}
        >
          <p>{CHANGES[dialog].says}</p>
        </ReasonDialog>
      )}
    </>
  );
}

// ── history ──

const PAGE = 30;

function History({ schedule }: Readonly<{ schedule: string }>) {
  const hub = useHub();
  const asked = { params: { schedule }, query: { limit: PAGE } };
  const first = useQuery("scheduleHistory", asked, TOPICS);
  const { items, hasMore, load, isLoading } = usePages({
    first: first.value,
    key: schedule,
    idOf: ({ seq }) => seq,
    read: (cursor) => hub.call("scheduleHistory", { ...asked, query: { limit: PAGE, cursor } }),
    failed: "Its history could not be read",
  });
  return (
    <section aria-labelledby="past">
      <h2 id="past">History</h2>
      {queryFallback(first) ?? (
        <ol className={css.history} aria-label="History">
          {items.map(({ seq, at, event }) => (
            <li key={seq}>
              <span className={css.small}>
                <Time at={at} />
              </span>
              <span>
                <HistoryEvent event={event} />
              </span>
            </li>
          ))}
        </ol>
      )}
      {hasMore ? (
        <div className={css.after}>
          <Button busy={isLoading} onClick={load}>
            Older
          </Button>
        </div>
      ) : null}
    </section>
  );
}

function HistoryEvent({ event: e }: Readonly<{ event: ScheduleEvent }>) {
  const { kind }: Readonly<{ kind: string }> = e;
  if (!isEventKind(kind)) return kind; // from a newer server
  switch (e.kind) {
    case "schedule.fired":
      return (
        <>
          Fired {e.why === "asked" ? `for ${principalName(e.by)}` : FIRED_WHY[e.why]}
          {e.attempt > 1 ? `, attempt ${e.attempt}` : ""}: <Link to={sessionPath(e.session)}>{e.session}</Link>
        </>
      );
    case "schedule.ended":
      return (
        <>
          Ended: <Firing session={e.session} ending={e.ending ?? "lost"} />{" "}
          {e.result === "set-aside" ? <Tag tone="bad">failed for good</Tag> : null}
          {e.retryAt === null ? null : (
            <>
              {" "}
              retried <Time at={e.retryAt} />
            </>
          )}
        </>
      );
    case "schedule.skipped":
      return (
        <>
          <Tag tone="wait">skipped</Tag>{" "}
          {e.count === 1 ? (
            <>
              due <Time at={e.last} />
            </>
          ) : (
            <>
              {e.count} due times, the last <Time at={e.last} />
            </>
          )}
          : {SKIPPED_WHY[e.why]}
          {e.detail === "" ? null : (
            <>
              {" "}
              (<ExactText text={e.detail} />)
            </>
          )}
        </>
      );
    case "schedule.queued":
      return (
        <>
          Due <Time at={e.dueAt} />, waits for the previous firing
        </>
      );
    case "schedule.declared":
    case "schedule.removed":
    case "schedule.paused":
    case "schedule.resumed":
    case "schedule.stopped":
      return scheduleLine(e).text;
  }
}
