/**
 * OpenTelemetry for what agents do: spans and metrics with the names of its `gen_ai` conventions, made from journal entries, sent as OTLP over HTTP in JSON.
 * Loaded only where the standard variables ask for it (docs/decisions/0025-telemetry-without-an-sdk.md).
 *
 * W-31 a turn is a trace: its span, one for each model call and one for each tool call below it. Their ids are made from session, turn and entry, so that the
 *     same turn, driven on by another process, is the same trace; that process tells of its own part, and that it has taken the session.
 * W-31 every span and metric has what the conventions require of its kind, and the conventions' own name of a provider where they have one.
 * W-31 no word of a person, a model or a tool is in it: names, counts, times and endings only.
 * W-31 what cannot be sent is dropped and counted, what waits to be sent is bounded, and nothing that an agent does waits for it.
 */

import { createHash } from "node:crypto";
import type { Entry, JournalEvent, SessionId } from "@orgate/core";
import type { Env } from "../node/env.ts";
import { CatchUp, type RunningTurn } from "./running-turns.ts";

type Value = Readonly<{ stringValue: string } | { intValue: string } | { arrayValue: Readonly<{ values: readonly Value[] }> }>;
type Attribute = Readonly<{ key: string; value: Value }>;
export type Span = Readonly<{
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  /** 1 internal, 3 client. */
  kind: 1 | 3;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: readonly Attribute[];
  /** 0 unset, 2 error. */
  status: Readonly<{ code: 0 | 2; message?: string }>;
}>;

export type Telemetry = Readonly<{
  /** An entry that became durable in a session driven here. */
  hear(entry: Entry, agent: AgentFacts): void;
  /** Sends what waits; never rejects. */
  flush(): Promise<void>;
  lost(): number;
  close(): Promise<void>;
}>;

/** `model`: `provider/name`, as the agent has it. */
export type AgentFacts = Readonly<{ name: string; model: string }>;

export type TelemetrySettings = Readonly<{
  traces: string | null;
  metrics: string | null;
  headers: Readonly<Record<string, string>>;
  resource: readonly Attribute[];
  delayMs: number;
  timeoutMs: number;
}>;

/** Null where nobody asks for it. `instance`: the writer of this process, as the journal names it. */
export function telemetrySettings(env: Env, version: string, instance: string): TelemetrySettings | null {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === "true") return null;
  const endpoint = (name: "TRACES" | "METRICS"): string | null => {
    if (env[`OTEL_${name}_EXPORTER`] === "none") return null;
    const base = env.OTEL_EXPORTER_OTLP_ENDPOINT;
    const own = env[`OTEL_EXPORTER_OTLP_${name}_ENDPOINT`];
    const address = own ?? (base === undefined || base === "" ? null : `${base.replace(/\/$/, "")}/v1/${name.toLowerCase()}`);
    return address !== null && /^https?:/.test(address) && URL.canParse(address) ? address : null;
  };
  const [traces, metrics] = [endpoint("TRACES"), endpoint("METRICS")];
  if (traces === null && metrics === null) return null;
  const named = pairs(env.OTEL_RESOURCE_ATTRIBUTES ?? "");
  const service = env.OTEL_SERVICE_NAME ?? named["service.name"] ?? "orgate";
  const resource = { "service.instance.id": instance, ...named, "service.name": service, "service.version": version };
  return {
    traces,
    metrics,
    headers: pairs(env.OTEL_EXPORTER_OTLP_HEADERS ?? ""),
    resource: Object.entries(resource).map(([key, value]) => text(key, value)),
    delayMs: positive(env.OTEL_BSP_SCHEDULE_DELAY, 5_000),
    timeoutMs: positive(env.OTEL_EXPORTER_OTLP_TIMEOUT, 10_000),
  };
}
const positive = (given: string | undefined, otherwise: number): number => (/^[1-9]\d{0,8}$/.test(given ?? "") ? Number(given) : otherwise);

