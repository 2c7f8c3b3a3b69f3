import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { isFault, toCanonicalJson } from "@orgate/core";
import { caseSchema, toCaseAction, toCaseFacts } from "@orgate/core/gate";
import type { McpInvocation } from "@orgate/toolclad";
import { afterEach, describe, expect, test } from "vitest";
import { openProject } from "../config/project-toml.ts";
import { openPolicies } from "../policies/policies.ts";
import { assertAgentComplete } from "./agent-settings.ts";
import { loadProject } from "./load.ts";
import { readProjectManifests } from "./manifest-source.ts";
import { manifestTools, projectManifests } from "./project-manifests.ts";

const closing: string[] = [];
afterEach(() => {
  for (const root of closing.splice(0)) rmSync(root, { recursive: true, force: true });
});
function project(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), "orgate-project-"));
  closing.push(root);
  for (const [path, text] of Object.entries({ "orgate.toml": '[project]\nname = "p"\n', ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const ECHO =
  '[tool]\nname = "echo"\nversion = "1.0.0"\ndescription = "Says it again."\n\n[args.x]\ntype = "string"\n\n[command]\ntemplate = "echo {x}"\n';
const AGENT = 'name = "ops"\ninstructions = "Do it."\ntools = ["echo"]\n';
const TOOL = `import { defineTool } from "orgate";\nexport const echo = defineTool({ name: "echo", description: "e", input: { type: "object", properties: {} }, run: () => "x" });\n`;

const problemsOf = (root: string) =>
  readProjectManifests(root, ["tools/*.clad.toml"]).problems.map(
    ({ file, line, column, detail }) => `${file.slice(root.length + 1)}:${line}:${column} ${detail}`,
  );

describe("files", () => {
  test("T-15 what is wrong in a manifest is told with line and column, all of it", () => {
    const root = project({
      "tools/a.clad.toml":
        '[tool]\nname = "a"\nversion = "1"\ndescription = "a"\ntimeout = 5\n\n[args.x]\ntype = "string"\nrequird = true\n\n[args.y]\ntype = "sting"\n\n[command]\ntemplate = "echo {x}"\n',
      "tools/b.clad.toml": ECHO.replace("{x}", "{z}"),
      "tools/c.clad.toml": "[tool\n",
      "tools/d.clad.toml": ECHO.replace('"string"', '"kind"'),
      "toolclad.toml": '[types.kind]\nbase = "enum"\nallowed = ["a"]\ncolour = 1\n',
      "scope/scope.toml": '[scope]\ntargets = ["10.0.0.0/8",\n  "10.0.0.1/8"]\n',
    });
    expect(problemsOf(root)).toEqual([
      "toolclad.toml:4:1 there is no setting `types.kind.colour`",
      "scope/scope.toml:3:3 `10.0.0.1/8` names an address inside the range: the range itself is 10.0.0.0/8",
      "tools/a.clad.toml:5:1 there is no setting `tool.timeout`",
      "tools/a.clad.toml:9:1 there is no setting `args.x.requird`",
      "tools/b.clad.toml:10:1 nothing fills `{z}`",
      "tools/c.clad.toml:1:6 not TOML: illegal character in key",
      "tools/d.clad.toml:7:1 there is no type `kind`",
    ]);
  });

  test("T-18 custom types of the project are used", () => {
    const root = project({
      "tools/d.clad.toml": ECHO.replace('"string"', '"kind"'),
      "toolclad.toml": '[types.kind]\nbase = "enum"\nallowed = ["a"]\n',
    });
    expect(problemsOf(root)).toEqual([]);
  });
});

describe("tools of a project", () => {
  test("T-25 an agent names a manifest's tool as it names any other", async () => {
    const root = project({ "tools/echo.clad.toml": ECHO, "agents/ops.toml": AGENT });
    const { agents } = await loadProject(openProject(root, root));
    const tool = agents[0]?.agent.tools.find((t) => t.name === "echo");
    expect(tool).toMatchObject({
      version: "1.0.0",
      riskTier: "low",
      repeat: "once",
      effects: ["execute"],
      labels: ["untrusted"],
      sandbox: "process",
      timeoutMs: 30_000,
    });
  });

  test("T-25 the same name from a manifest and a module is an error, with the other's file", async () => {
    const root = project({ "tools/a.clad.toml": ECHO, "tools/b.ts": TOOL, "agents/ops.toml": AGENT });
    const error = await loadProject(openProject(root, root)).catch((e: unknown) => e);
    expect(isFault(error, "file-bad") ? error.message : String(error)).toMatch(/b\.ts: tool `echo` is already defined in .*a\.clad\.toml/);
  });

  const OTHER = 'name = "clerk"\ninstructions = "Do it."\ntools = ["say"]\n';
  const BOTH = { "tools/say.clad.toml": ECHO.replace('"echo"', '"say"'), "agents/ops.toml": AGENT, "agents/clerk.toml": OTHER };
  const POLICY = 'permit(principal, action == Action::"tool:echo", resource);\npermit(principal, action == Action::"model", resource);\n';

  test.each([
    ["a setting", { "tools/a.clad.toml": ECHO.replace("[args.x]", "verson = 1\n\n[args.x]") }, "tools/a.clad.toml:6:1 there is no setting"],
    [
      "its mode",
      { "tools/a.clad.toml": ECHO.replace("[args.x]", 'mode = "browser"\n[args.x]') },
      "tools/a.clad.toml:6:1 browsers are not run",
    ],
    ["no TOML at all", { "tools/echo.clad.toml": "[tool\n" }, "tools/echo.clad.toml:1:6 not TOML"],
    [
      "a second of its name",
      { "tools/a.clad.toml": ECHO, "tools/b.clad.toml": ECHO },
      "tools/a.clad.toml:2:1 tool `echo` is defined in tools/b.clad.toml too",
    ],
    [
      "its output",
      { "tools/a.clad.toml": `${ECHO}\n[output.schema]\ntype = "object"\nminimum = 3\n` },
      "`output.schema` cannot be enforced",
    ],
    [
      "the scope, for what reaches hosts",
      { "tools/a.clad.toml": ECHO.replace('"string"', '"scope_target"'), "scope/scope.toml": "[scope]\ntargetz = []\n" },
      "scope/scope.toml:2:1 `echo` reaches hosts, and the scope cannot be read",
    ],
    [
      "a type of the project's",
      { "tools/a.clad.toml": ECHO.replace('"string"', '"kind"'), "toolclad.toml": "[types" },
      "there is no type `kind`",
    ],
  ])(
    "T-16 where a manifest cannot be used for %s, its agents are not run and are told the place; others are, and policies load",
    async (_, files, told) => {
      const root = project({ ...BOTH, ...files, "policies/p.cedar": POLICY });
      const config = openProject(root, root);
      const agents = (await loadProject(config)).agents.map(({ agent }) => agent);
      const [clerk, ops] = ["clerk", "ops"].map((name) => agents.find((agent) => agent.name === name));
      if (clerk === undefined || ops === undefined) throw new Error("an agent is missing");
      expect(() => assertAgentComplete(clerk)).not.toThrow();
      expect(() => assertAgentComplete(ops)).toThrow(/^agent `ops`: tool `echo` cannot be used: /);
      expect(ops.missingTools[0]?.detail).toContain(told);
      expect(ops.tools.find(({ name }) => name === "echo")?.check({})).toMatchObject({ kind: "refused" });
      expect(openPolicies(config, agents, "cli").digest).toBeDefined();
      expect(() => manifestTools({ root })).toThrow(); // whoever embeds it is told at once
    },
  );

  test("T-16 a wrong manifest, or a server that is not there, stops the .symbi agents that name it, whatever their rules say of it; the others are run", async () => {
    const rules = 'policy p { allow: echo if args.x == "a" allow: tools }';
    const root = project({
      ...BOTH,
      "tools/a.clad.toml": ECHO.replace("[args.x]", "verson = 1\n\n[args.x]"),
      "agents/teller.symbi": `agent teller {\n  capabilities = [echo]\n  ${rules}\n  with instructions = "x" { }\n}\nagent caller { capabilities = ["mcp:none"] policy p { allow: none__x } with instructions = "x" { } }\n`,
      "agents/good.symbi": 'agent good { capabilities = [say] policy p { allow: say } with instructions = "x" { } }',
      "policies/p.cedar": "permit(principal, action, resource);\n",
    });
    const config = openProject(root, root);
    const told: string[] = [];
    const collect = (problems: readonly Readonly<{ file: string; line: number; column: number; detail: string; hint: string }>[]) =>
      told.push(...problems.map(({ file, line, column, detail, hint }) => `${file}:${line}:${column} ${detail} | ${hint}`));
    await loadProject(config, { env: {}, ask: null, collect });
    expect(told).toEqual([
      expect.stringMatching(/^agents\/teller\.symbi:2:19 tool `echo` cannot be used: .* \| mend tools\/a\.clad\.toml:6/),
    ]);
    const agents = (await loadProject(config)).agents.map(({ agent }) => agent);
    const named = (name: string) => agents.find((agent) => agent.name === name) ?? expect.fail(name);
    expect(() => assertAgentComplete(named("good"))).not.toThrow();
    expect(() => assertAgentComplete(named("teller"))).toThrow(/^agent `teller`: tool `echo` cannot be used: tools\/a\.clad\.toml:6:1/);
    expect(() => assertAgentComplete(named("caller"))).toThrow(/^agent `caller`: MCP server `none` cannot be used/);
    const policies = openPolicies(config, agents, "cli");
    const decide = (agent: string) => {
      const c = caseSchema.parse({ name: "x", agent, action: "model", verdict: "allow" });
      return policies.decide(toCaseAction(c, []).action, toCaseFacts(c, [])).verdict;
    };
    expect(decide("good").kind).toBe("allow");
    expect(decide("teller")).toMatchObject({ kind: "deny", because: ["agents/teller.symbi/lacking-teller"] });
    expect(decide("caller").kind).toBe("deny");
  });

  test("T-25 a manifest shares its server's breaker, and is refused where the server's entry wants a person asked and it does not", () => {
    const entry = (tools: object) => JSON.stringify({ mcpServers: { crm: { command: "x", orgate: { tools } } } });
    const manifest = (more: string) =>
      `[tool]\nname = "pay"\nversion = "1"\ndescription = "d"\n${more}[mcp]\nserver = "crm"\ntool = "send"\n`;
    const read = (tools: object, more = "") => {
      const root = project({ "tools/pay.clad.toml": manifest(more), ".mcp.json": entry(tools) });
      return projectManifests({
        root,
        tools: ["tools/*.clad.toml"],
        directory: join(root, ".orgate"),
        env: { ORGATE_HOME: root },
        ask: null,
      });
    };
    expect(read({}).tools.get("pay")?.tool.server).toBe("crm");
    expect(read({ send: { humanApproval: true } }, "human_approval = true\n").problems).toEqual([]);
    expect(read({ "*": { humanApproval: true }, send: { humanApproval: false } }).problems).toEqual([]);
    for (const tools of [{ send: { humanApproval: true } }, { "*": { humanApproval: true } }]) {
      const { tools: usable, broken } = read(tools);
      expect([usable.has("pay"), broken.get("pay")]).toMatchObject([
        false,
        { line: 7, detail: expect.stringContaining("a person is asked") },
      ]);
    }
  });

  test("T-25 another manifest is another tool: what was approved of the first does not count", () => {
    const toolOf = (text: string) => {
      const root = project({ "tools/echo.clad.toml": text });
      return projectManifests({ root, tools: ["tools/*.clad.toml"], directory: join(root, ".orgate"), env: {}, ask: null }).tools.get(
        "echo",
      )?.tool;
    };
    const [one, two, same] = [toolOf(ECHO), toolOf(ECHO.replace("echo {x}", "echo -n {x}")), toolOf(ECHO)];
    expect(one?.basis).toEqual(same?.basis);
    expect(one?.basis).not.toEqual(two?.basis);
  });

  test("T-25 so are another custom type, another scope of what reaches hosts, and another program of the project's own", async () => {
    const RUNS = ECHO.replace('template = "echo {x}"', 'executor = "tools/run.sh"');
    const files = {
      "tools/echo.clad.toml": RUNS.replace('"string"', '"kind"'),
      "tools/whois.clad.toml": ECHO.replace('"echo"', '"whois"').replace('"string"', '"scope_target"'),
      "tools/run.sh": "#!/bin/sh\necho one\n",
      "toolclad.toml": '[types.kind]\nbase = "enum"\nallowed = ["a"]\n',
      "scope/scope.toml": 'targets = ["10.0.0.0/8"]\n',
    };
    const load = (root: string) =>
      projectManifests({ root, tools: ["tools/*.clad.toml"], directory: join(root, ".orgate"), env: {}, ask: null }).tools;
    const basis = (more: Readonly<Record<string, string>>, tool: string) => load(project({ ...files, ...more })).get(tool)?.tool.basis;
    for (const [changed, tool, isOther] of [
      [{}, "echo", false],
      [{ "toolclad.toml": '[types.kind]\nbase = "enum"\nallowed = ["a", "b"]\n' }, "echo", true],
      [{ "tools/run.sh": "#!/bin/sh\necho two\n" }, "echo", true],
      [{ "scope/scope.toml": 'targets = ["0.0.0.0/0"]\n' }, "whois", true],
      [{ "scope/scope.toml": 'targets = ["10.0.0.0/8"]\nexclude = ["10.0.0.1"]\n' }, "whois", true],
      [{ "scope/scope.toml": 'targets = ["0.0.0.0/0"]\n' }, "echo", false],
    ] as const)
      expect([changed, toCanonicalJson(basis(changed, tool) ?? null) !== toCanonicalJson(basis({}, tool) ?? null)]).toEqual([
        changed,
        isOther,
      ]);
    const root = project(files);
    const echo = load(root).get("echo")?.tool;
    writeFileSync(join(root, "tools/run.sh"), "#!/bin/sh\necho exchanged\n");
    const started = async () => echo?.run({ x: "a" }, {} as never);
    await expect(started()).rejects.toThrow("not what it was when the tool was loaded");
  });

  test("T-27 a program that is granted the project sees neither keys nor files of variables, under any of their names", {
    tags: ["sandbox"],
  }, async () => {
    const root = project({
      "tools/look.clad.toml": ECHO.replace('"echo"', '"look"')
        .replace("\n[args.x]", '\n[tool.orgate]\nreads = ["."]\n\n[args.x]')
        .replace("echo {x}", "sh -c 'grep -rls canary . | sort'"),
      ".env": "K=canary",
      ".env.local": "K=canary",
      ".orgate/keys/root.key": "canary",
      "home/keys/ann.key": "canary",
      "src/a.txt": "canary",
    });
    const place = {
      root,
      tools: ["tools/*.clad.toml"],
      directory: join(root, ".orgate"),
      env: { ORGATE_HOME: join(root, "home") },
      ask: null,
    };
    const look = projectManifests(place).tools.get("look")?.tool;
    const context = { key: "k", signal: new AbortController().signal, note: () => {}, evidence: () => {} } as never;
    expect(await look?.run({}, context)).toMatchObject({ results: { raw_output: "./src/a.txt\n./tools/look.clad.toml\n" } });
  });

  test("T-18 a manifest outside the project is not read, though a link leads to it", () => {
    const outside = project({ "x.clad.toml": ECHO });
    const root = project({ "tools/keep.txt": "" });
    symlinkSync(join(outside, "x.clad.toml"), join(root, "tools/x.clad.toml"));
    expect(() => readProjectManifests(root, ["tools/*.clad.toml"])).toThrow(/outside the project/);
  });

  test("T-25 an MCP manifest calls the server that it names, with its own names for the fields", async () => {
    const root = project({
      "tools/issue.clad.toml":
        '[tool]\nname = "issue"\nversion = "1"\ndescription = "i"\n[args.repo]\ntype = "string"\nrequired = true\n[args.n]\ntype = "integer"\n[mcp]\nserver = "github"\ntool = "create_issue"\n[mcp.field_map]\nrepo = "repository"\n[output]\nenvelope = false\n',
    });
    const manifests = projectManifests({ root, tools: ["tools/*.clad.toml"], directory: join(root, ".orgate"), env: {}, ask: null });
    const tool = manifests.tools.get("issue")?.tool;
    const context = { key: "s/1", signal: new AbortController().signal, note: () => {}, evidence: () => {} } as never;
    await expect(tool?.run({ repo: "a", n: 2 }, context)).rejects.toThrow(/no MCP server/);
    expect(manifests.servers).toEqual(["github"]);
    const asked: McpInvocation[] = [];
    manifests.connect(async (invocation) => {
      asked.push(invocation);
      return { kind: "answered", output: { number: 7 }, isError: false, truncated: false, durationMs: 1 };
    });
    expect(await tool?.run({ repo: "a", n: 2 }, context)).toEqual({ number: 7 });
    expect(asked).toMatchObject([{ kind: "mcp", server: "github", tool: "create_issue", args: { repository: "a", n: 2 } }]);
  });
});
