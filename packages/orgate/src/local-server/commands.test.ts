// @module-tag tmux
// Every command, on a real terminal, in one session: what it says there. The shell's own server, a project on disk, the offline model.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  APPROVAL_COMMANDS,
  CONVERSATION_COMMANDS,
  FLEET_COMMANDS,
  OPERATION_COMMANDS,
  ORCHESTRATE_COMMANDS,
  RECORD_COMMANDS,
  SESSION_COMMANDS,
} from "@orgate/shell";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AGENT, type Desk, makeDesk, POLICIES, until } from "../cli/commands/fixtures/desk.ts";
import { openPane, type Pane } from "./fixtures/pane.ts";

let desk: Desk;
let at: Pane;
const used = new Set<string>(["quit"]); // the last test leaves by it
const does = (line: string, words: string | RegExp): Promise<string> => {
  used.add(/^\/(\S+)/.exec(line)?.[1] ?? "");
  return at.does(line, words);
};

const ASKED = POLICIES.replace(
  '@id("no-sending")\n@reason("nothing leaves")\nforbid',
  '@id("may-send")\n@ask("May it send this?")\n@grant("session")\npermit',
);
beforeAll(() => {
  desk = makeDesk();
  desk.write("policies/desk.cedar", ASKED);
  desk.write("agents/desk.ts", AGENT.replace('model: "offline/desk",', 'model: "offline/desk", fallbacks: ["offline/spare"],'));
  const shipped = (file: string): string => readFileSync(join(import.meta.dirname, "../../../..", file), "utf8");
  desk.write("agents/conductor.toml", shipped("agents/conductor.toml"));
  desk.write("policies/conductor.cedar", shipped("policies/conductor/conductor.cedar"));
  desk.write("agents/other.ts", AGENT.replace('name: "desk"', 'name: "other"'));
  at = openPane(desk);
  at.orgate("shell --theme plain");
});
afterAll(() => {
  at.close();
  desk.remove();
});

