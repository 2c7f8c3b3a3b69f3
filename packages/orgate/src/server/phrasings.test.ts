/** The shipped coordinator on the offline model: what it makes of what operators say. */
import type { Message, ModelRequest } from "@orgate/core";
import { millis, seq } from "@orgate/core/vocab";
import { afterAll, expect, test } from "vitest";
import { COORDINATOR } from "../coordinator/tools.ts";
import { modelFor } from "../models/offline/model.ts";
import { type DeskStand, openDeskStand } from "./fixtures/desk-stand.ts";

const stands: Promise<DeskStand>[] = [];
let stand: Promise<DeskStand> | null = null;
const opened = (): Promise<DeskStand> => {
  stand ??= openDeskStand();
  if (!stands.includes(stand)) stands.push(stand);
  return stand;
};
afterAll(async () => {
  for (const one of stands) await (await one).close();
});

type Call = readonly [tool: string, args: object];
const list = (call: Call, ...said: readonly string[]): readonly (readonly [string, Call])[] => said.map((text) => [text, call]);

// biome-ignore format: one question, one block
const ASKED = [
  ...list(["list_agents", {}],
    "which agents are there", "Which agents are there?", "list agents", "list all the agents", "show me the agents", "what agents do we have?",
    "how many agents are there?", "who is in the fleet?", "give me an overview of the fleet", "tell me about the agents", "are there any agents?", "agents"),
  ...list(["list_approvals", {}],
    "what is waiting for me", "What's waiting?", "what do I have to approve?", "any approvals?", "show pending approvals", "are there open questions?",
    "what needs my attention?", "is anybody waiting for an answer?", "is anything blocked on me?", "what is in my queue?", "anything pending?", "do I have to decide anything: what waits?"),
  ...list(["list_schedules", {}],
    "which schedules are there", "Which schedules are there?", "list schedules", "show me the schedules", "what is scheduled?", "any cron jobs?",
    "what fires next?", "what is due next?", "when does the next schedule run?", "show the timetable", "what runs by itself?", "which jobs are planned?"),
  ...list(["session_events", { of: "clerk", only: "denied" }],
    "why was clerk denied", "Why was clerk denied?", "why was the clerk refused?", "why was agent clerk blocked?", "what was clerk denied?", "which policy denied clerk?",
    "explain the denial of clerk", "why is clerk not allowed to list?", "why did the gate deny clerk?", "who refused clerk?", "why can't clerk do that, was it rejected?", "show the denials of clerk"),
  ...list(["run_agent", { agent: "clerk", input: "count the chairs" }],
    "run clerk: count the chairs", "Run clerk to count the chairs", "please run clerk: count the chairs", "start clerk with count the chairs",
    "can you run the clerk agent: count the chairs", "launch clerk, count the chairs", "execute clerk: count the chairs", "kick off clerk to count the chairs",
    "trigger agent clerk: count the chairs", "could you start clerk and count the chairs", "I want you to run clerk: count the chairs", "fire up clerk to count the chairs"),
  ...list(["agent_status", { agent: "clerk" }],
    "how is clerk", "How is clerk doing?", "how's clerk?", "status of clerk", "what is the state of clerk?", "clerk status", "is clerk ok?",
    "what is up with clerk?", "tell me about clerk", "check on clerk", "is the clerk running?", "show me clerk"),
  ...list(["list_sessions", {}],
    "which sessions are there?", "list sessions", "show me all sessions", "sessions", "what sessions do we have?", "give me the sessions",
    "how many sessions are there?", "any conversations?", "show the conversations", "are there any sessions?"),
  ...list(["list_sessions", { state: "running" }],
    "which sessions are running?", "show running sessions", "what is running?", "is anything running?", "what's running", "list the running sessions",
    "is any session running?", "what is in progress?", "how many conversations are running?", "who is at work?"),
  ...list(["query_metrics", {}],
    "how many tokens were used?", "show me the metrics", "usage", "what are the figures?", "how many turns were there?", "give me the statistics",
    "how much have we used?", "stats please", "how many tokens have we consumed?", "show the numbers"),
  ...list(["system_health", {}],
    "is everything in order?", "system health", "how is the server?", "is the system healthy?", "is anything broken?", "is all well?",
    "are there any problems?", "is anything halted?", "which breakers are open?", "is everything ok?"),
  ...list(["cancel_turn", { session: "s_01ab", reason: "asked for by the operator" }],
    "cancel s_01ab", "stop s_01ab", "please cancel the turn in s_01ab", "abort session s_01ab", "kill s_01ab", "can you stop the session s_01ab?",
    "interrupt s_01ab", "end the turn of s_01ab", "halt s_01ab now", "I want you to cancel s_01ab"),
  ...list(["set_breaker", { breaker: "tool:send_file", to: "open", reason: "asked for by the operator" }],
    "open the breaker tool:send_file", "open tool:send_file", "trip tool:send_file", "please open breaker tool:send_file", "disable tool:send_file",
    "switch off tool:send_file", "turn off tool:send_file", "break tool:send_file", "block tool:send_file", "can you open the breaker of tool:send_file?"),
  ...list(["set_breaker", { breaker: "tool:send_file", to: "closed", reason: "asked for by the operator" }],
    "close the breaker tool:send_file", "close tool:send_file", "reset tool:send_file", "please reset breaker tool:send_file", "enable tool:send_file",
    "switch on tool:send_file", "turn on tool:send_file", "restore tool:send_file", "unblock tool:send_file", "can you close the breaker of tool:send_file?"),
  ...list(["delegate", { agent: "clerk", task: "count the chairs" }],
    "ask clerk to count the chairs", "have clerk count the chairs", "tell clerk to count the chairs", "let clerk count the chairs", "please ask clerk: count the chairs",
    "can you ask the clerk to count the chairs", "get clerk to count the chairs", "delegate count the chairs to clerk", "hand count the chairs to the clerk", "assign count the chairs to clerk"),
] as const;

