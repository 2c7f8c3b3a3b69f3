/**
 * The fleet: the activity and the last 24 hours of every agent.
 * At a glance: turns that run and wait, denials, open breakers, halts. Every figure links to its details.
 */

import { breakerSubject, millis } from "@orgate/core/vocab";
import type { OperationOutput } from "@orgate/protocol";
import { type AgentRow, countNoun, createFleetFold, type FleetView, type RunningTurn } from "@orgate/protocol/view";
import { use, useEffect, useMemo, useState } from "react";
import { serverNow } from "../../link/clock.ts";
import { useHub, useQuery } from "../../link/use.ts";
import { Button } from "../../parts/Button.tsx";
import { type Figure, Figures } from "../../parts/charts/Figures.tsx";
import { Sparkline } from "../../parts/charts/Sparkline.tsx";
import { Link } from "../../parts/Link.tsx";
import { Page } from "../../parts/Page.tsx";
import { Empty, Failure, Loading, Sentence } from "../../parts/States.tsx";
import { Tag, type Tone } from "../../parts/Tag.tsx";
import { useNow } from "../../parts/time/Time.tsx";
import { costText, formatDuration } from "../../parts/time/time.ts";
import { chatWithPath, sessionPath } from "../../routing/addresses.ts";
import { type Halt, haltFor as standing } from "../halts.ts";
import { BREAKER_TOPICS, NOT_YET, OverviewContext, overviewFigures } from "../overview.ts";
import { DefinitionDialog, RunDialog } from "./Dialogs.tsx";
import css from "./Fleet.module.css";
import { Breakers, HaltWork } from "./Switches.tsx";

const HOURS = 24;
/** Agents in the page at first, those that need attention before all others: five hundred do not make it slow. */
const FEW = 24;
const HOUR_MS = 3_600_000;
/** How often the server's counts replace those folded here. */
const REFRESH_MS = 60_000;
/** O-7 the interval after a failed read. */
const AGAIN_MS = 2_500;
type Standing = Readonly<{
  agents: OperationOutput<"agents">;
  running: OperationOutput<"sessions">;
  waiting: OperationOutput<"sessions">;
  usage: OperationOutput<"usage">;
  isCounted: boolean;
}>;

export default function Fleet() {
  const now = useNow();
  const agents = useQuery("agents", { query: { limit: 500 } });
  const { halts: halted, reloadHalts, halted: howMany } = use(OverviewContext);
  const breakers = useQuery("breakers", { query: {} }, BREAKER_TOPICS);
  const { stopped } = use(OverviewContext);
  const { standing, problem, uncounted, reload } = useStanding(agents.value);
  const [most, setMost] = useState(FEW);
  const view = useFleet(standing, now, halted);
  const isCounted = standing?.isCounted === true;
  const wrong = agents.problem ?? problem;
  const askAgain = (): void => {
    agents.reload();
    reload();
  };
  if (view === null || agents.value === null)
    return (
      <Page title="Fleet">{wrong === null ? <Loading what="Reading the agents" /> : <Failure problem={wrong} again={askAgain} />}</Page>
    );
  const open = (breakers.value?.items ?? []).filter(({ state }) => state !== "closed");
  const rows = [...view.agents].sort(byNeed((agent) => haltReason(halted, agent)));
  return (
    <Page
      title="Fleet"
      lead="What every agent is doing now, and how it did in the last 24 hours."
      aside={<HaltWork reload={reloadHalts} />}
    >
      <Figures
        label="At a glance"
        of={figures(view, { broken: breakers.value === null ? null : open.length, halted: howMany, stopped }, isCounted)}
      />
      {uncounted === null ? null : (
        <p role="status">
          The figures could not be read: <Sentence text={uncounted.detail} /> It retries by itself.
        </p>
      )}
      {rows.length === 0 ? (
        <Empty icon="fleet" title="No agents yet">
          <p>
            An agent is a file in <code>agents/</code>. <code>orgate init</code> makes a project with one.
          </p>
        </Empty>
      ) : (
        <ul className={css.agents} aria-label="Agents">
          {rows.slice(0, most).map((row) => (
            <Agent
              key={row.agent}
              row={row}
              of={agents.value?.items.find(({ name }) => name === row.agent) ?? null}
              halted={haltReason(halted, row.agent)}
              broken={open.map(({ breaker }) => breakerSubject(breaker))}
              now={now}
              isCounted={isCounted}
            />
          ))}
        </ul>
      )}
      {rows.length > most ? (
        <div>
          <Button onClick={() => setMost(most + 4 * FEW)}>{countNoun(rows.length - most, "agent")} more, idle</Button>
        </div>
      ) : null}
      <Breakers breakers={breakers.value?.items ?? []} reload={breakers.reload} />
    </Page>
  );
}

