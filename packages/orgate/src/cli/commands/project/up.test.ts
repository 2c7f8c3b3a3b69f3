import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, expect, test } from "vitest";
import { expectRefusal, makeDesk, POLICIES } from "../fixtures/desk.ts";

const program = join(import.meta.dirname, "../../../../bin/orgate.js");
const started: ChildProcess[] = [];
const folders: string[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

type Project = Readonly<{ root: string; env: NodeJS.ProcessEnv; effects(): readonly string[]; release(): void }>;

/** An agent whose tool writes down that it began, waits for a file, and writes down that it ended: outside the journal, by itself. */
function project(): Project {
  const root = mkdtempSync(join(tmpdir(), "orgate-up-"));
  folders.push(root);
  for (const name of ["agents", "policies"]) mkdirSync(join(root, name));
  writeFileSync(join(root, "orgate.toml"), '[project]\nname = "up"\n');
  writeFileSync(join(root, "policies/all.cedar"), '@id("all")\npermit (principal, action, resource);\n');
  const core = JSON.stringify(new URL("../../../../../core/src/index.ts", import.meta.url).href);
  writeFileSync(
    join(root, "agents/clerk.ts"),
    `import { appendFileSync, existsSync } from "node:fs";
import { defineAgent, defineTool } from ${core};
const pay = defineTool({ name: "pay", description: "pays", input: { type: "object", properties: {}, additionalProperties: false }, repeat: "once",
  run: async () => {
    appendFileSync(${JSON.stringify(join(root, "effects"))}, "began\\n");
    while (!existsSync(${JSON.stringify(join(root, "release"))})) await new Promise((resolve) => setTimeout(resolve, 10));
    appendFileSync(${JSON.stringify(join(root, "effects"))}, "ended\\n");
    return "paid";
  } });
export default defineAgent({ name: "clerk", instructions: "Pay.", model: "offline/echo", tools: [pay],
  modelOptions: { rules: [{ when: { says: "pay", notCalled: ["pay"] }, calls: [{ tool: "pay" }] }, { when: {}, say: "done" }] } });
`,
  );
  const effects = (): readonly string[] => {
    try {
      return readFileSync(join(root, "effects"), "utf8").trim().split("\n");
    } catch {
      return [];
    }
  };
  const env = { ...process.env, ORGATE_HOME: join(root, "home"), ORGATE_USER: "" };
  return { root, env, effects, release: () => writeFileSync(join(root, "release"), "") };
}

type Up = Readonly<{ child: ChildProcess; url: string; key: string; ended: Promise<number | null>; errors(): string }>;

async function orgate({ root, env }: Project, ...args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [program, ...args, "--project", root], { env, stdio: ["ignore", "pipe", "pipe"] });
  started.push(child);
  let [said, errors] = ["", ""];
  child.stdout?.on("data", (bytes) => (said += String(bytes)));
  child.stderr?.on("data", (bytes) => (errors += String(bytes)));
  const code = await new Promise((resolve) => child.once("close", resolve));
  if (code !== 0) throw new Error(errors);
  return said;
}

async function up(at: Project, ...more: readonly string[]): Promise<Up> {
  const child = spawn(process.execPath, [program, "up", "--port", "0", "--json", "--project", at.root, ...more], { env: at.env });
  started.push(child);
  let errors = "";
  child.stderr.on("data", (bytes) => (errors += String(bytes)));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const line = await Promise.race([
    new Promise<string>((resolve) => createInterface(child.stdout).once("line", resolve)),
    ended.then(() => Promise.reject(new Error(errors))),
  ]);
  const { url, signIn } = JSON.parse(line) as { url: string; signIn: string };
  const signed = await fetch(`${url}/sign-in`, { method: "POST", headers: { origin: url }, body: signIn });
  const cookies = signed.headers.getSetCookie().map((one) => one.split(";", 1)[0] ?? "");
  return { child, url, key: cookies.join("; "), ended, errors: () => errors };
}

async function post({ url, key }: Up, path: string, body: object): Promise<Response> {
  const csrf = /csrf[^=]*=([^;]+)/.exec(key)?.[1] ?? "";
  const headers = {
    cookie: key,
    origin: url,
    "x-orgate-csrf": csrf,
    "content-type": "application/json",
    "idempotency-key": crypto.randomUUID(),
  };
  return fetch(`${url}/api/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });
}
const began = async (at: Project): Promise<void> => {
  while (!at.effects().includes("began")) await new Promise((resolve) => setTimeout(resolve, 10));
};

test("W-29 SIGTERM with a turn running: it is finished, answered, and the process ends by itself with 0", async () => {
  const at = project();
  const server = await up(at);
  const answer = post(server, "/agents/clerk/execute", { input: "pay" });
  await began(at);
  server.child.kill("SIGTERM");
  at.release();
  expect(await (await answer).json()).toMatchObject({ ending: "completed", output: "pay answered: paid" });
  expect(await server.ended).toBe(0);
  expect(at.effects()).toEqual(["began", "ended"]);
}, 60_000);

test("W-34 a link to sign in leads to the server that runs; where none does, it is said that --url names another", async () => {
  const at = project();
  const server = await up(at);
  const keys = ["keys", "create", "guest", "--link"];
  expect(await orgate(at, ...keys)).toContain(`${server.url}/sign-in#`);
  server.child.kill("SIGKILL");
  await server.ended;
  expect(await orgate(at, ...keys)).toContain("http://127.0.0.1:4680/sign-in#");
  const second = await up(at, "--link");
  second.child.kill("SIGTERM");
  await second.ended;
  expect(existsSync(join(at.root, ".orgate", "server.json"))).toBe(false);
}, 60_000);

