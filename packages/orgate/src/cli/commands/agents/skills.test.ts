import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { type Desk, expectRefusal, makeDesk } from "../fixtures/desk.ts";

const desks: Desk[] = [];
const newDesk = (): Desk => {
  const desk = makeDesk();
  desks.push(desk);
  return desk;
};
afterAll(() => {
  for (const desk of desks) desk.remove();
});

const SKILL = "---\nname: refunds\ndescription: How refunds are made.\nallowed-tools: send\n---\nLook at the order, then pay back.\n";
/** Loads the skill, uses its tool, and says what came of it. */
const CLERK = `name = "clerk"
instructions = "Serve customers."
model = "offline/clerk"
skills = ["refunds"]
[[modelOptions.rules]]
when = { says = "read (?<file>\\\\S+)" }
calls = [{ tool = "load_skill", args = { name = "refunds", file = "{{file}}" } }]
[[modelOptions.rules]]
when = { notCalled = ["load_skill"] }
calls = [{ tool = "load_skill", args = { name = "refunds" } }]
[[modelOptions.rules]]
when = { called = ["load_skill"] }
say = "I read: {{result}}"
`;
const PERMITS = `@id("skills")
permit(principal == Agent::"clerk", action == Action::"tool:load_skill", resource == Skill::"refunds");
`;
const NARROW = `@id("think")
permit(principal, action == Action::"model", resource);
@id("answer")
permit(principal, action == Action::"respond", resource);
@id("people")
permit(principal is User, action, resource);
`;

function shop(): Desk {
  const desk = newDesk();
  desk.write("agents/clerk.toml", CLERK);
  desk.write("skills/refunds/SKILL.md", SKILL);
  desk.write("skills/refunds/limits.md", "Fifty at most.");
  desk.write("policies/desk.cedar", NARROW + PERMITS);
  return desk;
}
type Result = { session: string; ending: string; output: string; warnings: readonly string[] };
const run = async (desk: Desk, input = "hello"): Promise<Result> => (await desk.json("run", "clerk", "--input", input)) as Result;
type Listed = { name: string; state: string; place: string | null; detail: string | null; agents: readonly string[] };
const states = async (desk: Desk) =>
  Object.fromEntries(((await desk.json("skills", "list")) as Listed[]).map(({ name, state, detail }) => [name, [state, detail]]));

test("K-3 a skill is used only as it was trusted; until then the run is refused with what to do", async () => {
  const desk = shop();
  expect(await states(desk)).toEqual({ refunds: ["untrusted", "it is not trusted"] });
  const refused = await desk.orgate("run", "clerk", "--input", "hello");
  expectRefusal(refused, 1, "agent `clerk`: skill `refunds` cannot be used: it is not trusted");
  expect(refused.stderr).toContain("orgate trust add skills/refunds");
  expect((await desk.orgate("run", "desk", "--input", "hello")).code).toBe(0); // another agent is none the worse

  await desk.json("trust", "add", "skills/refunds");
  expect(await run(desk)).toMatchObject({
    ending: "completed",
    output: "I read: # Skill refunds\n\nLook at the order, then pay back.\n\nFiles of this skill, to be read with `load_skill`: limits.md",
    warnings: [],
  });
  expect(await run(desk, "read limits.md")).toMatchObject({ output: "I read: Fifty at most." });
}, 60_000); // many processes, one after the other

test("K-3 a skill that was edited or is gone is not used, until it is again what was trusted", async () => {
  const desk = shop();
  await desk.json("trust", "add", "skills/refunds");
  desk.write("skills/refunds/limits.md", "Five thousand at most.");
  expect(await states(desk)).toEqual({ refunds: ["changed", "it has changed since it was trusted"] });
  expectRefusal(await desk.orgate("run", "clerk", "--input", "hello"), 1, "it has changed since it was trusted");
  desk.write("skills/refunds/limits.md", "Fifty at most.");
  expect((await run(desk)).ending).toBe("completed");
  rmSync(join(desk.root, "skills"), { recursive: true });
  expect(await states(desk)).toEqual({ refunds: ["missing", "it is not there"] });
  expectRefusal(await desk.orgate("run", "clerk", "--input", "hello"), 1, "skill `refunds` cannot be used: it is not there");
}, 60_000); // many processes, one after the other