const haltReason = (halts: readonly Halt[], agent: string): string | null => standing(halts, agent)?.reason ?? null;

/** The state that lists report; later entries are folded in. */
function useStanding(agents: OperationOutput<"agents"> | null) {
  const hub = useHub();
  const [standing, setStanding] = useState<Standing | null>(null);
  const [problem, setProblem] = useState<Parameters<typeof Failure>[0]["problem"] | null>(null);
  const [uncounted, setUncounted] = useState<typeof problem>(null);
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (agents === null) return;
    let isGone = false;
    const hour = Math.floor(serverNow() / HOUR_MS);
    const inState = (state: "running" | "waiting") => hub.call("sessions", { query: { limit: 500, state } });
    let isWell = true;
    const stand = async (usage: OperationOutput<"usage">, isCounted: boolean): Promise<void> => {
      const [running, waiting] = await Promise.all([inState("running"), inState("waiting")]);
      if (isGone) return;
      isWell = running.kind === "ok" && waiting.kind === "ok";
      if (running.kind === "ok" && waiting.kind === "ok")
        setStanding({ agents, running: running.value, waiting: waiting.value, usage, isCounted });
      const wrong = [running, waiting].find((came) => came.kind === "problem");
      setProblem(wrong?.kind === "problem" ? wrong.problem : null);
    };
    /** Activity is shown at once; usage takes a moment to read. */
    const all = async (): Promise<void> => {
      if (round === 0) await stand({ rows: [], behind: 0, cut: false }, false);
      const usage = await hub.call("usage", { query: { from: hour - HOURS + 1, to: hour + 1 } });
      if (isGone) return;
      setUncounted(usage.kind === "problem" ? usage.problem : null);
      if (usage.kind === "ok") await stand(usage.value, true);
      const isNear = usage.kind === "ok" && usage.value.behind > 0;
      timer = setTimeout(() => setRound((n) => n + 1), isNear ? 1_000 : isWell && usage.kind === "ok" ? REFRESH_MS : AGAIN_MS);
    };
    let timer: ReturnType<typeof setTimeout> | undefined;
    void all();
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [hub, agents, round]);
  return { standing, problem, uncounted, reload: () => setRound((n) => n + 1) };
}

