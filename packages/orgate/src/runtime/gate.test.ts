import { type Action, callId, defineTool, type Facts, type Label, NO_MORE_FACTS, type Tool, type UserAct } from "@orgate/core";
import {
  type Case,
  type CedarGate,
  caseSchema,
  cedarGate,
  type Engine,
  loadPolicies,
  type PolicyProblem,
  type PolicyWorld,
  readUserAct,
  runCase,
  USER_ACTIONS,
} from "@orgate/core/gate";
import { reply, scriptedModel, world } from "@orgate/core/testing";
import { describe, expect, test } from "vitest";
import { sha256 } from "../node/crypto.ts";
import { cedarEngine } from "../policies/cedar-engine.ts";

const engine = cedarEngine();

const send = defineTool({
  name: "send",
  description: "Sends a text to somebody.",
  input: {
    type: "object",
    properties: {
      to: { type: "string" },
      token: { type: "string" },
      amount: { type: "number" },
      count: { type: "integer" },
      deep: { type: "object", properties: { kind: { type: "string" } }, required: ["kind"], additionalProperties: false },
    },
    required: ["to"],
    additionalProperties: false,
  },
  effects: ["network"],
  resource: ({ to }) => ({ type: "Host", id: String(to) }),
  resourceTypes: ["Host"],
  run: (args) => args,
});
const look = defineTool({
  name: "look",
  description: "Looks at a file.",
  input: { type: "object", properties: { path: { type: "string" } }, required: ["path"], additionalProperties: false },
  effects: ["read"],
  resource: ({ path }) => ({ type: "File", id: String(path) }),
  resourceTypes: ["File"],
  run: () => "seen",
});
const CAST: PolicyWorld = {
  agents: [
    { name: "ops", groups: ["trusted"] },
    { name: "guest", groups: [] },
  ],
  users: [
    { name: "ann", groups: ["admins"] },
    { name: "bob", groups: ["staff"] },
  ],
  tools: [send, look],
};

const load = (text: string, cast: PolicyWorld = CAST) =>
  loadPolicies([{ path: "policies/p.cedar", name: "p", text, shadow: false }], cast, engine);

function gateOf(
  text: string,
  options: { readonly shadow?: string; readonly engine?: Engine; readonly cast?: PolicyWorld; readonly cache?: number } = {},
): CedarGate {
  const files = [
    { path: "policies/p.cedar", name: "p", text, shadow: false },
    ...(options.shadow === undefined ? [] : [{ path: "policies/shadow/s.cedar", name: "shadow/s", text: options.shadow, shadow: true }]),
  ];
  const loaded = loadPolicies(files, options.cast ?? CAST, engine);
  if (loaded.kind === "refused") throw new Error(JSON.stringify(loaded.problems));
  return cedarGate(loaded.set, options.engine ?? engine, sha256, options.cache === undefined ? {} : { cache: options.cache });
}

function problems(text: string, cast: PolicyWorld = CAST): readonly PolicyProblem[] {
  const loaded = load(text, cast);
  return loaded.kind === "refused" ? loaded.problems : [];
}

const call = (tool: Tool, args: Record<string, string | number | { kind: string }>, inexact: readonly string[] = []): Action => ({
  kind: "call",
  call: callId("1.1"),
  tool: tool.name,
  toolDigest: null,
  effects: tool.effects,
  args,
  inexact,
  resource: tool.resource(args),
});
const facts = (more: Partial<Facts> = {}): Facts => ({
  agent: "ops",
  onBehalfOf: { kind: "user", id: "ann" },
  surface: "cli",
  labels: [],
  calls: () => ({ turn: 0, session: 0 }),
  spent: { turn: 0, session: 0 },
  cents: null,
  ...NO_MORE_FACTS,
  ...more,
});
/** Ends its line: policies without an @id are named by their lines. */
const PERMIT = "permit (principal, action, resource);\n";

test("G-1 with no policy nothing is permitted, and the reason says what", () => {
  expect(gateOf("").decide(call(look, { path: "a" }), facts()).verdict).toEqual({
    kind: "deny",
    by: "policy",
    because: [],
    faults: [],
    reason: 'no policy permits tool:look on File::"a"',
  });
});

test("G-3 a forbid that errs denies, even when a permit matches", () => {
  const gate = gateOf(
    `${PERMIT} forbid (principal, action == Action::"tool:send", resource) when { context.args has count && context.args.count * 9007199254740991 > 0 };`,
  );
  expect(gate.decide(call(send, { to: "x", count: 0 }), facts()).verdict.kind).toBe("allow");
  expect(gate.decide(call(send, { to: "x", count: 9_007_199_254_740_991 }), facts()).verdict).toMatchObject({
    kind: "deny",
    because: ["p/1"],
    faults: [{ policy: "p/2", message: expect.stringContaining("overflow") }],
  });
});

test("G-3 an engine that fails or breaks denies, and so does one for people", () => {
  const broken: Engine = {
    ...engine,
    decide: () => {
      throw new Error("unreachable");
    },
  };
  const failing: Engine = { ...engine, decide: () => ({ type: "failure", errors: [{ message: "no", help: null }] }) };
  for (const bad of [broken, failing]) {
    const gate = gateOf(PERMIT, { engine: bad });
    expect(gate.decideFor("ann", { kind: "read-journal", what: { kind: "project" } }).verdict.kind).toBe("deny");
    const { verdict } = gate.decide(call(look, { path: "a" }), facts());
    expect(verdict).toMatchObject({
      kind: "deny",
      because: [],
      faults: [{ policy: null, message: bad === broken ? "unreachable" : "no" }],
    });
  }
});

