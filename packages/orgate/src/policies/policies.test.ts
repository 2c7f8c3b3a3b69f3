import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  type Agent,
  defineAgent,
  defineTool,
  type Facts,
  FaultError,
  intentId,
  type JournalEvent,
  listDecisions,
  millis,
  NO_MORE_FACTS,
  POLICY,
  type Surface,
  seq,
} from "@orgate/core";
import { caseSchema, cedarGate, loadPolicies, toCaseAction, toCaseFacts } from "@orgate/core/gate";
import { afterEach, beforeEach, expect, test } from "vitest";
import * as z from "zod";
import { ed25519, sha256 } from "../node/crypto.ts";
import { createRuntime } from "../runtime/runtime.ts";
import { createPerson, signIntent } from "../store/keyring.ts";
import { cedarEngine } from "./cedar-engine.ts";
import { cedarPolicies, type Policies, type ReloadOutcome } from "./policies.ts";
import { NO_GROUPS, toPolicyWorld, tryLoadFolder } from "./policy-load.ts";
import { recordPolicies, watchPolicies } from "./policy-record.ts";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "orgate-policies-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const write = (name: string, text: string): void => {
  const file = join(root, "policies", name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
};
const THINK = '@id("think")\npermit(principal, action in [Action::"model", Action::"respond"], resource);\n';
const READ = '@id("read")\npermit(principal, action in Action::"read", resource);\n';
const NO_READ = '@id("no-read")\n@reason("reading is closed")\nforbid(principal, action in Action::"read", resource);\n';

const look = defineTool({
  name: "look",
  description: "Looks at a page.",
  input: z.strictObject({ page: z.int() }),
  effects: ["read"],
  repeat: "read",
  run: ({ page }) => `page ${page}`,
});
const clerk = (change: Partial<Parameters<typeof defineAgent>[0]> = {}): Agent =>
  defineAgent({ name: "clerk", instructions: "Look things up.", model: "offline/clerk", tools: [look], ...change });
const open = (agents: readonly Agent[] = [clerk()], groups = {}): Policies =>
  cedarPolicies({ directory: join(root, "policies"), agents, groups });

const facts = (surface: Surface = "library"): Facts => ({
  agent: "clerk",
  onBehalfOf: { kind: "user", id: "ana" },
  surface,
  labels: [],
  calls: () => ({ turn: 0, session: 0 }),
  spent: { turn: 0, session: 0 },
  cents: null,
  ...NO_MORE_FACTS,
});
const thinks = (policies: Policies, surface?: Surface) =>
  policies.decide({ kind: "model", model: "offline/clerk" }, facts(surface)).verdict;

function faultOf(work: () => unknown): FaultError["fault"] {
  try {
    work();
  } catch (error) {
    if (error instanceof FaultError) return error.fault;
    throw error;
  }
  throw new Error("it was accepted");
}

test("G-1 without a policy nothing is opened, and the line names `orgate init`", () => {
  const fault = () => faultOf(() => open());
  expect(fault()).toEqual({ kind: "policies-missing", folder: "policies" });
  write("shadow/x.cedar", THINK);
  expect(new FaultError(fault()).message).toContain("nothing runs, the model included");
});

test("G-14 a case that is decided otherwise refuses the set, naming file, place, case and what was decided", () => {
  write("base.cedar", THINK);
  write(
    "base.cases.json",
    JSON.stringify([
      { name: "it thinks", action: "model", verdict: "allow", because: ["base/think"] },
      { name: "it looks", action: "tool:look", args: { page: 1 }, verdict: "allow" },
    ]),
  );
  const fault = faultOf(() => open());
  expect(fault).toMatchObject({
    kind: "policies-refused",
    problems: [
      {
        file: "policies/base.cases.json",
        line: 1,
        detail: 'case `it looks`: expected allow, got deny: no policy permits tool:look on Tool::"look"',
      },
    ],
  });
  write("base.cedar", THINK + READ);
  expect(
    open()
      .current()
      .cases.map((c) => c.passed),
  ).toEqual([true, true]);
});

test("G-14 a table of the shadow folder is decided as if its policies were in force", () => {
  write("base.cedar", THINK + READ);
  write("shadow/next.cedar", NO_READ);
  const table = (verdict: string) => JSON.stringify([{ name: "closed", action: "tool:look", args: { page: 1 }, verdict }]);
  write("shadow/next.cases.json", table("deny"));
  write("base.cases.json", table("allow"));
  expect(open().current().cases).toHaveLength(2);
  write("shadow/next.cases.json", table("allow"));
  expect(faultOf(() => open())).toMatchObject({ kind: "policies-refused", problems: [{ file: "policies/shadow/next.cases.json" }] });
});

