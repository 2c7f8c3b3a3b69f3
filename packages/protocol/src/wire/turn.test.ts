import {
  actionText,
  callId,
  ENDINGS,
  type Ending,
  epoch,
  intentId,
  type JournalEvent,
  millis,
  NO_USAGE,
  type Part,
  policyId,
  seq,
  sessionId,
  type Verdict,
  ZERO,
} from "@orgate/core/vocab";
import fc from "fast-check";
import { expect, test } from "vitest";
import { chatServerMessage, chatTurn } from "./chat.ts";
import { followTurn, type LiveSign } from "./turn.ts";
import { uiTurn } from "./ui-stream.ts";

const session = sessionId("s_aaaaaaaaaa");
const mine = intentId("i-mine");
const by = { kind: "user", id: "ann" } as const;

const live = (events: readonly JournalEvent[]): readonly LiveSign[] =>
  events.map((event, i) => ({ kind: "entry", entry: { stream: session, seq: seq(i + 1), at: millis(1), event } }));
const words = (text: string, offset = 0, iteration = 1): LiveSign => ({
  kind: "preview",
  session,
  iteration,
  attempt: 1,
  preview: { part: "text", offset, text },
});

const started = (intent = mine, turn = 1) =>
  ({ kind: "turn.started", turn, input: "hi", files: [], by, limits: {}, intent }) as unknown as JournalEvent;
const asked = (iteration = 1): JournalEvent => ({
  kind: "model.asked",
  iteration,
  attempt: 1,
  model: "m",
  purpose: "reply",
  request: ZERO,
  reserved: NO_USAGE,
  reservedMicros: null,
  decisions: [],
});
const call = (id: string): Part => ({
  kind: "call",
  id: callId(id),
  wireId: id,
  tool: "pay",
  text: '{"a": 1}',
  meta: null,
});
const replied = (parts: readonly Part[], iteration = 1): JournalEvent => ({
  kind: "model.replied",
  iteration,
  attempt: 1,
  purpose: "reply",
  parts,
  finish: "stop",
  usage: NO_USAGE,
  micros: null,
  model: "m",
  meta: null,
});
const text = (words: string): Part => ({ kind: "text", text: words, meta: null });
const acted = (id: string, start = 1): JournalEvent => ({
  kind: "act.started",
  call: callId(id),
  epoch: epoch(1),
  start,
  edition: 0,
  repeat: "read",
  tool: "pay",
  values: {},
  decisions: [],
});
const outcome = (id: string, kind: "done" | "failed" | "unknown", recovering = false) =>
  ({
    kind: "act.ended",
    call: callId(id),
    outcome:
      kind === "done" ? { kind, output: "ok" } : kind === "failed" ? { kind, error: "no" } : { kind, cause: "timed-out", detail: "" },
    evidence: {},
    endsTurn: false,
    recovering,
  }) as unknown as JournalEvent;
const recovered = (id: string, strategy: string) =>
  ({ kind: "recovery.applied", call: callId(id), strategy, detail: "", output: "old", found: null }) as unknown as JournalEvent;
const ended = (ending: Ending, output: string | null = null, turn = 1): JournalEvent => ({
  kind: "turn.ended",
  turn,
  ending,
  output,
  detail: null,
  usage: NO_USAGE,
  lost: NO_USAGE,
  micros: null,
  iterations: 1,
  calls: 0,
  activeMs: 1,
});

const signsOf = (lives: readonly LiveSign[]) => lives.flatMap(followTurn(mine));
const kinds = (lives: readonly LiveSign[]) => signsOf(lives).map(({ kind }) => kind);

test("W-26 a call that is started again is told once, and settled once, by the last word about it", () => {
  const twice = live([
    started(),
    replied([call("1.0")]),
    acted("1.0"),
    outcome("1.0", "failed", true),
    acted("1.0", 2),
    outcome("1.0", "done"),
    ended("completed", "ok"),
  ]);
  expect(signsOf(twice).filter(({ kind }) => kind === "started" || kind === "settled")).toMatchObject([
    { kind: "started", call: { id: "1.0" } },
    { kind: "settled", call: "1.0", isError: false, text: "ok" },
  ]);
  const gaveUp = live([
    started(),
    replied([call("1.0")]),
    acted("1.0"),
    outcome("1.0", "failed", true),
    recovered("1.0", "ask-model"),
    ended("completed", "ok"),
  ]);
  expect(signsOf(gaveUp).filter(({ kind }) => kind === "settled")).toMatchObject([{ isError: true, text: "no" }]);
  const cached = live([
    started(),
    replied([call("1.0")]),
    acted("1.0"),
    outcome("1.0", "failed", true),
    recovered("1.0", "cached"),
    ended("completed", "ok"),
  ]);
  expect(signsOf(cached).filter(({ kind }) => kind === "settled")).toMatchObject([{ isError: false, text: "old" }]);
});

test("W-26 a call that the turn's end overtook is settled before it", () => {
  const cut = live([started(), replied([call("1.0")]), acted("1.0"), ended("cancelled")]);
  expect(kinds(cut).slice(-2)).toEqual(["settled", "ended"]);
});

test("W-26 only its own turn is told, and nothing after its last sign", () => {
  const others = live([started(intentId("i-other"), 1), replied([text("not mine")]), ended("completed", "not mine", 1)]);
  expect(kinds(others)).toEqual([]);
  expect(
    kinds([...others, ...live([started(mine, 2), ended("completed", "mine", 2), started(mine, 3), ended("failed", null, 3)])]),
  ).toEqual(["began", "ended"]);
});

