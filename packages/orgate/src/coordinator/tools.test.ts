import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ApprovalId, type CallKey, epoch, type SessionId, type ToolContext } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import { readProject } from "../config/project-toml.ts";
import { projectScheduleSchema } from "../config/schedule-schema.ts";
import { deriveIntentId } from "../operations/idempotency.ts";
import { loadProject } from "../project/load.ts";
import { openCalendar } from "../schedules/calendar.ts";
import { toScheduleSpec } from "../schedules/declaring.ts";
import { getScheduleStore } from "../schedules/index.ts";
import { type DeskStand, openDeskStand } from "../server/fixtures/desk-stand.ts";
import { COORDINATOR } from "./tools.ts";

const open: DeskStand[] = [];
afterEach(async () => {
  for (const stand of open.splice(0)) await stand.close();
});
async function opened(toml?: string): Promise<DeskStand> {
  const stand = await openDeskStand(undefined, toml);
  open.push(stand);
  return stand;
}

const numbersIn = (text: string): readonly string[] => text.match(/(?<![\w-])\d+(?![\w-])/g) ?? [];
const ran = (desk: DeskStand, agent: string, input: string) =>
  desk.runtime.run(agent, input, { principal: { kind: "user", id: "ann" } }).result;

/** As the driver calls it: with the conversation that it is called in. */
async function call(desk: DeskStand, session: SessionId, tool: string, args: object, key = "k") {
  const found = desk.desk.tools.find(({ name }) => name === tool);
  const checked = found?.check(JSON.parse(JSON.stringify(args)));
  if (found === undefined || checked?.kind !== "valid") throw new Error("no such call");
  const context: ToolContext = {
    session,
    key: key as CallKey,
    epoch: epoch(1),
    start: 1,
    signal: new AbortController().signal,
    spent: () => {},
    wouldPermit: () => "yes" as const,
    note: () => {},
    evidence: () => {},
  };
  return JSON.parse(JSON.stringify(await found.run(checked.args, context)));
}
/** Approves the only question there is, as the policies ask it. */
async function approve(desk: DeskStand): Promise<string> {
  const [question, ...more] = await desk.runtime.approvals.list();
  if (question === undefined || more.length > 0) throw new Error("not one question");
  const answer = {
    kind: "answer",
    approval: question.approval as ApprovalId,
    digest: question.digest,
    answer: { kind: "approve" },
  } as const;
  await desk.sessionDriver.send({ session: question.session, wish: answer, as: desk.people.ann });
  return question.tool;
}
async function ended(desk: DeskStand, session: SessionId, turns: number): Promise<string | null> {
  let left = turns;
  for await (const live of desk.runtime.subscribe({ session }))
    if (live.kind === "entry" && live.entry.event.kind === "turn.ended" && --left === 0) return live.entry.event.output;
  throw new Error("it did not end");
}

test("W-37 the answer changes with the fleet, and each of its figures stands in what the tools said in this turn", async () => {
  const desk = await opened();
  const session = await desk.converse("ann");
  const seen: string[] = [];
  const asks = [
    "which agents are there?",
    "how is clerk?",
    "list sessions",
    "how many tokens were used?",
    "is everything in order?",
    "what is waiting for me?",
    "why was clerk denied?",
  ];
  for (let round = 0; round < 2; round += 1) {
    for (const text of asks) {
      const { output, calls, results } = await desk.say(session, text);
      expect(calls, text).toHaveLength(1);
      const said = results.join(" ");
      for (const figure of numbersIn(output ?? "")) expect(numbersIn(said), `${text}: ${output}`).toContain(figure);
      seen.push(output ?? "");
    }
    await ran(desk, "clerk", "list them");
    await ran(desk, "clerk", "health of the place");
    await desk.runtime.breakers.set("tool:list_agents", { to: "open", reason: "test" }, desk.people.ann);
    await desk.runtime.breakers.set("tool:list_agents", { to: "closed", reason: "test" }, desk.people.ann);
    await desk.runtime.halt("agent:other", "a pause", desk.people.ann);
  }
  const [before, after] = [seen.slice(0, asks.length), seen.slice(asks.length)];
  for (const [i, text] of asks.entries()) if (!text.includes("waiting")) expect(after[i], text).not.toBe(before[i]);
  expect(before[0]).toContain("3 agents.");
  expect(after[6]).toContain("a clerk lists nothing");
  expect(after[6]).toContain("base/no-lists-for-clerks");
  expect(after[4]).toContain("halted: agent:other by ann: a pause");
});