test("G-17 a surface's policies join the set for its sessions only, and its cases are decided by it", () => {
  write("base.cedar", THINK);
  write("api/closed.cedar", '@reason("not from there")\nforbid(principal, action == Action::"model", resource);\n');
  write("api/closed.cases.json", JSON.stringify([{ name: "no model", action: "model", verdict: "deny" }]));
  write(
    "base.cases.json",
    JSON.stringify([
      { name: "everybody", action: "model", verdict: "allow" },
      { name: "but api", action: "model", surface: "api", verdict: "deny" },
    ]),
  );
  const policies = open();
  expect([thinks(policies, "cli").kind, thinks(policies, "api").kind]).toEqual(["allow", "deny"]);
  expect(policies.current().policies.map((p) => p.id)).toEqual(["base/think", "api/closed/1"]);
});

test("G-17 what changes for one surface changes the digest", () => {
  write("base.cedar", THINK);
  const before = open().digest;
  write("api/closed.cedar", READ);
  expect(open().digest).not.toBe(before);
});

test("G-9 every problem of a set is told at once, with its place; two agents may not have different tools of one name", () => {
  write("a.cedar", 'permit(principal, action == Action::"tool:lok", resource);\n');
  write("cli/b.cedar", "permit(principal, action, resource) when { context.nothing };\n");
  const loading = tryLoadFolder({
    place: { folder: join(root, "policies"), label: "policies", within: root },
    agents: [clerk()],
    groups: { agents: {}, users: {} },
    surface: "cli",
  });
  expect(loading.report.problems.map((p) => p.file)).toEqual(expect.arrayContaining(["policies/a.cedar", "policies/cli/b.cedar"]));
  expect(new Set(loading.report.problems.map((p) => `${p.file}:${p.line}:${p.column}:${p.detail}`)).size).toBe(
    loading.report.problems.length,
  );
  const other = defineTool({ name: "look", description: "Another.", input: z.strictObject({}), run: () => null });
  expect(faultOf(() => open([clerk(), clerk({ name: "other", tools: [other] })]))).toEqual({ kind: "tool-twice", tool: "look" });
});

test("G-13 groups come from the project, group by group, and from the agents; a member that is no agent is refused", () => {
  write("base.cedar", 'permit(principal in AgentGroup::"desk", action == Action::"model", resource);\n');
  expect(thinks(open()).kind).toBe("deny");
  expect(thinks(open([clerk({ groups: ["desk"] })])).kind).toBe("allow");
  expect(thinks(open([clerk()], { agents: { desk: ["clerk"] } })).kind).toBe("allow");
  expect(faultOf(() => open([clerk()], { agents: { desk: ["clark"] } }))).toMatchObject({ kind: "agent-missing", agent: "clark" });
});

test("G-13 people are in the groups of the project", () => {
  write("base.cedar", `${THINK}permit(principal in UserGroup::"ops", action == Action::"edit-policy", resource);\n`);
  const policies = open([clerk()], { users: { ops: ["ana"] } });
  const may = (user: string) => policies.decideFor(user, { kind: "edit-policy", surface: "cli" }).verdict.kind;
  expect([may("ana"), may("eve")]).toEqual(["allow", "deny"]);
});

test("Q-7 who answers is let approve by the policies, and a person's groups are those of the project", () => {
  write(
    "base.cedar",
    `${THINK}permit(principal in UserGroup::"staff", action == Action::"approve", resource) unless { resource.requester == principal.id };\n`,
  );
  const policies = open([clerk()], { users: { staff: ["ana", "ben"], ops: ["ana", "eve"], leads: ["ana"] } });
  const may = (user: string, requester: string) =>
    policies.decideFor(user, { kind: "approve", approval: "a_1", agent: "clerk", tool: "look", requester }).verdict.kind;
  expect(["ana", "ben", "eve"].map((user) => may(user, "zoe"))).toEqual(["allow", "allow", "deny"]);
  expect(may("ana", "ana")).toBe("deny"); // whoever asked for it does not answer it
  expect([...policies.groupsOf("ana")].sort()).toEqual(["leads", "ops", "staff"]);
});

