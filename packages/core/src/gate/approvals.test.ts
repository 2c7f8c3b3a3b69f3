import { describe, expect, test } from "vitest";
import {
  type ApprovalTerms,
  type Ask,
  coverageText,
  DEFAULT_TERMS,
  digest,
  grantId,
  label,
  millis,
  type PolicyId,
  type Principal,
  policyId,
  sessionId,
} from "../vocab/index.ts";
import {
  expiryTime,
  findAnswerable,
  findSurvivingLabels,
  type Grant,
  type GrantQuery,
  grantCovers,
  hasQuorum,
  isSameGrant,
  readGrant,
  refuseGrant,
  type Vote,
} from "./approvals.ts";

const ask = (policy: string, terms: Partial<ApprovalTerms> = {}): Ask => ({
  policy: policyId(policy),
  question: "?",
  terms: { ...DEFAULT_TERMS, ...terms },
});
const vote = (by: string, ...counts: readonly string[]): Vote => ({ by, counts: counts.map(policyId), grant: null });
const ids = (...names: readonly string[]): readonly PolicyId[] => names.map(policyId);

describe("who counts", () => {
  test("Q-7 a person counts for the questions of their groups, and for those that name none", () => {
    const asks = [
      ask("a", { approvers: ["ops"] }),
      ask("b"),
      ask("c", { approvers: ["finance", "ops"] }),
      ask("d", { approvers: ["finance"] }),
    ];
    expect(findAnswerable(asks, ["ops"])).toEqual(ids("a", "b", "c"));
    expect(findAnswerable(asks, [])).toEqual(ids("b"));
  });

  test("Q-7 each question wants its own quorum, of different people, among those who count for it", () => {
    const asks = [ask("a", { quorum: 2 }), ask("b")];
    expect(hasQuorum(asks, [])).toBe(false);
    expect(hasQuorum(asks, [vote("ann", "a", "b")])).toBe(false);
    expect(hasQuorum(asks, [vote("ann", "a", "b"), vote("ann", "a", "b")])).toBe(false);
    expect(hasQuorum(asks, [vote("ann", "a", "b"), vote("bob", "b")])).toBe(false);
    expect(hasQuorum(asks, [vote("ann", "a"), vote("bob", "a")])).toBe(false);
    expect(hasQuorum(asks, [vote("ann", "a", "b"), vote("bob", "a")])).toBe(true);
    expect(hasQuorum([ask("a", { quorum: 3 })], [vote("a", "a"), vote("b", "a")])).toBe(false);
    expect(hasQuorum([ask("a", { quorum: 3 })], [vote("a", "a"), vote("b", "a"), vote("c", "a")])).toBe(true);
  });

  test("Q-8 the same grant is the same scope for the same time; this once is none", () => {
    const one = { scope: "tool", until: "turn" } as const;
    expect(isSameGrant(one, { ...one })).toBe(true);
    expect(isSameGrant(null, one)).toBe(false);
    expect(isSameGrant({ ...one, scope: "digest" }, one)).toBe(false);
    expect(isSameGrant({ ...one, until: "session" }, one)).toBe(false);
  });
});

describe("until when", () => {
  test("Q-18 the earliest due time counts, `wait` has none, and one that halts makes it halt", () => {
    const at = millis(1_000);
    expect(expiryTime([ask("a")], at)).toEqual({ expiresAt: null, onExpiry: "deny" });
    expect(expiryTime([ask("a", { expiresMs: 50 }), ask("b", { expiresMs: 20 }), ask("c")], at)).toEqual({
      expiresAt: 1_020,
      onExpiry: "deny",
    });
    expect(expiryTime([ask("a", { expiresMs: 50, onExpiry: "wait" })], at)).toEqual({ expiresAt: null, onExpiry: "deny" });
    expect(expiryTime([ask("a", { expiresMs: 10, onExpiry: "wait" }), ask("b", { expiresMs: 90, onExpiry: "halt" })], at)).toEqual({
      expiresAt: 1_090,
      onExpiry: "halt",
    });
  });
});

