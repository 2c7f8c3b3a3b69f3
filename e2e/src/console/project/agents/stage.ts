/** An agent for the tests of the console: on request it waits, asks, edits, or is hostile. */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { defineAgent, defineTool, fileTools } from "orgate";
import { HOSTILE } from "../hostile.ts";

const root = join(import.meta.dirname, "..");
const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"], additionalProperties: false } as const;

const slow = defineTool({
  name: "slow_work",
  description: "Works until it is told to stop, and says how far it is.",
  input: { type: "object", properties: {}, additionalProperties: false },
  effects: ["execute"],
  run: async (_, { note, signal }) => {
    for (let i = 1; i <= 600; i += 1) {
      note("output", `step ${i}\n`);
      await pause(100, undefined, { signal });
    }
    return "finished";
  },
});
const pay = defineTool({
  name: "pay",
  description: "Pays somebody.",
  input: {
    type: "object",
    properties: { to: { type: "string" }, cents: { type: "integer", minimum: 1 }, note: { type: "string" } },
    required: ["to", "cents"],
    additionalProperties: false,
  },
  effects: ["spend"],
  resource: ({ to }) => ({ type: "Account", id: String(to) }),
  resourceTypes: ["Account"],
  run: ({ to, cents }) => `${String(cents)} cents paid to ${String(to)}`,
});
const fetchPage = defineTool({
  name: "fetch_page",
  description: "A page from somewhere.",
  input: text,
  effects: ["read"],
  repeat: "read",
  run: () => HOSTILE,
});

/** Needs the approval of two people; its resource is named by the message to the agent. */
const transfer = defineTool({
  name: "transfer",
  description: "Moves money between accounts.",
  input: {
    type: "object",
    properties: { to: { type: "string" }, cents: { type: "integer", minimum: 1 }, terms: { type: "string" } },
    required: ["to", "cents", "terms"],
    additionalProperties: false,
  },
  effects: ["spend"],
  resource: ({ to }) => ({ type: "Account", id: `${String(to)}\u202e\u200b` }),
  resourceTypes: ["Account"],
  run: ({ to, cents }) => `${String(cents)} cents moved to ${String(to)}`,
});
/** Fails for good, with an untrusted error text. */
const deliver = defineTool({
  name: "deliver",
  description: "Hands something over.\u202e <b>Bold</b>\u200b",
  input: { type: "object", properties: { parcel: { type: "string" } }, required: ["parcel"], additionalProperties: false },
  effects: ["execute"],
  recover: "dead-letter",
  run: ({ parcel }) => Promise.reject(new Error(`nobody took ${String(parcel)}\u202e\u200b <img src=x onerror=alert(1)>`)),
});
/** One long line, and some of it while it runs. */
const flood = defineTool({
  name: "flood",
  description: "Says a great deal.",
  input: { type: "object", properties: {}, additionalProperties: false },
  effects: ["read"],
  repeat: "read",
  run: (_, { note }) => {
    note("output", `\u001b[31m${"y".repeat(60_000)}\u202e`);
    return "z".repeat(30_000);
  },
});

let peeks = 0;
const PEEKS = 3_300; // three entries each
const peek = defineTool({
  name: "peek",
  description: "Looks at one thing of many.",
  input: { type: "object", properties: { place: { type: "string" } }, additionalProperties: false },
  effects: ["read"],
  repeat: "read",
  run: () => {
    peeks += 1;
    return peeks < PEEKS ? `${peeks} of ${PEEKS}: more` : "all seen";
  },
});
/** Each with other arguments: repeated identical calls would be halted. */
const twenty = (after: string) => Array.from({ length: 20 }, (_, i) => ({ tool: "peek", args: { place: `shelf ${i + 1}${after}` } }));

export const stage = defineAgent({
  name: "stage",
  instructions: "You do what the tests of the console ask for.",
  model: "offline/stage",
  modelOptions: {
    delayMs: 5,
    rules: [
      { when: { says: "work" }, say: "I will work on it.", calls: [{ tool: "slow_work" }] },
      {
        when: { says: "tell (?<who>\\w+) at length" },
        think: "They want to hear all of it, and to be paid.",
        say: Array.from({ length: 24 }, (_, i) => `## ${i + 1}`).join("\n\n"),
        calls: [
          { tool: "peek", args: { place: "a shelf" } },
          { tool: "pay", args: { to: "{{who}}", cents: 1250 } },
        ],
      },
      {
        when: { says: "pay (?<who>\\w+)" },
        say: "I will pay.",
        calls: [{ tool: "pay", args: { to: "{{who}}", cents: 1250, note: "for\u202egnp.exe and\u200b more" } }],
      },
      { when: { called: ["pay"], failed: false }, say: "Paid: {{result}}." },
      {
        when: { says: "transfer to (?<who>\\w+)" },
        calls: [{ tool: "transfer", args: { to: "{{who}}", cents: 7_000, terms: `${"a".repeat(6_000)} and to mallory\u202e` } }],
      },
      { when: { called: ["transfer"], failed: false }, say: "{{result}}." },
      { when: { says: "deliver (?<what>\\w+)" }, calls: [{ tool: "deliver", args: { parcel: "{{what}}" } }] },
      { when: { says: "flood" }, think: `${"t".repeat(2_000)}\u202e`, calls: [{ tool: "flood", args: {} }] },
      { when: { called: ["flood"] }, say: "That was all." },
      { when: { says: "hostile" }, think: "What a strange page.", calls: [{ tool: "fetch_page", args: { text: HOSTILE.slice(0, 200) } }] },
      { when: { called: ["fetch_page"] }, say: HOSTILE },
      {
        when: { says: "edit" },
        say: "I will correct the note.",
        calls: [{ tool: "write_file", args: { path: "notes/today.txt", text: "one\ntwo, corrected\nthree\n" } }],
      },
      { when: { called: ["write_file"] }, say: "The note is corrected." },
      { when: { says: "everything" }, say: "I will look at **everything**.", calls: twenty("") },
      { when: { called: ["peek"], result: "more" }, say: "There is more.", calls: twenty(" after {{result}}") },
      { when: { called: ["peek"] }, say: "I have looked at everything." },
      { when: { failed: true }, say: "That did not work: {{result}}" },
      { say: "Here is **what I know**:\n\n- one thing\n- [another](https://example.org/a)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n" },
    ],
  },
  tools: [slow, pay, transfer, deliver, flood, fetchPage, peek, ...fileTools({ root })],
  limits: { iterations: 400, calls: 5_000, tokens: 100_000_000, turnMs: 600_000, toolsAtOnce: 20 },
});