/** `a=b,c=d`, each percent-encoded. */
function pairs(given: string): Readonly<Record<string, string>> {
  const found = given.split(",").flatMap((one) => {
    const [name = "", ...rest] = one.split("=");
    try {
      return name.trim() === "" || rest.length === 0 ? [] : [[name.trim(), decodeURIComponent(rest.join("=").trim())] as const];
    } catch {
      return [];
    }
  });
  return Object.fromEntries(found);
}

const text = (key: string, value: string): Attribute => ({ key, value: { stringValue: value } });
const whole = (key: string, value: number): Attribute => ({ key, value: { intValue: String(value) } });
const texts = (key: string, values: readonly string[]): Attribute => ({
  key,
  value: { arrayValue: { values: values.map((stringValue) => ({ stringValue })) } },
});
const nanos = (ms: number): string => `${Math.round(ms)}000000`;
const id = (length: 16 | 32, ...parts: readonly (string | number)[]): string =>
  createHash("sha256").update(parts.join("\n")).digest("hex").slice(0, length);

// ── from entries to spans ──

type Turn = {
  readonly turn: number;
  readonly startedAt: number;
  readonly trace: string;
  readonly span: string;
  asked: Readonly<{ at: number; seq: number; model: string }> | null;
  readonly acts: Map<string, Readonly<{ at: number; seq: number; tool: string }>>;
};
export type Folded = Readonly<{ spans: readonly Span[]; tokens: readonly Tokens[]; durations: readonly Duration[] }>;
type Tokens = Readonly<{ attributes: readonly Attribute[]; value: number }>;
type Duration = Tokens;
const NOTHING: Folded = { spans: [], tokens: [], durations: [] };

/** Entries of any sessions in order; what is kept of a session ends with its turn. */
export function spanFold(): (entry: Entry, agent: AgentFacts) => Folded {
  const turns = new Map<string, Turn>();
  return (entry, agent) => {
    const { stream, at, seq, event: e } = entry;
    if (e.kind === "turn.started") {
      const trace = id(32, stream, e.turn);
      turns.set(stream, { turn: e.turn, startedAt: at, trace, span: id(16, trace, "turn"), asked: null, acts: new Map() });
      return NOTHING;
    }
    if (e.kind === "turn.ended") {
      const turn = turns.get(stream);
      turns.delete(stream);
      return { ...NOTHING, spans: [turnSpan(entry, e, agent, turn)] };
    }
    const turn = turns.get(stream);
    if (turn === undefined) return NOTHING;
    switch (e.kind) {
      case "hold.taken":
        return { ...NOTHING, spans: [takenSpan(turn, entry, e)] };
      case "model.asked":
        turn.asked = { at, seq, model: e.model };
        return NOTHING;
      case "model.replied":
      case "model.failed":
        return modelSpan(turn, stream as SessionId, at, e);
      case "act.started":
        turn.acts.set(e.call, { at, seq, tool: e.tool });
        return NOTHING;
      case "act.ended":
        return toolSpan(turn, at, e);
      default:
        return NOTHING;
    }
  };
}

/** Names of providers in the conventions; others keep their own. */
const PROVIDERS: Readonly<Record<string, string>> = { "openai-chat": "openai", google: "gcp.gemini" };
function modelAttributes(model: string): readonly Attribute[] {
  const [provider = "", ...rest] = model.split("/");
  const known = Object.hasOwn(PROVIDERS, provider) ? PROVIDERS[provider] : provider;
  return [text("gen_ai.provider.name", known ?? provider), text("gen_ai.request.model", rest.join("/"))];
}
const modelName = (model: string): string => model.split("/").slice(1).join("/");