test("G-7 deny beats ask beats defer beats modify beats allow, among the permits that decide", () => {
  const ask = '@ask("sure?") permit (principal, action == Action::"tool:send", resource);';
  const defer = '@defer("15m") permit (principal, action == Action::"tool:send", resource);';
  const redact = '@redact("args.token") permit (principal, action == Action::"tool:send", resource);';
  const forbid = '@reason("not here") forbid (principal, action == Action::"tool:send", resource);';
  const verdict = (...policies: string[]) =>
    gateOf(policies.join("\n").replaceAll("\n\n", "\n")).decide(call(send, { to: "x", token: "t" }), facts()).verdict;
  expect(verdict(PERMIT).kind).toBe("allow");
  expect(verdict(PERMIT, redact)).toMatchObject({ kind: "modify", edits: [{ path: ["token"], value: "[redacted]" }] });
  expect(verdict(PERMIT, redact, defer)).toMatchObject({ kind: "defer", ms: 900_000 });
  expect(verdict(PERMIT, defer, ask)).toMatchObject({ kind: "ask", asks: [{ policy: "p/3", question: "sure?" }] });
  expect(verdict(PERMIT, redact, defer, ask, forbid)).toMatchObject({ kind: "deny", because: ["p/5"], reason: "not here" });
});

test("G-7 what is both redacted and asked about is redacted first, and asked about as it will run", () => {
  const gate = gateOf(`@ask("sure?") @redact("args.token") permit (principal, action, resource);`);
  expect(gate.decide(call(send, { to: "x", token: "secret" }), facts()).verdict.kind).toBe("modify");
  expect(gate.decide(call(send, { to: "x", token: "[redacted]" }), facts()).verdict.kind).toBe("ask");
  expect(gate.decide(call(send, { to: "x" }), facts()).verdict.kind).toBe("ask");
  expect(gate.decide({ kind: "model", model: "m" }, facts()).verdict.kind).toBe("ask");
});

test("G-5 a call that a policy modifies runs as modified, gated again once", async () => {
  const gate = gateOf(`${PERMIT} @redact("args.token") permit (principal, action == Action::"tool:send", resource);`);
  const model = scriptedModel([reply.calls([{ tool: "send", args: { to: "x", token: "secret" } }]), reply.text("done")]);
  const w = world({ hash: sha256, model, tools: [send], spoil: (ports) => ({ ...ports, gate }) });
  await w.run("go");
  const decided = w.events("gate.decided").filter((e) => e.action.kind === "call");
  expect(decided.map((e) => e.verdict.kind)).toEqual(["modify", "allow"]);
  expect(w.events("act.ended")).toMatchObject([{ outcome: { kind: "done", output: { to: "x", token: "[redacted]" } } }]);
  expect(w.events("turn.ended")).toMatchObject([{ ending: "completed" }]);
});

test("G-7 in the loop: a person is asked about the redacted call, and that is what runs", async () => {
  const gate = gateOf(`${PERMIT}@ask("sure?") @redact("args.token") permit (principal, action == Action::"tool:send", resource);`);
  const model = scriptedModel([reply.calls([{ tool: "send", args: { to: "x", token: "secret" } }]), reply.text("done")]);
  const w = world({ hash: sha256, model, tools: [send], spoil: (ports) => ({ ...ports, gate }) });
  await w.run("go");
  const [question] = w.events("approval.asked");
  if (question === undefined) throw new Error("nothing was asked");
  await w.wish({ kind: "answer", approval: question.approval, digest: question.digest, answer: { kind: "approve" } });
  await w.go();
  const decided = w.events("gate.decided").filter((e) => e.action.kind === "call");
  expect(decided.map((e) => e.verdict.kind)).toEqual(["modify", "ask", "allow"]);
  expect(w.events("act.ended")).toMatchObject([{ outcome: { kind: "done", output: { to: "x", token: "[redacted]" } } }]);
});

test("G-1 in the loop: the model is told why, under its own call, and goes on", async () => {
  const gate = gateOf(`${PERMIT}@reason("nothing leaves the house") forbid (principal, action in Action::"network", resource);`);
  const seen: string[] = [];
  const model = scriptedModel([
    reply.calls([{ tool: "send", id: "c1", args: { to: "x" } }]),
    reply.text("then not", { expect: ({ messages }) => void seen.push(JSON.stringify(messages.at(-1))) }),
  ]);
  const w = world({ hash: sha256, model, tools: [send], spoil: (ports) => ({ ...ports, gate }) });
  await w.run("go");
  expect(seen).toEqual([expect.stringContaining("nothing leaves the house")]);
  expect(seen[0]).toContain('"wireId":"c1"');
  expect(w.events("act.started")).toEqual([]);
});

test("G-8 a shadow policy is recorded where it would change something, and never enforced", () => {
  const shadow = 'forbid (principal, action == Action::"tool:look", resource) when { context.args.path == "b" };';
  const gate = gateOf(PERMIT, { shadow });
  expect(gate.decide(call(look, { path: "a" }), facts())).toMatchObject({ verdict: { kind: "allow" }, shadow: null });
  expect(gate.decide(call(look, { path: "b" }), facts())).toMatchObject({
    verdict: { kind: "allow", because: ["p/1"] },
    shadow: { kind: "deny", because: ["shadow/s/1"] },
    read: {},
  });
});