describe("how wide", () => {
  test("Q-9 what a policy may say, and nothing else", () => {
    expect(readGrant(null)).toBeNull();
    expect(readGrant("once")).toBeNull();
    expect(readGrant("session")).toEqual({ scope: "resource", lifetime: "session" });
    expect(readGrant("digest turn")).toEqual({ scope: "digest", lifetime: "turn" });
    expect(readGrant("tool 8h")).toEqual({ scope: "tool", lifetime: { ms: 28_800_000 } });
    expect([readGrant("30s"), readGrant("5m"), readGrant("2d")].map((g) => g?.lifetime)).toEqual([
      { ms: 30_000 },
      { ms: 300_000 },
      { ms: 172_800_000 },
    ]);
    for (const text of [
      "",
      "ever",
      "world session",
      "tool",
      "0h",
      "1w",
      "-1h",
      "1.5h",
      "tool session more",
      "session ",
      " tool 1h",
      "9999999d",
    ])
      expect(readGrant(text), text).toBeUndefined();
  });

  const now = millis(10_000);
  test("Q-9 no wider in scope than any of the policies that ask, and not at all when one lets nothing be remembered", () => {
    const wish = (scope: "digest" | "resource" | "tool") => ({ scope, until: "turn" }) as const;
    expect(refuseGrant([ask("a", { grant: "session" })], wish("resource"), now)).toBeNull();
    expect(refuseGrant([ask("a", { grant: "session" })], wish("tool"), now)).toContain("a lets it be remembered for this resource at most");
    expect(refuseGrant([ask("a", { grant: "digest session" })], wish("resource"), now)).toContain("digest");
    expect(refuseGrant([ask("a", { grant: "tool session" }), ask("b", { grant: "session" })], wish("tool"), now)).toContain("b lets");
    expect(refuseGrant([ask("a", { grant: "tool session" }), ask("b")], wish("digest"), now)).toContain("b lets no answer be remembered");
    expect(refuseGrant([ask("a", { grant: "for ever" })], wish("digest"), now)).toContain("lets no answer");
  });

  test("Q-9 no longer than any of them: turn, session, or a time that is still to come", () => {
    const wide = (grant: string, until: "turn" | "session" | number) =>
      refuseGrant([ask("a", { grant })], { scope: "digest", until: typeof until === "number" ? millis(until) : until }, now) === null;
    expect([wide("turn", "turn"), wide("turn", "session"), wide("turn", 10_001)]).toEqual([true, false, false]);
    expect([wide("session", "turn"), wide("session", "session"), wide("session", 10_001)]).toEqual([true, true, false]);
    expect([wide("10s", "turn"), wide("10s", "session"), wide("10s", 20_000), wide("10s", 20_001)]).toEqual([true, false, true, false]);
    expect([wide("10s", 10_000), wide("10s", 9_999), wide("10s", 10_001)]).toEqual([false, false, true]);
  });
});