test("Q-7 the holder refuses an answer of somebody who is not among the approvers, and a quorum is as many people", async () => {
  const question = (more: string) =>
    `${THINK}@ask("look?")\n${more}\npermit(principal, action in Action::"read", resource);\npermit(principal is User, action == Action::"approve", resource);\n`;
  const rules = [{ when: { says: "look" }, calls: [{ tool: "look", args: { page: 1 } }] }];
  const agent = clerk({ modelOptions: { rules } });
  const answered = async (policy: string): Promise<readonly string[]> => {
    write("base.cedar", policy);
    const runtime = await createRuntime(journalOptions(open([agent], { users: { ops: ["ana"] } }), [agent]));
    try {
      const { session, questions } = await runtime.complete("clerk", "look");
      const [q] = questions;
      if (q === undefined) throw new Error("no question");
      const told: string[] = [];
      for (const name of ["ben", "ana"]) {
        const person = createPerson(join(root, `home-${session}`), name, ed25519);
        await runtime.place.keyring.certifyPerson(name, person.key.publicKey);
        const wish = { kind: "answer", approval: q.approval, digest: q.digest, answer: { kind: "approve" } } as const;
        await runtime.putIntent(signIntent(person, { id: intentId(`i-${session}-${name}`), session, at: millis(1), wish }));
        for await (const live of runtime.resume(session))
          if (live.kind === "entry" && live.entry.event.kind === "intent.refused") told.push(live.entry.event.reason);
          else if (live.kind === "entry" && live.entry.event.kind === "approval.answered") told.push(`${live.entry.event.by.id} answered`);
      }
      return told;
    } finally {
      await runtime.close();
    }
  };
  expect(await answered(question('@approvers("ops")'))).toEqual(["it is for ops to answer", "ana answered"]);
  expect(await answered(question('@quorum("2")'))).toEqual(["ben answered", "ana answered"]);
});

test("G-9 a set that does not load never replaces one that did; one that loads does, with another digest", async () => {
  write("base.cedar", THINK);
  const policies = open();
  const first = policies.digest;
  for (const broken of [
    "permit(principal, action, resource)",
    'permit(principal, action == Action::"tool:nope", resource);',
    "// nothing",
  ]) {
    write("base.cedar", broken);
    expect((await policies.reload()).kind).toBe("refused");
    expect([thinks(policies).kind, policies.digest]).toEqual(["allow", first]);
  }
  write("base.cedar", READ);
  expect((await policies.reload()).kind).toBe("loaded");
  expect(thinks(policies).kind).toBe("deny");
  expect(policies.digest).not.toBe(first);
  expect((await policies.reload()).kind).toBe("same");
});

test("G-9 a candidate that is refused after it was decided with leaves no trace in what is in force", async () => {
  write("base.cedar", THINK);
  const policies = open();
  expect(thinks(policies).kind).toBe("allow");
  write("base.cedar", '@id("think")\nforbid(principal, action, resource);\n');
  write("base.cases.json", JSON.stringify([{ name: "it thinks", action: "model", verdict: "allow" }]));
  for (let i = 0; i < 3; i += 1) {
    expect((await policies.reload()).kind).toBe("refused");
    // asked with other facts, so that the engine decides and no memory does
    expect(policies.decide({ kind: "model", model: `offline/${i}` }, facts()).verdict.kind).toBe("allow");
  }
});

test("G-15 a set is in force only once the journal says so; what the journal cannot take is not", async () => {
  write("base.cedar", THINK);
  const policies = open();
  const stop = policies.recordedBy(() => Promise.reject(new Error("the disk is full")));
  write("base.cedar", READ);
  await expect(policies.reload()).rejects.toThrow("the disk is full");
  expect(thinks(policies).kind).toBe("allow");
  stop();
  expect((await policies.reload()).kind).toBe("loaded");
  expect(thinks(policies).kind).toBe("deny");
});

const journalOptions = (gate: Policies, agents: readonly Agent[]) => ({
  directory: join(root, ".orgate"),
  agents,
  gate,
  principal: { kind: "user", id: "ana" } as const,
  powerCut: "lose-last-moments" as const,
});

test("G-15 the journal has each set once, whoever opens it, and each refusal", async () => {
  write("base.cedar", THINK);
  const told = async (policies: Policies, work: () => Promise<unknown>): Promise<readonly JournalEvent[]> => {
    const runtime = await createRuntime(journalOptions(policies, [clerk()]));
    try {
      await work();
      return (await runtime.place.store.journal.read(POLICY, seq(0), 100)).map((e) => e.event);
    } finally {
      await runtime.close();
    }
  };
  const policies = open();
  expect(await told(policies, async () => {})).toMatchObject([
    { kind: "policy.loaded", digest: policies.digest, files: [{ path: "base.cedar" }] },
  ]);
  const events = await told(open(), async () => {});
  expect(events).toHaveLength(1);
  const third = open();
  const more = await told(third, async () => {
    write("base.cedar", "permit(");
    await third.reload();
    await third.reload(); // the same refusal again is no news
    write("base.cedar", READ);
    await third.reload();
  });
  expect(more.map((e) => e.kind)).toEqual(["policy.loaded", "policy.refused", "policy.loaded"]);
  expect(more[1]).toMatchObject({ during: "reload", problems: [expect.stringMatching(/^policies\/base\.cedar:1:\d+: /)] });
});