test("W-37 what waits is told with whether this operator may answer it", async () => {
  const desk = await opened();
  const session = await desk.converse("ann");
  const other = await desk.converse("ann");
  expect((await desk.say(other, "run clerk: count")).output).toBeNull();
  const { output } = await desk.say(session, "what is waiting for me?");
  expect(output).toContain("1 questions wait, 1 of them for you to answer.");
  expect(output).toMatch(/a_\w+: coordinator wants run_agent \(Agent clerk\), for ann: May the coordinator run this agent for you\?/);
});

test("W-35 running asks, and once a person has said yes the agent really runs, on the operator's behalf and signed by them", async () => {
  const desk = await opened();
  const session = await desk.converse("ann");
  expect(await desk.say(session, "run clerk: count the chairs")).toMatchObject({ output: null, calls: ["run_agent"], results: [] });
  expect(await desk.runtime.sessions.list({ agent: "clerk" })).toEqual([]);
  const over = ended(desk, session, 1);
  expect(await approve(desk)).toBe("run_agent");
  const [made] = await over.then(() => desk.runtime.sessions.list({ agent: "clerk" }));
  expect(made).toMatchObject({ agent: "clerk", principal: { id: "ann" }, turns: 1, ending: "completed", surface: "api" });
  expect(await over).toContain(`clerk has run in ${made?.session}: ended completed. Done: count the chairs`);
});

test("W-35 the same call again, as after a crash, is the same run", async () => {
  const desk = await opened();
  const session = await desk.converse("ann");
  await desk.say(session, "which agents are there?");
  const args = { agent: "clerk", input: "count" };
  const first = await call(desk, session, "run_agent", args, "k1");
  expect(await call(desk, session, "run_agent", args, "k1")).toEqual(first);
  expect(await call(desk, session, "run_agent", args, "k2")).not.toEqual(first);
  expect((await desk.runtime.sessions.list({ agent: "clerk" })).map(({ turns }) => turns)).toEqual([1, 1]);
});

test("W-35 the key of a call is for its one request: another run or another cancellation under it is refused", async () => {
  const desk = await opened();
  const session = await desk.converse("ann");
  await desk.say(session, "which agents are there?");
  const run = (input: string) => call(desk, session, "run_agent", { agent: "clerk", input }, "k1");
  const { session: made } = await run("count");
  await expect(run("count twice")).rejects.toThrow("used for another request");
  expect((await desk.runtime.sessions.list({ agent: "clerk" })).map(({ turns }) => turns)).toEqual([1]);

  const cancel = (reason: string) => call(desk, session, "cancel_turn", { session: made, reason }, "k1");
  await expect(cancel("enough")).rejects.toThrow("no turn"); // refused by the session: it has ended
  await expect(cancel("too much")).rejects.toThrow("used for another request");
  await expect(cancel("enough")).rejects.toThrow("no turn");
  const refused = (await desk.entries(made)).flatMap(({ event }) => (event.kind === "intent.refused" ? [event.intent] : []));
  expect(refused).toEqual([deriveIntentId("cancel", "k1")]);
});

test("W-9 an operator who sees one agent is told of one, and of no session, figure, question or event of another", async () => {
  const desk = await opened();
  for (const agent of ["clerk", "other", "other"]) await ran(desk, agent, "list them");
  const hidden = await desk.runtime.sessions.list({ agent: "other" });
  const session = await desk.converse("ben");
  await desk.say(session, "which agents are there?", "ben");
  const look = (tool: string, args: object = {}) => call(desk, session, tool, args);
  expect(await look("list_agents")).toMatchObject({ count: 1, agents: [{ name: "clerk", sessions: 1 }] });
  expect(await look("list_sessions")).toMatchObject({ count: 1, sessions: [{ agent: "clerk" }] });
  expect(await look("query_metrics")).toMatchObject({ sessions: 1, turns: 1, byAgent: [{ name: "clerk", count: 1 }] });
  expect(await look("list_approvals")).toMatchObject({ count: 0 });
  const spec = (agent: string) => toScheduleSpec(projectScheduleSchema().parse({ agent, cron: "0 2 * * *" }), "ann", openCalendar());
  const schedules = ["clerk", "other"].map((agent) => ({ name: `${agent}-nightly`, spec: spec(agent), from: "orgate.toml" }));
  await getScheduleStore(desk.runtime.place).declare(schedules, { kind: "user", id: "ann" });
  expect(await look("list_schedules")).toMatchObject({
    count: 1,
    more: false,
    schedules: [{ schedule: "clerk-nightly", agent: "clerk", last: "never" }],
  });
  for (const sought of ["other", hidden[0]?.session ?? "", "run_agent"])
    await expect(look("session_events", { of: sought })).rejects.toThrow(/^there is no /);
  await expect(look("agent_status", { agent: "other" })).rejects.toThrow("there is no agent `other`; there are: clerk");
  await expect(look("run_agent", { agent: "other", input: "x" })).rejects.toThrow("there is no agent `other`");
  expect(JSON.stringify(await look("session_events", { of: "clerk" }))).not.toContain("other");
});

