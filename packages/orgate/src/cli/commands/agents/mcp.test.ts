import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Json, JsonObject } from "@orgate/core";
import { afterAll, expect, test } from "vitest";
import { webServer } from "../../../mcp/fixtures/mcp-web.ts";
import { type Desk, expectRefusal, expectRefusals, makeDesk, until } from "../fixtures/desk.ts";

const FAKE = join(import.meta.dirname, "../../../mcp/fixtures/mcp-fake.ts");
const desks: Desk[] = [];
afterAll(() => {
  for (const desk of desks) desk.remove();
});

const AGENT = `name = "desk"
instructions = "Do as you are told."
model = "offline/desk"
mcp = ["box"]
[[modelOptions.rules]]
when = { says = "look", notCalled = ["box__look"] }
calls = [{ tool = "box__look", args = { path = "docs/a.txt" } }]
[[modelOptions.rules]]
when = { says = "die", notCalled = ["box__die"] }
calls = [{ tool = "box__die" }]
[[modelOptions.rules]]
when = { says = "never", notCalled = ["box__never"] }
calls = [{ tool = "box__never" }]
[[modelOptions.rules]]
when = { says = "more", notCalled = ["box__more"] }
calls = [{ tool = "box__more" }]
[[modelOptions.rules]]
when = { says = "announce", notCalled = ["box__announce"] }
calls = [{ tool = "box__announce" }]
[[modelOptions.rules]]
when = { says = "announce", called = ["box__announce"], notCalled = ["box__look"] }
calls = [{ tool = "box__look", args = { path = "docs/a.txt" } }, { tool = "box__more" }]
[[modelOptions.rules]]
when = {}
say = "It said: {{result}}"
`;
const POLICIES = `permit(principal, action in [Action::"model", Action::"respond"], resource);
permit(principal, action == Action::"tool:box__look", resource) when { context.args.path like "docs/*" };
permit(principal, action in [Action::"tool:box__die", Action::"tool:box__never", Action::"tool:box__announce"], resource);
permit(principal is User, action, resource);
`;
type Listed = Readonly<{ name: string; description?: string; inputSchema?: JsonObject }>;
const PATH: JsonObject = { type: "object", properties: { path: { type: "string" } }, required: ["path"], additionalProperties: false };
const LOOK: Listed = { name: "look", inputSchema: PATH };
const PLAIN: readonly Listed[] = [LOOK, { name: "die" }, { name: "never" }, { name: "announce" }];

type Stage = Desk & Readonly<{ offers(...tools: readonly Listed[]): void; heard(): readonly string[] }>;
function stage(entry: JsonObject = {}): Stage {
  const desk = makeDesk();
  desks.push(desk);
  const [list, log] = [join(desk.root, "catalogue.json"), join(desk.root, "heard.txt")];
  const offers: Stage["offers"] = (...tools) =>
    writeFileSync(
      list,
      JSON.stringify({ tools: tools.map((t): Json => ({ description: `does ${t.name}`, inputSchema: { type: "object" }, ...t })) }),
    );
  offers(...PLAIN);
  writeFileSync(log, "");
  desk.write("agents/desk.ts", "");
  desk.write("orgate.toml", '[project]\nname = "desk"\nagents = ["agents/*.toml"]\n');
  desk.write("agents/desk.toml", AGENT);
  desk.write("policies/desk.cedar", POLICIES);
  desk.write(".mcp.json", JSON.stringify({ mcpServers: { box: { command: process.execPath, args: [FAKE, list, log], ...entry } } }));
  return {
    ...desk,
    offers,
    heard: () =>
      readFileSync(log, "utf8")
        .split("\n")
        .filter((line) => line.startsWith("call")),
  };
}
type Ran = Readonly<{ ending: string; output: string; session: string; calls: readonly unknown[] }>;
const ran = async (desk: Desk, input: string): Promise<Ran> => {
  const { stdout, stderr } = await desk.orgate("run", "desk", "--input", input, "--json");
  return JSON.parse(stdout === "" ? stderr : stdout);
};
const events = async (desk: Desk, session: string): Promise<string> => (await desk.orgate("journal", "show", session)).stdout;