test("T-31 a server whose machine has no sandbox says so in its health, with what to do, where a tool needs one; it is well all the same", async () => {
  const plain = project();
  const bare = (at: Project): Project => ({ ...at, env: { ...at.env, PATH: "/nowhere" } });
  const healthOf = async (at: Project) => {
    const server = await up(bare(at));
    const answer = await fetch(`${server.url}/api/v1/health`);
    const health = [answer.status, await answer.json()];
    server.child.kill("SIGTERM");
    expect(await server.ended).toBe(0);
    return health;
  };
  expect(await healthOf(plain)).toMatchObject([200, { status: "ok", warnings: [] }]);
  const withPrograms = project();
  mkdirSync(join(withPrograms.root, "tools"));
  const tool = '[tool]\nname = "say"\nversion = "1.0.0"\nbinary = "echo"\ndescription = "Says."\n\n[command]\ntemplate = "echo hi"\n';
  writeFileSync(join(withPrograms.root, "tools/say.clad.toml"), tool);
  const agent = 'name = "sayer"\ninstructions = "Say."\nmodel = "offline/echo"\ntools = ["say"]\n';
  writeFileSync(join(withPrograms.root, "agents/sayer.toml"), agent);
  const warning =
    "tools cannot run programs on this machine: bubblewrap is not installed; install it: `apt install bubblewrap`, `dnf install bubblewrap` or `apk add bubblewrap`";
  expect(await healthOf(withPrograms)).toMatchObject([200, { status: "ok", warnings: [warning] }]);
}, 60_000);

