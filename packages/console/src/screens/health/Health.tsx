/**
 * Health of the server.
 * T-31 a limit of the server's machine is shown with its remedy, also while the server is healthy.
 * O-6 failing checks come first, with their details; the figures are a few seconds old at most.
 */
import { escapeHidden } from "@orgate/core/vocab";
import { API, OPERATIONS, type OperationOutput, type Problem, problemSchema } from "@orgate/protocol";
import { use, useEffect, useState } from "react";
import { UNREACHABLE } from "../../link/browser.ts";
import { useHub, useQuery } from "../../link/use.ts";
import { Figures } from "../../parts/charts/Figures.tsx";
import { Link } from "../../parts/Link.tsx";
import { Page } from "../../parts/Page.tsx";
import { Failure, Loading, Sentence } from "../../parts/States.tsx";
import { Tag } from "../../parts/Tag.tsx";
import { countText, formatDuration } from "../../parts/time/time.ts";
import { useCell } from "../../state/cell.ts";
import { describeHalt } from "../halts.ts";
import { OverviewContext } from "../overview.ts";
import css from "./Health.module.css";

const EVERY_MS = 5_000;
const WELL: Readonly<Record<string, string>> = {
  "journal-read": "entries can be read",
  "journal-write": "entries can be written, and are on disk before anything happens",
  policies: "a set of policies is in force",
  "taking-turns": "this server accepts messages, and is not shutting down",
};
type Checks = OperationOutput<"health">;
type Listed = OperationOutput<"processes">;
type Metrics = OperationOutput<"metrics">["metrics"];

export default function Health() {
  const hub = useHub();
  const connection = useCell(hub.connection);
  const { health, problem, reload } = useHealth();
  const metrics = useQuery("metrics", {});
  const processes = useQuery("processes", {});
  const [again, list] = [metrics.reload, processes.reload];
  useEffect(() => {
    const timer = setInterval(() => {
      reload();
      again();
      list();
    }, EVERY_MS);
    return () => clearInterval(timer);
  }, [reload, again, list]);
  if (health === null)
    return (
      <Page title="Health">{problem === null ? <Loading what="Asking the server" /> : <Failure problem={problem} again={reload} />}</Page>
    );
  const checks = [...health.checks].sort((a, b) => Number(a.ok) - Number(b.ok));
  const { halts } = use(OverviewContext);
  const isLive = connection.kind === "open";
  return (
    <Page
      title="Health"
      lead={`Orgate ${health.version}, up for ${formatDuration(health.uptimeMs)}.`}
      aside={<a href="/api/v1/metrics/prometheus">Prometheus</a>}
    >
      <p className={health.status === "ok" && halts.length === 0 ? css.ok : css.bad} role="status">
        <strong>
          {health.status !== "ok"
            ? "The server is not healthy."
            : halts.length > 0
              ? "The server is healthy, and work is halted."
              : "The server is healthy."}
        </strong>{" "}
        {problem === null ? "" : "It did not answer just now: this is the last known state."}
      </p>
      <ul className={css.checks} aria-label="Checks">
        {halts.map((halt) => (
          <li key={halt.scope}>
            <Tag tone="bad">halted</Tag>
            <strong>work</strong>
            <span>{describeHalt(halt)}</span>
          </li>
        ))}
        {health.warnings.map((warning) => (
          <li key={warning}>
            <Tag tone="wait">limited</Tag>
            <strong>programs</strong>
            <span>
              <Sentence text={warning} />
            </span>
          </li>
        ))}
        {checks.map(({ name, ok, detail }) => (
          <li key={name}>
            <Tag tone={ok ? "ok" : "bad"}>{ok ? "ok" : "failing"}</Tag>
            <strong>{name}</strong>
            <span>{detail === "" ? (WELL[name] ?? "") : escapeHidden(detail)}</span>
          </li>
        ))}
        <li>
          <Tag tone={isLive ? "ok" : "bad"}>{isLive ? "ok" : "failing"}</Tag>
          <strong>this page's connection</strong>
          <span>{isLive ? "live updates arrive" : "reconnecting"}</span>
        </li>
      </ul>
      {metrics.value === null ? (
        metrics.problem === null ? (
          <Loading />
        ) : (
          <p>Figures cannot be shown: {escapeHidden(metrics.problem.detail)}.</p>
        )
      ) : (
        <Told metrics={metrics.value.metrics} found={processes.value} />
      )}
    </Page>
  );
}

