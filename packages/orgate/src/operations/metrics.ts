/**
 * Counters and gauges, the same in JSON and as Prometheus text.
 *
 * W-30 Acts of agents are counted from the journal, once each, whichever process did them, from the start of the server; gauges are read when somebody asks.
 * W-9 A caller sees the figures of agents that it may see; those of the server itself only if it may see the project.
 * W-30 No label's value comes from text of models or people: there are never more series than agents, tools, models, routes, endings and living processes.
 */

import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { type Entry, isFault, isSessionStream, type SessionId, type StreamId } from "@orgate/core";
import type { Position } from "@orgate/core/journal";
import { eventsIn, type JournalEvent } from "@orgate/core/vocab";
import type { OperationOutput } from "@orgate/protocol";
import type { Runtime } from "../runtime/api.ts";
import type { Telling, WriterProcess } from "../store/store.ts";
import { type Act, act } from "./access.ts";
import { errorText, type Log } from "./logs.ts";

export type Metric = OperationOutput<"metrics">["metrics"][number];
type Sample = Metric["samples"][number];
type Labels = Readonly<Record<string, string>>;

export type Metrics = Readonly<{
  /** Of the server itself. */
  request(request: Readonly<{ route: string; method: string; status: number; ms: number }>): void;
  /** Of this process, since it was asked before; null until it follows the journal. */
  told(): Omit<Telling, "driven" | "queued"> | null;
  shown(to: Readonly<{ sees(agent: string): boolean; may(act: Act): boolean }>): Promise<readonly Metric[]>;
  close(): void;
}>;

export type MetricsOptions = Readonly<{
  runtime: Runtime;
  log: Log;
  gauges(): Readonly<Record<string, readonly [number, string]>>;
}>;

const BUCKETS_MS = [1, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000];
const MOST_SERIES = 5_000;
const MOST_SESSIONS = 20_000;
/** A look at a database that is away takes half a minute itself. */
const AGAIN_MS = 1_000;

export function openMetrics({ runtime, log, gauges }: MetricsOptions): Metrics {
  const counters = new Map<string, Counter>();
  const stop = new AbortController();
  const lag = watchEventLoop();
  const telling = openTelling();
  const agents = new Map<SessionId, string>();
  const known = new Set(runtime.inspect.agents.map(({ name }) => name));

  const counter = (name: string, help: string): Counter => {
    const found = counters.get(name) ?? counterOf(name, help);
    counters.set(name, found);
    return found;
  };
  const requests = counter("orgate_http_requests_total", "HTTP requests, by route and status.");
  const took = histogramOf("orgate_http_request_duration_ms", "How long HTTP requests took.", BUCKETS_MS);

  async function agentOf(stream: StreamId): Promise<string | null> {
    if (!isSessionStream(stream)) return null;
    const found = agents.get(stream) ?? (await runtime.inspect.session(stream))?.agent ?? null;
    if (found === null) return null;
    if (agents.size >= MOST_SESSIONS) agents.delete(agents.keys().next().value ?? stream);
    agents.set(stream, found);
    return known.has(found) ? found : "(gone)";
  }

  async function count(entry: Entry): Promise<void> {
    const agent = await agentOf(entry.stream);
    if (agent === null) return;
    for (const { name, help, labels, by = 1 } of countsIn(entry)) counter(name, help).add({ agent, ...labels }, by);
    logTurn(log, agent, entry);
  }

  let followed: Position | null = null;
  /** Reads the journal at its own pace. */
  async function follow(): Promise<void> {
    followed ??= await runtime.place.store.journal.position();
    for await (const one of runtime.subscribe({ all: true }, { after: followed, signal: stop.signal, previews: false })) {
      if (one.kind === "entry") await count(one.entry);
      if ("position" in one) followed = one.position;
    }
  }
  /** A database that was away comes back, also to a coordinator that outlived it: what was written meanwhile is counted then. */
  async function keepFollowing(): Promise<void> {
    for (;;) {
      try {
        return await follow();
      } catch (error) {
        if (stop.signal.aborted) return;
        const mayPass = isFault(error, "journal-unreadable");
        log(mayPass ? "warn" : "error", mayPass ? "metrics.behind" : "metrics.stopped", { error: errorText(error) });
        if (!mayPass) return;
        await sleep(AGAIN_MS, undefined, { ref: false });
      }
    }
  }
  void keepFollowing();

  return {
    request({ route, method, status, ms }) {
      requests.add({ route, method: METHODS.has(method) ? method : "other", status: String(status) }, 1);
      took.add({ route }, ms);
    },
    told: () => (followed === null ? null : { seen: followed, ...telling.told() }),
    async shown({ sees, may }) {
      const whole = may(act("observe", "project"));
      const isShown = ({ labels }: Sample): boolean => (labels.agent === undefined ? whole : sees(labels.agent));
      const all = [
        ...[...counters.values()].map((one) => one.metric()),
        took.metric(),
        ...(await readGauges({ runtime, gauges, followed }, lag)),
      ];
      return all.map((metric) => ({ ...metric, samples: metric.samples.filter(isShown) })).filter(({ samples }) => samples.length > 0);
    },
    close() {
      stop.abort();
      lag.disable();
      telling.close();
    },
  };
}
function watchEventLoop() {
  const lag = monitorEventLoopDelay({ resolution: 20 });
  lag.enable();
  return lag;
}

