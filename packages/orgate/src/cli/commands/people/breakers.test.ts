import { afterAll, expect, test } from "vitest";
import { withPeople } from "../fixtures/asking.ts";
import { type Desk, expectRefusals, makeDesk } from "../fixtures/desk.ts";

const AGENT = `import { existsSync } from "node:fs";
import { join } from "node:path";
import { defineAgent, defineTool } from "orgate";
const root = join(import.meta.dirname, "..");
const input = { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false };
const fetch = defineTool({
  name: "fetch", description: "fetches", effects: ["read"], repeat: "read", input, breaker: { failures: 2, openMs: 3_600_000 },
  run: () => { if (!existsSync(join(root, "up"))) throw new Error("no answer"); return "fetched"; },
});
const post = defineTool({
  name: "post", description: "posts", effects: ["network"], input, recover: "dead-letter",
  run: () => { throw new Error("the box is full"); },
});
const times = (n) => Array.from({ length: n }, (_, i) => ({ tool: "fetch", args: { n: i } }));
export default defineAgent({
  name: "clerk", instructions: "Fetch.", model: "offline/clerk", tools: [fetch, post],
  modelOptions: { rules: [
    { when: { says: "fetch", notCalled: ["fetch"] }, calls: times(2) },
    { when: { says: "once", notCalled: ["fetch"] }, calls: times(1) },
    { when: { says: "post", notCalled: ["post"] }, calls: [{ tool: "post", args: { n: 7 } }] },
    { when: {}, say: "Result: {{result}}" },
  ] },
});
`;
const POLICIES = `@id("work")
permit(principal, action in [Action::"model", Action::"respond", Action::"read", Action::"network"], resource);
@id("ops")
permit(principal in UserGroup::"ops", action in [Action::"resolve", Action::"set-breaker"], resource);
@id("everybody")
permit(principal is User, action in [Action::"run", Action::"say"], resource);
`;

const desks: Desk[] = [];
async function newDesk(): Promise<Desk> {
  const desk = makeDesk();
  desks.push(desk);
  desk.write("orgate.toml", '[project]\nname = "post"\n[groups.users]\nops = ["ana"]\n');
  desk.write("agents/desk.ts", AGENT);
  desk.write("policies/desk.cedar", POLICIES);
  await withPeople(desk, "ana", "eve");
  return desk;
}
afterAll(() => {
  for (const desk of desks) desk.remove();
});
const PATIENCE = { timeout: 120_000 }; // a dozen processes each
const run = async (desk: Desk, input: string) =>
  JSON.parse((await desk.orgate("run", "clerk", "--input", input, "--as", "eve", "--json")).stdout);

test("F-9 a breaker that opened in one process is listed, holds in the next, and is reset by whom the policies let", PATIENCE, async () => {
  const desk = await newDesk();
  expect((await desk.orgate("breakers", "list")).stdout).toBe("no breaker has ever opened\n");
  await run(desk, "fetch");
  expect(await desk.json("breakers", "list")).toMatchObject([{ breaker: "tool:fetch", state: "open", failures: 2, reason: "no answer" }]);
  expect((await desk.orgate("breakers", "list")).stdout).toMatch(/tool:fetch +open +in \d+ m/);
  desk.write("up", "");
  expect((await run(desk, "once")).output).toContain("tool:fetch failed 2 times in a row, is left alone");
  const shown = await desk.orgate("run", "clerk", "--input", "once", "--as", "eve");
  expect(shown.stdout).toMatch(/denied: fetch .* · by its breaker: tool:fetch failed 2 times/); // not by the policy that permits it
  await expectRefusals(desk, [
    [["breakers", "reset", "tool:fetch", "--as", "ana"], 2, "--reason is missing"],
    [["breakers", "reset", "tool:fetch", "--reason", "x", "--as", "eve"], 1, "`eve` may not set breaker tool:fetch"],
    [["breakers", "set", "fetch", "open", "--reason", "x", "--as", "ana"], 2, "`fetch` is no breaker"],
    [["breakers", "set", "tool:fetch", "broken", "--reason", "x", "--as", "ana"], 2, "broken"],
    [["breakers", "set", "tool:fetch", "closed", "--for", "8h", "--reason", "x", "--as", "ana"], 2, "--for: is for an open breaker"],
    [["breakers", "set", "tool:fetch", "open", "--for", "soon", "--reason", "x", "--as", "ana"], 2, "--for is `soon`"],
  ]);
  expect(await desk.json("breakers", "reset", "tool:fetch", "--reason", "it is up", "--as", "ana")).toEqual({
    breaker: "tool:fetch",
    state: "closed",
    by: { kind: "user", id: "ana" },
    reason: "it is up",
    at: expect.any(Number),
    until: null,
    failures: 0,
    written: "closed",
  });
  expect((await run(desk, "once")).output).toContain("fetched");
  const set = await desk.orgate("breakers", "set", "tool:fetch", "open", "--for", "10m", "--reason", "maintenance", "--as", "ana");
  expect([set.code, set.stdout]).toEqual([0, "tool:fetch is open: nothing of it is called, in any process\n"]);
  expect((await run(desk, "once")).output).toMatch(/tool:fetch was set aside by an operator, is left alone and is tried again in \d{3} s/);
  const elsewhere = ["breakers", "set", "model:offline/other", "open", "--reason", "too dear", "--as", "ana"];
  await expectRefusals(desk, [
    [elsewhere, 2, "nothing was set: this project has no model `offline/other`"],
    [["breakers", "reset", "tool:fecth", "--reason", "x", "--as", "ana"], 2, "did you mean `tool:fetch`?"],
  ]);
  const other = await desk.orgate(...elsewhere, "--anyway");
  expect([other.code, other.stderr + other.stdout]).toEqual([0, expect.stringContaining("this project has no `model:offline/other`")]);
});

test("F-6 a call that was set aside is listed, shown whole, and dismissed by whom the policies let", PATIENCE, async () => {
  const desk = await newDesk();
  expect((await desk.orgate("dead-letters", "list")).stdout).toBe("nothing was set aside\n");
  const { session } = await run(desk, "post");
  const name = `${session}/1.0`;
  expect(await desk.json("dead-letters", "list")).toMatchObject([
    { session, call: "1.0", agent: "clerk", tool: "post", error: "the box is full" },
  ]);
  expect((await desk.orgate("dead-letters", "list")).stdout).toContain(name);
  expect(await desk.json("dead-letters", "show", "1.0")).toMatchObject({ args: { n: 7 }, starts: 1, strategies: ["dead-letter"] });
  const shown = (await desk.orgate("dead-letters", "show", name)).stdout;
  for (const part of ["post on", '"n": 7', "the box is full", "1 time;"]) expect(shown).toContain(part);
  await expectRefusals(desk, [
    [["dead-letters", "show", "9.9"], 2, "no call `9.9` is set aside"],
    [["dead-letters", "dismiss", name, "--as", "eve"], 1, "`eve` may not dismiss it"],
  ]);
  expect((await desk.orgate("dead-letters", "dismiss", name, "--note", "by hand", "--as", "ana")).code).toBe(0);
  expect(await desk.json("dead-letters", "list")).toEqual([]);
});