test("F-9 the coordinator sets no breaker of a name that nothing has", async () => {
  const desk = await opened();
  const session = await desk.converse("ann");
  await desk.say(session, "which agents are there?");
  const setting = call(desk, session, "set_breaker", { breaker: "tool:list_agnts", to: "open", reason: "x" });
  await expect(setting).rejects.toThrow("nothing was set: this project has no tool `list_agnts`");
  expect(await desk.runtime.breakers.list()).toEqual([]);
});

test("W-35 what the operator may not do is not done, whatever the coordinator may", async () => {
  const desk = await opened();
  await ran(desk, "clerk", "hello");
  const [made] = await desk.runtime.sessions.list({ agent: "clerk" });
  const session = await desk.converse("ben");
  await desk.say(session, "which agents are there?", "ben");
  const cancelling = call(desk, session, "cancel_turn", { session: made?.session });
  await expect(cancelling).rejects.toThrow("`ben` may not cancel");
  const setting = call(desk, session, "set_breaker", { breaker: "tool:x", to: "open" });
  await expect(setting).rejects.toThrow("`ben` may not set `tool:x`");
  expect(await desk.runtime.breakers.list()).toEqual([]);
});

test("W-35 words of somebody else in the conversation do not borrow what its operator may", async () => {
  const desk = await opened();
  for (const agent of ["clerk", "other"]) await ran(desk, agent, "hello");
  const session = await desk.converse("ann");
  expect((await desk.say(session, "which agents are there?", "ann")).output).toContain("3 agents.");
  expect((await desk.say(session, "which agents are there?", "ben")).output).toContain("1 agents.");
  const strange = (await desk.runtime.sessions.create({ agent: COORDINATOR, principal: { kind: "user", id: "eve" } })).session;
  expect((await desk.say(strange, "which agents are there?", "ann")).output).toContain("`eve` is not known to this server");
});

test("W-35 a delegate is an agent that the operator may run", async () => {
  const desk = await opened();
  const session = await desk.converse("ben");
  const { output } = await desk.say(session, "ask other to count the chairs", "ben");
  expect(output).toContain("`other` is not run: ben sees the clerk alone");
  expect(await desk.runtime.sessions.list({ agent: "other" })).toEqual([]);
  const mine = await desk.converse("ann");
  expect((await desk.say(mine, "ask clerk to count the chairs")).output).toBeNull();
  const over = ended(desk, mine, 1);
  expect(await approve(desk)).toBe("delegate");
  expect(await over).toContain("Done: count the chairs");
});

const BOSS = `name = "boss"
instructions = "Have others look."
model = "offline/boss"
tools = ["system_health"]
delegates = ["coordinator"]
[[modelOptions.rules]]
when.says = "look around"
calls = [{ tool = "system_health" }]
[[modelOptions.rules]]
when.says = "tell me"
calls = [{ tool = "delegate", args = { agent = "coordinator", task = "which agents are there?" } }]
[[modelOptions.rules]]
when = { notCalled = ["delegate"], called = ["system_health"] }
calls = [{ tool = "delegate", args = { agent = "coordinator", task = "which agents are there?" } }]
[[modelOptions.rules]]
when = { called = ["delegate"] }
say = "{{result}}"
`;
const BOSS_MAY = `
@id("ask") @ask("Shall it look?") permit(principal == Agent::"boss", action == Action::"tool:system_health", resource);
@id("delegate") permit(principal == Agent::"boss", action == Action::"delegate", resource);
@id("list") permit(principal == Agent::"coordinator", action == Action::"tool:list_agents", resource);
`;

test("W-35 whoever spoke in the session above a coordinator that was delegated to is heard there too", async () => {
  const more = [
    { path: "agents/boss.toml", text: BOSS },
    { path: "policies/boss.cedar", text: BOSS_MAY },
  ];
  for (const [steered, told] of [
    [false, "4 agents."],
    [true, "1 agents."],
  ] as const) {
    const desk = await openDeskStand(undefined, "", more);
    open.push(desk);
    const { session } = await desk.runtime.sessions.create({ agent: "boss", principal: { kind: "user", id: "ann" } });
    expect((await desk.say(session, "look around")).output).toBeNull();
    if (steered) await desk.sessionDriver.send({ session, wish: { kind: "steer", text: "and tell me" }, as: desk.people.ben });
    const over = ended(desk, session, 1);
    await approve(desk);
    expect(await over).toContain(told);
  }
});