/** A monitor of its own: whoever reads metrics begins the other one anew. */
function openTelling() {
  const lag = watchEventLoop();
  const told = () => {
    const delayMs = Math.round(lag.max / 1e6);
    lag.reset();
    return { delayMs, rssBytes: process.memoryUsage.rss() };
  };
  return { told, close: () => lag.disable() };
}
const METHODS = new Set(["GET", "POST"]);

/** Values that are read when somebody asks. */
async function readGauges(
  { runtime, gauges, followed }: Pick<MetricsOptions, "runtime" | "gauges"> & Readonly<{ followed: Position | null }>,
  lag: ReturnType<typeof monitorEventLoopDelay>,
): Promise<readonly Metric[]> {
  const questions = new Map<string, number>();
  const { store } = runtime.place;
  const tallied = await store.tally();
  for (const { agent, openQuestions } of tallied) if (openQuestions > 0) questions.set(agent, (questions.get(agent) ?? 0) + openQuestions);
  const sessions = tallied.map(({ agent, state, count }) => sample({ agent, state }, count));
  const memory = process.memoryUsage();
  const server: Readonly<Record<string, readonly [number, string]>> = {
    ...gauges(),
    orgate_inbox_sessions: [(await store.inbox.waiting()).length, "Sessions with an intent that no process has taken yet."],
    orgate_tail_lag_entries: [
      followed === null ? 0 : Math.max(0, (await store.journal.position()) - followed),
      "Entries that the followers of this process have not seen yet.",
    ],
    orgate_event_loop_delay_p99_ms: [lag.percentile(99) / 1e6, "How late the event loop was, at the 99th percentile since the last look."],
    orgate_memory_rss_bytes: [memory.rss, "Memory of the process."],
    orgate_memory_heap_bytes: [memory.heapUsed, "Of it, what its own objects use."],
  };
  lag.reset();
  return [
    ...processMetrics(await store.processes()),
    { name: "orgate_sessions", help: "Sessions, by agent and state.", type: "gauge", samples: sessions },
    {
      name: "orgate_open_questions",
      help: "Questions that wait for a person.",
      type: "gauge",
      samples: [...questions].map(([agent, count]) => sample({ agent }, count)),
    },
    ...Object.entries(server).map(([name, [value, help]]): Metric => ({ name, help, type: "gauge", samples: [sample({}, value)] })),
  ];
}

/** One series for each living process; none of what it does not tell. */
const OF_PROCESSES: readonly (readonly [name: string, help: string, value: (one: WriterProcess) => number | null])[] = [
  ["orgate_processes", "Living processes that write.", () => 1],
  ["orgate_process_sessions", "Sessions that each process holds.", (one) => one.holds],
  ["orgate_process_heard_ms", "How long ago each process renewed its lease.", (one) => one.heardMs],
  ["orgate_process_commits_total", "Commits of each process since it began.", (one) => one.commits],
  ["orgate_process_appends_total", "Appends in these commits: several sessions share one.", (one) => one.appends],
  ...(
    [
      ["sessions_driven", "Sessions that each process drives", "driven"],
      ["sessions_queued", "Sessions that wait to be driven in each process", "queued"],
      ["tail_lag_entries", "Entries that the followers of each process had not seen", "lag"],
      ["event_loop_delay_max_ms", "How late its event loop was at most since the renewal before", "delayMs"],
      ["memory_rss_bytes", "Its memory", "rssBytes"],
    ] as const
  ).map(
    ([name, help, figure]) =>
      [`orgate_process_${name}`, `${help}, as it told with its lease.`, ({ figures }: WriterProcess) => figures?.[figure] ?? null] as const,
  ),
];

const processMetrics = (processes: readonly WriterProcess[]): readonly Metric[] =>
  OF_PROCESSES.map(([name, help, value]) => ({
    ...{ name, help, type: name.endsWith("_total") ? "counter" : "gauge" },
    samples: processes.flatMap((one) => {
      const found = value(one);
      return found === null ? [] : [sample({ writer: one.writer, place: one.place }, found)];
    }),
  }));