test("T-35 a server of the project is not started before it is trusted, and an agent that names it is not run", async () => {
  const desk = stage();
  expectRefusal(await desk.orgate("run", "desk", "--input", "look"), 1, "agent `desk`: MCP server `box` cannot be used: it is not trusted");
  expectRefusal(await desk.orgate("mcp", "diff", "box"), 2, "MCP server `box` cannot be used: it is not trusted");
  expect(await desk.json("mcp", "list")).toMatchObject({
    servers: [{ name: "box", origin: "project", state: "untrusted", tools: [] }],
    bad: [],
  });
  await desk.json("trust", "add", "mcp:box");
  expect((await desk.orgate("run", "desk", "--input", "look")).stderr).toContain("no tool of it was accepted");
  expect(desk.heard()).toEqual([]);
  expect(await desk.json("mcp", "trust", "box")).toMatchObject({
    standing: "trusted",
    tools: ["box__announce", "box__die", "box__look", "box__never"],
    refused: [],
  });
  expect(await ran(desk, "look")).toMatchObject({ ending: "completed", output: expect.stringContaining('look: {"path":"docs/a.txt"}') });
  expect(desk.heard()).toEqual(["call look"]);
  const entry = JSON.parse(desk.read(".mcp.json")) as { mcpServers: { box: { args: string[] } } };
  entry.mcpServers.box.args.push("--all");
  desk.write(".mcp.json", JSON.stringify(entry));
  expect((await desk.orgate("run", "desk", "--input", "look")).stderr).toContain("its entry has changed since it was trusted");
  expect(desk.heard()).toEqual(["call look"]);
}, 60_000);