test("W-26 a wish that never becomes a turn is told as dropped: refused, cancelled with all the rest, or its session closed", () => {
  const refused: JournalEvent = { kind: "intent.refused", intent: mine, by, wish: "follow-up", reason: "no" };
  const all: JournalEvent = { kind: "turn.cancel-asked", by, reason: "", all: true, intent: null };
  const closed: JournalEvent = { kind: "session.closed", by, reason: "" };
  const queued: JournalEvent = { kind: "input.queued", text: "x", files: [], by, intent: mine };
  for (const event of [refused, all, closed]) expect(kinds(live([queued, event, started()]))).toEqual(["dropped"]);
  expect(kinds(live([all, queued, started()]))).toEqual(["began"]); // what was cancelled before it was said is something else
  expect(kinds(live([{ ...all, all: false }, started()]))).toEqual(["began"]);
});

test("W-26 words that were withheld are in no sign; those that were shown are told, and the rest of them with the reply", () => {
  const secret = [...live([started(), asked(), replied([text("the secret")]), ended("denied")])];
  expect(JSON.stringify(signsOf(secret))).not.toContain("secret");
  expect(JSON.stringify(secret.flatMap(uiTurn(mine).hear))).not.toContain("secret");
  const [first, ask, rest, end] = live([started(), asked(), replied([text("good morning")]), ended("completed", "good morning")]);
  const shown = [first, ask, words("good "), rest, end].filter((one) => one !== undefined);
  expect(signsOf(shown)).toContainEqual({ kind: "replied", iteration: 1, attempt: 1, text: "good morning", shown: true });
});

test("W-26 on every ending there is exactly one last chunk, after everything else, with what the turn delivered", () => {
  for (const ending of Object.keys(ENDINGS) as readonly Ending[]) {
    const turn = chatTurn(mine, "r");
    const messages = live([started(), replied([call("1.0")]), acted("1.0"), ended(ending, "so far")]).flatMap(turn.hear);
    for (const message of messages) chatServerMessage.parse(message);
    const last = messages.findIndex((m) => m.type === "ChatChunk");
    expect(messages.filter((m) => m.type === "ChatChunk")).toEqual([
      {
        type: "ChatChunk",
        request_id: "r",
        content: ending === "completed" ? "so far" : `so far\n\n${ENDINGS[ending].sentence}`,
        done: true,
      },
    ]);
    expect(messages.slice(last + 1)).toEqual(
      ending === "failed" ? [{ type: "Error", request_id: "r", code: "LOOP_ERROR", message: ENDINGS.failed.sentence }] : [],
    );
    expect(turn.isOver()).toBe(true);
  }
});

test("W-26 each decision is told in the gate's own word, with the policies by name", () => {
  const because = [policyId("p1"), policyId("p2")];
  const verdicts: readonly (readonly [Verdict, string])[] = [
    [{ kind: "allow", because, approval: null }, "permitted by p1, p2"],
    [{ kind: "deny", by: "policy", because, faults: [], reason: "not today" }, "not today (p1, p2)"],
    [{ kind: "deny", by: "policy", because: [], faults: [{ policy: policyId("p3"), message: "bad" }], reason: "no" }, "no; p3 erred: bad"],
    [{ kind: "ask", because, asks: [{ policy: policyId("p1"), question: "sure?", terms: {} as never }] }, "p1, p2 asks: sure?"],
    [{ kind: "defer", because, ms: 1 }, "deferred by p1, p2"],
    [{ kind: "modify", because, edits: [{ path: ["a", "b"], value: 1 }] }, "changed by p1, p2: a.b"],
  ];
  const decided = verdicts.map(
    ([verdict]) =>
      ({ kind: "gate.decided", id: actionText("model:1"), action: { kind: "model", model: "m" }, verdict }) as unknown as JournalEvent,
  );
  expect(live([started(), ...decided]).flatMap(chatTurn(mine, "r").hear)).toEqual(
    verdicts.map(([{ kind }, reason]) => ({ type: "PolicyDecision", request_id: "r", action: "model", decision: kind, reason })),
  );
});

const anyEvent: fc.Arbitrary<JournalEvent> = fc.oneof(
  fc
    .constantFrom(...["1.0", "1.1", "2.0"])
    .chain((id) =>
      fc.constantFrom(
        acted(id),
        acted(id, 2),
        outcome(id, "done"),
        outcome(id, "failed"),
        outcome(id, "failed", true),
        outcome(id, "unknown"),
        recovered(id, "stop"),
        recovered(id, "retry"),
      ),
    ),
  fc.constantFrom(asked(), replied([text("a"), call("1.0"), call("1.1")]), replied([call("2.0")], 2), asked(2)),
);

test("W-26 whatever lies between its start and its end: one last sign, each start settled once, in chat and in the UI stream alike", () =>
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 30 }), fc.constantFrom(...(Object.keys(ENDINGS) as Ending[])), (between, ending) => {
      const lives = live([started(), ...between, ended(ending, "x"), ...between]);
      const signs = signsOf(lives);
      expect(signs.filter(({ kind }) => kind === "ended")).toHaveLength(1);
      expect(signs.at(-1)?.kind).toBe("ended");
      const starts = signs.flatMap((s) => (s.kind === "started" ? [s.call.id] : []));
      const settled = signs.flatMap((s) => (s.kind === "settled" ? [s.call] : []));
      expect([...settled].sort()).toEqual([...starts].sort());
      const parts = lives.flatMap(uiTurn(mine).hear);
      expect(parts.filter(({ type }) => type === "finish")).toHaveLength(1);
      expect(parts.at(-1)?.type).toBe("finish");
    }),
  ));