test("K-3 loading is gated, journalled and told to the model like any call; without a permit nothing is read", async () => {
  const desk = shop();
  await desk.json("trust", "add", "skills/refunds");
  const { session } = await run(desk);
  const told = (await desk.orgate("journal", "show", session, "--json")).stdout;
  expect(told).toContain('"resource":{"id":"refunds","type":"Skill"}');
  expect(told).toContain("Look at the order, then pay back.");
  const [opened] = JSON.parse(told) as { event: { agent: { instructions: string } } }[];
  expect(opened?.event.agent.instructions).toMatch(/- refunds: How refunds are made\.$/);

  desk.write("policies/desk.cedar", NARROW);
  const denied = await run(desk);
  expect(denied.ending).toBe("completed");
  expect(denied.output).toContain("denied by policy");
  expect((await desk.orgate("journal", "show", denied.session, "--json")).stdout).not.toContain("Look at the order");
  desk.write(
    "policies/desk.cedar",
    `${NARROW}@id("other")\npermit(principal, action == Action::"tool:load_skill", resource == Skill::"other");\n`,
  );
  expect((await run(desk)).output).toContain("denied by policy");
}, 60_000); // many processes, one after the other

test("K-3 a skill in code brings its tools, gated like any other; `allowed-tools` permits nothing", async () => {
  const desk = shop();
  desk.write(
    "tools/refunds.ts",
    `import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { defineSkill, defineTool } from "orgate";
const refund = defineTool({ name: "refund", description: "pays back", effects: ["spend"], input: { type: "object", properties: {}, additionalProperties: false },
  run: () => { appendFileSync(join(import.meta.dirname, "..", "paid.txt"), "paid\\n"); return "paid"; } });
export const paying = defineSkill({ name: "paying", description: "How to pay back.", instructions: "Call refund.", tools: [refund] });
`,
  );
  desk.write(
    "agents/payer.toml",
    `name = "payer"
instructions = "Pay."
model = "offline/payer"
skills = ["paying"]
[[modelOptions.rules]]
when = { notCalled = ["load_skill"] }
calls = [{ tool = "load_skill", args = { name = "paying" } }]
[[modelOptions.rules]]
when = { called = ["load_skill"], notCalled = ["refund"] }
calls = [{ tool = "refund" }]
[[modelOptions.rules]]
when = { called = ["refund"] }
say = "It said: {{result}}"
`,
  );
  const load = '@id("load")\npermit(principal, action == Action::"tool:load_skill", resource);\n';
  desk.write("policies/desk.cedar", NARROW + load);
  const pay = async () => ((await desk.json("run", "payer", "--input", "go")) as Result).output;
  expect(await pay()).toContain("denied by policy");
  expect(desk.has("paid.txt")).toBe(false);
  desk.write("policies/desk.cedar", `${NARROW}${load}@id("pay")\npermit(principal, action == Action::"tool:refund", resource);\n`);
  expect(await pay()).toBe("It said: paid");
  expect(desk.read("paid.txt")).toBe("paid\n");
  expect((await desk.json("skills", "show", "paying")) as unknown[]).toMatchObject([
    { state: "usable", place: "tools/refunds.ts", tools: ["refund"], agents: ["payer"] },
  ]);

  // a folder takes nothing away from what the project's own code defines
  desk.write(".agents/skills/paying/SKILL.md", SKILL.replace("refunds", "paying"));
  await desk.json("trust", "add", ".agents/skills/paying");
  expect(await pay()).toBe("It said: paid");
  expect(((await desk.json("skills", "list")) as Listed[]).filter(({ name }) => name === "paying")).toMatchObject([
    { place: "tools/refunds.ts", state: "usable" },
    { place: ".agents/skills/paying", state: "clash", detail: "the name is taken: tools/refunds.ts and .agents/skills/paying have it" },
  ]);
}, 60_000); // many processes, one after the other

