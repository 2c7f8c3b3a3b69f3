import { describe, expect, test } from "vitest";
import {
  type Answer,
  approvalId,
  callId,
  DEFAULT_LIMITS,
  digest,
  type Intent,
  type IntentBody,
  intentId,
  label,
  millis,
  type Principal,
  policyId,
  sessionId,
} from "../vocab/index.ts";
import { type AnswerableApproval, admit, findSender, type Standing, wishName } from "./admit.ts";

const ann: Principal = { kind: "user", id: "ann" };
const [d1, d2] = [digest("1".repeat(64)), digest("2".repeat(64))];
const question: AnswerableApproval = { digest: d1, expiresAt: null, answer: null, voters: [] };
const standing: Standing = {
  turns: 3,
  running: true,
  delegated: false,
  queued: 0,
  closed: false,
  limits: DEFAULT_LIMITS,
  tokens: 700,
  models: ["offline/one", "offline/two"],
  question: (approval) => (approval === "q1" ? question : null),
  mayAnswer: () => ({ kind: "may", counts: [policyId("p")], digest: d2, about: null }),
  mayResolve: () => ({ kind: "may" }),
  maySend: () => ({ kind: "may" }),
  hasLabel: (label) => label === "untrusted",
  mayUnlabel: () => ({ kind: "may" }),
  isSetAside: () => false,
  firesFor: () => null,
  isUnknown: (call) => call === "1.0",
  isOpenChild: (call, child) => call === "1.0" && child === "s_00000002",
};
const put = (wish: IntentBody, at: Partial<Standing> = {}, by: Principal = ann, arrivedAt = 50, signedAt = 1) => {
  const intent: Intent = {
    id: intentId("i1"),
    session: sessionId("s_00000001"),
    at: millis(signedAt),
    by,
    key: null,
    wish,
    signature: null,
  };
  return admit({ intent, arrivedAt: millis(arrivedAt) }, { ...standing, ...at });
};
const answer = (given: Answer = { kind: "approve" }, bound = d1): IntentBody => ({
  kind: "answer",
  approval: approvalId("q1"),
  digest: bound,
  answer: given,
});
const refused = (reason: string) => ({ kind: "refused", reason: expect.stringContaining(reason) });
const with_ = (more: Partial<AnswerableApproval>): Partial<Standing> => ({ question: () => ({ ...question, ...more }) });

describe("turns", () => {
  test("L-19 a word starts a turn when there is none, and is refused while there is one", () => {
    expect(put({ kind: "say", text: "hi\ud800" }, { running: false })).toMatchObject({
      kind: "event",
      event: { kind: "turn.started", turn: 4, input: "hi\ufffd", by: ann, intent: "i1" },
    });
    expect(put({ kind: "say", text: "hi" })).toEqual(refused("in progress"));
  });

  test("L-19 steering and cancelling need a turn", () => {
    expect(put({ kind: "steer", text: "left" })).toMatchObject({ event: { kind: "input.steered", text: "left" } });
    expect(put({ kind: "cancel", reason: "no" })).toMatchObject({ event: { kind: "turn.cancel-asked", reason: "no" } });
    expect(put({ kind: "steer", text: "left" }, { running: false })).toEqual(refused("no turn"));
    expect(put({ kind: "cancel", reason: "no" }, { running: false })).toEqual(refused("no turn"));
  });

  test("L-20 what is to follow a turn is queued, with a turn or without; all of it is cancelled only when that is asked", () => {
    for (const running of [true, false])
      expect(put({ kind: "follow-up", text: "then\ud800" }, { running })).toMatchObject({
        event: { kind: "input.queued", text: "then\ufffd" },
      });
    expect(put({ kind: "cancel", reason: "no" })).toMatchObject({ event: { all: false } });
    expect(put({ kind: "cancel-all", reason: "no" }, { running: false, queued: 1 })).toMatchObject({ event: { all: true } });
    expect(put({ kind: "cancel-all", reason: "no" }, { running: false })).toEqual(refused("nothing to cancel"));
  });

  test("Z-4 what the runtime says when a schedule fires is its owner's word; a person's is their own, whatever it is called", () => {
    const firesFor = (): Principal => ({ kind: "user", id: "owner" });
    const said = (by: Principal, at: Partial<Standing>) => put({ kind: "follow-up", text: "now" }, at, by);
    const queuedBy = (by: Principal) => ({ kind: "event", event: { kind: "input.queued", text: "now", by } });
    expect(said({ kind: "system", id: "w_1" }, { firesFor })).toMatchObject(queuedBy(firesFor()));
    expect(said({ kind: "system", id: "w_1" }, {})).toMatchObject(queuedBy({ kind: "system", id: "w_1" }));
    expect(said(ann, { firesFor })).toMatchObject(queuedBy(ann));
  });

  test("L-19 a closed session takes nothing but what it left open", () => {
    for (const wish of [answer(), { kind: "say", text: "hi" }, { kind: "cancel", reason: "" }] as const)
      expect(put(wish, { closed: true, running: false })).toEqual(refused("closed"));
  });
});