function useFleet(standing: Standing | null, now: number, halts: readonly Halt[]): FleetView | null {
  const hub = useHub();
  const [version, setVersion] = useState(0);
  const fold = useMemo(
    () =>
      standing === null
        ? null
        : createFleetFold(
            standing.agents.items.map(({ name }) => name),
            [...standing.running.items, ...standing.waiting.items],
            standing.usage.rows,
          ),
    [standing],
  );
  useEffect(() => {
    if (fold === null) return;
    let due = 0;
    const stop = hub.listen((items) => {
      for (const item of items) if (item.kind === "entry") fold.add(item.entry);
      due ||= requestAnimationFrame(() => {
        due = 0;
        setVersion((n) => n + 1);
      });
    });
    return () => {
      stop();
      cancelAnimationFrame(due);
    };
  }, [hub, fold]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says that something was folded in
  return useMemo(() => fold?.view(millis(now), halts) ?? null, [fold, version, now, halts]);
}

function figures(
  { agents, running, waiting }: FleetView,
  wrong: Parameters<typeof overviewFigures>[2],
  isCounted: boolean,
): readonly Figure[] {
  const sum = (of: (row: AgentRow) => number): number => agents.reduce((total, row) => total + of(row), 0);
  const counted = (text: string): string => (isCounted ? text : NOT_YET);
  const [turns, completed] = [sum((r) => r.counts.turns), sum((r) => r.counts.completed)];
  const now = overviewFigures(running, waiting, wrong);
  return [
    now.working,
    now.waiting,
    {
      name: "Completed",
      value: counted(turns === 0 ? "–" : percent(completed / turns)),
      says: isCounted ? `of ${countNoun(turns, "turn")}, 24 h` : "24 h",
      tone: turns > 0 && completed / turns < 0.5 ? "bad" : "plain",
      to: "/sessions",
    },
    { name: "Denied", value: counted(String(sum((r) => r.counts.denials))), says: "calls, 24 h", to: "/journal?verdict=deny" },
    {
      name: "Cost",
      value: counted(costText({ micros: sum((r) => r.counts.micros), unpriced: sum((r) => r.counts.unpriced) })),
      says: "24 h",
      to: "/cost",
    },
    now.wrong,
  ];
}

/** Orders agents: halted, waiting, working, others. */
function byNeed(halted: (agent: string) => string | null): (a: AgentRow, b: AgentRow) => number {
  const rank = (row: AgentRow): number => {
    if (halted(row.agent) !== null) return 0;
    if (row.waiting > 0) return 1;
    return row.running.length > 0 ? 2 : row.counts.turns > 0 ? 3 : 4;
  };
  return (a, b) => rank(a) - rank(b) || (a.agent < b.agent ? -1 : 1);
}

type Given = Readonly<{
  row: AgentRow;
  of: OperationOutput<"agents">["items"][number] | null;
  halted: string | null;
  broken: readonly string[];
  now: number;
  isCounted: boolean;
}>;

function Agent({ row, of, halted, broken, now, isCounted }: Given) {
  const counted = (text: string): string => (isCounted ? text : NOT_YET);
  const [dialog, setDialog] = useState<"run" | "definition" | null>(null);
  const { agent, counts, success, denial, turnMs, series } = row;
  const mine = broken.filter((name) => name === `model:${of?.model}` || of?.tools.some((tool) => name === `tool:${tool}`));
  const { tone, word } = describeAgentState(row, halted, mine);
  return (
    <li className={css.agent}>
      <div className={css.head}>
        <h2>{agent}</h2>
        <Tag tone={tone}>{word}</Tag>
        {mine.map((name) => (
          <Tag key={name} tone="bad">
            breaker open: {name}
          </Tag>
        ))}
        <code className={css.model}>{of?.model ?? "no longer in this project"}</code>
      </div>
      <Turns turns={row.running} waiting={row.waiting} agent={agent} now={now} halted={halted} />
      <dl className={css.figures}>
        <Trend name="Turns" value={counted(String(counts.turns))} series={series.turns} label="Turns by hour" />
        <Trend name="Completed" value={counted(percent(success))} series={null} label="" />
        <Trend name="Calls denied" value={counted(percent(denial))} series={series.denials} label="Denials by hour" tone="bad" />
        <Trend
          name="A turn takes"
          value={counted(turnMs === null ? "–" : formatDuration(turnMs))}
          series={series.ms}
          label="How long turns took, by hour"
          tone="act"
        />
        <Trend name="Cost" value={counted(costText(counts))} series={series.micros} label="Cost by hour" tone="reason" />
      </dl>
      <div className={css.doing}>
        <Button size="small" icon="send" disabled={of === null || halted !== null} onClick={() => setDialog("run")}>
          Start a run
        </Button>
        <Button size="small" disabled={of === null} onClick={() => setDialog("definition")}>
          Definition
        </Button>
        <Link to={chatWithPath(agent)}>Chat</Link>
        <Link to={`/sessions?${new URLSearchParams({ agent })}`}>Sessions</Link>
        <Link to={`/policies?${new URLSearchParams({ agent })}`}>Policies</Link>
      </div>
      <RunDialog agent={agent} open={dialog === "run"} onClose={() => setDialog(null)} />
      <DefinitionDialog agent={agent} open={dialog === "definition"} onClose={() => setDialog(null)} />
    </li>
  );
}

function describeAgentState(
  { running, waiting }: AgentRow,
  halted: string | null,
  broken: readonly string[],
): Readonly<{ tone: Tone; word: string }> {
  if (halted !== null) return { tone: "bad", word: "halted" };
  if (broken.length > 0) return { tone: "bad", word: "broken" };
  if (waiting > 0) return { tone: "wait", word: `${waiting} waiting` };
  return running.length > 0 ? { tone: "act", word: "working" } : { tone: "plain", word: "idle" };
}

const percent = (rate: number | null): string => (rate === null ? "–" : `${Math.round(rate * 100)} %`);
const MOST_TURNS = 4;

type TurnsProps = Readonly<{ turns: readonly RunningTurn[]; waiting: number; agent: string; now: number; halted: string | null }>;
function Turns({ turns, waiting, agent, now, halted }: TurnsProps) {
  if (halted !== null) return <p className={css.none}>Halted: {halted === "" ? "no reason was given" : halted}</p>;
  if (turns.length === 0)
    return <p className={css.none}>{waiting > 0 ? <Link to="/approvals">It waits for an answer</Link> : "Nothing in progress"}</p>;
  return (
    <ul className={css.turns} aria-label={`What ${agent} is doing`}>
      {turns.slice(0, MOST_TURNS).map(({ session, turn, since, doing }) => (
        <li key={session}>
          <Link to={sessionPath(session)}>turn {turn}</Link> <span>{doing}</span>{" "}
          <span className={css.since}>{formatDuration(Math.max(0, now - since))}</span>
        </li>
      ))}
      {turns.length > MOST_TURNS ? <li>and {turns.length - MOST_TURNS} more</li> : null}
    </ul>
  );
}

type TrendProps = Readonly<{
  name: string;
  value: string;
  series: readonly number[] | null;
  label: string;
  tone?: "plain" | "bad" | "reason" | "act";
}>;
function Trend({ name, value, series, label, tone = "plain" }: TrendProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <span className={css.value}>{value}</span>
        {series === null ? null : <Sparkline values={series} label={label} tone={tone} />}
      </dd>
    </div>
  );
}