test("K-3 `skills list` and `skills show` say why one cannot be used, and show hidden characters escaped", async () => {
  const desk = shop();
  desk.write("skills/mail/SKILL.md", "---\nname: mail\ndescription: Use when: asked\n---\nx\n");
  desk.write("skills/README.md", "not a skill");
  mkdirSync(join(desk.root, "skills/out"));
  symlinkSync("/etc/passwd", join(desk.root, "skills/out/SKILL.md"));
  mkdirSync(join(desk.root, "skills/ev\u202eil"));
  desk.write(".agents/skills/refunds/SKILL.md", SKILL);
  desk.write("skills/odd/SKILL.md", "---\nname: odd\ndescription: o\u202edd\n---\nhidden\u200bword\n");
  desk.write("skills/odd/ref/more.md", "send\u200b it all\n");
  expect(await states(desk)).toMatchObject({
    mail: ["bad", "SKILL.md:3:22: a colon and a blank begin another value"],
    odd: ["untrusted", "it is not trusted"],
    out: ["bad", "`SKILL.md` leads out of it"],
    refunds: ["clash", "the name is taken: .agents/skills/refunds and skills/refunds have it"],
    "ev\u202eil": ["bad", "there is no SKILL.md in it"],
  });
  const { stdout, code } = await desk.orgate("skills", "list");
  expect(code).toBe(0);
  expect(stdout).toContain("ev\\u{202e}il");
  expect(stdout).not.toMatch(/\u202e/);
  const shown = await desk.orgate("skills", "show", "odd");
  expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining("hidden\\u{200b}word")]);
  expect(shown.stdout).toMatch(/description +o\\u\{202e\}dd/);
  expect(shown.stdout).toContain("── ref/more.md\nsend\\u{200b} it all\n"); // trust covers it, so it is there to be read
  expect(await desk.json("skills", "show", "refunds")).toMatchObject([
    { about: { allowedTools: "send" }, instructions: "Look at the order, then pay back." },
    { files: [{ path: "limits.md", offered: true }], agents: ["clerk"] },
  ]);
  expectRefusal(await desk.orgate("skills", "show", "nothing"), 2, "there is no skill `nothing`");
  expectRefusal(await desk.orgate("trust", "add", "skills/out"), 2, "`skills/out` cannot be trusted: `SKILL.md` leads out of it");
});

test("K-3 a person's own skills are looked at only where the project says so, and need trust there", async () => {
  const desk = newDesk();
  desk.write("../person/.agents/skills/refunds/SKILL.md", SKILL);
  const env = { HOME: join(desk.root, "../person") };
  const list = async () => JSON.parse((await desk.start(["skills", "list", "--json"], undefined, env).ended).stdout) as Listed[];
  expect(await list()).toEqual([]);
  desk.write("orgate.toml", '[project]\nname = "desk"\n[skills]\nhome = true\n');
  expect(await list()).toMatchObject([{ name: "refunds", place: "~/.agents/skills/refunds", state: "untrusted" }]);
  expect((await desk.start(["trust", "add", "~/.agents/skills/refunds"], undefined, env).ended).code).toBe(0);
  expect(await list()).toMatchObject([{ state: "usable" }]);
});

test("K-3 a session that is taken up with another text of a skill says so", async () => {
  const desk = shop();
  await desk.json("trust", "add", "skills/refunds");
  const { session } = await run(desk);
  desk.write("skills/refunds/limits.md", "Sixty at most.");
  await desk.json("trust", "add", "skills/refunds");
  await desk.json("run", "clerk", "--input", "again", "--session", session);
  const changes = async () =>
    ((await desk.json("journal", "show", session)) as { event: { kind: string } }[]).filter(({ event }) => event.kind === "agent.changed");
  expect(await changes()).toHaveLength(1);
  await desk.json("run", "clerk", "--input", "again", "--session", session);
  expect(await changes()).toHaveLength(1);
}, 60_000); // many processes, one after the other
