import { millis } from "@orgate/core/vocab";
import { expect, test } from "vitest";
import { describeHalt, type Halt, haltChoices, haltFor } from "./halts.ts";

test("all work, each agent and each tool can be chosen, once each and nothing else", () => {
  const agents = [
    { name: "clerk", tools: ["pay", "look"] },
    { name: "aide", tools: ["look"] },
  ];
  expect(haltChoices(agents).map(({ label, choices }) => [label, choices.map(({ value }) => value)])).toEqual([
    ["Everything", ["all"]],
    ["An agent", ["agent:aide", "agent:clerk"]],
    ["Calls of a tool", ["tool:look", "tool:pay"]],
  ]);
  expect(haltChoices([]).map(({ label }) => label)).toEqual(["Everything"]);
});

test("Q-17 the halt of all work keeps an agent from starting, else its own; its text has person and reason, hidden characters escaped", () => {
  const halt = (scope: string, reason: string): Halt => ({ scope, reason, by: { kind: "user", id: "ana" }, at: millis(1) });
  const [all, clerk, tool] = [halt("all", "the mail\u202eloop"), halt("agent:clerk", ""), halt("tool:pay", "x")];
  expect(haltFor([clerk, all], "clerk")).toBe(all);
  expect(haltFor([tool, clerk], "clerk")).toBe(clerk);
  expect([haltFor([tool, clerk], "aide"), haltFor([], "clerk")]).toEqual([null, null]);
  expect(describeHalt(all)).toBe("work is halted by ana: the mail\\u{202e}loop");
  expect(describeHalt(clerk)).toBe("agent clerk is halted by ana: no reason was given");
});