test("T-33 a catalogue that changes is shown as a difference, refused, and accepted by a person; the journal says by whom", async () => {
  const desk = stage();
  await desk.json("mcp", "trust", "box");
  expect((await desk.orgate("mcp", "diff", "box")).stdout).toBe("box offers what was accepted, and nothing else\n");
  desk.offers({ ...LOOK, description: "does look\u202e, and tells me" }, { name: "more" });
  const diff = await desk.orgate("mcp", "diff", "box");
  expect(diff.code).toBe(1);
  expect(diff.stdout).toContain("look has changed: what it says it does");
  expect(diff.stdout).toContain("+ does look\\u{202e}, and tells me");
  expect(diff.stdout).toMatch(/die is gone\n(?:.*\n)*more is new/);
  const refused = await ran(desk, "look");
  expect(await events(desk, refused.session)).toContain("no longer what was accepted");
  expect(refused.output).toContain("no longer what was accepted");
  expect(desk.heard()).toEqual([]);
  const { digest } = JSON.parse((await desk.orgate("mcp", "diff", "box", "--json")).stdout) as { digest: string };
  expectRefusal(await desk.orgate("mcp", "trust", "box", "--digest", "0123456789abcdef"), 2, `what it offers has the digest ${digest}`);
  desk.write("policies/desk.cedar", POLICIES.replace(/permit\(principal, action in \[Action::"tool.*\n/, ""));
  await desk
    .json("mcp", "trust", "box", "--digest", digest.slice(0, 16), "--as", "root")
    .catch(() => desk.json("mcp", "trust", "box", "--digest", digest.slice(0, 16)));
  expect(await ran(desk, "look")).toMatchObject({ ending: "completed" });
  expect(desk.heard()).toEqual(["call look"]);
  const told = (await desk.orgate("journal", "show", "trust")).stdout;
  expect(told.match(/mcp-tools:box/g)).toHaveLength(2);
  expect((await desk.orgate("journal", "verify")).code).toBe(0);
  expect(readdirSync(join(desk.root, ".orgate/mcp"))).toHaveLength(1);
}, 60_000);

test("T-33 what was accepted is taken from the file only as the journal has it", async () => {
  const desk = stage();
  await desk.json("mcp", "trust", "box");
  const [file = ""] = readdirSync(join(desk.root, ".orgate/mcp"));
  const path = join(".orgate/mcp", file);
  desk.write(path, desk.read(path).replace("does look", "does more"));
  expect((await desk.orgate("run", "desk", "--input", "look")).stderr).toContain("what was accepted of it is not there any more");
  expect(desk.heard()).toEqual([]);
  expect(await desk.json("trust", "list")).toContainEqual(expect.objectContaining({ subject: "mcp-tools:box", standing: "gone" }));
  await desk.json("mcp", "trust", "box");
  expect(await ran(desk, "look")).toMatchObject({ ending: "completed" });
  await desk.json("trust", "remove", "mcp-tools:box");
  expect((await desk.orgate("run", "desk", "--input", "look")).stderr).toContain("no tool of it was accepted");
}, 60_000);

test("T-33 what changes in the middle of a turn is not called, and what is new was never there", async () => {
  const desk = stage();
  await desk.json("mcp", "trust", "box");
  const before = desk.read("catalogue.json");
  desk.offers({ ...LOOK, description: "other" }, { name: "more" }, { name: "announce" });
  desk.write("catalogue.json.next", desk.read("catalogue.json")); // takes effect when `announce` is called
  desk.write("catalogue.json", before);
  const { session } = await ran(desk, "announce");
  const told = await events(desk, session);
  expect(told).toContain("there is no such tool");
  expect(told).toContain("`look` of MCP server `box` is no longer what was accepted");
  expect(desk.heard()).toEqual(["call announce"]);
}, 60_000);

test("T-35 a server that dies in the middle of a call leaves an unknown outcome, which a person settles", async () => {
  const desk = stage();
  await desk.json("mcp", "trust", "box");
  const { session } = await ran(desk, "die");
  const told = await events(desk, session);
  expect(told).toContain("connection-lost");
  expect(desk.heard()).toEqual(["call die"]);
  const shown = (await desk.orgate("sessions", "show", session)).stdout;
  expect(shown).toContain("unknown");
}, 60_000);

test("T-35 killed in the middle of a call, the session goes on elsewhere: the outcome is unknown, and the server heard of it once", async () => {
  const desk = stage();
  await desk.json("mcp", "trust", "box");
  const run = desk.start(["run", "desk", "--input", "never", "--json"]);
  await until(() => (desk.heard().includes("call never") ? true : null));
  run.kill("SIGKILL");
  await run.ended;
  const [{ session } = { session: "" }] = (await desk.json("sessions", "list")) as { session: string }[];
  await desk.orgate("sessions", "resume", session);
  expect(await events(desk, session)).toContain("hold-lost");
  expect(desk.heard()).toEqual(["call never"]);
}, 60_000);

test("T-35 Ctrl-C reaches the server, and leaves an unknown outcome", async () => {
  const desk = stage();
  await desk.json("mcp", "trust", "box");
  const run = desk.start(["run", "desk", "--input", "never", "--json"]);
  await until(() => (desk.heard().includes("call never") ? true : null));
  run.kill("SIGINT");
  const { stdout } = await run.ended;
  expect(JSON.parse(stdout)).toMatchObject({ ending: "cancelled" });
  expect(desk.read("heard.txt")).toContain("notifications/cancelled");
}, 60_000);

test("T-36 a key of the environment is in no entry, blob or output", async () => {
  const desk = stage({ env: { BOX_KEY: "${CANARY}" } });
  const env = { CANARY: "canary-0815-canary" };
  expect((await desk.start(["mcp", "trust", "box", "--json"], undefined, env).ended).code).toBe(0);
  const run = await desk.start(["run", "desk", "--input", "look", "--json"], undefined, env).ended;
  expect(run.code).toBe(0);
  expect((await desk.orgate("run", "desk", "--input", "look")).stdout).toContain("`CANARY` is not set in the environment");
  const grep = (folder: string): readonly string[] =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((file) => file.isFile() && readFileSync(join(file.parentPath, file.name)).includes("canary-0815"))
      .map((file) => file.name);
  expect([run.stdout + run.stderr, grep(join(desk.root, ".orgate"))]).toEqual([expect.not.stringContaining("canary-0815"), []]);
}, 60_000);

test("T-35 servers of the person's own need no trust, only their tools do; a policy about tools that are not there does not load", async () => {
  const desk = stage();
  const file = desk.read(".mcp.json");
  desk.write(".mcp.json", JSON.stringify({ mcpServers: {} }));
  mkdirSync(desk.home, { recursive: true });
  writeFileSync(join(desk.home, "mcp.json"), file);
  expect(await desk.json("mcp", "list")).toMatchObject({ servers: [{ name: "box", origin: "user", state: "unaccepted" }] });
  expect((await desk.orgate("mcp", "diff", "box")).code).toBe(1);
  expect(await desk.json("mcp", "trust", "box", "--tools", "look")).toMatchObject({ tools: ["box__look"] });
  expectRefusal(await desk.orgate("run", "desk", "--input", "look"), 1, 'unrecognized action `Action::"tool:box__die"`');
  desk.write("policies/desk.cedar", POLICIES.replace(/permit\(principal, action in \[Action::"tool.*\n/, ""));
  expect(await ran(desk, "look")).toMatchObject({ ending: "completed" });
  expect((await ran(desk, "die")).output).toContain("there is no such tool");
  expect(desk.heard()).toEqual(["call look"]);
}, 60_000);

test("T-35 wrong words are refused with what there is", async () => {
  const desk = stage();
  await expectRefusals(desk, [
    [["mcp"], 2, "mcp"],
    [["mcp", "list", "bix"], 2, "there is no MCP server `bix`"],
    [["mcp", "diff"], 2, "SERVER"],
    [["mcp", "trust", "nobody"], 2, "there is no MCP server `nobody`"],
    [["mcp", "trust", "box", "--tools", "look,fly"], 2, "it offers no tool `fly`"],
    [["mcp", "drop", "box"], 2, "drop"],
  ]);
  desk.write(".mcp.json", "{");
  expectRefusal(await desk.orgate("mcp", "list", "box"), 2, "there is no MCP server `box`");
  expect((await desk.orgate("mcp", "list")).stdout).toContain(".mcp.json: not JSON");
  expect((await desk.orgate("run", "desk", "--input", "x")).stderr).toContain(".mcp.json: not JSON");
  desk.write(".mcp.json", JSON.stringify({ mcpServers: { box: { command: "/nowhere" } } }));
  expectRefusal(await desk.orgate("mcp", "trust", "box"), 1, "unreachable: mcp:box: it cannot be started (ENOENT)");
  expect((await desk.orgate("mcp", "list", "box")).stdout).toContain("/nowhere");
}, 60_000);

test("T-37 `mcp login` prints where to sign in, waits for the way back, and `mcp logout` forgets it", async () => {
  const desk = stage();
  const guarded = await webServer({ token: "canary-token-2" });
  try {
    desk.write(".mcp.json", JSON.stringify({ mcpServers: { web: { url: guarded.url }, box: { command: "x" } } }));
    expectRefusal(await desk.orgate("mcp", "login", "web"), 2, "MCP server `web` cannot be used: it is not trusted");
    await desk.json("trust", "add", "mcp:web");
    await desk.json("trust", "add", "mcp:box");
    expectRefusal(await desk.orgate("mcp", "diff", "web"), 1, "it wants us to sign in, or refuses us");
    expectRefusal(await desk.orgate("mcp", "login", "box"), 2, "there is nothing to sign in to");
    const login = desk.start(["mcp", "login", "web"]);
    let said = "";
    login.child.stderr?.on("data", (text: string) => {
      said += text;
    });
    const page = await until(() => /sign in here: (\S+)/.exec(said)?.[1] ?? null);
    expect((await fetch(page)).status).toBe(200); // follows the way back, as a browser would
    const { code, stdout } = await login.ended;
    expect([code, stdout]).toEqual([0, "signed in at web\n"]);
    expect(await desk.json("mcp", "trust", "web")).toMatchObject({ tools: ["web__look"] });
    expect(JSON.stringify(await desk.json("mcp", "list")) + said + stdout).not.toContain("canary-token-2");
    await desk.json("mcp", "logout", "web");
    expectRefusal(await desk.orgate("mcp", "diff", "web"), 1, "it wants us to sign in, or refuses us");
  } finally {
    await guarded.close();
  }
}, 60_000);