/** Resolves with what the watcher tells next. */
function tidings(policies: Policies) {
  const waiting: ((r: ReloadOutcome) => void)[] = [];
  const early: ReloadOutcome[] = [];
  const stop = watchPolicies(policies, (told) => {
    if (told.kind === "failed") throw told.error;
    if (told.kind === "same") return;
    const next = waiting.shift();
    if (next === undefined) early.push(told);
    else next(told);
  });
  const next = (): Promise<ReloadOutcome> => {
    const known = early.shift();
    return known === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(known);
  };
  return { next, stop };
}

test("G-9 G-15 an edit while a session runs decides its next call; a broken edit is refused and the old set goes on", async () => {
  write("base.cedar", THINK + READ);
  const pages: number[] = [];
  const turned = defineTool({
    name: "look",
    description: "Looks at a page, while somebody edits the policies.",
    input: z.strictObject({ page: z.int() }),
    effects: ["read"],
    repeat: "read",
    async run({ page }) {
      pages.push(page);
      write("base.cedar", page === 1 ? "permit(" : THINK + NO_READ);
      const told = await news.next();
      return `page ${page}, and the edit was ${told.kind}`;
    },
  });
  const rule = (page: number, called: number) => ({
    when: { says: "pages", result: `page ${called}` },
    calls: [{ tool: "look", args: { page } }],
  });
  const rules = [{ when: { says: "pages", notCalled: ["look"] }, calls: [{ tool: "look", args: { page: 1 } }] }, rule(2, 1), rule(3, 2)];
  const agent = clerk({ tools: [turned], modelOptions: { rules: [...rules, { when: { failed: true }, say: "it is closed" }] } });
  const policies = open([agent]);
  const news = tidings(policies);
  const runtime = await createRuntime(journalOptions(policies, [agent]));
  try {
    const { events, output, ending } = await runtime.complete("clerk", "read the pages");
    expect(pages).toEqual([1, 2]);
    expect({ output, ending }).toEqual({ output: "it is closed", ending: "completed" });
    const decided = listDecisions(events).flatMap(({ event: e }) => (e.action.kind === "call" ? [e.verdict] : []));
    expect(decided.map((v) => v.kind)).toEqual(["allow", "allow", "deny"]);
    expect(decided.at(-1)).toMatchObject({ reason: "reading is closed", because: ["base/no-read"] });
    const told = (await runtime.place.store.journal.read(POLICY, seq(0), 100)).map(({ event }) => event.kind);
    expect(told).toEqual(["policy.loaded", "policy.refused", "policy.loaded"]);
  } finally {
    news.stop();
    await runtime.close();
  }
});

test("G-9 the watcher sees a folder that is replaced as a whole, and a new folder in it", async () => {
  write("base.cedar", THINK);
  const policies = open();
  const news = tidings(policies);
  try {
    const folder = join(root, "policies");
    mkdirSync(join(root, "next"));
    writeFileSync(join(root, "next", "base.cedar"), READ);
    renameSync(folder, join(root, "before"));
    renameSync(join(root, "next"), folder);
    expect((await news.next()).kind).toBe("loaded");
    expect(existsSync(join(root, "before"))).toBe(true);
    write("library/more.cedar", THINK);
    expect((await news.next()).kind).toBe("loaded");
    expect(thinks(policies).kind).toBe("allow");
    write("library/more.cedar", READ.replace('"read"', '"read-too"'));
    expect((await news.next()).kind).toBe("loaded");
    expect(thinks(policies).kind).toBe("deny");
  } finally {
    news.stop();
  }
});

test("G-15 two processes that record at once leave each set once", async () => {
  write("base.cedar", THINK);
  const runtime = await createRuntime(journalOptions(open(), [clerk()]));
  try {
    write("base.cedar", THINK + READ);
    const where = { journal: runtime.place.store.journal, now: () => Date.now() as never };
    await Promise.all([recordPolicies(where, open()), recordPolicies(where, open()), recordPolicies(where, open())]);
    const told = (await runtime.place.store.journal.read(POLICY, seq(0), 100)).map(({ event }) => event.kind);
    expect(told).toEqual(["policy.loaded", "policy.loaded"]);
  } finally {
    await runtime.close();
  }
});

