import { createRequire } from "node:module";
import { afterAll, describe, expect, test } from "vitest";
import { type Desk, expectRefusal, makeDesk } from "../fixtures/desk.ts";

const desks: Desk[] = [];
afterAll(() => {
  for (const desk of desks) desk.remove();
});

const ECHO = `[tool]
name = "say"
version = "2.1.0"
binary = "echo"
description = "Says a text."

[args.text]
type = "string"
required = true
sanitize = ["text"]

[args.times]
type = "integer"
max = 3
default = 1

[command]
template = "echo -n {text} {times}"
`;
const WHOLE = "permit(principal, action, resource);\n";
const AGENT = 'name = "clerk"\ninstructions = "Say it."\nmodel = "offline/echo"\ntools = ["say"]\n';

function shop(): Desk {
  const desk = makeDesk();
  desks.push(desk);
  desk.write("tools/say.clad.toml", ECHO);
  desk.write("agents/clerk.toml", AGENT);
  desk.write("policies/desk.cedar", WHOLE);
  return desk;
}

type Ran = { session: string; state: string; ending: string; output: string; questions: readonly { approval: string }[] };

describe("tools", () => {
  const desk = shop();

  test("T-26 list, show and schema tell what there is", async () => {
    const listed = (await desk.json("tools", "list")) as { name: string; from: string; agents: string[] }[];
    expect(listed.find((t) => t.name === "say")).toMatchObject({
      from: "tools/say.clad.toml",
      agents: ["clerk"],
      risk: "low",
      sandbox: "process",
    });
    expect(listed.find((t) => t.name === "look")).toMatchObject({ from: "code", agents: ["desk"], risk: "high", sandbox: null });
    expect((await desk.orgate("tools", "show", "say")).stdout).toMatch(/runs +echo -n \{text\} \{times\}\n/);
    expect(await desk.json("tools", "schema", "say")).toEqual({
      name: "say",
      description: "Says a text.",
      inputSchema: {
        type: "object",
        properties: { text: { type: "string", maxLength: 32_768 }, times: { type: "integer", maximum: 3, default: 1 } },
        required: ["text"],
        additionalProperties: false,
      },
    });
  });

  test("T-26 suggest proposes declarations with reasons and doubts, and writes nothing", async () => {
    const [say] = (await desk.json("tools", "suggest", "say")) as { tool: string; declaration: object; remarks: { sure: string }[] }[];
    expect(say).toMatchObject({
      tool: "say",
      declaration: { effects: ["execute"], labels: ["untrusted"] },
      declared: { effects: ["execute"] },
    });
    expect(say?.remarks.every(({ sure }) => sure === "guess")).toBe(true);
    const { stdout } = await desk.orgate("tools", "suggest", "--all");
    expect(stdout).toMatch(/\nsay\n {2}effects: \["execute"\],\n {4}\/\/ execute: guess, /);
    expectRefusal(await desk.orgate("tools", "suggest", "say", "--all"), 2, "name one tool, or say --all");
  });

  test("T-26 test prints the argv and runs nothing", async () => {
    const tried = await desk.orgate("tools", "test", "say", "--arg", "text=a 'b' $(c)", "--arg", "times=2");
    expect(JSON.parse(tried.stdout)).toEqual(["echo", "-n", "a 'b' $(c)", "2"]);
    expect(await desk.json("tools", "test", "say", "--args", '{"text": "x"}')).toMatchObject({
      args: { text: "x", times: 1 },
      invocation: { kind: "process", argv: ["echo", "-n", "x", "1"] },
    });
    expectRefusal(await desk.orgate("tools", "test", "say", "--arg", "text=-rf"), 2, "begins with a dash");
    expectRefusal(await desk.orgate("tools", "test", "say", "--arg", "text=a", "--arg", "times=9"), 2, "must be at most 3");
    expectRefusal(await desk.orgate("tools", "test", "shout"), 2, "no manifest describes a tool `shout`");
    expect(await desk.json("sessions", "list")).toEqual([]);
  });

  test("T-26 T-9 run goes through the gate and the journal; its evidence is whole", { tags: ["sandbox"] }, async () => {
    const ran = (await desk.json("tools", "run", "say", "--arg", "text=hello")) as Ran;
    expect(ran).toMatchObject({ ending: "completed", output: expect.stringContaining("hello 1") });
    const envelope = await desk.json("journal", "evidence", `${ran.session}/1.0`);
    expect(envelope).toMatchObject({
      tool: "say",
      version: "2.1.0",
      parameters: { text: "hello", times: 1 },
      invocation: { kind: "process", argv: ["echo", "-n", "hello", "1"], tier: "process" },
      resource: 'Tool::"say"',
      outcome: "done",
      exitStatus: 0,
      outputSha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      policies: ["desk/1"],
      identity: { agent: "clerk", onBehalfOf: expect.stringMatching(/^user:/), surface: "cli" },
    });
    const text = await desk.orgate("journal", "evidence", `${ran.session.slice(-8)}/1.0`);
    expect(text.stdout).toMatch(/exit status +0\n[\s\S]*policies +desk\/1\n/);
    expectRefusal(await desk.orgate("journal", "evidence", `${ran.session}/9.9`), 2, "no call `9.9` has ended");
    expectRefusal(await desk.orgate("journal", "evidence", "1.0"), 2, "names no call");
  });

  test("T-9 a tool in code has its envelope too", async () => {
    const ran = (await desk.json("run", "desk", "--input", "please look")) as Ran;
    expect(await desk.json("journal", "evidence", `${ran.session}/1.0`)).toMatchObject({
      tool: "look",
      invocation: null,
      outcome: "done",
      outputDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  test("T-26 what no policy permits is not run, by hand either", async () => {
    const other = shop();
    other.write(
      "policies/desk.cedar",
      'permit(principal, action in [Action::"model", Action::"respond"], resource);\npermit(principal is User, action, resource);\n',
    );
    const ran = await other.orgate("tools", "run", "say", "--arg", "text=hello", "--json");
    expect(JSON.parse(ran.stdout)).toMatchObject({
      calls: 0,
      output: expect.stringContaining("no policy permits"),
      call: { outcome: "denied" },
    });
    expect(ran.code).toBe(1);
    const told = await other.orgate("tools", "run", "say", "--arg", "text=hello");
    expect([told.code, told.stdout]).toEqual([1, expect.stringMatching(/\nThe call was denied: nothing was run\. .*no policy permits/)]);
    expect(told.stdout).not.toContain("The agent answered.");
    expect(told.stdout).toContain("orgate policy explain --session s_");
  });

  test("T-26 `tools run` exits 1 and says what happened when the tool failed", { tags: ["sandbox"] }, async () => {
    const other = shop();
    other.write("tools/say.clad.toml", ECHO.replaceAll("echo", "false"));
    const ran = await other.orgate("tools", "run", "say", "--arg", "text=hello");
    expect([ran.code, ran.stdout]).toEqual([1, expect.stringMatching(/\nThe tool failed\. /)]);
    expect(ran.stdout).not.toContain("The agent answered.");
    const json = await other.orgate("tools", "run", "say", "--arg", "text=hello", "--json");
    expect([json.code, JSON.parse(json.stdout)]).toMatchObject([1, { call: { outcome: "failed" } }]);
    other.write("tools/say.clad.toml", ECHO);
    const good = await other.orgate("tools", "run", "say", "--arg", "text=hello");
    expect([good.code, good.stdout]).toEqual([0, expect.stringContaining("\nThe tool was run.")]);
  });

  test("T-26 a call that its contract refuses, or whose outcome nobody knows, exits 1 and says so", { tags: ["sandbox"] }, async () => {
    const other = shop();
    const refused = await other.orgate("tools", "run", "say", "--arg", "text=-rf", "--json");
    expect([refused.code, JSON.parse(refused.stdout)]).toMatchObject([
      1,
      { call: { outcome: "not made", detail: expect.stringContaining("begins with a dash") } },
    ]);
    const much = await other.orgate("tools", "run", "say", "--arg", "text=a", "--arg", "times=9", "--json");
    expect([much.code, JSON.parse(much.stdout)]).toMatchObject([
      1,
      { call: { outcome: "denied", detail: expect.stringContaining("at most 3") } },
    ]);
    const told = await other.orgate("tools", "run", "say", "--arg", "text=-rf");
    expect([told.code, told.stdout]).toEqual([1, expect.stringMatching(/\nThe call was not made\. .*begins with a dash/)]);
    expect(told.stdout).not.toContain("The agent answered.");
    const slow = ECHO.replaceAll("echo", "sleep")
      .replace("sleep -n {text} {times}", "sleep {text}")
      .replace("version =", "timeout_seconds = 1\nversion =");
    other.write("tools/say.clad.toml", slow);
    const unknown = await other.orgate("tools", "run", "say", "--arg", "text=600");
    expect([unknown.code, unknown.stdout]).toEqual([1, expect.stringMatching(/\nNobody knows whether the tool took effect\. /)]);
    expect(unknown.stdout).not.toContain("The agent answered.");
  });

  test("T-8 T-26 a manifest with human_approval asks, and runs once a person has said yes", { tags: ["sandbox"] }, async () => {
    const other = shop();
    other.write("tools/say.clad.toml", ECHO.replace('binary = "echo"', 'binary = "echo"\nhuman_approval = true'));
    const waiting = await other.orgate("tools", "run", "say", "--arg", "text=hello", "--json");
    expect(waiting.code).toBe(3);
    const { questions, session } = JSON.parse(waiting.stdout) as Ran;
    await other.orgate("approvals", "approve", questions[0]?.approval ?? "");
    expect(await other.json("journal", "evidence", `${session}/1.0`)).toMatchObject({
      outcome: "done",
      policies: ["desk/1", "orgate:human-approval/say"],
      approval: questions[0]?.approval,
    });
  });

  test("T-26 T-15 T-16 validate and doctor tell everything that is wrong, the rest is used, and init writes what is not", async () => {
    const other = shop();
    expect(await other.json("tools", "validate")).toEqual({ manifests: 1, problems: [], missing: [] });
    for (const kind of ["command", "http"]) {
      expect(await other.json("tools", "init", `own_${kind}`, "--kind", kind)).toMatchObject({ isRead: true });
      expect(await other.json("tools", "validate", `tools/own_${kind}.clad.toml`)).toEqual({ manifests: 1, problems: [], missing: [] });
    }
    expectRefusal(await other.orgate("tools", "init", "own_http"), 2, "is there already");
    other.write("tools/bad.clad.toml", '[tool]\nname = "bad"\nverson = "1"\n');
    const told = await other.orgate("tools", "validate");
    expect(told.code).toBe(1);
    expect(told.stdout).toMatch(/bad\.clad\.toml:3:1 there is no setting `tool\.verson`/);
    const listed = (await other.json("tools", "list")) as readonly Readonly<{ name: string; problem: string | null }>[];
    expect(listed.find(({ name }) => name === "bad")?.problem).toContain("tools/bad.clad.toml:1:");
    const doctor = await other.orgate("doctor", "--json");
    expect([doctor.code, JSON.parse(doctor.stdout).tools.length]).toEqual([1, 3]);
    expect(await other.json("tools", "test", "say", "--arg", "text=a")).toMatchObject({ args: { text: "a" } });
  });
});

test("T-15 a manifest that `tools init` writes counts as running a program, and is not repeated", async () => {
  const desk = shop();
  await desk.json("tools", "init", "own");
  expect(await desk.json("tools", "show", "own")).toMatchObject({ effects: ["execute"], repeat: "once" });
});

test("T-26 validate and doctor tell programs and MCP servers that are not on this machine, and exit 1", async () => {
  const desk = shop();
  await desk.json("tools", "init", "remote", "--kind", "mcp");
  desk.write("tools/gone.clad.toml", ECHO.replace('"say"', '"gone"').replaceAll("echo", "no-such-program-here"));
  const told = await desk.orgate("tools", "validate", "--json");
  const { manifests, problems, missing } = JSON.parse(told.stdout) as { manifests: number; problems: unknown[]; missing: unknown[] };
  expect([told.code, manifests, problems]).toEqual([1, 3, []]);
  expect(missing).toMatchObject([
    { line: 18, detail: expect.stringContaining("`no-such-program-here` is not installed (looked in /usr/local/bin:") },
    { detail: "there is no MCP server `everything`", hint: expect.stringContaining(".mcp.json") },
  ]);
  const text = await desk.orgate("tools", "validate", "tools/gone.clad.toml");
  expect([text.code, text.stdout]).toEqual([1, expect.stringContaining("1 manifest valid, 1 of them not on this machine, 0 problems")]);
  const doctor = await desk.orgate("doctor");
  expect([doctor.code, doctor.stdout]).toEqual([1, expect.stringMatching(/no +tool gone +tools\/gone\.clad\.toml:18:/)]);
});

test("tools that code defines are said not to be a manifest's, by message and help", async () => {
  const desk = shop();
  for (const verb of ["show", "schema", "test"])
    expectRefusal(await desk.orgate("tools", verb, "look"), 2, "none that code or an MCP server defines");
  expect((await desk.orgate("tools", "show", "--help")).stdout).toContain("For tools of manifests");
});

test("T-25 an MCP manifest calls a real server of the project, once its tools were accepted; before that nothing is started", async () => {
  const desk = shop();
  const entry = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/dist/index.js");
  desk.write(".mcp.json", JSON.stringify({ mcpServers: { all: { command: process.execPath, args: [entry, "stdio"] } } }));
  desk.write(
    "tools/say.clad.toml",
    '[tool]\nname = "say"\nversion = "1"\ndescription = "Says it."\n[args.text]\ntype = "string"\nrequired = true\n[mcp]\nserver = "all"\ntool = "echo"\n[mcp.field_map]\ntext = "message"\n',
  );
  const early = JSON.parse((await desk.orgate("tools", "run", "say", "--arg", "text=hello", "--json")).stdout) as Ran;
  expect(early.output).toContain("no MCP server `all` that was accepted");
  await desk.json("mcp", "trust", "all");
  const ran = (await desk.json("tools", "run", "say", "--arg", "text=hello there")) as Ran;
  expect(ran.output).toContain("hello there");
  expect(await desk.json("journal", "evidence", `${ran.session}/1.0`)).toMatchObject({
    outcome: "done",
    invocation: { kind: "mcp", server: "all", tool: "echo", args: { message: "hello there" } },
  });
}, 60_000);

describe("secrets", () => {
  const env = { ORGATE_SECRETS_PASSPHRASE: "correct horse battery" };

  test("T-22 set, list and remove; no value is ever shown, and another passphrase opens nothing", async () => {
    const desk = shop();
    desk.write(
      "tools/post.clad.toml",
      '[tool]\nname = "post"\nversion = "1"\ndescription = "p"\n[http]\nmethod = "GET"\nurl = "https://example.com/"\nheaders = { A = "{_secret:token}", B = "{_secret:other}" }\n',
    );
    const set = await desk.start(["secrets", "set", "token", "-"], "canary-value\n", env).ended;
    expect([set.code, set.stdout]).toEqual([0, "token is set: manifests use it as {_secret:token}\n"]);
    const listed = await desk.start(["secrets", "list", "--json"], "", { ...env, ORGATE_SECRET_OTHER: "from-env" }).ended;
    expect(JSON.parse(listed.stdout)).toEqual([
      { name: "other", from: "environment", tools: ["post"] },
      { name: "token", from: "store", tools: ["post"] },
    ]);
    expect(desk.read(".orgate/secrets.json")).not.toMatch(/canary|token/);
    const wrong = await desk.start(["secrets", "list"], "", { ORGATE_SECRETS_PASSPHRASE: "another passphrase" }).ended;
    expectRefusal(wrong, 1, "does not open");
    expectRefusal(await desk.orgate("secrets", "list"), 2, "need their passphrase");
    expectRefusal(await desk.start(["secrets", "set", "x", "-"], "abc", env).ended, 2, "shorter than 4");
    const tried = await desk.orgate("tools", "test", "post");
    expect(tried.stdout).toContain("{_secret:token}");
    expect((await desk.start(["secrets", "remove", "token", "--json"], "", env).ended).code).toBe(0);
    expectRefusal(await desk.start(["secrets", "remove", "token"], "", env).ended, 2, "there is no secret `token`");
  });
});