const request = (text: string, tools: ModelRequest["tools"]): ModelRequest => {
  const said: Message = { role: "user", text, tokens: 1, entry: seq(1) };
  return { system: "", context: [], messages: [said], tools, temperature: 0, answer: null, maxOutputTokens: 1_000, attempt: 1 };
};
const clock = { now: () => millis(0), elapsed: () => 0, sleep: async () => {} };

async function reply(text: string): Promise<readonly (readonly [string, object])[] | string> {
  const agent = (await opened()).runtime.inspect.agents.find(({ name }) => name === COORDINATOR);
  if (agent === undefined) throw new Error("there is no coordinator");
  const model = modelFor(agent.model, agent.modelOptions, clock);
  const { parts } = await model.ask(request(text, agent.tools), () => {}, new AbortController().signal);
  const calls = parts.flatMap((part) => (part.kind === "call" ? [[part.tool, JSON.parse(part.text)] as const] : []));
  return calls.length > 0 ? calls : parts.map((part) => part.text).join("");
}

test.each(ASKED)("W-37 the offline coordinator understands %j", async (text, [tool, args]) => {
  expect(await reply(text)).toEqual([[tool, args]]);
});

test("W-37 each question is understood in ten ways at least", () => {
  const ways = new Map<string, number>();
  for (const [, call] of ASKED) ways.set(JSON.stringify(call), (ways.get(JSON.stringify(call)) ?? 0) + 1);
  expect([...ways.values()].every((n) => n >= 10)).toBe(true);
  expect(ways.size).toBeGreaterThanOrEqual(12);
});

test("W-37 without a task an agent is run with what the operator said", async () => {
  for (const text of ["run clerk", "Run clerk!", "please start the clerk agent", "can you run clerk now?"])
    expect(await reply(text)).toEqual([["run_agent", { agent: "clerk", input: text }]]);
});

test("W-37 what it does not understand is answered with what it can", async () => {
  for (const text of ["sing me a song", "", "what is the capital of Peru, exactly", "42"]) {
    const said = await reply(text);
    expect(said).toContain("I can answer:");
    expect(said).toContain("why was AGENT or TOOL denied");
  }
});