function turnSpan(
  { stream, at }: Entry,
  e: Extract<JournalEvent, { kind: "turn.ended" }>,
  agent: AgentFacts,
  turn: Turn | undefined,
): Span {
  const trace = id(32, stream, e.turn);
  const isBad = e.ending === "failed" || e.ending === "timed-out";
  return {
    traceId: trace,
    spanId: id(16, trace, "turn"),
    parentSpanId: "",
    name: `invoke_agent ${agent.name}`,
    kind: 1,
    startTimeUnixNano: nanos(turn?.startedAt ?? at - e.activeMs),
    endTimeUnixNano: nanos(at),
    attributes: [
      text("gen_ai.operation.name", "invoke_agent"),
      ...modelAttributes(agent.model),
      text("gen_ai.agent.name", agent.name),
      text("gen_ai.conversation.id", stream),
      whole("gen_ai.usage.input_tokens", e.usage.input),
      whole("gen_ai.usage.output_tokens", e.usage.output),
      whole("orgate.turn", e.turn),
      whole("orgate.iterations", e.iterations),
      text("orgate.ending", e.ending),
      ...(isBad ? [text("error.type", e.ending)] : []),
    ],
    status: isBad ? { code: 2, message: e.ending } : { code: 0 },
  };
}

/** A moment within a turn: from here on another process drives it. What was under way in the one before it has no span of its own. */
function takenSpan(turn: Turn, { at, seq }: Entry, e: Extract<JournalEvent, { kind: "hold.taken" }>): Span {
  return {
    traceId: turn.trace,
    spanId: id(16, turn.trace, "taken", seq),
    parentSpanId: turn.span,
    name: "take_session",
    kind: 1,
    startTimeUnixNano: nanos(at),
    endTimeUnixNano: nanos(at),
    attributes: [text("orgate.writer", e.writer), whole("orgate.epoch", e.epoch)],
    status: { code: 0 },
  };
}

type Asked = Extract<JournalEvent, { kind: "model.replied" | "model.failed" }>;
function modelSpan(turn: Turn, session: SessionId, at: number, e: Asked): Folded {
  const { asked } = turn;
  turn.asked = null;
  if (asked === null) return NOTHING;
  const common = [text("gen_ai.operation.name", "chat"), ...modelAttributes(asked.model)];
  const failed = e.kind === "model.failed" ? [text("error.type", "model-failed")] : [];
  const usage = e.kind === "model.replied" ? e.usage : null;
  const span: Span = {
    traceId: turn.trace,
    spanId: id(16, turn.trace, "model", asked.seq),
    parentSpanId: turn.span,
    name: `chat ${modelName(asked.model)}`,
    kind: 3,
    startTimeUnixNano: nanos(asked.at),
    endTimeUnixNano: nanos(at),
    attributes: [
      ...common,
      text("gen_ai.conversation.id", session),
      ...(usage === null ? [] : [whole("gen_ai.usage.input_tokens", usage.input), whole("gen_ai.usage.output_tokens", usage.output)]),
      ...(e.kind === "model.replied" ? [texts("gen_ai.response.finish_reasons", [e.finish])] : failed),
    ],
    status: e.kind === "model.replied" ? { code: 0 } : { code: 2, message: "model-failed" },
  };
  const tokens =
    usage === null
      ? []
      : (["input", "output"] as const).map((type) => ({ attributes: [...common, text("gen_ai.token.type", type)], value: usage[type] }));
  return { spans: [span], tokens, durations: [{ attributes: [...common, ...failed], value: (at - asked.at) / 1_000 }] };
}

function toolSpan(turn: Turn, at: number, e: Extract<JournalEvent, { kind: "act.ended" }>): Folded {
  const started = turn.acts.get(e.call);
  turn.acts.delete(e.call);
  if (started === undefined) return NOTHING;
  const { kind } = e.outcome;
  const span: Span = {
    traceId: turn.trace,
    spanId: id(16, turn.trace, "tool", started.seq),
    parentSpanId: turn.span,
    name: `execute_tool ${started.tool}`,
    kind: 1,
    startTimeUnixNano: nanos(started.at),
    endTimeUnixNano: nanos(at),
    attributes: [
      text("gen_ai.operation.name", "execute_tool"),
      text("gen_ai.tool.name", started.tool),
      text("gen_ai.tool.call.id", e.call),
      text("orgate.outcome", kind),
      ...(kind === "done" ? [] : [text("error.type", kind)]),
    ],
    status: kind === "done" ? { code: 0 } : { code: 2, message: kind },
  };
  return { ...NOTHING, spans: [span] };
}

