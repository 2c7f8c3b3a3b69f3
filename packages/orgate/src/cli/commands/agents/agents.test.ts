import { chmodSync, cpSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { type Desk, expectRefusal, makeDesk } from "../fixtures/desk.ts";

const desks: Desk[] = [];
afterAll(() => {
  for (const desk of desks) desk.remove();
});

const TOOLS = `import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { defineTool } from "orgate";
import * as z from "zod";
export const pay = defineTool({ name: "pay", description: "pays", input: z.strictObject({ to: z.string(), euros: z.int() }), effects: ["spend"],
  run: ({ euros }) => { appendFileSync(join(import.meta.dirname, "..", "paid.txt"), euros + "\\n"); return "paid"; } });
export const bills = defineTool({ name: "bills", description: "reads", input: z.strictObject({}), effects: ["read"], run: () => "one of 40" });
`;
const RULES = `{ rules: [
    { when: { says: "bills" }, calls: [{ tool: "bills", args: {} }] },
    { when: { says: "pay" }, calls: [{ tool: "pay", args: { to: "ann", euros: 40 } }] },
    { when: { called: ["pay"], failed: false }, say: "It is paid." },
    { when: { called: ["pay"], failed: true }, say: "It is not paid: {{result}}" },
    { when: { called: ["bills"] }, say: "{{result}}" },
  ] }`;
const payer = (rules: string): string => `metadata {
  description = "You pay bills."
}

agent payer {
  capabilities = [pay, bills] # all it has

  policy money {
${rules}
  }

  with model = "offline/payer", model_options = ${RULES} {}
}
`;
const BASE = `permit(principal, action in [Action::"model", Action::"respond"], resource);
permit(principal is User, action, resource);
`;

function bank(rules = "    allow: [bills, pay]"): Desk {
  const desk = makeDesk();
  desks.push(desk);
  desk.write("tools/bank.ts", TOOLS);
  desk.write("agents/payer.symbi", payer(rules));
  desk.write("policies/desk.cedar", `${BASE}permit(principal == Agent::"desk", action, resource);\n`);
  return desk;
}
type Result = { ending: string; output: string; calls: number; session: string };
const run = async (desk: Desk, input: string) => (await desk.json("run", "payer", "--input", input)) as Result;

test("Y-4 Y-11 G-37 an agent in a .symbi file runs; once its policy is edited, the same run is denied, by file and line", async () => {
  const desk = bank();
  expect(await run(desk, "pay it")).toMatchObject({ ending: "completed", output: "It is paid.", calls: 1 });
  desk.write("agents/payer.symbi", payer("    allow: [bills, pay]\n    deny: pay if args.euros >= 40"));
  const denied = await run(desk, "pay it");
  expect(denied).toMatchObject({ calls: 0, output: expect.stringContaining("agents/payer.symbi/10") });
  expect(desk.read("paid.txt")).toBe("40\n");
  const { stdout } = await desk.orgate("sessions", "show", denied.session);
  expect(stdout).toContain("(agents/payer.symbi:10)");
  const explained = (await desk.json("policy", "explain", "--session", denied.session, "--call", "1.0")) as {
    considered: { id: string; line: number }[];
  };
  expect(explained.considered).toContainEqual(
    expect.objectContaining({ id: "agents/payer.symbi/10", file: "agents/payer.symbi", line: 10, part: "decided" }),
  );
});

test("Y-7 Y-9 agents are listed and shown whichever way they are written", async () => {
  const desk = bank();
  desk.write(
    "agents/small.dsl",
    'metadata { description = """\nYou count.\nWhat else is said stays in the file.\n""" }\nagent small(text: String, limit: int) -> { words: int } { with instructions = "Count." { return count_words(text, limit); } }',
  );
  expect((await desk.orgate("agents", "list")).stdout).toMatch(/agents\/small\.dsl +You count\.\n/);
  const listed = (await desk.json("agents", "list")) as { name: string; kind: string; file: string; policies: number }[];
  expect(listed.map(({ name, kind, file, policies }) => [name, kind, file, policies])).toEqual([
    ["desk", "module", "agents/desk.ts", 0],
    ["payer", "symbi", "agents/payer.symbi", 1],
    ["small", "symbi", "agents/small.dsl", 0],
  ]);
  expect(await desk.json("agents", "show", "small")).toMatchObject({
    input: { required: ["text", "limit"] },
    output: { properties: { words: { type: "integer" } } },
    instructions: expect.stringContaining("Your task: count words `text`, `limit`."),
  });
  const { stdout } = await desk.orgate("agents", "show", "payer");
  expect(stdout).toMatch(/You pay bills\./);
  expectRefusal(await desk.orgate("agents", "show", "nobody"), 1, "nobody");
});

test("Y-9 what is said to an agent with parameters has them, or no model is asked", async () => {
  const desk = bank();
  desk.write("agents/small.symbi", 'agent small(text: String, limit: int) { with instructions = "Count." { } }');
  const wrong = JSON.parse((await desk.orgate("run", "small", "--input", "hello", "--json")).stdout) as Result & { iterations: number };
  expect(wrong).toMatchObject({ ending: "failed", iterations: 0 });
  const right = JSON.parse((await desk.orgate("run", "small", "--input", '{"text":"a b","limit":3}', "--json")).stdout) as Result;
  expect(right.ending).toBe("completed");
});

test("Y-13 everything that is wrong is told at once, over files, tools and policies; then the rest is not run", async () => {
  const desk = bank("    allow: pya\n    deny: pay if args.uros > 3");
  desk.write("agents/other.symbi", "agent other {\n  capabilites = []\n}\nagent { }\n");
  const told = await desk.orgate("agents", "validate", "--json");
  expect(told.code).toBe(1);
  const { ok, problems } = JSON.parse(told.stdout) as { ok: boolean; problems: { file: string; line: number; hint: string }[] };
  expect(ok).toBe(false);
  expect(problems.map(({ file, line }) => `${file}:${line}`)).toEqual([
    "agents/other.symbi:2",
    "agents/other.symbi:4",
    "agents/payer.symbi:9",
    "agents/payer.symbi:10",
  ]);
  expect(problems.map(({ hint }) => hint)).toEqual([
    "did you mean `capabilities`?",
    expect.any(String),
    "did you mean `pay`?",
    "did you mean `euros`?",
  ]);
  expectRefusal(await desk.orgate("run", "payer", "--input", "x"), 1, "expected `capabilities`");
  desk.write("agents/other.symbi", 'agent other { with instructions = "x" { } }');
  desk.write("agents/payer.symbi", payer('    allow: pay if args.to == "ann"'));
  expect(await desk.json("agents", "validate")).toMatchObject({ ok: true, agents: ["desk", "other", "payer"] });
});

const BROKEN = `agent payer {
  capabilities = [pay, bils, "agent:ghost"]
  policy money {
    allow pay
    allow: pya
    deny: pay if args.uros > 3
    deny: bils if args.anything == 1
  }
  with model = "offline/payer", modle_options = 1, temperature = 9, max_depth = 0, instructions = "Pay." { }
}

schedule night { cron: "61 * * * *" agent: payer input: "x" }
webhook hook { path: "/hooks/x" provider: github secret: "plain" agent: payer }
webhook other { path: "/hooks/y" provider: github secret: vault://other agent: nobody }
`;
/** The same file with each problem corrected where it was reported. */
const MENDED = `agent payer {
  capabilities = [pay, bills, "agent:desk"]
  policy money {
    allow: pay
    allow: pay
    deny: pay if args.euros > 3
    deny: bills if calls.bills.turn > 1
  }
  with model = "offline/payer", model_options = { rules: [] }, temperature = 1, max_depth = 1, instructions = "Pay." { }
}

schedule night { cron: "1 * * * *" agent: payer input: "x" }
webhook hook { path: "/hooks/x" provider: github secret: vault://plain agent: payer }
webhook other { path: "/hooks/y" provider: github secret: vault://other agent: desk }
`;
const TOML_BROKEN = `name = "clerk"
instructions = "x"
tools = ["pay", "nothing"]
modle = "offline/echo"
delegates = ["ghost"]
groups = "all"
maxDepth = 0
[limits]
turns = 3
iterations = 0
`;
const TOML_MENDED = `name = "clerk"
instructions = "x"
tools = ["pay"]
model = "offline/echo"
delegates = ["desk"]
groups = ["all"]
maxDepth = 1
[limits]
iterations = 3
`;

test("Y-13 one run tells the problems of every stage, in .symbi, TOML and policies; once these are mended none is left", async () => {
  const desk = bank();
  const told = async () => {
    const { code, stdout } = await desk.orgate("agents", "validate", "--json");
    const { problems } = JSON.parse(stdout) as { problems: { file: string; line: number; detail: string }[] };
    return { code, problems: problems.map(({ file, line, detail }) => `${file}:${line} ${detail}`).sort() };
  };
  desk.write("agents/payer.symbi", BROKEN);
  desk.write("agents/clerk.toml", TOML_BROKEN);
  desk.write(
    "policies/desk.cedar",
    `${BASE}permit(principal, action == Action::"tool:pay", resource) when { context.args.uros > 3 };\nforbid(;\n`,
  );
  const first = await told();
  expect(first.problems).toMatchInlineSnapshot(`
    [
      "agents/clerk.toml:10 agent \`clerk\`: limit \`iterations\` is 0",
      "agents/clerk.toml:3 there is no tool \`nothing\`",
      "agents/clerk.toml:4 there is no setting \`modle\`; did you mean \`model\`?",
      "agents/clerk.toml:5 there is no agent \`ghost\` to delegate to",
      "agents/clerk.toml:6 \`groups\`: invalid input: expected array, received string",
      "agents/clerk.toml:7 agent \`clerk\`: \`maxDepth\` is 0",
      "agents/clerk.toml:9 agent \`clerk\`: unknown limit \`turns\`",
      "agents/payer.symbi:12 \`night\`: \`61 * * * *\` is no cron expression: Invalid value for minute: 61",
      "agents/payer.symbi:13 \`secret\` is not the name of a secret",
      "agents/payer.symbi:14 \`other\`: there is no agent \`nobody\`",
      "agents/payer.symbi:2 there is no agent \`ghost\` to delegate to",
      "agents/payer.symbi:2 there is no tool \`bils\`",
      "agents/payer.symbi:4 expected \`:\`, found \`pay\`",
      "agents/payer.symbi:5 \`pya\` is no tool of this agent's",
      "agents/payer.symbi:6 for a call of \`pay\` there is no \`args.uros\`",
      "agents/payer.symbi:9 agent \`payer\`: \`maxDepth\` is 0",
      "agents/payer.symbi:9 agent \`payer\`: limit \`temperature\` is 9",
      "agents/payer.symbi:9 there is no \`modle_options\` in with",
      "policies/desk.cedar:3 attribute \`args.uros\` in context for Action::"tool:pay" not found",
      "policies/desk.cedar:4 unexpected token \`;\`",
    ]
  `);
  expect(first.code).toBe(1);

  desk.write("agents/payer.symbi", MENDED);
  desk.write("agents/clerk.toml", TOML_MENDED);
  desk.write("policies/desk.cedar", `${BASE}permit(principal, action == Action::"tool:pay", resource) when { context.args.euros > 3 };\n`);
  expect(await told()).toEqual({ code: 0, problems: [] });
  // a module that cannot be loaded hides its own agents, and nothing of the others
  desk.write("agents/odd.ts", "export const nothing = 1;\n");
  desk.write(
    "agents/payer.symbi",
    MENDED.replace("args.euros", "args.uros").replace("vault://other agent: desk", "vault://other agent: odd"),
  );
  expect((await told()).problems).toEqual([
    "agents/odd.ts:1 exports no agent",
    "agents/payer.symbi:6 for a call of `pay` there is no `args.uros`",
  ]);
});

test("Y-13 FILE is relative to the working folder, for agents and for tools, from a subfolder and with --project", async () => {
  const desk = bank();
  desk.write("tools/odd.clad.toml", "[tool]\n");
  const found = async (cwd: string, args: readonly string[]) => {
    const said = await desk.from(cwd, [...args, "--json"]);
    return [said.code, said.code === 2 ? said.stderr : (JSON.parse(said.stdout) as { problems: { file: string }[] }).problems.length];
  };
  desk.write("agents/payer.symbi", payer("    allow: pya"));
  const outside = dirname(desk.root);
  for (const [cwd, agent, tool, more] of [
    [desk.root, "agents/payer.symbi", "tools/odd.clad.toml", []],
    [join(desk.root, "agents"), "payer.symbi", "../tools/odd.clad.toml", []],
    [join(desk.root, "tools"), "../agents/payer.symbi", "odd.clad.toml", []],
    [outside, "desk/agents/payer.symbi", "desk/tools/odd.clad.toml", ["--project", "desk"]],
  ] as const) {
    expect([cwd, await found(cwd, ["agents", "validate", agent, ...more])]).toEqual([cwd, [1, 1]]);
    expect([cwd, (await found(cwd, ["tools", "validate", tool, ...more]))[0]]).toEqual([cwd, 1]);
  }
  for (const [cwd, file, more] of [
    [desk.root, "payer.symbi", []],
    [join(desk.root, "tools"), "agents/payer.symbi", []],
    [outside, "agents/payer.symbi", ["--project", "desk"]],
  ] as const) {
    expect(await found(cwd, ["agents", "validate", file, ...more])).toEqual([2, expect.stringContaining(`there is no file \`${file}\``)]);
    expect((await found(cwd, ["tools", "validate", file, ...more]))[0]).toBe(2);
  }
}, 60_000); // many commands, one after the other

test("Z-12 Y-2 a webhook may name several secrets, and none that another webhook has; what is wrong is not missing too", async () => {
  const desk = bank();
  const hooks = (...secrets: string[]) =>
    desk.write(
      "agents/hooks.symbi",
      secrets
        .map((secret, i) => `webhook h${i} {\n  path: "/hooks/h${i}"\n  provider: github\n  secret: ${secret}\n  agent: payer\n}\n`)
        .join("\n"),
    );
  const told = async () => {
    const { code, stdout } = await desk.orgate("agents", "validate", "--json");
    const { problems } = JSON.parse(stdout) as { problems: { line: number; detail: string; hint: string }[] };
    return [code, ...problems.map(({ line, detail, hint }) => `${line} ${detail} | ${hint}`)];
  };
  hooks("[vault://new, vault://old]", '"$OTHER"');
  expect(await told()).toEqual([0]);
  expect((await desk.orgate("agents", "fmt", "--check")).code).toBe(0);
  hooks("vault://one", "[vault://two, vault://one]");
  expect(await told()).toEqual([
    1,
    "8 `h1`: its secret `one` is that of webhook `h0` (agents/hooks.symbi): each would take the other's deliveries | give each its own: `orgate secrets set h1-hook`",
  ]);
  const named = (secret: string, detail: string) => {
    hooks(secret);
    return expect(told()).resolves.toEqual([1, expect.stringContaining(`4 \`secret\` ${detail}`)]);
  };
  await named("[]", "names no secret");
  await named("[vault://a, vault://a]", "names one twice");
  await named("[vault://a, vault://b, vault://c, vault://d]", "names more than 3 secrets");
  await named('[vault://a, "b"]', "is not the name of a secret");
  desk.write("agents/hooks.symbi", 'schedule s {\n  cron: 5\n  agent: payer\n  input: "x"\n}\n');
  expect(await told()).toEqual([1, expect.stringContaining("2 `cron` takes a text, and this is the number 5")]);
  hooks("vault://one");
  desk.write(
    "orgate.toml",
    '[project]\nname = "bank"\n[webhooks.t]\nagent = "payer"\npath = "/hooks/t"\nprovider = "github"\nsecret = ["$T", "one"]\n',
  );
  expect(await told()).toEqual([1, expect.stringContaining("its secret `one` is that of webhook `t` (orgate.toml)")]);
});

test("Y-13 validate tells all that is wrong with schedules and webhooks, wherever they stand; a file that nobody has is no good file", async () => {
  const desk = bank();
  desk.write(
    "agents/times.symbi",
    `schedule a { cron: "61 * * * *" agent: payer input: "x" }
schedule b { cron: "* * * * *" agent: nobody input: "x" }
schedule c { cron: "* * * * *" agent: payer input: "x" timezone: "Europe/Nowhere" }
schedule d { at: "soon" agent: payer input: "x" }
webhook e { path: "/api/x" provider: github secret: vault://one agent: payer }
webhook f { path: "/hooks/f" provider: github secret: vault://one.two agent: nobody }
webhook g { path: "/hooks/g" provider: github secret: vault://one agent: payer }
webhook h { path: "/hooks/g" provider: github secret: vault://one agent: payer }
`,
  );
  const told = async (...more: string[]) => {
    const { code, stdout } = await desk.orgate("agents", "validate", ...more, "--json");
    const { problems } = JSON.parse(stdout) as { problems: { file: string; line: number }[] };
    return [code, problems.map(({ file, line }) => `${file}:${line}`)];
  };
  const lines = [1, 2, 3, 4, 5, 6, 8].map((line) => `agents/times.symbi:${line}`);
  expect(await told()).toEqual([1, lines]);
  expect(await told("agents/times.symbi")).toEqual([1, lines]);
  expect(await told("agents/payer.symbi")).toEqual([0, []]);
  expectRefusal(await desk.orgate("agents", "validate", "paye.symbi"), 2, "there is no file `paye.symbi` of an agent");
  // of an agent in a file that cannot be read nobody knows whether it is there
  desk.write("agents/payer.symbi", "agent payer {");
  expect(await told()).toEqual([1, ["agents/payer.symbi:1", ...[1, 3, 4, 5, 8].map((line) => `agents/times.symbi:${line}`)]]);
  desk.write("agents/times.symbi", 'agent writer { capabilities = ["skill:none",\n"agent:ghost"] with instructions = "x" { } }');
  desk.write("agents/payer.symbi", payer("    allow: pay"));
  expect(await told()).toEqual([1, ["agents/times.symbi:2", "agents/times.symbi:1"]]);
});

test("Y-4 a file that declares nothing is told, and not called good: it may have been cut off", async () => {
  const desk = bank();
  for (const text of ["", "\uFEFF", "\r\n", "# all is gone\n", 'metadata {\n  description = "x"\n}\n']) {
    desk.write("agents/payer.symbi", text);
    const { code, stdout } = await desk.orgate("agents", "validate");
    expect([text, code, stdout]).toEqual([text, 1, expect.stringContaining("agents/payer.symbi:1:1: ")]);
  }
  expectRefusal(await desk.orgate("agents", "list"), 1, "agents/payer.symbi:1:1: ");
});

test("A-4 what is wrong with a schedule or a webhook in TOML is told with its place, and a name that is none with what a name is", async () => {
  const desk = bank();
  const wrong =
    '\n# what follows\n[schedules.fine]\nagent = "payer"\ncron = "0 1 * * *"\n[schedules.night]\nagent = "payer"\ncron = "0 2 * *"\n';
  desk.write("orgate.toml", `[project]\nname = "bank"\n${wrong}`);
  const { stdout } = await desk.orgate("agents", "validate");
  expect(stdout).toContain("orgate.toml:8:12: `schedules.night`: `0 2 * *` is no cron expression");
  expectRefusal(await desk.orgate("up", "--check"), 1, "orgate.toml:8:12: `schedules.night`");
  desk.write("orgate.toml", '[project]\nname = "bank"\n[schedules."my night"]\nagent = "payer"\ncron = "0 2 * * *"\n');
  expectRefusal(
    await desk.orgate("agents", "validate"),
    1,
    "orgate.toml:3:13: `schedules.my night`: must be 1 to 64 of A-Z, a-z, 0-9, _ and -",
  );
});

test("A-3 one name is one agent: both places are told", async () => {
  const desk = bank();
  desk.write("agents/zweit.symbi", '# a second one\nagent payer { with instructions = "x" { } }');
  expectRefusal(await desk.orgate("agents", "list"), 1, "agents/zweit.symbi:2:7: agent `payer` is already defined in agents/payer.symbi:5");
  desk.write("agents/zweit.symbi", 'agent first { with instructions = "x" { } }\nagent desk { with instructions = "x" { } }');
  expectRefusal(await desk.orgate("agents", "list"), 1, "agents/zweit.symbi:2:7: agent `desk` is already defined in");
});

test("explain shows each rule with its line, and the Cedar that it is", async () => {
  const desk = bank(
    '    allow: bills\n    require: approval(pay, { question: "Pay?", approvers: [operators] }) if args.euros > 10\n    audit: pay',
  );
  expectRefusal(await desk.orgate("agents", "explain", "payer"), 1, "there is no group of users `operators`");
  desk.write("orgate.toml", '[project]\nname = "desk"\n[groups.users]\noperators = ["ann"]\n');
  const { stdout } = await desk.orgate("agents", "explain", "payer");
  expect(stdout).toContain(
    'agents/payer.symbi:9 allow: bills  (policy money)\n  @id("9")\n  permit(principal == Agent::"payer", action == Action::"tool:bills", resource);\n',
  );
  expect(stdout).toContain('@approvers("operators")');
  expect(stdout).toContain("when { (context.args.euros > 10) };");
  expect(stdout).toContain("recorded as agents/payer.symbi/11, never enforced");
  expect(await desk.json("agents", "explain", "payer")).toMatchObject({
    policies: [{ line: 9 }, { line: 10 }, { line: 11, shadow: true }],
  });
  expectRefusal(await desk.orgate("agents", "explain", "desk"), 2, "the file of agent `desk` contains no policies");
});

test("a rule is shown whole and as it is: links in texts, several lines, comments aside; nothing in a text looks like a policy", async () => {
  const desk = bank(`    deny: pay if args.to.like("http://*") // why
      || args.to == "# none" # and this
    require: approval(pay, {
      question: "x\\") permit(principal, action, resource);" // odd
    }); deny: spend`);
  const { stdout } = await desk.orgate("agents", "explain", "payer");
  expect(stdout).toContain('agents/payer.symbi:9 deny: pay if args.to.like("http://*") || args.to == "# none"  (policy money)');
  expect(stdout).toContain(
    'agents/payer.symbi:11 require: approval(pay, { question: "x\\") permit(principal, action, resource);" })  (policy money)',
  );
  expect(stdout).toContain("agents/payer.symbi:13 deny: spend  (policy money)");
  expect(stdout).not.toMatch(/^ *permit\(principal, action/m);
});

test("Y-5 fmt puts files into their layout, tells with --check, and leaves alone what it cannot read", async () => {
  const desk = bank();
  desk.write("agents/a.symbi", 'agent a{with instructions="x"{}}  // why\n');
  desk.write("agents/b.symbi", "agent {");
  const check = await desk.orgate("agents", "fmt", "--check", "agents/a.symbi");
  expect([check.code, check.stdout]).toEqual([1, "not formatted agents/a.symbi\n"]);
  const { code, stdout } = await desk.orgate("agents", "fmt", "--json");
  expect([code, JSON.parse(stdout)]).toMatchObject([1, { changed: ["agents/a.symbi"], problems: [{ file: "agents/b.symbi" }] }]);
  expect(desk.read("agents/a.symbi")).toBe('agent a {\n  with instructions = "x" {}\n} // why\n');
  expect(desk.read("agents/b.symbi")).toBe("agent {");
  chmodSync(join(desk.root, "agents/a.symbi"), 0o640);
  desk.write("agents/a.symbi", "agent  a { with { } }");
  await desk.orgate("agents", "fmt", "agents/a.symbi");
  expect(statSync(join(desk.root, "agents/a.symbi")).mode & 0o777).toBe(0o640);
  desk.write("agents/b.symbi", "");
  expect((await desk.orgate("agents", "fmt", "--check")).code).toBe(0);
});

test("Y-14 diff tells what a change newly permits, forbids and asks: by tables, turning points and the journal", async () => {
  const desk = bank("    allow: bills\n    allow: pay if args.euros < 50\n    require: approval(pay) if args.euros >= 100");
  await run(desk, "pay it");
  const before = join(desk.root, "..", "before");
  cpSync(desk.root, before, { recursive: true, filter: (path) => !path.includes(".orgate") });
  expect((await desk.orgate("agents", "diff", before)).code).toBe(0);
  desk.write(
    "agents/payer.symbi",
    payer('    allow: pay if args.euros < 80\n    deny: pay if args.to == "eve"\n    deny: pay if args.euros == 40'),
  );
  desk.write(
    "policies/desk.cases.json",
    JSON.stringify([{ name: "bills", agent: "payer", action: "tool:bills", args: {}, verdict: "deny" }]),
  );
  const { code, stdout } = await desk.orgate("agents", "diff", before, "--json");
  const found = JSON.parse(stdout) as Record<
    "permits" | "forbids" | "asks",
    { action: string; source: string; args: { euros: number; to: string } }[]
  > & { tried: Record<string, number> };
  expect(code).toBe(1);
  expect(found.permits).toMatchObject([{ action: "tool:pay", source: "boundary", before: { verdict: "deny" } }]);
  expect(found.permits.every(({ args }) => args.euros >= 50 && args.euros < 80)).toBe(true);
  expect(found.forbids).toContainEqual(expect.objectContaining({ action: "tool:bills", source: "table" }));
  expect(found.forbids).toContainEqual(expect.objectContaining({ action: "tool:pay", args: expect.objectContaining({ euros: 40 }) }));
  expect(found.forbids).toContainEqual(expect.objectContaining({ args: expect.objectContaining({ to: "eve" }) }));
  expect(found.tried["history"]).toBeGreaterThan(2);
  expectRefusal(await desk.orgate("agents", "diff", before, "payr"), 1, "there is no agent `payr`");
  const shown = await desk.orgate("agents", "diff", before, "payer");
  expect(shown.stdout).toMatch(/newly permits[\s\S]*newly forbids/);
});

test("Y-14 a change that permits more is told however deep its condition, and nothing that reads otherwise is called the same", async () => {
  const desk = bank();
  const before = join(desk.root, "..", "then");
  desk.write("orgate.toml", '[project]\nname = "desk"\n[groups.users]\noperators = ["ann", "bob"]\n');
  desk.write("policies/all.cedar", 'permit(principal, action == Action::"delegate", resource);\n');
  cpSync(desk.root, before, { recursive: true, filter: (path) => !path.includes(".orgate") });
  type Found = Readonly<{ same: boolean; rewritten: { agent: string; what: string }[]; cut: string[] }> &
    Readonly<Record<"permits" | "forbids" | "asks", { action: string; args: object | null; after: { verdict: string } }[]>>;
  const changed = async (was: string, is: string): Promise<Found> => {
    writeFileSync(join(before, "agents/payer.symbi"), was);
    desk.write("agents/payer.symbi", is);
    return JSON.parse((await desk.orgate("agents", "diff", before, "--json")).stdout) as Found;
  };
  const rules = (was: string, is: string) => changed(payer(`    allow: tools\n${was}`), payer(`    allow: tools\n${is}`));
  const permits = async (found: Promise<Found>) => (await found).permits.map(({ action, args }) => ({ action, args }));
  // four things at once have to hold
  const deep = 'deny: pay if args.to == "eve" && args.euros > 1000 && labels.contains("x") && spent.tokens.day > 7';
  expect(await permits(rules(deep, ""))).toEqual([{ action: "tool:pay", args: { to: "eve", euros: 1001 } }]);
  // who it is for, by group; what it is done to; a choice
  expect(await permits(rules('deny: pay if user in "operators" && args.euros > 5', ""))).toHaveLength(1);
  expect(
    await permits(changed(payer('    allow: model("other/*")').replace("allow: model", "deny: model"), payer("    allow: tools"))),
  ).toContainEqual({
    action: "model",
    args: null,
  });
  expect(await permits(rules('deny: pay if if args.euros > 9 { args.to == "eve" } else { false }', ""))).toHaveLength(1);
  // a question that fewer have to answer is another question
  const asking = (quorum: number) => payer(`    require: approval(pay, { quorum: ${quorum} })`);
  expect((await changed(asking(2), asking(1))).asks).toMatchObject([{ action: "tool:pay", after: { verdict: "ask" } }]);
  // nothing that is tried is decided otherwise: it reads otherwise all the same
  const secret = (more: string) => payer("    allow: tools").replace("with model", `with ${more}model`);
  const lax = await changed(secret("privacy = high, "), secret(""));
  expect(lax).toMatchObject({ same: false, permits: [], rewritten: [{ agent: "payer", what: "tools" }] });
  expect((await changed(secret("calls = 3, "), secret("calls = 300, "))).rewritten).toMatchObject([{ what: "limits" }]);
  // its place is nothing that it says
  expect(await changed(payer("    allow: tools"), payer("\n\n    # why\n    allow:  tools"))).toMatchObject({ same: true, rewritten: [] });
  // what an agent newly delegates to
  const boss = (list: string) => `${payer("    allow: tools")}agent boss { capabilities = [${list}] with instructions = "x" { } }`;
  expect(await permits(changed(boss(""), boss('"agent:payer"')))).toEqual([{ action: "delegate", args: null }]);
});

test("Y-14 diff tries where a session comes from, what leaves, how many targets there are, what need not be given, and what a tool says of itself", async () => {
  const desk = bank();
  const tool = (risk: string) =>
    `${TOOLS}export const post = defineTool({ name: "post", description: "posts", riskTier: "${risk}", targets: { to: "recipient" }, outgoing: ["text"], effects: ["network"],
  input: z.strictObject({ to: z.string(), text: z.string(), note: z.string().optional() }), run: () => "posted" });\n`;
  desk.write("tools/bank.ts", tool("low"));
  const before = join(desk.root, "..", "once");
  cpSync(desk.root, before, { recursive: true, filter: (path) => !path.includes(".orgate") });
  type Found = Readonly<{
    rewritten: { what: string }[];
    permits: { action: string; surfaces: string[] }[];
    forbids: { action: string; surfaces: string[] }[];
  }>;
  const found = async (other = before) => {
    const { stdout, stderr } = await desk.orgate("agents", "diff", other, "--json");
    expect(stderr).toBe("");
    return JSON.parse(stdout) as Found;
  };
  const text = (rule: string) => payer(`    allow: tools\n    ${rule}`).replace("[pay, bills]", "[post]");
  const permits = async (rule: string) => {
    writeFileSync(join(before, "agents/payer.symbi"), text(rule));
    desk.write("agents/payer.symbi", text(""));
    return (await found()).permits.map(({ action, surfaces }) => `${action} ${surfaces.join()}`);
  };
  expect(await permits('deny: post if "https://evil.example/" in outgoing.links')).toEqual(["tool:post cli"]);
  expect(await permits("deny: post if !outgoing.links.is_empty() && outgoing.vouched")).toEqual(["tool:post cli"]);
  expect(await permits('deny: post if "untrusted" in facts.text.seenUnder')).toEqual(["tool:post cli"]);
  expect(await permits("deny: post if targets.count > 3 && targets.known")).toEqual(["tool:post cli"]);
  expect(await permits('deny: post if origin.surface != "cli"')).toEqual(["tool:post library,coordinator,shell,api,schedule,webhook,mcp"]);
  expect(await permits('deny: post if has(origin.schedule) && origin.schedule == "nightly"')).toEqual(["tool:post schedule"]);
  expect(await permits("deny: post if has(origin.delivery)")).toEqual(["tool:post webhook"]);
  expect(await permits("deny: post if has(args.note)")).toEqual(["tool:post cli"]);
  expect(await permits('deny: post if tool.riskTier == "low"')).toEqual(["tool:post cli"]);
  // a policy of one surface is tried there
  expect(await permits("")).toEqual([]);
  desk.write("policies/webhook/more.cedar", 'forbid(principal, action == Action::"tool:post", resource);\n');
  expect((await found()).forbids).toMatchObject([{ action: "tool:post", surfaces: ["webhook"] }]);
  // what a tool says of itself decides, also where the rule is the same
  desk.write("agents/payer.symbi", text('deny: post if tool.riskTier == "high"'));
  const riskier = join(desk.root, "..", "riskier");
  cpSync(desk.root, riskier, { recursive: true, filter: (path) => !path.includes(".orgate") });
  writeFileSync(join(riskier, "tools/bank.ts"), tool("high"));
  expect(await found(riskier)).toMatchObject({
    rewritten: [{ what: "tools" }],
    permits: [{ action: "tool:post", surfaces: ["cli"] }],
  });
});

test("Y-14 diff tells of each tool what it declares otherwise, by field: what a target stands for too, and nothing else", async () => {
  const desk = bank();
  const tool = (declared: string) =>
    `${TOOLS}export const drop = defineTool({ name: "drop", description: "drops", effects: ["write"], input: z.strictObject({ order: z.string() }), run: () => null, ${declared} });\n`;
  const targets = 'targets: { order: { kind: "id", of: "order" } }';
  desk.write("agents/payer.symbi", payer("    allow: tools").replace("[pay, bills]", "[pay, drop]"));
  desk.write("tools/bank.ts", tool(targets));
  const told = async (name: string, declared: string) => {
    const before = join(desk.root, "..", name);
    cpSync(desk.root, before, { recursive: true, filter: (path) => !path.includes(".orgate") });
    writeFileSync(join(before, "tools/bank.ts"), tool(declared));
    const { code, stdout } = await desk.orgate("agents", "diff", before, "--json");
    const { rewritten } = JSON.parse(stdout) as { rewritten: readonly Readonly<{ before: string; after: string }>[] };
    return [code, ...rewritten.map((one) => `${one.before} -> ${one.after}`)];
  };
  expect(await told("same", targets)).toEqual([0]);
  expect(await told("kind", 'targets: { order: "id" }')).toEqual([
    1,
    'drop.targets: {"order":{"kind":"id","known":[],"of":null,"per":null}} -> drop.targets: {"order":{"kind":"id","known":[],"of":"order","per":null}}',
  ]);
  expect(await told("learns", `${targets}, learns: [{ set: "orders", from: "order" }]`)).toEqual([
    1,
    'drop.learns: [{"from":"order","set":"orders"}] -> drop.learns: []',
  ]);
});

test("Y-8 Y-12 capabilities are the only way to a tool; a private agent's delegates are private too", async () => {
  const desk = bank("    allow: tools");
  desk.write("agents/payer.symbi", payer("    allow: tools").replace("[pay, bills]", "[bills]"));
  expect(await run(desk, "pay it")).toMatchObject({ calls: 0 });
  desk.write("agents/boss.symbi", 'agent boss { capabilities = ["agent:payer"] with instructions = "x", privacy = "high" { } }');
  expectRefusal(await desk.orgate("agents", "list"), 1, "what delegate `payer` answers would not be private");
});

test("Y-12 what a private agent has read does not leave, by the starter policies", async () => {
  const desk = bank();
  const home = join(desk.root, "started");
  const made = await desk.orgate("init", home, "--kind", "assistant", "--yes");
  expect(made.code).toBe(0);
  desk.write(
    "started/tools/web.ts",
    TOOLS.replace('name: "pay"', 'name: "post"').replace('["spend"]', '["network"]').replace("export const pay", "export const post"),
  );
  desk.write(
    "started/agents/reader.symbi",
    `agent reader { capabilities = [read_note, post] policy p { allow: [read_note, post] }
      with instructions = "x", privacy = "high", model = "offline/x", model_options = { rules: [
        { when: { says: "go" }, calls: [{ tool: "read_note", args: { name: "today" } }] },
        { when: { says: "go", called: ["read_note"], notCalled: ["post"] }, calls: [{ tool: "post", args: { to: "x", euros: 1 } }] },
        { when: { called: ["post"] }, say: "{{result}}" },
      ] } { } }`,
  );
  const result = async () =>
    JSON.parse((await desk.within({}, ["run", "reader", "--input", "go", "--json", "--project", home])).stdout) as Result;
  expect(await result()).toMatchObject({ output: expect.stringContaining("private/private-stays"), calls: 1 });
});

test("Y-13 a file that is torn is told of, and that there may be more to tell once it is mended; of files that can be read whole nothing is left out", async () => {
  const desk = bank();
  desk.write("agents/clerk.toml", 'name = "clerk"\ninstructions = "x\nmodel = "offline/none"\ntools = ["nothing"]\n');
  const torn = await desk.orgate("agents", "validate");
  expect([torn.code, torn.stdout]).toEqual([1, expect.stringMatching(/agents\/clerk\.toml:2:[\s\S]*run it again once these are mended/)]);
  expect(JSON.parse((await desk.orgate("agents", "validate", "--json")).stdout)).toMatchObject({ ok: false, complete: false });
  desk.write("agents/clerk.toml", 'name = "clerk"\ninstructions = "x"\nmodel = "offline/echo"\ntools = []\nmodle = "x"\n');
  const whole = await desk.orgate("agents", "validate");
  expect([whole.code, whole.stdout.includes("run it again")]).toEqual([1, false]);
});