describe("what a grant covers", () => {
  const ann: Principal = { kind: "user", id: "ann" };
  const [d1, d2] = [digest("1".repeat(64)), digest("2".repeat(64))];
  const grant: Grant = {
    grant: grantId("g_1"),
    by: ann,
    givenAt: millis(1),
    agent: "clerk",
    onBehalfOf: ann,
    tool: "pay",
    toolDigest: null,
    scope: "tool",
    resource: { type: "Account", id: "a" },
    digest: d1,
    slice: d1,
    policies: ids("p", "q"),
    session: null,
    turn: null,
    until: null,
    targets: {},
    labels: [],
    survives: [],
  };
  const sought: GrantQuery = {
    agent: "clerk",
    onBehalfOf: ann,
    tool: "pay",
    toolDigest: null,
    resource: { type: "Account", id: "b" },
    digest: d2,
    slice: d1,
    policies: ids("p"),
    session: sessionId("s_00000001"),
    turn: 2,
    now: millis(100),
    targets: {},
    labels: [],
    subject: null,
  };

  test("Q-9 it covers the questions it was given for, in its scope and its time", () => {
    expect(grantCovers(grant, sought)).toBe(true);
    expect(grantCovers({ ...grant, scope: "resource" }, { ...sought, resource: { type: "Account", id: "a" } })).toBe(true);
    expect(grantCovers({ ...grant, scope: "digest" }, { ...sought, digest: d1 })).toBe(true);
    expect(grantCovers({ ...grant, session: sought.session, turn: 2, until: millis(101) }, sought)).toBe(true);
    expect(grantCovers({ ...grant, subject: "C-1" }, { ...sought, subject: "C-1" })).toBe(true);
    expect(grantCovers({ ...grant, subject: null }, sought)).toBe(true);
  });

  test.each<[string, Partial<Grant>, Partial<GrantQuery>]>([
    ["another agent", {}, { agent: "other" }],
    ["another tool", {}, { tool: "send" }],
    ["another person", {}, { onBehalfOf: { kind: "user", id: "bob" } }],
    ["another kind of principal", {}, { onBehalfOf: { kind: "agent", id: "ann" } }],
    ["policies that have changed", {}, { slice: d2 }],
    ["a policy that asks too", {}, { policies: ids("p", "r") }],
    ["another resource", { scope: "resource" }, {}],
    ["a resource of another type", { scope: "resource" }, { resource: { type: "Invoice", id: "a" } }],
    ["another action", { scope: "digest" }, { resource: { type: "Account", id: "a" } }],
    ["another session", { session: sessionId("s_00000002") }, {}],
    ["another turn", { turn: 1 }, {}],
    ["the time it ends at", { until: millis(100) }, {}],
    ["a time after its end", { until: millis(99) }, {}],
    ["a label that has joined", {}, { labels: [label("untrusted")] }],
    ["somebody whom the session serves, given while it served nobody", {}, { subject: "C-1" }],
    ["somebody else than the session served", { subject: "C-1" }, { subject: "C-2" }],
    ["a session that serves nobody, given while it served somebody", { subject: "C-1" }, {}],
    ["another label than those that it survives", { survives: [label("pii")] }, { labels: [label("pii"), label("untrusted")] }],
  ])("Q-9 it does not cover %s", (_, g, q) => {
    expect(grantCovers({ ...grant, ...g }, { ...sought, ...q })).toBe(false);
  });

  const own = { type: "Tool", id: "pay" } as const;
  test("Q-9 where a tool declares neither a resource nor targets, a grant for this resource is for this very call", () => {
    const whole: Grant = { ...grant, scope: "resource", resource: own };
    expect(grantCovers(whole, { ...sought, resource: own, digest: d1 })).toBe(true);
    expect(grantCovers(whole, { ...sought, resource: own })).toBe(false);
    expect(grantCovers({ ...whole, targets: { to: [] } }, { ...sought, resource: own, targets: { to: ["ben"] } })).toBe(false);
  });

  test("Q-9 declared targets bind it, each of them, those that were not given too", () => {
    const to = (...names: readonly string[]) => ({ to: names, bcc: [] });
    const mail: Grant = { ...grant, scope: "resource", resource: own, targets: to("ana@x.org") };
    const call = (targets: GrantQuery["targets"]): boolean => grantCovers(mail, { ...sought, resource: own, targets });
    expect(call(to("ana@x.org"))).toBe(true);
    expect([to("bo@x.org"), to("ana@x.org", "bo@x.org"), to(), { to: ["ana@x.org"], bcc: ["eve@y.org"] }, {}, null].map(call)).toEqual(
      Array(6).fill(false),
    );
    const account: Grant = { ...mail, resource: grant.resource };
    expect(grantCovers(account, { ...sought, resource: { type: "Account", id: "a" }, targets: to("ana@x.org") })).toBe(true);
    expect(grantCovers(account, { ...sought, targets: to("ana@x.org") })).toBe(false);
  });

  test("Q-10 labels that were there when it was given, and those that the policy lets join, do not end it", () => {
    const [untrusted, pii] = [label("untrusted"), label("pii")];
    expect(grantCovers({ ...grant, labels: [untrusted] }, { ...sought, labels: [untrusted] })).toBe(true);
    expect(grantCovers({ ...grant, labels: [untrusted] }, sought)).toBe(true);
    expect(grantCovers({ ...grant, survives: [untrusted] }, { ...sought, labels: [untrusted] })).toBe(true);
    expect(grantCovers({ ...grant, labels: [pii], survives: [untrusted] }, { ...sought, labels: [untrusted, pii] })).toBe(true);
    expect(findSurvivingLabels([ask("a", { grantSurvives: ["untrusted", "pii"] }), ask("b", { grantSurvives: ["pii"] })])).toEqual([pii]);
    expect(findSurvivingLabels([ask("a", { grantSurvives: ["untrusted"] }), ask("b")])).toEqual([]);
  });

  test("Q-9 Q-10 a grant from before its targets, labels and subject were kept is for the very same call, in a session without labels that serves nobody", () => {
    const { targets: _t, labels: _l, survives: _s, ...old } = grant;
    const before: Grant = { ...old, scope: "resource", resource: { type: "Account", id: "b" } };
    expect(grantCovers(before, sought)).toBe(false);
    expect(grantCovers(before, { ...sought, digest: d1 })).toBe(true);
    expect(grantCovers(before, { ...sought, digest: d1, labels: [label("untrusted")] })).toBe(false);
    expect(grantCovers(before, { ...sought, digest: d1, subject: "C-1" })).toBe(false);
  });

  test("Q-11 what it covers is said in words, hidden characters escaped", () => {
    const mail = {
      tool: "send_mail",
      resource: { type: "Tool", id: "send_mail" },
      targets: { to: ["ana@x.org"], bcc: [] },
      labels: [],
      survives: [],
      subject: null,
    };
    expect(coverageText(mail, { scope: "resource", until: "session" })).toBe(
      "every later call of send_mail with to = ana@x.org and no bcc, whatever its other arguments, in this session, while no new label joins the session",
    );
    expect(coverageText({ ...mail, targets: {} }, { scope: "resource", until: "turn" })).toBe(
      "every later call of send_mail with exactly these arguments, in this turn, while no new label joins the session",
    );
    expect(coverageText({ ...mail, labels: ["untrusted"], survives: ["pii"] }, { scope: "tool", until: millis(0) })).toBe(
      "every later call of send_mail, whatever its arguments, in any session, until 1970-01-01T00:00:00.000Z, while no new label other than pii joins the session (it has untrusted)",
    );
    const served = (until: "turn" | "session" | number): string =>
      coverageText({ ...mail, subject: "C-1\u202e" }, { scope: "tool", until: typeof until === "number" ? millis(until) : until });
    expect([served("turn"), served("session"), served(0)]).toEqual([
      "every later call of send_mail, whatever its arguments, in this turn while the session serves C-1\\u{202e}, while no new label joins the session",
      "every later call of send_mail, whatever its arguments, in this session while it serves C-1\\u{202e}, while no new label joins the session",
      "every later call of send_mail, whatever its arguments, in any session that serves C-1\\u{202e}, until 1970-01-01T00:00:00.000Z, while no new label joins the session",
    ]);
    expect(
      coverageText({ ...mail, resource: { type: "Account", id: "zoe\u202e" }, targets: {} }, { scope: "resource", until: "session" }),
    ).toContain("on Account zoe\\u{202e}, whatever its other arguments");
  });
});
