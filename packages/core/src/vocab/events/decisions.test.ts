import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SAMPLES } from "../../journal/fixtures/samples.ts";
import {
  type Action,
  actionText,
  callId,
  decisionsIn,
  eventsIn,
  type GateDecided,
  type JournalEvent,
  type JsonObject,
  joinDecisions,
  listDecisions,
  millis,
  type Part,
  trackProposals,
  type Verdict,
  ZERO,
} from "../index.ts";

const allow: Verdict = { kind: "allow", because: [], approval: null };
const deny: Verdict = { kind: "deny", by: "policy", because: [], faults: [], reason: "no" };

const decided = (id: string, action: Action, verdict: Verdict = allow): GateDecided => ({
  kind: "gate.decided",
  id: actionText(id),
  action,
  digest: ZERO,
  slice: ZERO,
  verdict,
  read: { labels: [] },
  shadow: null,
});
const onCall = (id: string, args: JsonObject, verdict: Verdict = allow): GateDecided => {
  const resource = { type: "Tool", id: "t" };
  return decided(id, { kind: "call", call: callId(id), tool: "t", toolDigest: ZERO, effects: [], args, inexact: [], resource }, verdict);
};
const onModel = (iteration: number, verdict: Verdict = allow) => decided(`model:${iteration}`, { kind: "model", model: "m/m" }, verdict);
const [respond] = SAMPLES["gate.decided"].filter(({ action }) => action.kind === "respond");

const sample = <K extends keyof typeof SAMPLES>(kind: K) =>
  (SAMPLES[kind] as readonly (typeof SAMPLES)[K][number][])[0] as (typeof SAMPLES)[K][number];
const started = (id: string): JournalEvent => ({ ...sample("act.started"), call: callId(id), decisions: [] });
const asked: JournalEvent = { ...sample("model.asked"), decisions: [] };
const proposed = (id: string, text: string): Part => ({ kind: "call", id: callId(id), wireId: id, tool: "t", text, meta: null });
const replied = (...parts: readonly Part[]): JournalEvent => ({ ...sample("model.replied"), parts });
const rewritten = (...parts: readonly Part[]): JournalEvent => ({ ...sample("middleware.applied"), change: { kind: "reply", parts } });

const timed = (events: readonly JournalEvent[]) => events.map((event, i) => ({ at: millis(i), event }));
const stored = (...events: readonly JournalEvent[]): readonly JournalEvent[] => joinDecisions(timed(events)).map(({ event }) => event);
const shape = (events: readonly JournalEvent[]): readonly string[] =>
  events.map((e) => (e.kind === "gate.decided" ? e.id : [e.kind, ...decisionsIn(e).map(({ id }) => id)].join(" ")));

describe("J-34 where a decision stands", () => {
  test("J-34 leave that begins in the same commit is part of what announces it: two calls of one reply, and the model", () => {
    expect(shape(stored(replied(), onCall("1.0", {}), onCall("1.1", {}), started("1.0"), started("1.1"), onModel(2), asked))).toEqual([
      "model.replied",
      "act.started 1.0 1.1",
      "act.started",
      "model.asked model:2",
    ]);
  });

  test("J-34 a refusal, leave for something else, and leave that something came after are entries of their own", () => {
    expect(shape(stored(onCall("1.0", {}), onCall("1.1", {}, deny), started("1.0")))).toEqual(["1.0", "1.1", "act.started"]);
    expect(shape(stored(onModel(1), respond as GateDecided, asked))).toEqual(["model:1", "respond:2", "model.asked"]);
    expect(shape(stored(onCall("1.0", {}), sample("approval.consumed"), started("1.0")))).toEqual([
      "1.0",
      "approval.consumed",
      "act.started",
    ]);
    expect(shape(stored(started("1.0"), onCall("1.1", {})))).toEqual(["act.started", "1.1"]);
  });

  test("J-34 arguments that are as proposed in the same commit stand there only, and are found again; others are whole", () => {
    const text = '{ "n": 1.0, "say": "\\u0041" }';
    const args = { n: 1, say: "A" };
    const innerArgs = (...events: readonly JournalEvent[]) =>
      stored(...events, started("1.0"))
        .flatMap((e) => (e.kind === "act.started" ? e.decisions : []))
        .map(({ action }) => ("args" in action ? action.args : null));
    expect(innerArgs(replied(proposed("1.0", text)), onCall("1.0", args))).toEqual(["proposed"]);
    expect(innerArgs(replied(proposed("1.0", text)), onCall("1.0", { ...args, n: 2 }))).toEqual([{ ...args, n: 2 }]);
    expect(innerArgs(replied(proposed("1.1", text)), onCall("1.0", args))).toEqual([args]);
    expect(innerArgs(replied(proposed("1.0", "{")), onCall("1.0", args))).toEqual([args]);
    expect(innerArgs(onCall("1.0", args))).toEqual([args]);
    expect(innerArgs(rewritten(proposed("1.0", text)), replied(proposed("1.0", text)), onCall("1.0", args))).toEqual([args]);
    const whole = listDecisions(joinDecisions(timed([replied(proposed("1.0", text)), onCall("1.0", args), started("1.0")])));
    expect(whole.map(({ event }) => event)).toEqual([onCall("1.0", args)]);
  });

  test("J-34 whatever is decided in a commit, taken one by one it is the same story in the same order", () => {
    const args = fc.constantFrom<JsonObject>({}, { n: 1 }, { n: 2 });
    const verdicts = fc.constantFrom(allow, allow, allow, deny);
    const calls = fc.constantFrom("1.0", "1.1");
    const events = fc.oneof(
      { weight: 4, arbitrary: fc.tuple(calls, args, verdicts).map(([id, given, verdict]) => onCall(id, given, verdict)) },
      { weight: 2, arbitrary: calls.map(started) },
      fc.tuple(args, args).map(([a, b]) => replied(proposed("1.0", JSON.stringify(a)), proposed("1.1", JSON.stringify(b)))),
      args.map((a) => rewritten(proposed("1.0", JSON.stringify(a)))),
      verdicts.map((verdict) => onModel(1, verdict)),
      fc.constantFrom<JournalEvent>(asked, sample("budget.reserved"), respond as GateDecided),
    );
    let inner = 0;
    fc.assert(
      fc.property(fc.array(events, { maxLength: 14 }), (recorded) => {
        const { hear, argsOf } = trackProposals();
        const all = stored(...recorded);
        inner += all.filter((e) => e.kind !== "gate.decided" && decisionsIn(e).length > 0).length;
        const told = all.flatMap((event) => {
          hear(event);
          return eventsIn(event, argsOf);
        });
        expect(told).toEqual(recorded);
      }),
    );
    expect(inner).toBeGreaterThan(20);
  });

  test("J-34 decisions that an announcement brings along are not believed", () => {
    const forged = { ...sample("act.started"), decisions: [{ ...onCall("9.9", {}), kind: undefined }] } as unknown as JournalEvent;
    expect(shape(stored(forged))).toEqual(["act.started"]);
  });
});
