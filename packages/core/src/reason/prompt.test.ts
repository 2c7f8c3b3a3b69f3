import { hash as nodeHash } from "node:crypto";
import { expect, test } from "vitest";
import { digest, type Hash, seq, ZERO } from "../vocab/index.ts";
import type { Message } from "./port.ts";
import { type PromptParts, prompter } from "./prompt.ts";
import { newWindow } from "./window.ts";

const sha256: Hash = (text) => digest(nodeHash("sha256", text, "hex"));
const user = (text: string): Message => ({ role: "user", text, tokens: 1, entry: seq(1) });
const base: PromptParts = {
  context: [],
  system: "be brief",
  messages: [user("one"), user("two")],
  window: { ...newWindow(), task: 0, newest: 1, tokens: 2 },
  tools: [],
  toolsDigest: ZERO,
  model: "m",
  temperature: 0.3,
  output: null,
  maxOutputTokens: 100,
  attempt: 1,
};
const digestOf = (parts: Partial<PromptParts>) => prompter(sha256)({ ...base, ...parts }).digest;

test("L-28 the digest of a request is the same for the same request, in whichever process", () => {
  const rolling = prompter(sha256);
  const messages = [user("one")];
  rolling({ ...base, messages });
  messages.push(user("two"));
  expect(rolling({ ...base, messages }).digest).toBe(digestOf({}));
  expect(digestOf({ attempt: 2 })).toBe(digestOf({}));
});

test.each<[string, Partial<PromptParts>]>([
  ["system", { system: "be long" }],
  ["an earlier message", { messages: [user("other"), user("two")] }],
  ["the last message", { messages: [user("one"), user("other")] }],
  ["another message", { messages: [...base.messages, user("three")] }],
  ["where the window starts", { window: { ...base.window, from: 1 } }],
  ["which task is pinned", { window: { ...base.window, task: 1 } }],
  ["a result that is one line now", { window: { ...base.window, lines: new Map([[1, user("left out")]]) } }],
  ["the summary", { window: { ...base.window, summary: { message: user("sum"), first: seq(1), last: seq(2) } } }],
  ["the tools", { toolsDigest: sha256("tools") }],
  ["the model", { model: "n" }],
  ["the temperature", { temperature: 0.4 }],
  ["the room for the reply", { maxOutputTokens: 99 }],
])("L-28 the digest of a request covers %s", (_, change) => {
  expect(digestOf(change)).not.toBe(digestOf({}));
});

test("L-28 the request holds what the window shows", () => {
  const { request } = prompter(sha256)({
    ...base,
    messages: [user("task"), user("gone"), user("new")],
    window: { ...newWindow(), from: 2, task: 0, newest: 2, tokens: 2 },
  });
  expect(request.messages.map((m) => ("text" in m ? m.text : ""))).toEqual(["task", "new"]);
});