test("G-8 a trial that fails is recorded, and the decision stands", () => {
  const fragile: Engine = {
    ...engine,
    keep: (policies) =>
      Object.keys(policies).length > 1 ? { type: "failure", errors: [{ message: "no", help: null }] } : engine.keep(policies),
  };
  const { verdict, shadow } = gateOf(PERMIT, { shadow: "forbid (principal, action, resource);", engine: fragile }).decide(
    call(look, { path: "a" }),
    facts(),
  );
  expect(verdict.kind).toBe("allow");
  expect(shadow).toMatchObject({ kind: "deny", faults: [{ policy: null }] });
});

test("G-9 every problem of a file is told at once, with its place in characters, and one is enough to refuse the set", () => {
  const text = [
    PERMIT.trim(),
    '// später: 🙂 "quoted; not over',
    'permit (principal, action == Action::"tool:sned", resource);',
    '@id("ü") permit (principal, action == Action::"tool:send", resource) when { "é🙂" == context.args.tokne };',
    "permit (principal action, resource);",
    '@aks("?") permit (principal, action, resource);',
    "permit (principal == ?principal, action, resource);",
    'permit (principal, action == Action::"tool:send", resource) when { context.args has count && context.args.count < 9007199254740993 };',
  ].join("\n");
  expect(problems(text)).toMatchObject([
    { line: 3, column: 30, detail: 'unrecognized action `Action::"tool:sned"`', hint: "did you mean `tool:send`?" },
    { file: "policies/p.cedar", line: 4, column: 86, detail: expect.stringContaining("`args.tokne`"), hint: "did you mean `token`?" },
    { line: 5, column: 19, detail: expect.stringContaining("unexpected token") },
    { line: 6, column: 1, detail: "there is no annotation @aks", hint: "did you mean `ask`?" },
    { line: 7, column: 22, detail: expect.stringContaining("template") },
    { line: 8, column: 115, detail: expect.stringContaining("cannot be compared exactly"), hint: "stay within ±9007199254740991" },
  ]);
});

test("G-9 two policies of one name are refused", () => {
  expect(problems(`@id("a") ${PERMIT}@id("a") ${PERMIT}`)).toMatchObject([{ line: 2, column: 1, detail: "two policies are named `p/a`" }]);
});

test("G-9 annotations that say nothing, or nothing sensible, are refused where they stand", () => {
  const wrong: readonly (readonly [string, string])[] = [
    ['@ask("ok") @approvers("")', "@approvers is empty"],
    ['@ask("ok") @approvers(" , ")', "@approvers is empty"],
    ['@ask("ok") @quorum', "@quorum is empty"],
    ['@ask("ok") @quorum("0")', '@quorum("0") is no number of people'],
    ['@ask("ok") @expires("soon")', '@expires("soon") is no time'],
    ['@ask("ok") @onExpiry("allow")', '@onExpiry("allow")'],
    ['@ask("ok") @grant("always")', '@grant("always")'],
    ['@ask("ok") @grant("session") @grantSurvives("")', "@grantSurvives is empty"],
    ['@ask("ok") @grantSurvives("untrusted")', "@grantSurvives stands beside no @grant that could be given"],
    ['@ask("ok") @grant("session") @grantSurvives("Untrusted!")', "`Untrusted!` is no label"],
    ['@ask("ok") @grant("session") @grantSurvive("untrusted")', "there is no annotation @grantSurvive"],
    ['@grantSurvives("untrusted")', "@grantSurvives says how an approval request is answered, but there is no @ask"],
    ['@approvers("ops")', "@approvers says how an approval request is answered, but there is no @ask"],
    ['@redact("token")', '@redact("token")'],
    ['@redact("args.amount")', "no tool under this policy takes a text `args.amount`"],
    ['@defer("")', '@defer("") is no time'],
    ['@id("a b")', '@id("a b") is no name'],
    ["@id", '@id("") is no name'],
  ];
  for (const [annotation, detail] of wrong)
    expect([annotation, problems(`\n  ${annotation} ${PERMIT}`)[0]]).toMatchObject([annotation, { line: 2, detail }]);
  expect(problems(`@reason("see @ask") @ask("no") forbid (principal, action, resource);`)).toMatchObject([{ line: 1, column: 21 }]);
});

test("Q-21 whoever may approve may deny, unless that is forbidden; to deny and to withdraw can be permitted by themselves", () => {
  const about = { approval: "a", agent: "ops", tool: "pay", requester: "ann" };
  const may = (text: string, user: string, kind: "approve" | "deny" | "withdraw") =>
    gateOf(text).decideFor(user, { kind, ...about }).verdict.kind;
  const approve = 'permit (principal == User::"bob", action == Action::"approve", resource);';
  expect([may(approve, "bob", "deny"), may(approve, "ann", "deny"), may(approve, "bob", "withdraw")]).toEqual(["allow", "deny", "deny"]);
  const forbidden = `${approve}\nforbid (principal, action == Action::"deny", resource);`;
  expect([may(forbidden, "bob", "approve"), may(forbidden, "bob", "deny")]).toEqual(["allow", "deny"]);
  const fourEyes =
    'permit (principal, action == Action::"approve", resource) unless { resource.requester == principal.id };\npermit (principal, action in [Action::"deny", Action::"withdraw"], resource) when { resource.requester == principal.id };';
  expect((["approve", "deny", "withdraw"] as const).map((kind) => may(fourEyes, "ann", kind))).toEqual(["deny", "allow", "allow"]);
  expect((["approve", "deny", "withdraw"] as const).map((kind) => may(fourEyes, "bob", kind))).toEqual(["allow", "allow", "deny"]);
});