test("S-20 talking: an agent is chosen, started, asked, told; what it is shown is cleared and compacted; another model is asked", async () => {
  await at.sees("nobody addressed");
  await does("/help", /conversation +\/ask[\s\S]*Ctrl-C twice\s+leaves/);
  await does("/help all", /\/agent use NAME \| clear/);
  await does("/help compact", /Prints before →\s+after/);
  await does("/agents", /desk +offline\/desk/);
  await does("/agent use desk", "you talk to desk");
  await does("/context", "nothing has been said");
  await does("/clear", "nothing has been said");
  await does("hello there", /You said: hello there[\s\S]*1 iteration/);
  await does("look around", /● look\(\)[\s\S]*I looked[\s\S]*2 iterations/);
  await does("/context", /of \d+k \(\d+ %\) tokens/);
  await does("/cost", /2 turns · 3 iterations · 1 call/);
  await does("/tokens", /tokens: \d+ in/);
  await does("/compact 1", /\d+ → \d+ tokens/);
  await does("/compact nonsense", "`/compact TOKENS`");
  await does("/model", /▸ offline\/desk\n {2}offline\/spare/);
  await does("/model spare", "from the next turn on: offline/spare");
  await does("which", /You said: which[\s\S]*@desk · offline\/spare/);
  await does("/model nobody", "there is no such model: offline/desk, offline/spare");
  await does("/model desk", "from the next turn on: offline/desk");
  await does("/clear", /begins again: the model no longer sees \d+ tokens of before/);
  await does("/history", "all of this conversation stands above");
  await does("/ask other one", /── other ──[\s\S]*You said: one/);
  at.keys("-l", "@other two");
  at.keys("Enter");
  await at.sees("You said: two");
  await does("/run other three", /You said: three/);
  await does("/run nobody three", "there is no agent `nobody`");
  await does("/send other four", /sent to other: `\/resume s_/);
  await does("/spawn other", /other is started: s_\w+\. You talk to it now/);
  await does("/agent clear", "nobody is addressed");
  await does("/agent use desk", "you talk to desk");
  await does("/new", "the next message begins a conversation");
  await does("a new one", "You said: a new one");
}, 120_000);

test("S-20 what is kept: positions under names, files, entries, sessions gone back to", async () => {
  await does("/snapshot", /s_\w+ at entry \d+: `\/branch \d+`/);
  await does("/snapshot before", /before is s_\w+ at entry \d+: `\/resume before`/);
  await does("after it", "You said: after it");
  await does("/snapshot before", /✗ /); // it is taken
  const back = await does("/resume before", /You said: a new one[\s\S]*@desk/);
  expect(back).not.toContain("after it");
  await does("/branch", /s_\w+ goes on from s_/);
  await does("/sessions", /session +state +agent[\s\S]*before/);
  await does("/sessions waiting", "no sessions yet");
  await does("/debug", /entries +\d+[\s\S]*held by/);
  await does("/export it.jsonl", /\d+ lines in .*it\.jsonl: `orgate journal verify FILE`/);
  expect(await desk.orgate("journal", "verify", "it.jsonl")).toMatchObject({ code: 0 });
  await does("/export it.jsonl", "cannot be written");
  await does("/audit 3", /\d+ · /);
  await does("/logs desk 5", /\d\d:\d\d:\d\d \w{6} /);
  await does("/verify", /the journal is what was written: \d+ entries/);
}, 120_000);

test("S-20 S-3 the fleet and what belongs to it: live, halted, let go on, its tools, skills, knowledge, schedules, secrets", async () => {
  await does("/tools", /look +read +read/);
  await does("/skills", "no agent has a skill");
  await does("/knowledge", "nothing is known yet");
  await does("/memory desk", "desk has kept nothing");
  await does("/cron", "nothing fires by itself");
  await does('/cron add daily desk "0 8 * * *" look', /daily is active, next in/);
  await does("/cron", /daily +active +desk +0 8 \* \* \* UTC/);
  await does("/cron pause daily not now", "daily is paused");
  await does("/cron resume daily", "daily is active");
  await does("/cron history daily", /ago +schedule daily resumed by user:/);
  await does("/cron next daily", /T08:00:00Z/);
  await does("/cron retry daily", "✗");
  await does("/cron retry daily 2030-01-31T01:00:00Z", "✗");
  await does("/cron retry daily soon", "DUE is `soon`: write a time like 2030-01-31T08:00:00Z");
  await does("/cron pause", "`/cron pause SCHEDULE [REASON]`");
  await does("/call scheduleNext schedule=daily limit=1", /"next": \[\s+\d+\s+\]/);
  await does("/call dance", "there is no operation `dance`");
  await does("/cron remove daily", "daily is removed");
  await does("/status", /ok · version/);
  await does("/doctor", /agent desk +offline\/desk \(its own\); then offline\/spare/);
  await does("/mcp", "there is no MCP server");
  await does("/secrets", "there is no secret");
  await does("/secrets set token", "a passphrase for the secrets:");
  at.keys("C-c");
  await at.sees("it was not said: nothing was done");
  await does("/secrets set token", "a passphrase for the secrets:");
  at.keys("-l", "long enough");
  at.keys("Enter");
  await at.sees("the passphrase again:");
  at.keys("-l", "long enough");
  at.keys("Enter");
  await at.sees("value of token:");
  at.keys("-l", "hunter2hunter2");
  at.keys("Enter");
  await at.sees("token is set");
  expect(at.screen()).not.toMatch(/hunter2|long enough/);
  expect(desk.read(".orgate/shell-history")).not.toMatch(/hunter2|long enough/);
  await does("/monitor", /0 running, 0 waiting[\s\S]*q or Esc leaves/);
  at.keys("q");
  await until(() => (at.screen().includes("q or Esc leaves") ? null : true));
  await does("/pause other too fast", "halted agent:other");
  at.keys("-l", "@other hello");
  at.keys("Enter");
  await at.sees(/other is halted by \S+ \(too fast\): it hears this when it goes on/);
  await does("/resume-agent other slow enough", /nothing is halted any more[\s\S]*You said: hello/);
  await does("/halt tool look wrong place", "halted tool:look");
  await does("/halts", /tool:look +\S+ +wrong place/);
  await does("/resume-work tool look mended", "nothing is halted any more");
  await does("/halts", "there are none");
  await does("/breakers", "there are none");
  await does("/breakers open tool:look it fails", "tool:look is open");
  await does("/breakers", /tool:look +open +\d+ +- +\S+ +it fails/);
  await does("/breakers close tool:look", "`/breakers close BREAKER REASON`");
  await does("/breakers close tool:look it works", "tool:look is closed");
  await does("/breakers open tool:lok x", "✗");
  await does("/dead-letters", "there are none");
  await does("/theme mauve", "there are: colour, contrast, plain");
  await does("/theme plain", "the theme is plain");
  await does("/attach nowhere", "no address of a server");
  await does("/detach", "a server of your own already");
  at.keys("-l", "/nonsense");
  at.keys("Enter");
  await at.sees("there is no command `/nonsense`");
}, 120_000);

test("S-20 people: a turn is stopped, steered, and asks; what waits is listed, explained, answered and remembered", async () => {
  at.keys("C-u");
  await does("/stop", "nothing is running");
  await does("/new", "the next message");
  await does("hold on", "● hold()");
  await does("/steer gently", /gently/);
  await does("/stop enough", /The turn was cancelled: enough[\s\S]*cancelled · /);
  const unknown = await does("/approvals", /nothing waits for an answer[\s\S]*hold +desk[\s\S]*`\/resolve/);
  await does(`/resolve ${/\w{6}:\S+/.exec(unknown)?.[0]} did-not-happen I looked`, "hold is resolved: did-not-happen");
  await does("/resolve", "`/resolve CALL");
  await does("/send desk send it", "sent to desk");
  const listed = await does("/approvals", /a_\w+ +desk +send[\s\S]*desk asks/);
  const approval = /a_\w+/.exec(listed)?.[0] ?? "";
  await does(`/why ${approval}`, /desk wants send[\s\S]*because of desk\/may-send/);
  await does(`/deny ${approval} not today`, "");
  await until(() => (at.screen().includes("── desk asks") ? null : true));
  await does("/send desk send again", "sent to desk");
  const again = await does("/approvals", /a_\w+ +desk +send[\s\S]*desk asks/);
  await does(`/withdraw ${/a_\w+/.exec(again)?.[0]}`, "say why");
  await does(`/approve ${/a_\w+/.exec(again)?.[0]}`, "");
  await until(() => (sent() === 1 ? true : null));
  await does("/grants", "no answer is remembered");
}, 120_000);
const sent = (): number => (desk.has("effects.txt") ? desk.read("effects.txt").split("send\n").length - 1 : 0);