// ── sending ──

const MOST_WAITING = 2_048;
const BOUNDS_S = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const BOUNDS_TOKENS = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864];

export function openTelemetry(settings: TelemetrySettings, now: () => number, runningTurn: RunningTurn | null = null): Telemetry {
  const fold = spanFold();
  const began = now();
  const tokens = histogram("gen_ai.client.token.usage", "{token}", BOUNDS_TOKENS);
  const durations = histogram("gen_ai.client.operation.duration", "s", BOUNDS_S);
  let waiting: Span[] = [];
  let lost = 0;
  let sending: Promise<void> = Promise.resolve();
  const resource = { attributes: settings.resource };
  const scope = { name: "orgate" };

  async function post(address: string | null, body: unknown): Promise<boolean> {
    if (address === null) return true;
    try {
      const response = await fetch(address, {
        method: "POST",
        headers: { ...settings.headers, "content-type": "application/json" },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(settings.timeoutMs),
        redirect: "error",
      });
      await response.arrayBuffer();
      return response.ok;
    } catch {
      return false;
    }
  }
  async function send(): Promise<void> {
    const spans = waiting;
    waiting = [];
    if (spans.length > 0 && !(await post(settings.traces, { resourceSpans: [{ resource, scopeSpans: [{ scope, spans }] }] })))
      lost += spans.length;
    const metrics = [tokens, durations].flatMap((one) => one.metric(began, now()));
    if (metrics.length > 0) await post(settings.metrics, { resourceMetrics: [{ resource, scopeMetrics: [{ scope, metrics }] }] });
  }
  const flush = (): Promise<void> => {
    sending = sending.then(send);
    return sending;
  };
  const timer = setInterval(() => void flush(), settings.delayMs).unref();
  const tell = (entry: Entry, agent: AgentFacts): void => {
    const found = fold(entry, agent);
    for (const span of found.spans) {
      if (waiting.length >= MOST_WAITING) lost += 1;
      else waiting.push(span);
    }
    for (const one of found.tokens) tokens.add(one);
    for (const one of found.durations) durations.add(one);
  };
  const catchUp = runningTurn === null ? null : new CatchUp<AgentFacts>(runningTurn, { before: fold, tell });
  return {
    hear(entry, agent) {
      if (catchUp === null) tell(entry, agent);
      else if (!catchUp.hear(entry, agent)) lost += 1;
    },
    flush,
    lost: () => lost,
    async close() {
      clearInterval(timer);
      await catchUp?.settle();
      await flush();
    },
  };
}

/** Cumulative since the process began. */
function histogram(name: string, unit: string, bounds: readonly number[]) {
  const series = new Map<string, { readonly attributes: readonly Attribute[]; readonly counts: number[]; sum: number; count: number }>();
  return {
    add({ attributes, value }: Tokens): void {
      const key = JSON.stringify(attributes);
      const one = series.get(key) ?? { attributes, counts: [...bounds, 0].map(() => 0), sum: 0, count: 0 };
      const place = bounds.findIndex((bound) => value <= bound);
      const at = place === -1 ? bounds.length : place;
      one.counts[at] = (one.counts[at] ?? 0) + 1;
      one.sum += value;
      one.count += 1;
      series.set(key, one);
    },
    metric(from: number, now: number): readonly unknown[] {
      if (series.size === 0) return [];
      const dataPoints = [...series.values()].map(({ attributes, counts, sum, count }) => ({
        attributes,
        startTimeUnixNano: nanos(from),
        timeUnixNano: nanos(now),
        count: String(count),
        sum,
        bucketCounts: counts.map(String),
        explicitBounds: bounds,
      }));
      return [{ name, unit, histogram: { aggregationTemporality: 2, dataPoints } }];
    },
  };
}