test("G-14 a case may say which schedule or delivery opened its session", () => {
  const gate = gateOf(
    'permit (principal, action == Action::"model", resource) when { context.origin has schedule && context.origin.schedule == "nightly" };',
  );
  const got = (more: object) =>
    runCase(caseSchema.parse({ name: "x", agent: "ops", action: "model", verdict: "allow", ...more }), gate, CAST.tools, sha256).got.kind;
  expect([got({}), got({ origin: { schedule: "nightly" } }), got({ origin: { delivery: "nightly" } })]).toEqual(["deny", "allow", "deny"]);
  expect(caseSchema.safeParse({ name: "x", action: "model", verdict: "deny", origin: {} }).success).toBe(false);
});

test("G-9 a question that nobody could ever answer is refused where it stands, with who is missing", () => {
  const told = (annotations: string, cast: PolicyWorld = CAST) => {
    const loaded = loadPolicies(
      [{ path: "p", name: "p", text: `\n@ask("ok")\n ${annotations} ${PERMIT}`, shadow: false }],
      cast,
      cedarEngine(),
    );
    const all = loaded.kind === "set" ? loaded.warnings : loaded.problems;
    return [loaded.kind, ...all.map(({ line, column, detail, hint }) => `${line}:${column} ${detail} | ${hint}`)];
  };
  expect(told('@approvers("admins")')).toEqual(["set"]);
  expect(told('@approvers("admins, staff") @quorum("2")')).toEqual(["set"]);
  expect(told('@quorum("9")')).toEqual(["set"]); // for whoever may approve, and nobody counts them
  expect(told('@approvers("admin")')).toEqual([
    "refused",
    "3:2 nobody is in the group of users `admin`: it could never be answered | did you mean `admins`?",
  ]);
  expect(told('@approvers("admins")', { ...CAST, users: [] })).toEqual([
    "refused",
    "3:2 nobody is in the group of users `admins`: it could never be answered | say who is in it under [groups.users] in orgate.toml",
  ]);
  const both = { ...CAST, users: [{ name: "ann", groups: ["admins", "staff"] }] };
  expect(told('@approvers("admins, staff") @quorum("2")', both)).toEqual([
    "refused",
    "3:30 2 people have to say yes, but 1 is in `admins` or `staff`: it could never be approved | ask for 1, or name more people under [groups.users] in orgate.toml",
  ]);
  expect(told('@approvers("admins, crew")')).toEqual([
    "set",
    "3:2 nobody is in the group of users `crew` | known: requester, admins, staff",
  ]);
});

test("G-9 a set is refused, not the process, when its tools cannot be described", () => {
  const odd = { ...look, name: "odd", resourceTypes: ["__cedar"] };
  expect(problems(PERMIT, { ...CAST, tools: [odd] })[0]?.detail).toContain("the tools cannot be described to Cedar");
});

test("G-6 types of resources may have a namespace", () => {
  const issue = { ...look, name: "issue", resourceTypes: ["Tracker::Issue"], resource: () => ({ type: "Tracker::Issue", id: "7" }) };
  const gate = gateOf('permit (principal, action == Action::"tool:issue", resource is Tracker::Issue) when { resource.id == "7" };', {
    cast: { ...CAST, tools: [issue] },
  });
  expect(gate.decide(call(issue, { path: "a" }), facts()).verdict.kind).toBe("allow");
});

test("G-6 a tool whose name means something to Cedar has an action, and no counter that could be mistaken for an entity", () => {
  const tools = ["__entity", "__extn", "__proto__"].map((name) => ({ ...look, name }));
  const gate = gateOf('permit (principal, action == Action::"tool:__entity", resource) when { context.calls == context.calls };', {
    cast: { ...CAST, tools },
  });
  const [first, second] = tools;
  if (first === undefined || second === undefined) throw new Error("there are three");
  expect(gate.decide(call(first, { path: "a" }), facts())).toMatchObject({ verdict: { kind: "allow" }, read: { calls: {} } });
  expect(gate.decide(call(second, { path: "a" }), facts()).verdict.kind).toBe("deny");
});

test("G-11 a tool that the policies were not checked against is denied, whatever they permit; so is one with other effects", () => {
  const gate = gateOf(PERMIT);
  expect(gate.decide(call({ ...look, name: "new" }, { path: "a" }), facts()).verdict).toMatchObject({
    kind: "deny",
    reason: "the policies were not checked against this tool",
  });
  expect(gate.decide(call({ ...look, effects: ["read", "write"] }, { path: "a" }), facts()).verdict.kind).toBe("deny");
  expect(gate.decide(call(look, { path: "a" }), facts()).verdict.kind).toBe("allow");
});

