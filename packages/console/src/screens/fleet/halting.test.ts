import { expect, test } from "vitest";
import { haltChoices } from "./halting.ts";

test("O481 all work, each agent and each tool can be chosen, once each and nothing else", () => {
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
