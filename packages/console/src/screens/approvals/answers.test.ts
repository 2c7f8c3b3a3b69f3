import { actionText, approvalId, digest, findHidden, millis, policyId, sessionId } from "@orgate/core/vocab";
import { expect, test } from "vitest";
import {
  type ApprovalRequest,
  approvedBy,
  describeAnswer,
  describeCoverage,
  grantFor,
  offeredScopes,
  parseEdited,
  scopesWithin,
  toEditableJson,
  untilsWithin,
  type WidestGrant,
} from "./answers.ts";

const widest = (scope: WidestGrant["scope"], lifetime: WidestGrant["lifetime"]): WidestGrant => ({ scope, lifetime });

test("O-4 an offered grant is no wider and no longer than the policy allows", () => {
  expect(scopesWithin(widest("digest", "turn"))).toEqual(["digest"]);
  expect(scopesWithin(widest("tool", "turn"))).toEqual(["digest", "resource", "tool"]);
  expect(untilsWithin(widest("tool", "turn"))).toEqual(["turn"]);
  expect(untilsWithin(widest("tool", "session"))).toEqual(["turn", "session"]);
  expect(untilsWithin(widest("tool", { ms: 600_000 }))).toEqual(["turn", "longest"]);
  expect(untilsWithin(widest("tool", { ms: 86_400_000 }))).toEqual(["turn", "hour", "longest"]);
  const eightHours = widest("tool", { ms: 28_800_000 });
  const longest = grantFor("tool", "longest", eightHours, 1_000);
  expect(longest.kind === "grant" && typeof longest.grant.until === "number" && longest.grant.until < 28_801_000).toBe(true);
});

test("O-4 edited arguments are a JSON object or they are not sent", () => {
  expect(parseEdited('{"cents": 5}')).toEqual({ kind: "args", args: { cents: 5 } });
  for (const text of ["", "[]", "null", "3", "{"]) expect(parseEdited(text).kind).toBe("wrong");
});

test("V-1 arguments to edit show hidden characters, and are the same when parsed again", () => {
  const args = { to: "bob\u202e\u200b", emoji: "👩‍👩‍👧 ok", tag: "\u{e0041}", lines: "a\nb\tc", "na\u00adme": [1, null, "é ß 中"] };
  const text = toEditableJson(args);
  expect(findHidden(text)).toBeNull();
  expect(text).toContain("bob\\u202e\\u200b");
  expect(text).toContain("é ß 中");
  expect(parseEdited(text)).toEqual({ kind: "args", args });
});

const asked = (quorum: number, ...yes: readonly string[]): ApprovalRequest => ({
  approval: approvalId("a_1"),
  session: sessionId("s_1"),
  agent: "stage",
  action: actionText("tool:transfer"),
  tool: "transfer",
  resource: { type: "Account", id: "zoe\u202e" },
  digest: digest("0".repeat(64)),
  asks: [{ policy: policyId("p/a"), question: "?", terms: { approvers: [], quorum, expiresMs: null, grant: null, onExpiry: "deny" } }],
  again: null,
  askedAt: millis(1),
  expiresAt: null,
  votes: yes.map((by) => ({ by, counts: [policyId("p/a")], grant: null })),
  lineage: [],
  requester: { kind: "user", id: "ana" },
  subject: null,
  args: {},
  editedBy: null,
  text: null,
  onExpiry: "deny",
  expired: false,
  widest: null,
  shown: null,
  grants: [],
  halted: null,
  resolved: [],
});

test("O-4 an approval that is not sufficient is shown as counted, with how many are missing; each person counts once", () => {
  expect(describeAnswer({ kind: "approve" }, asked(1)).title).toBe("Approved once");
  expect(describeAnswer({ kind: "approve" }, asked(3))).toMatchObject({
    title: "Your approval is counted",
    detail: expect.stringMatching(/2 more approvals needed/),
  });
  expect(describeAnswer({ kind: "approve" }, asked(3, "user:bo")).detail).toMatch(/1 more approval needed/);
  expect(describeAnswer({ kind: "approve" }, asked(2, "user:bo")).title).toBe("Approved once");
  expect(describeAnswer({ kind: "deny", reason: "" }, asked(2)).title).toBe("Denied");
  expect(approvedBy(asked(2, "user:bo", "user:bo"), policyId("p/a"))).toEqual(["bo"]);
});

test("O-3 Q-11 the coverage of a grant is described in words, hidden characters escaped; equal scopes are offered once", () => {
  const shown = {
    tool: "transfer",
    resource: { type: "Account", id: "zoe\u{202e}" },
    targets: {},
    labels: [],
    survives: [],
    subject: null,
  };
  const question = { ...asked(1), shown };
  expect(describeCoverage(question, grantFor("resource", "turn", { scope: "tool", lifetime: "session" }, 0))).toBe(
    "every later call of transfer on Account zoe\\u{202e}, whatever its other arguments, in this turn, while no new label joins the session",
  );
  const widest = { scope: "tool", lifetime: "session" } as const;
  expect(offeredScopes(question, widest)).toEqual(["digest", "resource", "tool"]);
  expect(offeredScopes({ shown: { ...shown, resource: { type: "Tool", id: "transfer" } } }, widest)).toEqual(["digest", "tool"]);
});
