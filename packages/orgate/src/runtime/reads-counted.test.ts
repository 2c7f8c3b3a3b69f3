/** What a decision looks up, counted: only what a policy of its slice reads. */
import { type Action, callId, defineTool, type Facts, millis, NO_ARGUMENT_FACTS, type Tool, toDecisionTime } from "@orgate/core";
import { expect, test } from "vitest";
import { gateOf } from "./fixtures/counted-sessions.ts";

const input = { type: "object", properties: { order: { type: "string" } }, required: ["order"], additionalProperties: false } as const;
const base = { description: "A tool.", input, labels: [], run: () => null };
const read = defineTool({
  ...base,
  name: "read_order",
  effects: ["read"],
  records: [{ type: "order", key: "id", fields: { status: "status" } }],
});
const acting = ["cancel", "look", "list"].map((name) =>
  defineTool({ ...base, name, effects: ["write"], targets: { order: { kind: "id", of: "order" } } }),
);
const TOOLS: readonly Tool[] = [read, ...acting];

test("G-10 records, counters, facts about arguments and the time are looked up only where a policy of the slice reads them", () => {
  const gate = gateOf(
    `permit (principal, action == Action::"tool:cancel", resource) when { context.records has order && context.records.order.status == "pending" };
    permit (principal, action == Action::"tool:cancel", resource) when { context.allRecords has order && context.allRecords.order.ageSeconds.max < 5 };
    forbid (principal, action == Action::"tool:cancel", resource) when { context.calls.cancel.day > 5 || context.now.hour < 8 || context.targets.owned };
    permit (principal, action in Action::"write", resource) when { context.args.order like "O-*" };
    forbid (principal, action == Action::"tool:list", resource) when { context.labels.contains("untrusted") };
    forbid (principal, action == Action::"tool:list", resource) when { context.args.order == "O-0" };`,
    TOOLS,
  );
  const looked: string[] = [];
  const counted = <T>(name: string, value: T): T => {
    looked.push(name);
    return value;
  };
  const facts: Facts = {
    agent: "ops",
    onBehalfOf: { kind: "user", id: "ann" },
    surface: "cli",
    labels: [],
    media: [],
    calls: () => counted("calls", { turn: 0, session: 0 }),
    spent: { turn: 0, session: 0 },
    cents: null,
    lately: () => counted("lately", { hour: 0, day: 0 }),
    aims: () => counted("aims", NO_ARGUMENT_FACTS),
    subject: null,
    records: () => counted("records", {}),
    now: (zone) => counted("now", toDecisionTime(millis(0), zone)),
    approval: null,
  };
  const looks = (tool: string): readonly string[] => {
    looked.splice(0);
    const resource = { type: "Tool", id: tool };
    const args = { order: "O-1" };
    const action: Action = { kind: "call", call: callId("1.1"), tool, toolDigest: null, effects: ["write"], args, inexact: [], resource };
    gate.decide(action, facts);
    return [...new Set(looked)].sort();
  };
  expect([looks("look"), looks("list")]).toEqual([[], []]);
  expect(looks("cancel")).toEqual(["aims", "calls", "lately", "now", "records"]);
});