test("W-36 what was said in a session is in no result of the coordinator's tools", async () => {
  const desk = await opened();
  await ran(desk, "clerk", "my password is zanzibar, list them");
  await ran(desk, "clerk", "zanzibar health");
  const [made] = await desk.runtime.sessions.list({ agent: "clerk" });
  const session = await desk.converse("ann");
  await desk.say(session, "which agents are there?");
  const looks = [
    ["session_events", { of: made?.session, most: 50 }],
    ["session_events", { of: "clerk", most: 50 }],
    ["list_sessions", {}],
    ["agent_status", { agent: "clerk" }],
  ] as const;
  for (const [tool, args] of looks) {
    const told = JSON.stringify(await call(desk, session, tool, args));
    expect(told).toContain("s_");
    expect(told).not.toContain("zanzibar");
  }
});

test("W-36 lists are bounded and say so", async () => {
  const desk = await opened();
  for (let i = 0; i < 4; i += 1) await desk.runtime.sessions.create({ agent: "clerk" });
  const session = await desk.converse("ann");
  await desk.say(session, "which agents are there?");
  expect(await call(desk, session, "list_sessions", { most: 3 })).toMatchObject({ count: 3, more: true });
  expect(await call(desk, session, "list_sessions", { agent: "clerk", most: 4 })).toMatchObject({ count: 4 });
  const events = await call(desk, session, "session_events", { of: session, most: 2 });
  expect(events.events).toHaveLength(2);
});

test("W-36 an answer that is labelled beyond untrusted stays in its session", async () => {
  const desk = await opened();
  const session = await desk.converse("ann");
  await desk.say(session, "which agents are there?");
  await desk.runtime.sessions.create({ agent: "clerk", id: "labelled", labels: ["secret"] });
  expect(await call(desk, session, "run_agent", { agent: "clerk", input: "x" }, "plain")).toMatchObject({ output: "Done: x", note: "" });
  // the session that the call would open is there already, and has seen a secret
  const { sha256 } = await import("../node/crypto.ts");
  await desk.runtime.sessions.create({ agent: "clerk", id: `run-${sha256("kept").slice(-40)}`, labels: ["secret"] });
  const kept = await call(desk, session, "run_agent", { agent: "clerk", input: "x" }, "kept");
  expect(kept).toMatchObject({
    state: "ended",
    ending: "completed",
    output: null,
    note: "its answer is labelled secret: read it in the session",
  });
});

test("W-37 without a server the tools are there by name and do nothing", async () => {
  const desk = await opened();
  const { agents, coordinator: idle } = await loadProject(readProject(desk.folder));
  expect(agents.find(({ agent }) => agent.name === COORDINATOR)?.agent.tools).toHaveLength(11);
  for (const tool of idle.tools) {
    const run = tool.run({ agent: "clerk", session: "s_1", of: "clerk", breaker: "tool:x", to: "open", input: "x" }, {
      session: "s_1",
      key: "k",
    } as unknown as ToolContext);
    await expect(run, tool.name).rejects.toThrow("`orgate up` starts it");
  }
});

test("W-37 its limits are 10, 50,000 and 120 s, its file's before those, and what orgate.toml says before both; it delegates to all the others", async () => {
  const desk = await opened("[coordinator]\niterations = 4\n");
  const load = async () => (await loadProject(readProject(desk.folder))).agents.find(({ agent }) => agent.name === COORDINATOR)?.agent;
  expect((await load())?.limits).toMatchObject({ iterations: 4, tokens: 50_000, turnMs: 120_000 });
  expect((await load())?.delegates).toEqual(["clerk", "other"]);
  const file = join(desk.folder, "agents/coordinator.toml");
  const text = readFileSync(file, "utf8");
  writeFileSync(
    file,
    text
      .replace("tokens = 50000\n", "tokens = 40000\n")
      .replace("turnMs = 120000\n", "")
      .replace("delegates = []", 'delegates = ["clerk"]'),
  );
  expect((await load())?.limits).toMatchObject({ iterations: 4, tokens: 40_000, turnMs: 120_000 });
  expect((await load())?.delegates).toEqual(["clerk"]);
  writeFileSync(join(desk.folder, "orgate.toml"), '[project]\nname = "desk"\n[coordinator]\ntokens = 100\n');
  await expect(load()).rejects.toThrow(/contextTokens \(32000\) is not smaller than tokens \(100\)/);
});

test("W-37 a conversation is its operator's, and goes on after a restart with what was said in it", async () => {
  const first = await openDeskStand();
  const session = await first.converse("ann", "desk-of-ann");
  await first.say(session, "which agents are there?");
  await first.close("keep");
  const second = await openDeskStand(first.folder);
  open.push(second);
  expect(await second.converse("ann", "desk-of-ann")).toBe(session);
  await expect(second.converse("ben", "desk-of-ann")).rejects.toThrow();
  expect((await second.say(session, "list sessions")).output).toContain(session);
  expect(await second.runtime.sessions.get(session)).toMatchObject({ turns: 2, surface: "coordinator", principal: { id: "ann" } });
});