test("G-2 hostile names of tools match no other action", () => {
  const gate = gateOf(
    'permit (principal, action == Action::"tool:look", resource);\npermit (principal, action in Action::"read", resource) when { resource is File };',
  );
  const names = [
    "l\u043eok",
    "look\u0000",
    "look\n",
    " look",
    "LOOK",
    'look"',
    'look", Action::"tool:send',
    "look\u200b",
    "tool:look",
    "l".repeat(100_000),
    "__proto__",
    "constructor",
    "\ud800",
  ];
  for (const name of names) {
    const hostile: Action = {
      ...call(look, { path: "a" }),
      kind: "call",
      tool: name,
      call: callId("1.1"),
      toolDigest: null,
      effects: [],
      args: { path: "a" },
      inexact: [],
      resource: { type: "Tool", id: name },
    };
    const { verdict } = gate.decide(hostile, facts());
    expect(verdict.kind).toBe("deny");
    const supposed = gate.suppose(hostile, facts()).verdict;
    expect(supposed.kind).toBe("deny");
    expect(supposed.kind === "deny" && supposed.reason.length).toBeLessThan(1_000);
  }
});

test("G-10 a remembered denial is told in the words of the one who asks now", () => {
  const gate = gateOf('forbid (principal, action == Action::"tool:look", resource);');
  const reason = (path: string) => {
    const { verdict } = gate.decide(call(look, { path }), facts());
    return verdict.kind === "deny" ? verdict.reason : "";
  };
  expect(reason("private/plan")).toBe('p/1 forbids tool:look on File::"private/plan"');
  expect(reason("b")).toBe('p/1 forbids tool:look on File::"b"');
  expect(gate.stats()).toMatchObject({ hits: 1, misses: 1 });
});

test("G-10 an approval of the same id about another agent or tool is another question", () => {
  const gate = gateOf('permit (principal, action == Action::"approve", resource) when { resource.agent == "ops" };');
  const approve = (agent: string) =>
    gate.decideFor("ann", { kind: "approve", approval: "q", agent, tool: "send", requester: "somebody" }).verdict.kind;
  expect([approve("ops"), approve("guest"), approve("ops")]).toEqual(["allow", "deny", "allow"]);
});

describe("what people do", () => {
  const inSession = (session: string, agent: string, requester: string) => ({ session, agent, requester });

  test("W-8 what belongs to an agent is in that agent and in its groups", () => {
    const gate = gateOf(`permit (principal in UserGroup::"admins", action, resource in Agent::"ops");
permit (principal == User::"bob", action in [Action::"observe", Action::"say"], resource in AgentGroup::"trusted");`);
    const acts = (agent: string): readonly UserAct[] => [
      { kind: "observe", what: { kind: "agent", agent } },
      { kind: "observe", what: { kind: "session", ...inSession("s", agent, "x") } },
      { kind: "observe", what: { kind: "approval", approval: "a", agent, tool: "send", requester: "x" } },
      { kind: "observe", what: { kind: "call", call: "1.1", agent, tool: "send" } },
      { kind: "say", ...inSession("s", agent, "x") },
      { kind: "run", agent },
      { kind: "open", what: { kind: "agent", agent } },
      { kind: "open", what: { kind: "session", ...inSession("s", agent, "x") } },
      { kind: "cancel", ...inSession("s", agent, "x") },
      { kind: "read-journal", what: { kind: "session", ...inSession("s", agent, "x") } },
      { kind: "remove-label", label: "l", session: "s", agent },
    ];
    const verdicts = (user: string, agent: string) => acts(agent).map((act) => gate.decideFor(user, act).verdict.kind === "allow");
    expect(verdicts("ann", "ops").every(Boolean)).toBe(true);
    expect(verdicts("ann", "guest").some(Boolean)).toBe(false);
    expect(verdicts("bob", "ops")).toEqual([true, true, true, true, true, false, false, false, false, false, false]);
    expect(verdicts("bob", "guest").some(Boolean)).toBe(false);
  });

  test("W-8 a session is whose it is: the same id for somebody else is another question", () => {
    const gate = gateOf('permit (principal, action == Action::"say", resource is Session) when { resource.requester == principal.id };');
    const say = (requester: string) => gate.decideFor("ann", { kind: "say", ...inSession("s", "ops", requester) }).verdict.kind;
    expect([say("ann"), say("bob"), say("ann")]).toEqual(["allow", "deny", "allow"]);
  });

  test("W-8 what belongs to no agent is named by itself, and who may be given access is a person", () => {
    const gate = gateOf(`permit (principal, action in [Action::"observe", Action::"read-journal"], resource is Project);
permit (principal, action == Action::"give-access", resource in UserGroup::"staff");`);
    const may = (act: UserAct) => gate.decideFor("ann", act).verdict.kind;
    expect(may({ kind: "observe", what: { kind: "project" } })).toBe("allow");
    expect(may({ kind: "read-journal", what: { kind: "project" } })).toBe("allow");
    expect(may({ kind: "read-journal", what: { kind: "session", ...inSession("s", "ops", "ann") } })).toBe("deny");
    expect(may({ kind: "observe", what: { kind: "work", scope: "all" } })).toBe("deny");
    expect([may({ kind: "give-access", to: "bob" }), may({ kind: "give-access", to: "ann" })]).toEqual(["allow", "deny"]);
  });

  test("W-8 a table says what it is done to; what cannot be is told", () => {
    const said = (action: string, type?: string) =>
      readUserAct({
        action,
        onBehalfOf: "x",
        ...(type === undefined ? {} : { resource: { type, id: type === "Scope" ? "shared" : "1" } }),
      });
    for (const [action, types] of Object.entries(USER_ACTIONS))
      for (const type of [undefined, ...types]) expect(said(action, type)).toMatchObject({ kind: action });
    expect(said("run", "Session")).toBe("a person does `run` to Agent, not to Session");
    expect(said("fly")).toMatch(/^`fly` is nothing that a person does/);
  });
});

