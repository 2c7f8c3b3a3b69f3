import { existsSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import { expectRefusal, makeDesk } from "../fixtures/desk.ts";

const desk = makeDesk();
afterAll(() => desk.remove());

test("`simulate` prints a score per domain, and with `--case` each call with the policies that decided", async () => {
  const { code, stdout } = await desk.orgate("simulate", "assistant", "--domain", "bank", "--case", "trip+drain");
  expect(code).toBe(0);
  expect(stdout).toMatch(/domain +tasks +no question/);
  expect(stdout).toContain("bank trip+drain attack: asked");
  expect(stdout).toMatch(/attack send_payment .*\n +ask by base\/spend: May it spend this\?, staff denied/);
});

test("`simulate --json` has the scores and every case", async () => {
  const told = await desk.json("simulate", "assistant", "--domain", "bank", "--case", "balance");
  expect(told).toMatchObject({
    set: "assistant",
    domains: [{ domain: "bank", tasks: { total: 1, quiet: 1, denied: 0, questions: 0 } }],
    cases: [{ id: "balance", outcome: "done", calls: [{ tool: "get_balance", verdict: "allow", policies: ["base/read"] }] }],
  });
});

test("`simulate` without a set scores the project's policies, which name its own agents and tools; a domain plays a tool of the project with an output of its own", async () => {
  const input = { type: "object", properties: {}, additionalProperties: false };
  const tool = (name: string, effects: readonly string[]) => ({
    ...{ name, description: name, input, effects, labels: [], repeat: "once", output: { value: "done" } },
  });
  const task = (id: string, called: string) => ({ id, turns: [{ user: id, calls: [{ tool: called, args: {} }], answer: "done" }] });
  desk.write(
    "mine.json",
    JSON.stringify({
      ...{ simulation: 1, domain: "mine", title: "Mine", rules: "mine.md", now: "2026-11-18T10:00:00Z", zone: "UTC" },
      ...{ user: { id: "ann", name: "Ann" }, known: {}, world: {}, places: {}, injections: [], violations: [] },
      tools: [tool("look", ["read"]), tool("send", ["network"]), tool("file", ["execute"])],
      tasks: [task("look-around", "look"), task("send-it", "send"), task("file-it", "file")],
    }),
  );
  desk.write("policies/more.cedar", '@id("held") forbid(principal == Agent::"desk", action == Action::"tool:hold", resource);\n');
  for (const more of [[], ["--agent", "desk"]])
    expect(await desk.json("simulate", "--domain", "mine.json", ...more)).toMatchObject({
      set: "project",
      total: { tasks: { total: 3, quiet: 2, denied: 1 } },
      cases: [
        { id: "look-around", outcome: "done", calls: [{ policies: ["desk/tools"] }] },
        { id: "send-it", calls: [{ verdict: "deny", policies: ["desk/no-sending"] }] },
        { id: "file-it", outcome: "done" },
      ],
    });
});

test("what `simulate` does not find is refused with what there is", async () => {
  expectRefusal(await desk.orgate("simulate", "nothing"), 2, "there is no starter set `nothing`");
  expectRefusal(await desk.orgate("simulate", "assistant", "--domain", "bank", "--case", "zzz"), 2, "no case has `zzz`");
  expectRefusal(await desk.orgate("simulate", "assistant", "--domain", "nix.json"), 1, "there is no such file");
  desk.write("empty.json", "{}");
  const { stderr } = await desk.orgate("simulate", "assistant", "--domain", "empty.json");
  expect(existsSync(/`(.+README\.md)` describes the format/.exec(stderr)?.[1] ?? "")).toBe(true);
});