test("S-4 while a turn runs: why, edited, denied with a reason, granted, revoked, once; what was typed before it asked is no answer", async () => {
  at.keys("-l", "send one");
  at.keys("Enter");
  at.keys("-l", "y"); // on its way when the question comes
  await at.sees("── desk asks");
  await at.sees(/› y\n/);
  expect(sent()).toBe(1);
  at.keys("C-u", "Tab");
  await at.sees("y once");
  at.keys("?");
  await at.sees(/\{\}\n {2}for root/);
  at.keys("e");
  await at.sees("arguments: {}");
  at.keys("Enter");
  await until(() => (sent() === 2 ? true : null));
  await does("send two", "y once");
  at.keys("n");
  await at.sees("why not?");
  at.keys("-l", "not now");
  at.keys("Enter");
  await at.sees(/You denied it: not now|denied: .*not now/);
  await does("send three", "y once");
  at.keys("g");
  await at.sees(/It would cover every later call of send[\s\S]*y grants that/);
  expect(sent()).toBe(2);
  at.keys("y");
  await until(() => (sent() === 3 ? true : null));
  const grants = await does("/grants", /g_\w+ · desk · given by root\s+covers every later call of send/);
  await does("send four", /send answered: sent[\s\S]*2 iterations/);
  expect(sent()).toBe(4);
  await does(`/revoke ${/g_\w+/.exec(grants)?.[0]} enough`, "desk asks again");
  await does("send five", "y once");
  at.keys("y");
  await until(() => (sent() === 5 ? true : null));
}, 120_000);

test("S-17 S-20 several at one task: a chain, all at once, a race, a debate, and Esc stops what runs", async () => {
  await does("/agent use desk", "you talk to desk");
  await does('/chain desk other "hello"', /● desk\(hello\)[\s\S]*● other\([\s\S]*You said: hello[\s\S]*completed · /);
  await does('/parallel desk other "both"', /## desk\s+You said: both\s+## other\s+You said: both[\s\S]*2 members together/);
  await does('/race desk other "first"', /You said: first[\s\S]*completed · /);
  await does('/debate desk other 1 "why"', /● desk\([\s\S]*● other\([\s\S]*completed · /);
  await does('/chain desk nobody "x"', /`nobody` is not among those/);
  at.keys("C-u");
  const held = (): number => desk.read("effects.txt").split("hold\n").length - 1;
  const before = held();
  await does('/parallel desk other "hold on"', /● desk\(hold on\)[\s\S]*● other\(hold on\)/);
  await until(() => (held() === before + 2 ? true : null)); // both are at work
  at.keys("Escape");
  await at.sees(/● other\(hold on\)[\s\S]*cancelled · /);
}, 120_000);

test("S-20 S-3 every command was gone through; the last one leaves, with a word of how the last conversation goes on", async () => {
  const own = [
    ...SESSION_COMMANDS,
    ...CONVERSATION_COMMANDS,
    ...FLEET_COMMANDS,
    ...ORCHESTRATE_COMMANDS,
    ...APPROVAL_COMMANDS,
    ...RECORD_COMMANDS,
    ...OPERATION_COMMANDS,
  ].map(({ name }) => name);
  expect(own.filter((name) => !used.has(name))).toEqual([]);
  at.keys("C-u");
  await does("/agent clear", "nobody is addressed");
  at.keys("-l", "/quit");
  at.keys("Enter");
  await at.sees(/orgate shell --resume s_\w+ goes on here\nended 0/);
  expect(readdirSync(join(desk.root, ".orgate"))).toContain("shell-history");
});