test("G-10 agents, people and sets that the policies tell apart share no answer, those they do not share one", () => {
  const gate = gateOf('permit (principal, action == Action::"tool:look", resource) when { principal.id == "ops" };');
  const as = (agent: string) => gate.decide(call(look, { path: "a" }), facts({ agent })).verdict.kind;
  expect([as("ops"), as("guest"), as("ops"), as("guest")]).toEqual(["allow", "deny", "allow", "deny"]);
  const other = gateOf('forbid (principal, action == Action::"tool:look", resource) when { principal.id == "ops" };');
  expect(other.decide(call(look, { path: "a" }), facts()).verdict.kind).toBe("deny");
  expect(as("ops")).toBe("allow");
  const shared = gateOf(
    'permit (principal in AgentGroup::"trusted", action, resource);\npermit (principal is Agent, action, resource) when { context.labels.isEmpty() };',
  );
  shared.decide(call(look, { path: "a" }), facts({ agent: "guest" }));
  shared.decide(call(look, { path: "b" }), facts({ agent: "nobody" }));
  expect(shared.stats()).toEqual({ hits: 1, misses: 1, slices: 1 });
});

test("G-10 a set that took another's place in one engine changes nothing for whoever still holds the other", () => {
  const old = gateOf(PERMIT, { cache: 0 });
  const paths = (gate: CedarGate, path: string) => gate.decide(call(look, { path }), facts()).verdict.kind;
  expect(paths(old, "a")).toBe("allow");
  expect(paths(gateOf("", { cache: 0 }), "a")).toBe("deny");
  expect(paths(old, "b")).toBe("allow");
});

test("G-13 an agent or the runtime is not the user of the same name", () => {
  const gate = gateOf('permit (principal, action == Action::"tool:look", resource) when { context.onBehalfOf in UserGroup::"admins" };');
  const by = (onBehalfOf: Facts["onBehalfOf"]) => gate.decide(call(look, { path: "a" }), facts({ onBehalfOf })).verdict.kind;
  expect(by({ kind: "user", id: "ann" })).toBe("allow");
  expect(by({ kind: "agent", id: "ann" })).toBe("deny");
  expect(by({ kind: "system", id: "ann" })).toBe("deny");
  const open = gateOf('permit (principal, action == Action::"model", resource) when { context.onBehalfOf == User::"agent:ann" || true };');
  expect(open.decide({ kind: "model", model: "m" }, facts({ onBehalfOf: { kind: "user", id: "agent:ann" } })).verdict.kind).toBe("deny");
});

test("G-13 who gets an answer is in their groups", () => {
  const gate = gateOf(
    'permit (principal, action == Action::"respond", resource);\nforbid (principal, action == Action::"respond", resource in UserGroup::"staff");\nforbid (principal, action == Action::"respond", resource in AgentGroup::"trusted");',
  );
  const to = (kind: "user" | "agent" | "system", id: string) => gate.decide({ kind: "respond", to: { kind, id } }, facts()).verdict.kind;
  expect([to("user", "ann"), to("user", "bob"), to("agent", "ops"), to("agent", "bob"), to("system", "bob")]).toEqual([
    "allow",
    "deny",
    "deny",
    "allow",
    "allow",
  ]);
});

test("G-13 a change of groups changes the digest of the gate", () => {
  const moved: PolicyWorld = {
    ...CAST,
    users: [
      { name: "ann", groups: [] },
      { name: "bob", groups: ["staff"] },
    ],
  };
  expect(gateOf(PERMIT, { cast: moved }).digest).not.toBe(gateOf(PERMIT).digest);
});

test("G-12 a number that Cedar cannot hold exactly is denied if the policies read it, and only then", () => {
  const reads = gateOf(
    `${PERMIT} forbid (principal, action == Action::"tool:send", resource) when { context.args has amount && context.args.amount.greaterThan(decimal("100.00")) };`,
  );
  const amount = (n: number, inexact: readonly string[] = []) => reads.decide(call(send, { to: "x", amount: n }, inexact), facts()).verdict;
  expect([amount(100).kind, amount(100.01).kind, amount(0.5).kind]).toEqual(["allow", "deny", "allow"]);
  expect(amount(1.00005)).toMatchObject({
    kind: "deny",
    reason: "args/amount has more than four places, or is out of range, and a policy reads it",
  });
  expect(amount(100, ["/amount"])).toMatchObject({ kind: "deny", faults: [{ policy: null }] });
  expect(amount(100).kind).toBe("allow");
  expect(gateOf(PERMIT).decide(call(send, { to: "x", amount: 1.00005 }, ["/amount"]), facts()).verdict.kind).toBe("allow");
});

