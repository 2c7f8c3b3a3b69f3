import type { Json } from "@orgate/core";
import { expect, test } from "vitest";
import { fillJson, findTemplateFlaw, valueAtPath } from "./template.ts";

const TURN: Json = {
  agents: [
    { name: "a", tools: ["x", "y"] },
    { name: "b", tools: [] },
  ],
  none: [],
  count: 2,
};
const look = (key: string): Json => valueAtPath(TURN, key.split("."));

test("M-2 a list is told item by item, also within another, and what stands behind else where there is none", () => {
  expect(fillJson("{{count}}:{{#each agents}} {{item.name}}{{/each}}.", look)).toBe("2: a b.");
  expect(fillJson("{{#each none}}-{{item}}{{else}}nothing of {{count}}{{/each}}", look)).toBe("nothing of 2");
  expect(fillJson("{{#each agents}}{{item.name}}={{#each item.tools}}{{item}}{{else}}-{{/each}};{{/each}}", look)).toBe("a=xy;b=-;");
  expect(fillJson("{{#each missing}}x{{/each}}{{gone}}", look)).toBe("");
});

test("M-2 a place alone is the value itself, within words it is text, and braces in a value are not looked at again", () => {
  expect(fillJson({ n: "{{count}}", t: "n{{count}}", l: ["{{ agents.0.tools }}"] }, look)).toEqual({ n: 2, t: "n2", l: [["x", "y"]] });
  expect(fillJson("<{{input}}>", () => "{{count}}{{#each agents}}")).toBe("<{{count}}{{#each agents}}>");
});

test("M-2 a text whose places do not fit together is refused", () => {
  expect(findTemplateFlaw("{{#each a}}{{item}}{{else}}{{/each}}{{b}}")).toBeNull();
  expect(findTemplateFlaw("{{#each a}}")).toContain("no `{{/each}}`");
  expect(findTemplateFlaw("{{/each}}")).toContain("behind no");
  expect(findTemplateFlaw("{{else}}")).toContain("behind no");
  expect(findTemplateFlaw("{{#if a}}")).toContain("is no place");
});
