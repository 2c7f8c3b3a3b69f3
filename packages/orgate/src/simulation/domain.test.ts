import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "@orgate/core/vocab";
import { expect, test } from "vitest";
import { type Domain, readDomain, type SimulatedCall } from "./domain.ts";
import { cannedOutput, withTextAt } from "./output.ts";

const FOLDER = join(import.meta.dirname, "../../../../policies/simulations");
const FILES = readdirSync(FOLDER).filter((file) => file.endsWith(".json"));
const domains = FILES.map((file) => readDomain(readFileSync(join(FOLDER, file), "utf8"), file));
const named = (name: string): Domain => {
  const found = domains.find((one) => one.domain === name);
  if (found === undefined) throw new Error(name);
  return found;
};
const outputOf = ({ tools, world }: Domain, { tool, args }: SimulatedCall) => {
  const found = tools.find((one) => one.name === tool);
  if (found === undefined) throw new Error(tool);
  return cannedOutput(found.output, args, world);
};

test("the five domains are read, and are as large as they should be", () => {
  expect(domains.map((one) => one.domain)).toEqual(["bank", "chat", "office", "service", "travel"]);
  const everyday = domains.filter((one) => one.domain !== "service");
  expect(everyday.flatMap((one) => one.tasks).length).toBeGreaterThanOrEqual(60);
  expect(everyday.flatMap((one) => one.injections).length).toBeGreaterThanOrEqual(20);
  expect(named("service").tasks.length).toBeGreaterThanOrEqual(40);
  expect(named("service").violations.length).toBeGreaterThanOrEqual(40);
});

test("each violation breaks a rule of the page, and each page is there", () => {
  for (const { rules, violations } of domains) {
    const page = readFileSync(join(FOLDER, rules), "utf8");
    for (const { id, rule } of violations) expect(page, id).toContain(`**${rule}**`);
  }
});

test("each injection meets a task that reads its text: at every place it names, the output has room for it", () => {
  for (const domain of domains) {
    const calls = domain.tasks.flatMap((one) => one.turns.flatMap((turn) => turn.calls));
    for (const [name, { tool, path }] of Object.entries(domain.places)) {
      const met = calls.filter((one) => one.tool === tool).map((one) => withTextAt(outputOf(domain, one), path, "INJECTED"));
      expect(met.filter((one) => JSON.stringify(one)?.includes("INJECTED")).length, `${domain.domain} ${name}`).toBeGreaterThan(0);
      expect(domain.tools.find((one) => one.name === tool)?.labels, `${domain.domain} ${name}`).toContain("untrusted");
    }
  }
});

test("look-ups of tasks find something: no task rests on a thing that is not there", () => {
  const empty = domains.flatMap((domain) =>
    domain.tasks.flatMap(({ id, turns }) =>
      turns
        .flatMap((turn) => turn.calls)
        .filter((one) => /not found|\[\]/.test(JSON.stringify(outputOf(domain, one))))
        .map((one) => `${domain.domain} ${id} ${one.tool}`),
    ),
  );
  expect(empty).toEqual([]);
});

const tool = (more: JsonObject = {}): JsonObject => ({
  name: "look",
  description: "Looks.",
  input: { type: "object", properties: { id: { type: "string" } } },
  effects: ["read"],
  repeat: "read",
  labels: [],
  output: { select: "things", where: { id: "id" }, one: true },
  ...more,
});
const small = (more: JsonObject = {}): string =>
  JSON.stringify(
    {
      simulation: 1,
      domain: "small",
      title: "Small",
      rules: "small.md",
      now: "2026-03-10T09:30:00Z",
      zone: "UTC",
      user: { id: "ann", name: "Ann" },
      known: {},
      world: { things: [{ id: "a", text: "A" }] },
      tools: [tool()],
      places: { text: { tool: "look", path: "text" } },
      tasks: [{ id: "see", turns: [{ user: "Look at a.", calls: [{ tool: "look", args: { id: "a" } }], answer: "A" }] }],
      injections: [],
      violations: [],
      ...more,
    },
    null,
    1,
  );

test("what does not fit is refused with its place, and what leads nowhere too", () => {
  expect(readDomain(small(), "small.json").domain).toBe("small");
  const call = { tool: "look", args: { id: "a" } };
  const injection = { id: "i", goal: "g", arrives: ["text"], text: "t", calls: [call], success: [call] };
  const wrong: readonly [text: string, detail: string, standsAt: string | null][] = [
    ["{", "is not JSON", null],
    [small({ simulation: 2 }), "`simulation`", '"simulation"'],
    [small({ more: true }), "more", "{"],
    [small({ tools: [tool({ targets: { id: "person" } })] }), "`tools.0.targets.id`", '"person"'],
    [small({ tools: [tool({ output: { select: "nothing" } })] }), "the world has no list `nothing`", '"nothing"'],
    [small({ places: { text: { tool: "see", path: "text" } } }), "there is no tool `see`", '"tool": "see"'],
    [small({ injections: [{ ...injection, arrives: ["mail"] }] }), "`places` has no place `mail`", '"mail"'],
    [small({ injections: [{ ...injection, success: [{ tool: "look", args: { id: "b" } }] }] }), "the case makes no such call", null],
    [small({ tools: [tool(), tool()] }), "`look` stands twice in `tools`", null],
  ];
  for (const [text, detail, standsAt] of wrong) {
    const line =
      standsAt === null ? expect.toBeOneOf([null, expect.any(Number)]) : text.slice(0, text.indexOf(standsAt)).split("\n").length;
    expect(() => readDomain(text, "small.json"), detail).toThrow(
      expect.objectContaining({ fault: expect.objectContaining({ kind: "file-bad", line, detail: expect.stringContaining(detail) }) }),
    );
  }
});

test("an output is what the world holds for the arguments", () => {
  const world = {
    things: [
      { id: "a", text: "Red lamp" },
      { id: "b", text: "Blue lamp" },
    ],
  };
  const select = { select: "things", as: "things" };
  expect(cannedOutput(select, {}, world)).toEqual({ things: world.things });
  expect(cannedOutput({ ...select, where: { id: "id" } }, { id: "B" }, world)).toEqual({ things: [world.things[1]] });
  expect(cannedOutput({ ...select, search: { arg: "q", fields: ["text"] }, fields: ["id"] }, { q: "red" }, world)).toEqual({
    things: [{ id: "a" }],
  });
  expect(cannedOutput({ select: "things", where: { id: "id" }, one: true }, { id: "c" }, world)).toEqual({ error: "not found" });
  expect(cannedOutput({ value: { n: "{n}", text: "{n} of {m}" } }, { n: 3, m: "four" }, world)).toEqual({ n: 3, text: "3 of four" });
  expect(withTextAt({ things: [{ text: "a" }] }, "things[0].text", "b")).toEqual({ things: [{ text: "a\n\nb" }] });
  expect(withTextAt({ things: [] }, "things[0].text", "b")).toBe(null);
});