describe("answers", () => {
  test("Q-5 an answer becomes an event that says who counts for what, and what it is good for", () => {
    expect(put(answer())).toEqual({
      kind: "event",
      event: {
        kind: "approval.answered",
        about: null,
        approval: "q1",
        by: ann,
        answer: { kind: "approve" },
        counts: ["p"],
        digest: d2,
        intent: "i1",
      },
    });
  });

  test("Q-5 only a person answers", () => {
    expect(put(answer(), {}, { kind: "agent", id: "ann" })).toEqual(refused("only a person"));
    expect(put(answer(), {}, { kind: "system", id: "w1" })).toEqual(refused("only a person"));
  });

  test("Q-5 bound to another digest, to no question, or to an answered one, it is refused", () => {
    expect(put(answer({ kind: "approve" }, d2))).toEqual(refused("another action"));
    expect(put(answer(), { question: () => null })).toEqual(refused("no open approval request"));
    expect(put(answer(), with_({ answer: { kind: "approve" } }))).toEqual(refused("answered already"));
  });

  test("J-16 an answer that was signed too late is late, whenever its row says that it arrived", () => {
    expect(put(answer(), with_({ expiresAt: millis(50) }), ann, 49, 50)).toEqual(refused("expired"));
    expect(put(answer(), with_({ expiresAt: millis(50) }), ann, 49, 49)).toMatchObject({ kind: "event" });
  });

  test("Q-18 in time by when it was put: at its due time it is too late", () => {
    expect(put(answer(), with_({ expiresAt: millis(51) }))).toMatchObject({ kind: "event" });
    expect(put(answer(), with_({ expiresAt: millis(50) }))).toEqual(refused("expired"));
    expect(put(answer({ kind: "deny", reason: "no" }), with_({ expiresAt: millis(50) }))).toEqual(refused("expired"));
  });

  test("Q-7 nobody says yes twice; whoever said yes may still say no", () => {
    expect(put(answer(), with_({ voters: ["user:ann"] }))).toEqual(refused("different people"));
    expect(put(answer({ kind: "edit", args: {} }), with_({ voters: ["user:ann"] }))).toEqual(refused("different people"));
    expect(put(answer(), with_({ voters: ["agent:ann", "user:bob"] }))).toMatchObject({ kind: "event" });
    expect(put(answer({ kind: "deny", reason: "no" }), with_({ voters: ["user:ann"] }))).toMatchObject({ kind: "event" });
  });

  test("Q-7 whom the policies do not let answer is refused with their reason", () => {
    expect(put(answer(), { mayAnswer: () => ({ kind: "may-not", reason: "ask ops" }) })).toEqual(refused("ask ops"));
  });
});

describe("unknowns", () => {
  const resolve = (as: Extract<IntentBody, { kind: "resolve" }>["as"], call = "1.0"): IntentBody => ({
    kind: "resolve",
    call: callId(call),
    as,
    note: "n",
  });

  test("Q-20 a person who may resolves what is unknown, or has the tool asked", () => {
    expect(put(resolve("happened"))).toMatchObject({ event: { kind: "unknown.resolved", as: "happened", note: "n", by: ann } });
    expect(put(resolve("reconcile"))).toMatchObject({ event: { kind: "unknown.reconcile-asked", call: "1.0" } });
    expect(put(resolve("happened", "2.0"))).toEqual(refused("2.0"));
    expect(put(resolve("happened"), {}, { kind: "agent", id: "a" })).toEqual(refused("only a person"));
    expect(put(resolve("reconcile"), { mayResolve: () => ({ kind: "may-not", reason: "ask ops" }) })).toEqual(refused("ask ops"));
  });

  test("T-6 only the runtime reports a late outcome, of a call that is unknown", () => {
    const late: IntentBody = { kind: "late", call: callId("1.0"), outcome: { kind: "done", output: 1 } };
    expect(put(late, {}, { kind: "system", id: "w1" })).toMatchObject({ event: { kind: "act.late", call: "1.0" } });
    expect(put(late)).toEqual(refused("only the runtime"));
    expect(put(late, {}, { kind: "agent", id: "a" })).toEqual(refused("only the runtime"));
    expect(put({ ...late, call: callId("9.9") }, {}, { kind: "system", id: "w1" })).toEqual(refused("known already"));
  });
});