test("G-10 what is recorded as read is what was sent", () => {
  const sent: unknown[] = [];
  const spy: Engine = {
    ...engine,
    decide: (kept, question) => {
      sent.push(question.context);
      return engine.decide(kept, question);
    },
  };
  const gate = gateOf(
    'permit (principal, action == Action::"tool:send", resource) when { context.args has deep.kind && context.args.deep.kind == "a" && context.labels.contains("pii") && context.calls.look.turn == 0 && resource.id == "h" };',
    { engine: spy },
  );
  const ask = () =>
    gate.decide(
      call(send, { to: "h", token: "secret", deep: { kind: "a" } }),
      facts({ labels: ["untrusted", "pii"] as readonly string[] as readonly Label[] }),
    );
  const { read, verdict } = ask();
  expect(verdict.kind).toBe("allow");
  expect(read).toEqual({
    resource: 'Host::"h"',
    args: { deep: { kind: "a" } },
    labels: ["pii", "untrusted"],
    calls: { look: { turn: 0, session: 0 } },
  });
  expect(sent).toEqual([{ args: { deep: { kind: "a" } }, labels: ["pii", "untrusted"], calls: { look: { turn: 0, session: 0 } } }]);
  expect(ask().read).toEqual(read);
  expect(sent).toHaveLength(1);
});

test("G-10 a slice that reads nothing is decided once, even with the memory off", () => {
  const gate = gateOf(PERMIT, { cache: 0 });
  for (const path of ["a", "b", "c"]) gate.decide(call(look, { path }), facts());
  expect(gate.stats()).toMatchObject({ hits: 2, misses: 1 });
});

const DEEP = `permit (principal, action, resource) when { ${"(".repeat(600)}true${")".repeat(600)} };`;

test("G-9 a policy that breaks the engine is a policy that does not load", () => {
  const before = engine.renewals();
  expect(problems(`${PERMIT}${DEEP}`)).toMatchObject([{ line: 2, column: 1, hint: "write it in a simpler form" }]);
  expect(engine.renewals()).toBe(before + 2); // as a whole file, and by itself
  expect(problems(PERMIT)).toEqual([]);
});

test("G-3 an engine that is replaced, or has thrown, goes on deciding the same", () => {
  const worn = cedarEngine({ decisions: 3, sets: 2 });
  const gates = [PERMIT, "", `${PERMIT} forbid (principal, action, resource) when { resource.id == "b" };`].map((text) =>
    gateOf(text, { engine: worn, cache: 0 }),
  );
  for (let i = 0; i < 5; i += 1)
    expect(gates.map((gate) => gate.decide(call(look, { path: "b" }), facts({ agent: `a${i}` })).verdict.kind)).toEqual([
      "allow",
      "deny",
      "deny",
    ]);
  expect(worn.renewals()).toBe(2);
  const before = worn.renewals();
  expect(() => worn.parse(DEEP)).toThrow(); // the engine runs out of its stack: nothing in it can be trusted from there on
  expect(worn.renewals()).toBe(before + 1);
  expect(gates[2]?.decide(call(look, { path: "a" }), facts()).verdict.kind).toBe("allow");
});

test("G-9 a decision table says what was expected and what came, and may be about a tool that is not there", () => {
  const gate = gateOf('@id("reads") permit (principal, action in Action::"read", resource);');
  const base = {
    labels: [],
    media: [],
    calls: {},
    spent: { turn: 0, session: 0, hour: 0, day: 0 },
    onBehalfOf: "ann",
    surface: "cli",
    because: [],
  } satisfies Partial<Case>;
  const run = (c: Partial<Case>) =>
    runCase({ ...base, name: "n", action: "tool:look", verdict: "allow", args: { path: "a" }, ...c }, gate, CAST.tools, sha256);
  expect(run({ because: ["p/reads"] }).passed).toBe(true);
  expect(run({ action: "tool:other", effects: ["read"] }).passed).toBe(true);
  expect(run({ action: "tool:other", effects: ["write"] })).toMatchObject({
    passed: false,
    detail: expect.stringContaining("expected allow, got deny"),
  });
  expect(run({ action: "tool:other" })).toMatchObject({ passed: false, detail: expect.stringContaining("there is no such tool") });
});

test("G-14 a case about nothing fails whatever it expects; a refusal of the contract is expected as such, or not met", () => {
  const gate = gateOf('@id("reads") permit (principal, action in Action::"read", resource);');
  const run = (c: Readonly<Record<string, unknown>>) =>
    runCase(caseSchema.parse({ name: "n", action: "tool:look", args: { path: "a" }, verdict: "deny", ...c }), gate, CAST.tools, sha256);
  const detailOf = (c: Readonly<Record<string, unknown>>): string => {
    const { passed, detail } = run(c);
    expect([passed, detail === ""]).toEqual([detail === "", passed]);
    return detail;
  };
  const unknown = { action: "tool:lok" };
  const unfit = { args: { path: 7 } };
  expect(detailOf(unknown)).toMatch(/^no policy was asked: there is no such tool; mend the case, give its `effects`, or expect/);
  expect(detailOf(unfit)).toMatch(/^no policy was asked: the arguments do not fit: .*"by": "contract"$/);
  for (const c of [unknown, unfit]) expect(detailOf({ ...c, by: "contract" })).toBe("");
  expect(detailOf({ ...unknown, effects: ["write"] })).toBe("");
  expect(detailOf({ ...unknown, effects: ["write"], by: "contract" })).toMatch(/^expected the contract to deny it, and the policies did: /);
  expect(detailOf({ verdict: "allow", by: "contract" })).toBe("`by` is for `deny`, and allow is expected");
  expect(detailOf({ action: "modle", effects: ["write"] })).toMatch(/^`modle` is nothing that an agent does/);
  for (const by of [undefined, "contract"])
    expect(detailOf({ user: "eve", action: "edit-polcy", by })).toMatch(
      /^`edit-polcy` is nothing that a person does: .*edit-policy, halt.* are$/,
    );
  for (const action of ["approve", "resolve", "halt", "set-breaker", "read-journal", "edit-policy"])
    expect(detailOf({ user: "eve", action })).toBe("");
});