/** An unhealthy server sends its checks with status 503, which the client reports as a problem; so they are read by hand. */
function useHealth() {
  const [state, setState] = useState<Readonly<{ health: Checks | null; problem: Problem | null }>>({
    health: null,
    problem: null,
  });
  const [round, setRound] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `round` asks again
  useEffect(() => {
    let isGone = false;
    void askHealth().then((came) => {
      if (isGone) return;
      if (came.kind === "problem") setState((before) => ({ ...before, problem: came.problem }));
      else setState({ health: came.checks, problem: null });
    });
    return () => {
      isGone = true;
    };
  }, [round]);
  const [reload] = useState(() => () => setRound((n) => n + 1));
  return { ...state, reload };
}

type Answer = Readonly<{ kind: "checks"; checks: Checks } | { kind: "problem"; problem: Problem }>;
async function askHealth(): Promise<Answer> {
  const { answers } = OPERATIONS.health;
  try {
    const answer = await fetch(`${API}/health`, { credentials: "same-origin" });
    const said: unknown = await answer.json();
    const read = answers.kind === "json" ? answers.schema.safeParse(said) : null;
    if (read?.success === true) return { kind: "checks", checks: read.data };
    const problem = problemSchema.safeParse(said);
    return { kind: "problem", problem: problem.success ? problem.data : UNREACHABLE };
  } catch {
    return { kind: "problem", problem: UNREACHABLE };
  }
}

function findFigure(metrics: Metrics, name: string): number | null {
  const found = metrics.find((one) => one.name === name);
  return found === undefined ? null : found.samples.reduce((sum, { value }) => sum + value, 0);
}
const bytes = (n: number | null): string => (n === null ? "–" : `${Math.round(n / 1_048_576)} MB`);
const number = (n: number | null): string => (n === null ? "–" : countText(Math.round(n)));

/** `worker 0.1.0, `; nothing where neither is known. */
const kindOf = ({ role, version }: Listed["processes"][number]): string => {
  const known = [role, version].filter((one) => one !== null);
  return known.length === 0 ? "" : `${escapeHidden(known.join(" "))}, `;
};

/** `, drives 2, 1 waits, 0 entries behind, event loop 21 ms late at most, 180 MB`; nothing where it does not tell. */
const doingOf = ({ figures }: Listed["processes"][number]): string =>
  figures === null
    ? ""
    : `, drives ${figures.driven}, ${figures.queued} queued, ${figures.lag} entries behind, event loop ${figures.delayMs} ms late at most, ${bytes(figures.rssBytes)}`;

/** Of all processes together, as they told; null where none does: then this server's own figure is all there is. */
function sumOf(found: Listed | null, figure: "driven" | "queued"): number | null {
  const told = (found?.processes ?? []).flatMap(({ figures }) => (figures === null ? [] : [figures[figure]]));
  return told.length === 0 ? null : told.reduce((sum, one) => sum + one, 0);
}