test("G-9 what Cedar reads and cannot decide by, nested too deep, is refused with its place: whatever loads decides", () => {
  const engine = cedarEngine();
  const cast = toPolicyWorld([clerk()], NO_GROUPS);
  const shapes: readonly ((n: number) => string)[] = [
    (n) => Array.from({ length: n }, (_, i) => `context.args.page == ${i}`).join(" || "),
    (n) => `${"!(".repeat(n)}context.args.page == 1${")".repeat(n)}`,
  ];
  const asked = caseSchema.parse({ name: "page 0", agent: "clerk", action: "tool:look", args: { page: 0 }, verdict: "allow" });
  const { action } = toCaseAction(asked, cast.tools);
  for (const shape of shapes) {
    const became = Array.from({ length: 20 }, (_, i) => 20 + 5 * i).map((n) => {
      const text = `${THINK}permit(principal, action in Action::"read", resource)\nwhen { ${shape(n)} };\n`;
      const load = loadPolicies([{ path: "policies/a.cedar", name: "a", text, shadow: false }], cast, engine);
      if (load.kind === "refused") return load.problems.map(({ line, detail }) => `${line} ${detail}`).join();
      const { verdict } = cedarGate(load.set, engine, sha256).decide(action, toCaseFacts(asked, cast.tools));
      return verdict.kind === "deny" ? verdict.faults.map(({ message }) => message).join() : verdict.kind;
    });
    expect(became[0]).toMatch(/^(?:allow)?$/);
    expect(became.at(-1)).toMatch(/^3 it is nested deeper than Cedar can decide by|^3 memory access/);
    expect(became.filter((one) => /recursion/.test(one))).toEqual([]);
  }
});

test("G-9 a file of policies that was emptied, or holds comments alone, refuses the set with its place", () => {
  write("base.cedar", THINK + READ);
  for (const text of ["", " \n", "// forbid(principal, action, resource);\n"]) {
    write("closed.cedar", text);
    expect(faultOf(() => open())).toMatchObject({
      kind: "policies-refused",
      problems: [{ file: "policies/closed.cedar", line: 1, column: 1, detail: expect.stringContaining("it has no policy") }],
    });
  }
  write("closed.cedar", `// what is said below\n${NO_READ}`);
  expect(
    open()
      .current()
      .policies.map(({ id }) => id),
  ).toContain("closed/no-read");
});

test("G-14 a case about an agent or a tool that is nearly one of the project is refused with its place and the nearest; an agent near none, and a person who is nearly one, are warned of", () => {
  write("base.cedar", THINK + READ);
  const refused = (more: object): readonly unknown[] => {
    write(
      "base.cases.json",
      JSON.stringify([{ name: "no", agent: "clerk", action: "tool:look", args: { page: 1 }, verdict: "deny", ...more }]),
    );
    const found = tryLoadFolder({
      place: { folder: join(root, "policies"), label: "policies", within: root },
      agents: [clerk()],
      groups: NO_GROUPS,
      surface: "library",
    });
    return found.report.problems.map(({ line, column, detail }) => [line, column, detail]);
  };
  expect(refused({ agent: "clark", action: "tool:look" })).toEqual([[1, 2, "case `no`: there is no agent `clark`; did you mean `clerk`?"]]);
  expect(refused({ action: "tool:loook", effects: ["write"] })).toEqual([
    [1, 2, "case `no`: there is no tool `loook`; did you mean `look`?"],
  ]);
  expect(refused({ action: "tool:any_look", effects: ["write"] })).toEqual([]);
  expect(refused({ agent: undefined, action: "tool:any", effects: ["write"] })).toEqual([]);
  const doubts = (more: object) => {
    write("base.cases.json", JSON.stringify([{ name: "no", action: "approve", verdict: "deny", ...more }]));
    return open([clerk()], { users: { ops: ["anne"] } })
      .current()
      .warnings.map(({ file, line, detail }) => [file, line, detail]);
  };
  const place = ["policies/base.cases.json", 1];
  expect(doubts({ user: "anna" })).toEqual([[...place, "case `no`: `anna` is in no group of this project; did you mean `anne`?"]]);
  expect(doubts({ agent: "treasurer", action: "delegate", resource: { type: "Agent", id: "clerk" } })).toEqual([
    [...place, "case `no`: there is no agent `treasurer`, so it proves nothing about one"],
  ]);
  expect(doubts({ user: "stranger" })).toEqual([]);
});
