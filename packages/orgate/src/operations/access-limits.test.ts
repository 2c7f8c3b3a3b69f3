import { ACT_NAMES, type ActOn } from "@orgate/protocol";
import { expect, test } from "vitest";
import { type AccessScope, type Act, act } from "./access.ts";
import { outOfScope, userActFor } from "./access-limits.ts";

const ON: readonly ActOn[] = [
  "listing",
  "agent",
  "session",
  "approval",
  "grant",
  "call",
  "breaker",
  "work",
  "policies",
  "schedule",
  "project",
];
const limited = (limits: Partial<AccessScope>): AccessScope => ({ agents: null, actions: null, expiresAt: null, ...limits });

test("W-13 access to agents covers what is theirs, and nothing that is nobody's", () => {
  const scope = limited({ agents: ["clerk"] });
  const theirs = (agent: string): readonly Act[] => [
    act("observe", "agent", { agent }),
    act("say", "session", { session: "s", agent, requester: "ann" }),
    act("approve", "approval", { id: "a", agent, requester: "ann" }),
    act("resolve", "call", { id: "1.1", agent }),
    act("halt", "work", { id: `agent:${agent}` }),
  ];
  for (const one of theirs("clerk")) expect([one, outOfScope(scope, one)]).toEqual([one, null]);
  for (const one of theirs("other")) expect([one, outOfScope(scope, one)]).toEqual([one, "this access is limited to agent `clerk`"]);
  const nobodys = [
    act("halt", "work", { id: "all" }),
    act("halt", "work", { id: "tool:look" }),
    act("set-breaker", "breaker", { id: "tool:look" }),
    act("read-journal", "project"),
    act("edit-policy", "policies"),
    act("observe", "policies"),
    act("observe", "agent"),
  ];
  for (const one of nobodys) expect([one, outOfScope(scope, one)]).toEqual([one, "this access is limited to agent `clerk`"]);
  expect(outOfScope(scope, act("list", "listing"))).toBeNull();
  expect(outOfScope(limited({ agents: [] }), act("observe", "agent", { agent: "clerk" }))).toBe("this access is limited to agents nothing");
});

test("W-13 access to actions covers these alone; who may not look is shown no list", () => {
  const scope = limited({ actions: ["observe", "run"] });
  expect(outOfScope(scope, act("observe", "agent", { agent: "clerk" }))).toBeNull();
  expect(outOfScope(scope, act("run", "agent", { agent: "clerk" }))).toBeNull();
  expect(outOfScope(scope, act("list", "listing"))).toBeNull();
  expect(outOfScope(scope, act("halt", "work", { id: "all" }))).toBe("this access is limited to `observe`, `run`");
  expect(outOfScope(limited({ actions: ["run"] }), act("list", "listing"))).toBe("this access is limited to `run`");
  expect(outOfScope(limited({}), act("edit-policy", "policies"))).toBeNull();
});

test("W-6 what is asked of the policies is about what is done; what makes no sense, or is not told, is asked of nobody", () => {
  const whole = { agent: "clerk", session: "s", id: "x", tool: "look", requester: "ann" };
  const made = ACT_NAMES.flatMap((kind) => ON.flatMap((on) => (userActFor(act(kind, on, whole)) === null ? [] : [`${kind} ${on}`])));
  expect(made.sort()).toEqual(
    [
      ...ON.filter((on) => on !== "listing").map((on) => `observe ${on}`),
      "run agent",
      "open agent",
      "open session",
      "read-journal session",
      "read-journal project",
      ...["say", "steer", "cancel", "close"].map((kind) => `${kind} session`),
      "approve approval",
      "deny approval",
      "deny grant",
      "withdraw approval",
      "withdraw grant",
      "approve grant",
      "resolve call",
      "halt work",
      "set-breaker breaker",
      "edit-policy policies",
      "edit-schedule schedule",
      "run-schedule schedule",
    ].sort(),
  );
  for (const kind of ACT_NAMES)
    for (const on of ["agent", "session", "approval", "grant", "call", "breaker", "work"] as const)
      expect([kind, on, userActFor(act(kind, on))]).toEqual([kind, on, null]);
  expect(userActFor(act("approve", "approval", whole))).toEqual({
    kind: "approve",
    approval: "x",
    agent: "clerk",
    tool: "look",
    requester: "ann",
  });
  expect(userActFor(act("approve", "approval", { ...whole, forRequester: true }))).toMatchObject({ forRequester: true });
  expect(userActFor(act("say", "session", { ...whole, requester: null }))).toBeNull();
});