describe("L-19 rows that hold anything", () => {
  const odd = (intent: unknown): Intent => intent as Intent;

  test("L-19 who it is from and what it wants can be written down, whatever it says", () => {
    expect(findSender(odd({ by: ann }))).toEqual(ann);
    for (const by of [undefined, null, "ann", { kind: "user" }, { kind: "god", id: "x" }, { kind: "user", id: 5 }])
      expect(findSender(odd({ by }))).toEqual({ kind: "system", id: "unknown" });
    expect(wishName(odd({ wish: { kind: "say" } }))).toBe("say");
    expect(wishName(odd({ wish: { kind: "x".repeat(100) } }))).toHaveLength(64);
    for (const wish of [undefined, null, 5, {}, { kind: 5 }]) expect(wishName(odd({ wish }))).toBe("unreadable");
  });

  test("L-19 each wish as it should be is understood; each with a field missing or of another type is not", () => {
    const whole: readonly Record<string, unknown>[] = [
      { kind: "say", text: "" },
      { kind: "steer", text: "" },
      { kind: "cancel", reason: "" },
      { kind: "answer", approval: "q1", digest: d1, answer: { kind: "approve" } },
      { kind: "resolve", call: "1.0", as: "happened", note: "" },
      { kind: "unreadable", detail: "" },
      { kind: "late", call: "1.0", outcome: { kind: "failed", error: "" } },
    ];
    const system: Principal = { kind: "system", id: "w1" };
    const nobody = refused("no intent that this version knows");
    for (const wish of whole) {
      expect(put(wish as IntentBody, {}, system), String(wish["kind"])).not.toEqual(nobody);
      for (const field of Object.keys(wish)) {
        expect(put({ ...wish, [field]: 5 } as unknown as IntentBody, {}, system), `${wish["kind"]} ${field}`).toEqual(nobody);
        const { [field]: _, ...rest } = wish;
        expect(put(rest as unknown as IntentBody, {}, system), `${wish["kind"]} without ${field}`).toEqual(nobody);
      }
    }
  });

  test("L-19 answers and outcomes are looked into", () => {
    const good: readonly unknown[] = [
      { kind: "deny", reason: "no" },
      { kind: "edit", args: {} },
      { kind: "grant", grant: { scope: "tool", until: "turn" } },
      { kind: "grant", grant: { scope: "digest", until: 5 } },
    ];
    const bad: readonly unknown[] = [
      null,
      { kind: "maybe" },
      { kind: "deny" },
      { kind: "edit", args: [] },
      { kind: "edit", args: null },
      { kind: "grant" },
      { kind: "grant", grant: { scope: "all", until: "turn" } },
      { kind: "grant", grant: { scope: "tool", until: "ever" } },
      { kind: "grant", grant: { scope: "tool", until: 0.5 } },
    ];
    for (const one of good) expect(put(answer(one as Answer)), JSON.stringify(one)).toMatchObject({ kind: "event" });
    for (const one of bad) expect(put(answer(one as Answer)), JSON.stringify(one)).toEqual(refused("no intent that this version knows"));
    const late = (outcome: unknown) => put({ kind: "late", call: callId("1.0"), outcome } as IntentBody, {}, { kind: "system", id: "w1" });
    for (const one of [
      { kind: "done", output: null },
      { kind: "failed", error: "" },
      { kind: "unknown", cause: "cancelled", detail: "" },
    ])
      expect(late(one)).toMatchObject({ kind: "event" });
    for (const one of [null, { kind: "done" }, { kind: "failed" }, { kind: "unknown", cause: "cancelled" }, { kind: "other" }])
      expect(late(one)).toEqual(refused("no intent that this version knows"));
  });
});

test("G-33 only a person takes a label off, one that is there, with a reason, and only where the policies let them", () => {
  const wish = (labels = ["untrusted"], why = "I read it"): IntentBody => ({ kind: "unlabel", labels: labels.map(label), why });
  expect(put(wish())).toEqual({
    kind: "event",
    event: { kind: "labels.removed", labels: ["untrusted"], by: ann, why: "I read it", intent: "i1" },
  });
  expect(put(wish(), {}, { kind: "agent", id: "ann" })).toEqual(refused("only a person"));
  expect(put(wish(), {}, { kind: "system", id: "w1" })).toEqual(refused("only a person"));
  expect(put(wish(["secret"]))).toEqual(refused("not labelled `secret`"));
  expect(put(wish(["untrusted"], " "))).toEqual(refused("why"));
  expect(put(wish(), { mayUnlabel: () => ({ kind: "may-not", reason: "they may not" }) })).toEqual(refused("they may not"));
  expect(put(wish(), { closed: true })).toEqual(refused("closed"));
});

test("J-30 a wish that is none is refused: what has no whole number of tokens, what names no model", () => {
  const idle = { running: false };
  expect(put({ kind: "compact", tokens: null }, idle)).toMatchObject({ event: { tokens: DEFAULT_LIMITS.contextTokens / 2 } });
  for (const wrong of [{ kind: "compact", tokens: -1 }, { kind: "compact", tokens: 1.5 }, { kind: "compact" }, { kind: "choose-model" }])
    expect(put(wrong as IntentBody, idle)).toEqual(refused("no intent that this version knows"));
  expect(put({ kind: "clear" }, { ...idle, closed: true })).toEqual(refused("closed"));
  expect(put({ kind: "choose-model", model: "offline/two" })).toMatchObject({ event: { kind: "model.chosen", model: "offline/two" } });
});
