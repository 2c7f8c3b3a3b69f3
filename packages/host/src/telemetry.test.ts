import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Entry } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import { latch, openStand } from "./coordinator/fixtures/stand.ts";
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
const spansIn = (got: readonly Got[]): readonly Span[] =>
  got.filter(({ path }) => path === "/v1/traces").flatMap(({ text }) => JSON.parse(text).resourceSpans[0].scopeSpans[0].spans as Span[]);
const attributes = (span: Span): Record<string, unknown> =>
  Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

test("W83 a turn is one trace: its span, and below it one for each model call and each tool call, with the conventions' names", async () => {
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

test("W83 a turn that another process drives on is the same trace", async () => {
  const hold = latch();
  const first = await openStand({ keep: true, hold });
  const run = first.runtime.run("clerk", "wait");
  await hold.reached;
  const parked = first.runtime.park();
  hold.open();
  await parked;
  const { session } = await run.result;
  await first.close();
  const second = await openStand({ folder: first.folder });
  await second.runtime.resume(session).result;
  const entries: Entry[] = [];
  for await (const entry of second.runtime.inspect.events(session)) entries.push(entry);
  await second.close();
  const cut = entries.findLastIndex(({ event }) => event.kind === "hold.taken");
  const [whole, late] = [spanFold(), spanFold()];
  const all = entries.flatMap((entry) => whole(entry, "clerk").spans);
  const rest = entries.slice(cut).flatMap((entry) => late(entry, "clerk").spans);
  expect(rest.map(({ traceId, spanId }) => [traceId, spanId])).toEqual(all.slice(-1).map(({ traceId, spanId }) => [traceId, spanId]));
});

test("W84 no word of a person, a model or a tool is sent", async () => {
  const { url, got } = await collector();
  const stand = await openStand({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: url } });
  await stand.runtime.run("clerk", "look at my-secret-words").result;
  await stand.close();
  const all = got.map(({ text }) => text).join();
  expect(all).not.toMatch(/secret|You said|seen|answered/);
});

test("W85 a collector that refuses, is not there, or is not asked for holds nobody up; what is lost is counted and what waits is bounded", async () => {
  const { url } = await collector(500);
  const settings = telemetrySettings({ OTEL_EXPORTER_OTLP_ENDPOINT: url }, "0");
  if (settings === null) throw new Error("it is asked for");
  const telemetry = openTelemetry(settings, () => 0);
  const stand = await openStand();
  const { session } = await stand.runtime.run("clerk", "look").result;
  const entries: Entry[] = [];
  for await (const entry of stand.runtime.inspect.events(session)) entries.push(entry);
  await stand.close();
  for (let i = 0; i < 1_000; i += 1) for (const entry of entries) telemetry.hear(entry, "clerk");
  expect(telemetry.lost()).toBe(4_000 - 2_048);
  await telemetry.close();
  expect(telemetry.lost()).toBe(4_000);
  for (const env of [{}, { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SDK_DISABLED: "true" }, { OTEL_EXPORTER_OTLP_ENDPOINT: "nonsense" }])
    expect(telemetrySettings(env, "0")).toBeNull();
  expect(telemetrySettings({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_TRACES_EXPORTER: "none" }, "0")).toMatchObject({
    traces: null,
    metrics: `${url}/v1/metrics`,
  });
  const nobody = await openStand({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" } });
  expect((await nobody.runtime.run("clerk", "hello").result).ending).toBe("completed");
  await nobody.close();
});
