import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Entry } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import { latch, openStand } from "../server/fixtures/stand.ts";
import { openTelemetry, type Span, spanFold, telemetrySettings } from "./telemetry.ts";

const sinks: Server[] = [];
afterEach(() => {
  for (const sink of sinks.splice(0)) sink.close();
});

type Got = { readonly path: string; readonly headers: Record<string, unknown>; readonly text: string };
/** A collector that takes what it is sent. */
async function collector(status = 200): Promise<{ readonly url: string; readonly got: Got[] }> {
  const got: Got[] = [];
  const sink = createServer((request, response) => {
    let text = "";
    request.on("data", (bytes) => {
      text += String(bytes);
    });
    request.on("end", () => {
      got.push({ path: request.url ?? "", headers: request.headers, text });
      response.writeHead(status).end("{}");
    });
  });
  sinks.push(sink);
  await new Promise<void>((resolve) => sink.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(sink.address() as AddressInfo).port}`, got };
}
const CLERK = { name: "clerk", model: "offline/echo" };
const spansIn = (got: readonly Got[]): readonly Span[] =>
  got.filter(({ path }) => path === "/v1/traces").flatMap(({ text }) => JSON.parse(text).resourceSpans[0].scopeSpans[0].spans as Span[]);
const attributes = (span: Span): Record<string, unknown> =>
  Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

test("W-31 a turn is one trace: its span, and below it one for each model call and each tool call, with the conventions' names", async () => {
  const { url, got } = await collector();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SERVICE_NAME: "desk", OTEL_EXPORTER_OTLP_HEADERS: "x-team=a%20b" };
  const stand = await openStand({ env });
  const { session } = await stand.runtime.run("clerk", "look at secret-words").result;
  await stand.close();
  const spans = spansIn(got);
  expect(spans.map(({ name }) => name)).toEqual(["chat echo", "execute_tool look", "chat echo", "invoke_agent clerk"]);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  const turn = spans.at(-1);
  expect(spans.slice(0, -1).every(({ parentSpanId }) => parentSpanId === turn?.spanId)).toBe(true);
  expect(turn !== undefined && attributes(turn)).toMatchObject({
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": "clerk",
    "gen_ai.conversation.id": session,
    "orgate.ending": "completed",
  });
  expect(
    spans.every((s) => /^[0-9a-f]{32}$/.test(s.traceId) && /^[0-9a-f]{16}$/.test(s.spanId) && s.startTimeUnixNano <= s.endTimeUnixNano),
  ).toBe(true);
  expect(got.every(({ headers }) => headers["x-team"] === "a b")).toBe(true);
  const metrics = got
    .filter(({ path }) => path === "/v1/metrics")
    .map(({ text }) => text)
    .join();
  expect(metrics).toContain("gen_ai.client.token.usage");
  expect(metrics).toContain("gen_ai.client.operation.duration");
});

test("W-31 a turn that another process drives on is the same trace, which says so and goes on with that process's calls", async () => {
  const hold = latch();
  const first = await openStand({ keep: true, hold });
  const run = first.runtime.run("clerk", "wait");
  await hold.reached;
  const parked = first.runtime.park();
  hold.open();
  await parked;
  const { session } = await run.result;
  await first.close();
  const { url, got } = await collector();
  const second = await openStand({ folder: first.folder, env: { OTEL_EXPORTER_OTLP_ENDPOINT: url } });
  await second.runtime.resume(session).result;
  const entries: Entry[] = [];
  for await (const entry of second.runtime.inspect.events(session)) entries.push(entry);
  await second.close();
  const whole = spanFold();
  const all = entries.flatMap((entry) => whole(entry, CLERK).spans); // as one process that heard everything
  const told = spansIn(got);
  expect(told.map(({ name }) => name)).toEqual(["take_session", "chat echo", "invoke_agent clerk"]);
  expect(told).toEqual(all.slice(-told.length));
  expect(told[0] !== undefined && attributes(told[0])).toEqual({ "orgate.writer": "w1", "orgate.epoch": "2" });
});

test("W-31 no word of a person, a model or a tool is sent", async () => {
  const { url, got } = await collector();
  const stand = await openStand({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: url } });
  await stand.runtime.run("clerk", "look at my-secret-words").result;
  await stand.close();
  const all = got.map(({ text }) => text).join();
  expect(all).not.toMatch(/secret|You said|seen|answered/);
});

test("W-31 a collector that refuses, is not there, or is not asked for holds nobody up; what is lost is counted and what waits is bounded", async () => {
  const { url } = await collector(500);
  const settings = telemetrySettings({ OTEL_EXPORTER_OTLP_ENDPOINT: url }, "0", "w1");
  if (settings === null) throw new Error("it is asked for");
  const telemetry = openTelemetry(settings, () => 0);
  const stand = await openStand();
  const { session } = await stand.runtime.run("clerk", "look").result;
  const entries: Entry[] = [];
  for await (const entry of stand.runtime.inspect.events(session)) entries.push(entry);
  await stand.close();
  for (let i = 0; i < 1_000; i += 1) for (const entry of entries) telemetry.hear(entry, CLERK);
  expect(telemetry.lost()).toBe(4_000 - 2_048);
  await telemetry.close();
  expect(telemetry.lost()).toBe(4_000);
  for (const env of [{}, { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SDK_DISABLED: "true" }, { OTEL_EXPORTER_OTLP_ENDPOINT: "nonsense" }])
    expect(telemetrySettings(env, "0", "w1")).toBeNull();
  expect(telemetrySettings({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_TRACES_EXPORTER: "none" }, "0", "w1")).toMatchObject({
    traces: null,
    metrics: `${url}/v1/metrics`,
  });
  const nobody = await openStand({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" } });
  expect((await nobody.runtime.run("clerk", "hello").result).ending).toBe("completed");
  await nobody.close();
});

test("W-31 each process of a cluster says which writer of the journal it is, unless its operator names it otherwise", () => {
  const named = (more: Record<string, string>) =>
    telemetrySettings({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1", ...more }, "0", "w7")?.resource.find(
      ({ key }) => key === "service.instance.id",
    )?.value;
  expect(named({})).toEqual({ stringValue: "w7" });
  expect(named({ OTEL_RESOURCE_ATTRIBUTES: "service.instance.id=blue" })).toEqual({ stringValue: "blue" });
});

/** Attributes that OpenTelemetry's conventions for generative AI (1.37 and later) require of each kind; `failed`: where the operation ended in an error. */
const REQUIRED: Readonly<Record<string, Readonly<{ kind: number; always: readonly string[]; failed: readonly string[] }>>> = {
  invoke_agent: {
    kind: 1,
    always: ["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.agent.name", "gen_ai.conversation.id"],
    failed: ["error.type"],
  },
  chat: {
    kind: 3,
    always: ["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.conversation.id"],
    failed: ["error.type"],
  },
  execute_tool: { kind: 1, always: ["gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.call.id"], failed: ["error.type"] },
};
const METRICS: Readonly<Record<string, Readonly<{ unit: string; always: readonly string[]; failed: readonly string[] }>>> = {
  "gen_ai.client.token.usage": {
    unit: "{token}",
    always: ["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.token.type"],
    failed: [],
  },
  "gen_ai.client.operation.duration": {
    unit: "s",
    always: ["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"],
    failed: ["error.type"],
  },
};
type Point = Readonly<{ attributes: Span["attributes"]; count: string }>;
type Metric = Readonly<{ name: string; unit: string; histogram: Readonly<{ dataPoints: readonly Point[] }> }>;
const keysOf = ({ attributes: list }: Pick<Span, "attributes">): readonly string[] => list.map(({ key }) => key);
const filled = ({ attributes: list }: Pick<Span, "attributes">): boolean => list.every(({ value }) => Object.values(value)[0] !== "");

test("W-31 every span and metric has what the conventions require of its kind, whether it went well or not", async () => {
  const { url, got } = await collector();
  const stand = await openStand({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: url } });
  expect((await stand.runtime.run("clerk", "look").result).ending).toBe("completed");
  const { session } = await stand.runtime.run("clerk", "look again").result;
  const entries: Entry[] = [];
  for await (const entry of stand.runtime.inspect.events(session)) entries.push(entry);
  await stand.close();
  const sent = spansIn(got);

  // the same turn, gone wrong in each of its parts, and one that this process heard only the end of
  const failing = entries.map((entry): Entry => {
    const { event: e } = entry;
    if (e.kind === "model.replied") {
      const { iteration, attempt, purpose } = e;
      const how = {
        error: "down",
        broke: false,
        again: false,
        model: "m/m",
        transient: true,
        status: null,
        retryAfterMs: null,
        dueAt: null,
      };
      return { ...entry, event: { kind: "model.failed", iteration, attempt, purpose, ...how } };
    }
    if (e.kind === "act.ended") return { ...entry, event: { ...e, outcome: { kind: "failed", error: "no" } } };
    return e.kind === "turn.ended" ? { ...entry, event: { ...e, ending: "failed" } } : entry;
  });
  const fold = spanFold();
  const folded = failing.map((entry) => fold(entry, CLERK));
  const alone = entries.flatMap((entry) => (entry.event.kind === "turn.ended" ? spanFold()(entry, CLERK).spans : []));
  const spans = [...sent, ...folded.flatMap((one) => one.spans), ...alone];
  expect(new Set(spans.map(({ name }) => name.split(" ")[0]))).toEqual(new Set(Object.keys(REQUIRED)));
  for (const span of spans) {
    const { kind, always, failed } = REQUIRED[span.name.split(" ")[0] ?? ""] ?? { kind: 0, always: ["nothing"], failed: [] };
    const isBad = span.status.code === 2;
    expect([span.name, span.kind, filled(span)]).toEqual([span.name, kind, true]);
    expect(keysOf(span)).toEqual(expect.arrayContaining([...always, ...(isBad ? failed : [])]));
    expect([span.name, isBad]).toEqual([span.name, keysOf(span).includes("error.type")]);
  }
  expect(spans.filter(({ status }) => status.code === 2).map(({ name }) => name.split(" ")[0])).toEqual(
    expect.arrayContaining(Object.keys(REQUIRED)),
  );

  const metrics = got.flatMap(({ path, text }) =>
    path === "/v1/metrics" ? (JSON.parse(text).resourceMetrics[0].scopeMetrics[0].metrics as readonly Metric[]) : [],
  );
  expect(new Set(metrics.map(({ name }) => name))).toEqual(new Set(Object.keys(METRICS)));
  for (const { name, unit, histogram } of metrics) {
    expect([name, unit]).toEqual([name, METRICS[name]?.unit]);
    for (const point of histogram.dataPoints)
      expect(keysOf(point)).toEqual(expect.arrayContaining([...(METRICS[name]?.always ?? ["nothing"])]));
  }
  const durations = folded.flatMap((one) => one.durations);
  expect(durations.length).toBeGreaterThan(0);
  for (const one of durations) expect(keysOf(one)).toContain("error.type");
});
test.each([
  ["anthropic/claude-x", "anthropic", "claude-x"],
  ["openai/gpt-x", "openai", "gpt-x"],
  ["openai-chat/gpt-x", "openai", "gpt-x"],
  ["google/gemini-x", "gcp.gemini", "gemini-x"],
  ["openrouter/vendor/model", "openrouter", "vendor/model"],
  ["ollama/llama", "ollama", "llama"],
])("W-31 %s is told as %s, by the conventions' own name of a provider", async (model, provider, name) => {
  const stand = await openStand();
  const { session } = await stand.runtime.run("clerk", "hello").result;
  const entries: Entry[] = [];
  for await (const entry of stand.runtime.inspect.events(session)) entries.push(entry);
  await stand.close();
  const fold = spanFold();
  const turn = entries.flatMap((entry) => fold(entry, { name: "clerk", model }).spans).at(-1);
  expect(turn !== undefined && attributes(turn)).toMatchObject({ "gen_ai.provider.name": provider, "gen_ai.request.model": name });
});