/** Processes that share the project's store: when each was heard of, how it commits, which sessions it holds. One alone is described below. */
function Processes({ found, metrics }: Readonly<{ found: Listed; metrics: Metrics }>) {
  const perCommit = ({ commits, appends }: Listed["processes"][number]): string =>
    commits === null || appends === null || commits === 0 ? "" : `, ${(appends / commits).toFixed(1)} appends a commit`;
  return (
    <>
      <h2>Processes</h2>
      <Figures
        label="Processes"
        of={[
          ...found.processes.map((one) => ({
            name: one.writer === found.own ? `${one.writer}, this server` : one.writer,
            value: number(one.holds),
            says: `${one.holds === null ? "" : "sessions held; "}${kindOf(one)}${escapeHidden(one.place)}${one.heardMs === null ? "" : `, heard of ${(one.heardMs / 1_000).toFixed(1)} s ago`}${perCommit(one)}${doingOf(one)}`,
          })),
          {
            name: "Not taken yet",
            value: number(findFigure(metrics, "orgate_inbox_sessions")),
            says: "sessions with a message or an answer",
          },
          {
            name: "Not followed yet",
            value: number(findFigure(metrics, "orgate_tail_lag_entries")),
            says: "entries that this server has not seen",
          },
        ]}
      />
      <ul className={css.checks} aria-label="Sessions held">
        {found.processes.flatMap(({ writer, quietest }) =>
          quietest.map(({ session, agent, at }) => (
            <li key={session}>
              <Tag tone="plain">{writer}</Tag>
              <Link to={`/sessions/${session}`}>{session}</Link>
              <span>
                {escapeHidden(agent)}, last entry {formatDuration(Math.max(0, found.at - at))} ago
              </span>
            </li>
          )),
        )}
      </ul>
    </>
  );
}

function Told({ metrics, found }: Readonly<{ metrics: Metrics; found: Listed | null }>) {
  const delay = findFigure(metrics, "orgate_event_loop_delay_p99_ms");
  const driven = sumOf(found, "driven");
  const queued = sumOf(found, "queued") ?? findFigure(metrics, "orgate_sessions_queued");
  const failures = findFigure(metrics, "orgate_model_failures_total") ?? 0;
  const sessions = metrics.find(({ name }) => name === "orgate_sessions")?.samples ?? [];
  const inState = (state: string): number =>
    sessions.filter(({ labels }) => labels["state"] === state).reduce((sum, { value }) => sum + value, 0);
  if (delay === null && sessions.length === 0)
    return <p>You may not see the server's figures: they need permission to observe the project.</p>;
  return (
    <>
      <h2>Work</h2>
      <Figures
        label="Work"
        of={[
          {
            name: "Sessions driven",
            value: number(driven ?? findFigure(metrics, "orgate_sessions_driven")),
            says: driven === null ? "here, now" : "by all processes, now",
          },
          { name: "Queued", value: number(queued), says: "wait to be driven", tone: (queued ?? 0) > 0 ? "wait" : "plain" },
          { name: "Running", value: String(inState("running")), says: "sessions", to: "/sessions?state=running" },
          {
            name: "Waiting",
            value: String(inState("waiting")),
            says: "sessions, for people",
            tone: inState("waiting") > 0 ? "wait" : "plain",
            to: "/approvals",
          },
          { name: "Model calls failed", value: String(failures), says: "since the server started", tone: failures > 0 ? "wait" : "plain" },
        ]}
      />
      {found !== null && found.processes.length > 1 && <Processes found={found} metrics={metrics} />}
      <h2>The process</h2>
      <Figures
        label="The process"
        of={[
          {
            name: "Delay",
            value: delay === null ? "–" : `${delay.toFixed(1)} ms`,
            says: "of the event loop, 99th percentile",
            tone: (delay ?? 0) > 200 ? "bad" : "plain",
          },
          {
            name: "Memory",
            value: bytes(findFigure(metrics, "orgate_memory_rss_bytes")),
            says: `${bytes(findFigure(metrics, "orgate_memory_heap_bytes"))} in objects`,
          },
          {
            name: "Connections",
            value: number(findFigure(metrics, "orgate_connections")),
            says: `${number(findFigure(metrics, "orgate_sockets"))} of them sockets`,
          },
          { name: "Requests", value: number(findFigure(metrics, "orgate_http_requests_total")), says: "since the server started" },
        ]}
      />
      <p>
        <Link to="/journal">Verify</Link> checks that nobody altered the journal.
      </p>
    </>
  );
}