test("T-8 a policy sees what care a tool needs; one that does not say is taken to be of high risk", () => {
  const text =
    'permit (principal, action, resource) when { context has tool && context.tool.riskTier == "low" && !context.tool.humanApproval };';
  const verdictFor = (care: Partial<Tool>) => {
    const tool: Tool = { ...look, ...care };
    const gate = gateOf(text, { cast: { ...CAST, tools: [tool, send] } });
    return gate.decide(call(tool, { path: "a" }), facts()).verdict.kind;
  };
  expect([verdictFor({}), verdictFor({ riskTier: "low" }), verdictFor({ riskTier: "low", humanApproval: true })]).toEqual([
    "deny",
    "allow",
    "deny",
  ]);
  expect(gateOf(text).digest).not.toBe(
    gateOf(text, { cast: { ...CAST, tools: CAST.tools.map((t) => ({ ...t, riskTier: "low" as const })) } }).digest,
  );
});

test("G-9 T-8 a decision table states the care that a tool to come needs; the strictest holds where it does not, and one of the project is what its definition says", () => {
  const text = `permit (principal, action, resource)
when { context has tool && context.tool.riskTier == "low" && !context.tool.humanApproval && context.tool.sandbox != "none" };`;
  const gate = gateOf(text, { cast: { ...CAST, tools: [{ ...look, riskTier: "medium" }, send] } });
  const tools = [{ ...look, riskTier: "medium" as const }, send];
  const got = (c: Readonly<Record<string, unknown>>) =>
    runCase(caseSchema.parse({ name: "n", action: "tool:peek", effects: ["read"], verdict: "allow", ...c }), gate, tools, sha256);
  const low = { riskTier: "low", sandbox: "own" };
  // each after another that differs in nothing else: none is answered from what was remembered
  expect(
    [{}, { tool: low }, { tool: { riskTier: "low" } }, { tool: { ...low, humanApproval: true } }, { tool: low }].map((c) => got(c).passed),
  ).toEqual([...[false, true, false, false, true]]);
  const known = { action: "tool:look", effects: undefined, args: { path: "a" }, verdict: "deny" };
  expect(got({ ...known, tool: { riskTier: "medium" } }).passed).toBe(true);
  expect(got({ ...known, tool: low })).toMatchObject({ passed: false, detail: expect.stringContaining("its definition says otherwise") });
  for (const wrong of [{ action: "model" }, { user: "ann", action: "approve" }, { tool: { riskTier: "none" } }, { tool: { tier: "low" } }])
    expect(caseSchema.safeParse({ name: "n", action: "tool:peek", verdict: "deny", tool: low, ...wrong }).error?.issues[0]?.path[0]).toBe(
      "tool",
    );
});

test("T-29 a program without a sandbox needs two permits: for the call, and for running so; the stricter answer holds", () => {
  const bare = defineTool({
    name: "bare",
    description: "Runs without a sandbox.",
    input: { type: "object", properties: {}, additionalProperties: false },
    effects: ["execute", "unsandboxed"],
    run: () => "ran",
  });
  const cast: PolicyWorld = { ...CAST, tools: [...CAST.tools, bare] };
  const verdict = (text: string) => gateOf(text, { cast }).decide(call(bare, {}), facts()).verdict;
  const byEffect = 'permit(principal, action in Action::"execute", resource);\n';
  const byName = 'permit(principal, action == Action::"tool:bare", resource);\n';
  const leave = 'permit(principal, action == Action::"unsandboxed", resource == Tool::"bare");\n';
  expect(verdict(byEffect)).toMatchObject({ kind: "deny", reason: expect.stringContaining("without a sandbox") });
  expect(verdict(byName)).toMatchObject({ kind: "deny" });
  expect(verdict(leave)).toMatchObject({ kind: "deny" });
  expect(verdict(byName + leave)).toMatchObject({ kind: "allow", because: ["p/1", "p/2"] });
  expect(verdict(byEffect + leave)).toMatchObject({ kind: "allow" });
  expect(verdict(byName + leave.replace('"bare"', '"other"'))).toMatchObject({ kind: "deny" });
  expect(verdict('permit(principal, action in Action::"unsandboxed", resource);')).toMatchObject({ kind: "allow", because: ["p/1"] });
  expect(verdict(`${byName}@ask("sure?") ${leave}`)).toMatchObject({ kind: "ask", asks: [{ question: "sure?" }] });
  expect(verdict(`@ask("one?") ${byName}@ask("two?") ${leave}`)).toMatchObject({ asks: [{ question: "one?" }, { question: "two?" }] });
  expect(verdict(`${byName}${leave}forbid(principal, action in Action::"unsandboxed", resource);`)).toMatchObject({ kind: "deny" });
  expect(verdict(`${byName}${leave}forbid(principal, action in Action::"execute", resource);`)).toMatchObject({ kind: "deny" });
});