test("W-29 kill -9 with a turn running: the next start takes it up by itself, and nothing is run twice", async () => {
  const at = project();
  const first = await up(at);
  const opened = (await (await post(first, "/sessions", { agent: "clerk", id: "one" })).json()) as { session: string };
  await post(first, `/sessions/${opened.session}/turns`, { text: "pay" });
  await began(at);
  first.child.kill("SIGKILL");
  await first.ended;
  at.release();
  const second = await up(at, "--link"); // whoever has signed in before gets a link only on asking
  for (;;) {
    const found = (await (await fetch(`${second.url}/api/v1/sessions/${opened.session}`, { headers: { cookie: second.key } })).json()) as {
      state: string;
      openUnknowns: number;
      ending: string;
    };
    if (found.state !== "running") {
      expect(found).toMatchObject({ state: "idle", openUnknowns: 1, ending: "completed" }); // `once`: nobody can tell, and it is said
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  expect(at.effects()).toEqual(["began"]);
  second.child.kill("SIGINT");
  expect(await second.ended).toBe(0);
  const verified = JSON.parse(await orgate(at, "journal", "verify", "--json")) as { verified: boolean };
  expect(verified.verified).toBe(true);
}, 60_000);

test("W-33 a port that is in use is one line and what to do, as data with --json, and exits 2", async () => {
  const at = project();
  const other = createServer();
  const port = await new Promise<number>((resolve) => {
    other.listen(0, "127.0.0.1", () => {
      const place = other.address();
      resolve(typeof place === "object" && place !== null ? place.port : 0);
    });
  });
  const child = spawn(process.execPath, [program, "up", "--port", String(port), "--json", "--project", at.root], { env: at.env });
  started.push(child);
  let errors = "";
  child.stderr.on("data", (bytes) => (errors += String(bytes)));
  expect(await new Promise((resolve) => child.once("close", resolve))).toBe(2);
  const last = errors.trim().split("\n").at(-1) ?? "";
  expect(JSON.parse(last)).toMatchObject({
    error: { kind: "usage", message: expect.stringContaining("in use"), hint: expect.stringContaining("--port") },
  });
  other.close();
}, 60_000);

test("W-15 keys in the address of /ws/chat: on another address than this machine's own the server does not start, in one line", async () => {
  const desk = makeDesk();
  folders.push(dirname(desk.root));
  const settings = join(desk.root, "orgate.toml");
  writeFileSync(settings, `${readFileSync(settings, "utf8")}\n[server]\nchat_keys_in_url = true\n`);
  for (const host of ["0.0.0.0", "::", "192.0.2.1", "agents.example.org", "127.0.0.1.example.org"])
    expectRefusal(await desk.orgate("up", "--check", "--host", host), 2, "`server.chat_keys_in_url` is set");
  for (const host of ["127.0.0.1", "::1", "localhost"])
    expect(JSON.parse((await desk.orgate("up", "--check", "--json", "--host", host)).stdout)).toMatchObject({ loads: true });
});

test("W-15 a server that takes keys in addresses says so when it starts", async () => {
  const at = project();
  writeFileSync(join(at.root, "orgate.toml"), '[project]\nname = "up"\n[server]\nchat_keys_in_url = true\n');
  const running = await up(at, "--log", "info");
  expect(running.errors()).toContain("chat-keys.in-url");
  running.child.kill("SIGTERM");
  expect(await running.ended).toBe(0);
}, 60_000);

test("W-33 --check loads what the server would, names what is wrong with its place, and opens nothing", async () => {
  const desk = makeDesk();
  folders.push(dirname(desk.root));
  expect(JSON.parse((await desk.orgate("up", "--check", "--json")).stdout)).toMatchObject({ loads: true, agents: 1 });
  desk.write("policies/desk.cedar", "permit (principal, action, resource)\n");
  expectRefusal(await desk.orgate("up", "--check"), 1, "policies/desk.cedar:");
  desk.write("policies/desk.cedar", `@ask("ok?")\n@approvers("ops")\n${POLICIES}`);
  expectRefusal(await desk.orgate("up", "--check"), 1, "policies/desk.cedar:2:1");
  desk.write("policies/desk.cedar", POLICIES);
  desk.write("agents/two.toml", 'name = "two"\ninstructions = 7\n');
  expectRefusal(await desk.orgate("up", "--check"), 1, "agents/two.toml:2");
  expect(desk.has(".orgate")).toBe(false);
});

test("W-33 a changed project starts the server again; what does not load is said with its place, and the server goes on as it was", async () => {
  const at = project();
  const [agent, settings] = [join(at.root, "agents/clerk.ts"), join(at.root, "orgate.toml")];
  const [goodAgent, goodSettings] = [readFileSync(agent, "utf8"), readFileSync(settings, "utf8")];
  const child = spawn(process.execPath, [program, "dev", "--port", "0", "--json", "--project", at.root], { env: at.env });
  started.push(child);
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const lines: string[] = [];
  let heard = (): void => {};
  for (const stream of [child.stdout, child.stderr])
    createInterface(stream).on("line", (line) => {
      lines.push(line);
      heard();
    });
  const until = async (count: number, is: (line: string) => boolean): Promise<string> => {
    for (;;) {
      const found = lines.filter(is);
      if (found.length >= count) return found[count - 1] ?? "";
      await new Promise<void>((resolve) => {
        heard = resolve;
      });
    }
  };
  const says = (text: string) => (line: string) => line.includes(text);
  const isUp = says('"signIn"');
  const first = JSON.parse(await until(1, isUp)) as { pid: number; url: string; signIn: string | null };
  const signed = await fetch(`${first.url}/sign-in`, { method: "POST", headers: { origin: first.url }, body: first.signIn ?? "" });
  expect(signed.status).toBe(204);

  writeFileSync(agent, "export default 1;\nthis is no module;\n");
  await until(1, says("the server goes on as it was"));
  expect(lines.find(says('"error"'))).toMatch(/agents\/clerk\.ts:2\b/);
  writeFileSync(agent, goodAgent.replace("Pay.", "Pay, please."));
  const second = JSON.parse(await until(2, isUp)) as typeof first;
  expect(second.pid).not.toBe(first.pid);
  expect(second.signIn).toBeNull();

  writeFileSync(settings, `${goodSettings}[server]\nports = 1\n`);
  await until(2, says("the server goes on as it was"));
  expect(lines.findLast(says('"error"'))).toMatch(/orgate\.toml:4\b/);
  expect((await fetch(`${second.url}/readyz`)).status).toBe(200);
  writeFileSync(settings, `${goodSettings}[server]\nturns_at_once = 7\n`);
  const third = JSON.parse(await until(3, isUp)) as { pid: number };
  expect(third.pid).not.toBe(second.pid);

  writeFileSync(join(at.root, "policies/all.cedar"), '@id("all")\npermit (principal, action, resource)\n');
  expect(await until(1, says("policies not reloaded, those before go on"))).toMatch(/all\.cedar:\d+:\d+/);
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
}, 60_000);

test("G-15 `policy apply` of another process decides the server's next call, without --watch, and its list of policies names the set", async () => {
  const at = project();
  at.release();
  const server = await up(at);
  const pay = async () => ((await (await post(server, "/agents/clerk/execute", { input: "pay" })).json()) as { output: string }).output;
  const digest = async () =>
    ((await (await fetch(`${server.url}/api/v1/policies`, { headers: { cookie: server.key } })).json()) as { digest: string }).digest;
  const before = await digest();
  expect(await pay()).toBe("pay answered: paid");
  const next = join(at.root, "next");
  mkdirSync(next);
  writeFileSync(
    join(next, "all.cedar"),
    '@id("all")\npermit (principal, action, resource);\n@reason("no more")\nforbid (principal, action == Action::"tool:pay", resource);\n',
  );
  await orgate(at, "policy", "apply", next, "--reason", "a drill");
  expect(await pay()).not.toContain("paid");
  expect(at.effects()).toEqual(["began", "ended"]);
  expect(await digest()).not.toBe(before);
  expect(server.errors()).toContain("policies reloaded");
}, 60_000);