type Count = Readonly<{ name: string; help: string; labels: Labels; by?: number }>;

const countsIn = ({ event }: Entry): readonly Count[] => eventsIn(event).flatMap(countsOf);

function countsOf(e: JournalEvent): readonly Count[] {
  switch (e.kind) {
    case "turn.started":
      return [{ name: "orgate_turns_started_total", help: "Turns begun.", labels: {} }];
    case "turn.ended":
      return [{ name: "orgate_turns_ended_total", help: "Turns, by ending.", labels: { ending: e.ending } }];
    case "model.replied": {
      const help = "Tokens, by direction.";
      const tokens = (direction: string, by: number): Count => ({ name: "orgate_tokens_total", help, labels: { direction }, by });
      return [
        { name: "orgate_model_replies_total", help: "Replies of models.", labels: {} },
        tokens("input", e.usage.input),
        tokens("output", e.usage.output),
      ];
    }
    case "model.failed":
      return [{ name: "orgate_model_failures_total", help: "Model calls that failed.", labels: {} }];
    case "gate.decided":
      return [{ name: "orgate_decisions_total", help: "Decisions of the gate, by verdict.", labels: { verdict: e.verdict.kind } }];
    case "act.ended":
      return [{ name: "orgate_calls_ended_total", help: "Calls of tools, by outcome.", labels: { outcome: e.outcome.kind } }];
    case "approval.asked":
      return [{ name: "orgate_questions_total", help: "Questions put to people.", labels: {} }];
    default:
      return [];
  }
}

/** Logs the start of each turn, and its end with what it used. */
function logTurn(log: Log, agent: string, { stream, event: e }: Entry): void {
  if (e.kind === "turn.started") log("info", "turn.started", { session: stream, agent, turn: e.turn, intent: e.intent });
  if (e.kind !== "turn.ended") return;
  const tokens = e.usage.input + e.usage.output;
  log("info", "turn.ended", { session: stream, agent, turn: e.turn, ending: e.ending, iterations: e.iterations, tokens, ms: e.activeMs });
}

type Counter = Readonly<{ add(labels: Labels, by: number): void; metric(): Metric }>;
const sample = (labels: Labels, value: number, suffix = ""): Sample => ({ labels, value, suffix });
const keyOf = (labels: Labels): string => JSON.stringify(Object.entries(labels));

function counterOf(name: string, help: string): Counter {
  const series = new Map<string, { readonly labels: Labels; value: number }>();
  return {
    add(labels, by) {
      const key = keyOf(labels);
      const found = series.get(key) ?? { labels, value: 0 };
      if (!series.has(key) && series.size >= MOST_SERIES) return;
      found.value += by;
      series.set(key, found);
    },
    metric: () => ({ name, help, type: "counter", samples: [...series.values()].map(({ labels, value }) => sample(labels, value)) }),
  };
}

function histogramOf(name: string, help: string, bounds: readonly number[]): Counter {
  const series = new Map<string, { readonly labels: Labels; readonly counts: number[]; sum: number; all: number }>();
  return {
    add(labels, value) {
      const key = keyOf(labels);
      const one = series.get(key) ?? { labels, counts: bounds.map(() => 0), sum: 0, all: 0 };
      if (!series.has(key) && series.size >= MOST_SERIES) return;
      for (const [i, bound] of bounds.entries()) if (value <= bound) one.counts[i] = (one.counts[i] ?? 0) + 1;
      one.sum += value;
      one.all += 1;
      series.set(key, one);
    },
    metric: () => ({
      name,
      help,
      type: "histogram",
      samples: [...series.values()].flatMap(({ labels, counts, sum, all }) => [
        ...bounds.map((le, i) => sample({ ...labels, le: String(le) }, counts[i] ?? 0, "_bucket")),
        sample({ ...labels, le: "+Inf" }, all, "_bucket"),
        sample(labels, sum, "_sum"),
        sample(labels, all, "_count"),
      ]),
    }),
  };
}

export function prometheusText(metrics: readonly Metric[]): string {
  const lines = metrics.flatMap(({ name, help, type, samples }) => [
    `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(({ labels, value, suffix }) => `${name}${suffix}${labelText(labels)} ${value}`),
  ]);
  return `${lines.join("\n")}\n`;
}

function labelText(labels: Labels): string {
  const all = Object.entries(labels).map(
    ([name, value]) => `${name}="${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`,
  );
  return all.length === 0 ? "" : `{${all.join(",")}}`;
}
