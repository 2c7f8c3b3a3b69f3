// Models from the command line: a real project, the real command, a local server that speaks a provider's wire.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { anthropicWire } from "../../models/fixtures/anthropic-wire.ts";
import { responsesWire } from "../../models/fixtures/openai-responses-wire.ts";
import { type Answer, listen, provider, refuse, type Script } from "../../models/fixtures/server.ts";
import { type Desk, type Ended, expectRefusal, makeDesk } from "./fixtures/desk.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});
function deskWith(agents: Readonly<Record<string, string>>): Desk {
  const desk = makeDesk();
  closing.push(desk.remove);
  for (const [name, text] of Object.entries(agents)) desk.write(`agents/${name}.toml`, text);
  return desk;
}
async function serving(answer: Answer): Promise<string> {
  const local = await listen(answer);
  closing.push(local.close);
  return local.url;
}
const agent = (name: string, more: string): string => `name = "${name}"\ninstructions = "Be brief."\n${more}\n`;
const CLAUDE = agent("claude", 'model = "anthropic/claude-sonnet-4-5"\ntools = []');

describe("M-3 M-20 what is there to use", () => {
  test("M-3 an agent whose provider has no key is refused, naming the variable, and nothing is opened", async () => {
    const desk = deskWith({ claude: CLAUDE, odd: agent("odd", 'model = "nowhere/x"') });
    expectRefusal(await desk.orgate("run", "claude", "--input", "hi"), 1, "$ANTHROPIC_API_KEY is not set");
    expectRefusal(await desk.orgate("run", "odd", "--input", "hi"), 1, "there is no provider `nowhere`; there are: offline, anthropic");
    expect(await desk.json("sessions", "list")).toEqual([]);
  });

  test("M-19 an agent that names no model runs offline, and says so", async () => {
    const desk = deskWith({ plain: agent("plain", "") });
    const told = await desk.orgate("run", "plain", "--input", "hi");
    expect(told).toMatchObject({ code: 0, stdout: expect.stringContaining("I am offline/echo") });
    expect(told.stderr).toContain("it names no model, so offline/echo answers");
    expect(await desk.json("run", "plain", "--input", "hi")).toMatchObject({ warnings: [expect.stringContaining("it names no model")] });
  });

  test("M-20 doctor says what is usable and why not, shows no key, and its exit code tells", async () => {
    const desk = deskWith({ claude: CLAUDE, plain: agent("plain", "") });
    const ollama = { OLLAMA_BASE_URL: "http://127.0.0.1:9" }; // where nobody is, whatever runs on this machine
    const sick = await desk.within(ollama, ["doctor", "--json"]);
    expect(sick.code).toBe(1);
    expect(JSON.parse(sick.stdout)).toMatchObject({
      healthy: false,
      node: { ok: true },
      journal: { ok: true },
      agents: expect.arrayContaining([
        {
          name: "claude",
          model: "anthropic/claude-sonnet-4-5",
          modelSource: "agent",
          models: ["anthropic/claude-sonnet-4-5"],
          ok: false,
          tried: false,
          detail: expect.stringContaining("$ANTHROPIC_API_KEY is not set"),
        },
        expect.objectContaining({ name: "plain", ok: true }),
        expect.objectContaining({ name: "desk", ok: true, model: "offline/desk" }),
      ]),
      providers: expect.arrayContaining([
        { name: "anthropic", ok: false, tried: false, detail: expect.any(String), variable: "ANTHROPIC_API_KEY" },
        expect.objectContaining({ name: "offline", ok: true }),
        { name: "ollama", ok: false, tried: true, detail: expect.stringContaining("nobody listens at"), variable: "OLLAMA_BASE_URL" },
      ]),
    });
    desk.write(".env", "ANTHROPIC_API_KEY=canary-in-dot-env\n");
    const well = await desk.orgate("doctor");
    expect(well).toMatchObject({ code: 0, stderr: "" }); // no agent is on a model that is not there
    expect(well.stdout).toMatch(/\?\s+provider anthropic\s+.*\$ANTHROPIC_API_KEY is set, in \.env; not tried: `orgate doctor --online`/);
    expect(well.stdout).not.toContain("canary");
  });

  test("M-20 doctor has no row for a provider that is not set up and that no agent names: one line names them all", async () => {
    const desk = deskWith({ plain: agent("plain", "") });
    const { code, stdout } = await desk.within({ OLLAMA_BASE_URL: "http://127.0.0.1:9" }, ["doctor"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/ok\s+provider offline/);
    expect(stdout).not.toMatch(/provider (anthropic|openai|google|ollama)/);
    expect(stdout).toMatch(/not set up, and named by no agent: .*anthropic.*ollama/);
  });

  test("T-31 where no sandbox works, init, tools list and up --check say so and what to do", async () => {
    const desk = deskWith({ clerk: agent("clerk", 'tools = ["say"]') });
    desk.write(
      "tools/say.clad.toml",
      '[tool]\nname = "say"\nversion = "1.0.0"\nbinary = "echo"\ndescription = "Says."\n\n[command]\ntemplate = "echo hi"\n',
    );
    const bare = { PATH: "/nowhere" };
    const note = /tools cannot run programs on this machine: bubblewrap is not installed; install it: `apt install bubblewrap`/;
    expect((await desk.start(["init", "new", "--yes"], undefined, bare).ended).stdout).toMatch(note);
    expect((await desk.start(["tools", "list"], undefined, bare).ended).stdout).toMatch(note);
    expect((await desk.start(["up", "--check"], undefined, bare).ended).stdout).toMatch(note);
    expect(JSON.parse((await desk.start(["up", "--check", "--json"], undefined, bare).ended).stdout)).toMatchObject({
      warnings: [expect.stringMatching(note)],
    });
  });

  test("T-31 doctor says that programs can be run and who holds their limits, or why not and what to do", {
    tags: ["sandbox"],
  }, async () => {
    const desk = deskWith({});
    const told = JSON.parse((await desk.orgate("doctor", "--json")).stdout);
    expect(told.sandbox).toMatchObject({ ok: true, detail: expect.stringMatching(/^bubblewrap; limits held by .+, each shown in force$/) });
    const without = await desk.start(["doctor"], undefined, { PATH: "/nowhere" }).ended;
    expect(without.stdout).toMatch(/no\s+sandbox\s+programs of tools cannot be run: bubblewrap is not installed; install it/);
  });
});

test("M-18 M-8 a project's prices let an agent limit money, its runs are paid at them, and what is no price is refused where it stands", async () => {
  const local = await provider(anthropicWire, [{ parts: [{ say: "ok" }], finish: "stop", usage: USAGE }]);
  closing.push(local.close);
  const desk = deskWith({ claude: `${agent("claude", 'model = "anthropic/claude-next"')}[limits]\ncents = 50\n` });
  const env = { ANTHROPIC_API_KEY: "canary-0123456789", ANTHROPIC_BASE_URL: local.url };
  const run = (...more: readonly string[]) => desk.within(env, ["run", "claude", "--input", "hi", ...more]);
  expectRefusal(await run(), 1, "the price of the model is not known: `anthropic/claude-next`");
  const project = desk.read("orgate.toml");
  desk.write("orgate.toml", `${project}\n[prices]\n"anthropic/claude-next" = { input = 2, output = 10, cachedInput = 0.5 }\n`);
  expect(JSON.parse((await run("--json")).stdout)).toMatchObject({ ending: "completed", cost: (12 * 2 + 8 * 0.5 + 9 * 10) / 1e6 });
  desk.write("orgate.toml", `${project}\n[prices]\n"anthropic/claude-next" = { input = -2, output = 10 }\n`);
  expectRefusal(await run(), 1, "orgate.toml:");
});

describe("M-20 whether somebody is there", () => {
  const KEY = "canary-0123456789";
  const listing = (headers: Record<string, unknown>): boolean =>
    headers["x-api-key"] === KEY || headers["authorization"] === `Bearer ${KEY}`;
  async function models(body: object): Promise<string> {
    return serving((response, { headers }) => {
      const good = listing(headers);
      response
        .writeHead(good ? 200 : 401, { "content-type": "application/json" })
        .end(JSON.stringify(good ? body : { error: { message: `bad key ${KEY}` } }));
    });
  }
  const LIST = {
    data: [
      { type: "model", id: "claude-sonnet-4-5" },
      { type: "model", id: "claude-opus-5" },
    ],
  };

  test("M-20 without leave nothing is sent; with it a good key, a bad one and a model that is not listed are told apart", async () => {
    const url = await models(LIST);
    let asked = 0;
    const counting = await serving((response) => {
      asked += 1;
      response.end();
    });
    const desk = deskWith({ claude: CLAUDE, next: agent("next", 'model = "anthropic/claude-next"') });
    const doctor = async (key: string, base: string, ...args: readonly string[]) =>
      desk.within({ ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: base }, ["doctor", ...args]);
    expect((await doctor(KEY, counting)).code).toBe(0);
    expect(asked).toBe(0);
    const good = await doctor(KEY, url, "--online");
    expect(good).toMatchObject({ code: 0, stdout: expect.stringContaining("it answers, and lists 2 models") });
    expect(good.stdout).toContain("anthropic/claude-next is not among the models that its provider lists");
    const bad = await doctor("canary-another-key", url, "--online");
    expect(bad).toMatchObject({ code: 1, stdout: expect.stringContaining("it refuses the key (401)") });
    for (const { stdout, stderr } of [good, bad]) expect(`${stdout}${stderr}`).not.toContain("canary");
  });

  test("M-20 an agent is no better than its provider: not tried, or a model that is not listed, is marked and not called ok", async () => {
    const url = await models(LIST);
    const desk = deskWith({
      claude: agent("claude", 'model = "anthropic/claude-opus-5"'),
      next: agent("next", 'model = "anthropic/claude-next"'),
    });
    const env = { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: url };
    const untried = await desk.within(env, ["doctor"]);
    expect(untried.stdout).toMatch(/\? +agent claude[\s\S]*\? +agent next/);
    const tried = await desk.within(env, ["doctor", "--online"]);
    expect(tried.stdout).toMatch(/ok +agent claude[\s\S]*\? +agent next +.*is not among the models/);
  });

  test("M-20 schedules that `up` would refuse, and a project that cannot be read, are not called ok", async () => {
    const desk = deskWith({});
    const toml = desk.read("orgate.toml");
    desk.write(
      "orgate.toml",
      `${toml}\n[schedules.a]\nagent = "nobody"\ncron = "0 2 * * *"\n[schedules.b]\nagent = "desk"\ncron = "61 2 * * *"\n`,
    );
    const told = await desk.orgate("doctor", "--json");
    const { healthy, declared } = JSON.parse(told.stdout) as { healthy: boolean; declared: unknown[] };
    expect([told.code, healthy, declared]).toMatchObject([
      1,
      false,
      [
        { ok: false, detail: expect.stringContaining("there is no agent `nobody`") },
        { ok: false, detail: expect.stringContaining("61") },
      ],
    ]);
    desk.write("orgate.toml", "[project\n");
    const broken = await desk.orgate("doctor");
    expect([broken.code, broken.stdout]).toEqual([1, expect.stringMatching(/no +project[\s\S]*no +journal +not checked/)]);
  });

  test.each([
    ["a body that is no JSON", "application/json", `${KEY} ${"and more ".repeat(20)}`],
    ["a type that is none", `text/${KEY}`, "{}"],
  ])("M-20 a server that repeats the key in %s does not get it onto the screen", async (_, type, body) => {
    const url = await serving((response) => response.writeHead(200, { "content-type": type }).end(body));
    const desk = deskWith({ claude: CLAUDE });
    const { code, stdout, stderr } = await desk.within(
      {
        ANTHROPIC_API_KEY: KEY,
        ANTHROPIC_BASE_URL: url,
      },
      ["doctor", "--online"],
    );
    expect([code, `${stdout}${stderr}`.includes("canary")]).toEqual([1, false]);
  });

  test("M-20 a local server that is down is seen without a word, and so is an agent that needs it", async () => {
    const desk = deskWith({ local: agent("local", 'model = "ollama/llama3.3"') });
    const told = await desk.within({ OLLAMA_BASE_URL: "http://127.0.0.1:9" }, ["doctor"]);
    expect(told.code).toBe(1);
    expect(told.stdout).toMatch(
      /no\s+agent local\s+ollama\/llama3\.3: nobody listens at http:\/\/127\.0\.0\.1:9\/v1: is the server running/,
    );
    expect(told.stdout).toContain("Only the offline model can be used so far.");
    const url = await serving((response) => response.end());
    expect((await desk.within({ OLLAMA_BASE_URL: url }, ["doctor"])).code).toBe(0);
  });
});

const USAGE = { input: 20, cached: 8, output: 9, reasoning: 0 };

test("M-11 a whole turn over the wire: a call, its result, the answer, all in the journal, the key nowhere", async () => {
  const scripts: readonly Script[] = [
    { parts: [{ say: "Looking." }, { call: "toolu_01", tool: "look", args: "{}" }], finish: "calls", usage: USAGE },
    { parts: [{ say: "All is well." }], finish: "stop", usage: USAGE },
  ];
  const local = await provider(anthropicWire, scripts, 5);
  closing.push(local.close);
  const desk = deskWith({});
  desk.write("agents/desk.ts", OVER_THE_WIRE(desk.read("agents/desk.ts")));
  const env = { ANTHROPIC_API_KEY: "canary-0123456789", ANTHROPIC_BASE_URL: local.url };
  const ran = await desk.within(env, ["run", "desk", "--input", "look around", "--json"]);
  expect(ran).toMatchObject({ code: 0 });
  expect(JSON.parse(ran.stdout)).toMatchObject({
    ending: "completed",
    output: "All is well.",
    iterations: 2,
    calls: 1,
    usage: { total: 58 },
  });
  expect(desk.read("effects.txt")).toBe("look\n");
  expect(local.asked).toHaveLength(2);
  expect(local.asked[1]?.body).toMatchObject({
    messages: [
      { role: "user" },
      {
        role: "assistant",
        content: [
          { type: "text", text: "Looking." },
          { type: "tool_use", id: "toolu_01", name: "look", input: {} },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_01" }] },
    ],
  });
  expectNoKey(desk, [ran], "canary-0123456789");
});

describe("M-4 M-13 what comes of a fault in a turn", () => {
  const SSE = { "content-type": "text/event-stream" };
  const calling: Script = { parts: [{ call: "toolu_01", tool: "look", args: "{}" }], finish: "calls", usage: USAGE };
  const done: Script = { parts: [{ say: "All is well." }], finish: "stop", usage: USAGE };
  const whole =
    (script: Script): Answer =>
    (response) =>
      response.writeHead(200, SSE).end(anthropicWire.stream(script));
  const cut: Answer = (response) => {
    const text = anthropicWire.stream(calling);
    response.writeHead(200, SSE).write(text.slice(0, text.indexOf("message_delta")), () => response.destroy()); // after the call, before the end
  };
  type Shown = Readonly<{ kind: string; at: number; dueAt?: number | null }>;
  async function turn(answers: readonly Answer[], more = ""): Promise<{ desk: Desk; result: object; kinds: readonly Shown[] }> {
    let next = 0;
    const url = await serving((response, asked) => {
      next += 1;
      return answers[next - 1]?.(response, asked) ?? response.writeHead(418).end();
    });
    const desk = deskWith({});
    desk.write("agents/desk.ts", OVER_THE_WIRE(desk.read("agents/desk.ts"), `retry: { backoffMs: 0 },${more}`));
    const env = { ANTHROPIC_API_KEY: "canary-0123456789", ANTHROPIC_BASE_URL: url };
    const ran = await desk.within(env, ["run", "desk", "--input", "look", "--json"]);
    const result = JSON.parse(ran.stdout) as { session: string };
    const shown = (await desk.json("journal", "show", result.session)) as {
      at: number;
      event: { kind: string; dueAt?: number | null };
    }[];
    const kinds = shown.flatMap(({ at, event }) => (event.kind.startsWith("model.") ? [{ ...event, at }] : []));
    return { desk, result, kinds };
  }

  test("M-13 a reply that broke off after its call is asked for again, and the call is made once", async () => {
    const { desk, result, kinds } = await turn([cut, whole(calling), whole(done)]);
    expect(result).toMatchObject({ ending: "completed", output: "All is well.", calls: 1 });
    expect(desk.read("effects.txt")).toBe("look\n");
    expect(kinds.slice(0, 4)).toMatchObject([
      { kind: "model.asked", attempt: 1 },
      { kind: "model.failed", attempt: 1, broke: true, again: true },
      { kind: "model.asked", attempt: 2 },
      { kind: "model.replied", attempt: 2 },
    ]);
  });

  test("M-4 three in a row end the turn, and nothing was done", async () => {
    const { desk, result, kinds } = await turn([cut, cut, cut, whole(done)]);
    expect(result).toMatchObject({ ending: "failed", calls: 0 });
    expect(kinds).toHaveLength(6);
    expect(desk.has("effects.txt")).toBe(false);
  });

  const no =
    (status: number, headers: Record<string, string> = {}): Answer =>
    (response) =>
      refuse(response, anthropicWire, status, "Overloaded", headers);
  const stall: Answer = (response) => {
    const text = anthropicWire.stream(calling);
    response.writeHead(200, SSE).write(text.slice(0, text.indexOf("message_delta")));
  };
  const slow = "modelOptions: { idleMs: 800 },";

  test.each<[string, Answer, object, string]>([
    ["429 with `retry-after-ms`", no(429, { "retry-after-ms": "30" }), { status: 429, retryAfterMs: 30, broke: false }, ""],
    ["429 without", no(429), { status: 429, retryAfterMs: null, broke: false }, ""],
    ["500", no(500), { status: 500, broke: false }, ""],
    ["529", no(529), { status: 529, broke: false }, ""],
    ["a stall", stall, { broke: true }, slow],
    ["a cut", cut, { broke: true }, ""],
  ])("M-6 M-7 %s: the cause is on record, it is asked again, the turn completes, its call is made once", async (_, fault, cause, more) => {
    const { desk, result, kinds } = await turn([fault, whole(calling), whole(done)], more);
    expect(result).toMatchObject({ ending: "completed", output: "All is well.", calls: 1 });
    expect(desk.read("effects.txt")).toBe("look\n");
    expect(kinds.slice(0, 4)).toMatchObject([
      { kind: "model.asked", attempt: 1 },
      { kind: "model.failed", attempt: 1, model: "anthropic/claude-sonnet-4-5", again: true, dueAt: expect.any(Number), ...cause },
      { kind: "model.asked", attempt: 2 },
      { kind: "model.replied", attempt: 2, usage: USAGE },
    ]);
    const [, failed, again] = kinds;
    expect(again?.at).toBeGreaterThanOrEqual(failed?.dueAt ?? Number.NaN);
  });

  test("M-7 five refusals for the moment end the turn, and have cost nothing", async () => {
    const { desk, result, kinds } = await turn([no(503), no(429), no(503), no(529), no(500), whole(done)]);
    expect(result).toMatchObject({
      ending: "failed",
      detail: expect.stringContaining("the provider answered 500"),
      calls: 0,
      usage: { total: 0, lost: 0 },
    });
    expect(kinds).toHaveLength(10);
    expect(desk.has("effects.txt")).toBe(false);
  });

  test("M-7 a provider that asks for more time than the turn has is not waited for", async () => {
    const { result, kinds } = await turn([no(429, { "retry-after": "864000" }), whole(done)]);
    expect(result).toMatchObject({ ending: "failed", detail: expect.stringContaining("the provider answered 429") });
    expect(kinds).toMatchObject([{ kind: "model.asked" }, { kind: "model.failed", retryAfterMs: 864_000_000, dueAt: null }]);
  });

  test("M-8 a model that is not there: the fallback answers, and the journal says who was asked", async () => {
    const { desk, result, kinds } = await turn([no(404), whole(calling), whole(done)], 'fallbacks: ["anthropic/claude-opus-5"],');
    expect(result).toMatchObject({ ending: "completed", output: "All is well.", calls: 1 });
    expect(desk.read("effects.txt")).toBe("look\n");
    expect(kinds).toMatchObject([
      { kind: "model.asked", model: "anthropic/claude-sonnet-4-5", reservedMicros: expect.any(Number) },
      { kind: "model.failed", model: "anthropic/claude-sonnet-4-5", status: 404, transient: false, dueAt: null },
      { kind: "model.asked", model: "anthropic/claude-opus-5", attempt: 2, reservedMicros: expect.any(Number) },
      {
        kind: "model.replied",
        model: "anthropic/claude-opus-5",
        micros: (USAGE.input - USAGE.cached) * 5 + USAGE.cached * 0.5 + USAGE.output * 25,
      },
      { kind: "model.asked", model: "anthropic/claude-opus-5", attempt: 1 },
      { kind: "model.replied", model: "anthropic/claude-opus-5" },
    ]);
  });

  test("M-8 in the middle of a turn, by another provider: its request is valid, with what was thought and called before", async () => {
    const first: Script = { ...calling, parts: [{ think: "Hm.", signature: "c2lnbmVk" }, ...calling.parts] };
    let next = 0;
    const url = await serving((response, asked) => (next++ === 0 ? whole(first) : no(401))(response, asked));
    const spare = await provider(responsesWire, [done]);
    closing.push(spare.close);
    const desk = deskWith({});
    desk.write("agents/desk.ts", OVER_THE_WIRE(desk.read("agents/desk.ts"), 'fallbacks: ["openai/gpt-test"],'));
    const keys = {
      ANTHROPIC_API_KEY: "canary-0123456789",
      ANTHROPIC_BASE_URL: url,
      OPENAI_API_KEY: "canary-9876543210",
      OPENAI_BASE_URL: spare.url,
    };
    const ran = await desk.within(keys, ["run", "desk", "--input", "look", "--json"]);
    expect(JSON.parse(ran.stdout)).toMatchObject({ ending: "completed", output: "All is well.", iterations: 2, calls: 1 });
    expect(desk.read("effects.txt")).toBe("look\n");
    expect(JSON.stringify(spare.asked[0]?.body)).toContain("function_call_output");
  });

  test("M-13 what a provider ends as a refusal is that ending, whatever it called", async () => {
    const { desk, result, kinds } = await turn([whole({ ...calling, finish: "refused" })]);
    expect(result).toMatchObject({ ending: "refused", calls: 0 });
    expect(kinds).toMatchObject([{ kind: "model.asked" }, { kind: "model.replied", finish: "refused" }]);
    expect(desk.has("effects.txt")).toBe(false);
  });

  test("M-6 what the provider refuses for good is not asked for again", async () => {
    const { result, kinds } = await turn([(response) => refuse(response, anthropicWire, 404, "model: no such model"), whole(done)]);
    expect(result).toMatchObject({ ending: "failed", detail: expect.stringContaining("the provider answered 404: model: no such model") });
    expect(kinds).toHaveLength(2);
  });
});

/** The desk's own agent, with a provider's model in place of its rules. */
const OVER_THE_WIRE = (text: string, more = ""): string =>
  text.replace('"offline/desk"', '"anthropic/claude-sonnet-4-5"').replace(/modelOptions: \{[\s\S]*?\n {2}\] \},/, more);

/** Every byte the project has been left with, but for its own `.env`; and all that was said. */
function expectNoKey(desk: Desk, said: readonly Ended[], key: string): void {
  const forms = [key, Buffer.from(key).toString("base64").replace(/=+$/, "").slice(0, -2), encodeURIComponent(key)];
  const files = readdirSync(desk.root, { recursive: true, withFileTypes: true }).filter(
    (one) => one.isFile() && one.name !== ".env" && !one.parentPath.includes("node_modules"),
  );
  expect(files.some(({ name }) => name.startsWith("journal.db"))).toBe(true);
  const texts = [
    ...files.map((one) => readFileSync(join(one.parentPath, one.name), "latin1")),
    ...said.flatMap(({ stdout, stderr }) => [stdout, stderr]),
  ];
  for (const form of forms) for (const text of texts) expect(text.includes(form)).toBe(false);
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return ""; // it has ended
  }
}

describe("M-9 the canary: keys everywhere, and none to be found", () => {
  const KEY = "sk-canary/7f3a+9c21==";
  const SSE = { "content-type": "text/event-stream" };
  const head = (response: Parameters<Answer>[0], headers: Record<string, string> = {}) =>
    response.writeHead(200, { ...SSE, "x-echo": KEY, ...headers });
  const script: Script = { parts: [{ say: "fine" }], finish: "stop", usage: USAGE };
  const leaks: Readonly<Record<string, Answer>> = {
    "an error that quotes the request": (response, { headers }) =>
      refuse(response, anthropicWire, 401, `invalid x-api-key: ${headers["x-api-key"]} (${KEY})`, { "x-echo": KEY }),
    "an error that is no JSON": (response) =>
      response.writeHead(500, { "content-type": "text/plain" }).end(`stack: Authorization: Bearer ${KEY}`),
    "an error in base64": (response) => refuse(response, anthropicWire, 400, `got ${Buffer.from(KEY).toString("base64")}`),
    "an overload within the stream": (response) =>
      head(response).end(`event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"key ${KEY}"}}\n\n`),
    "events that are no JSON": (response) => head(response).end(`data: {"key": "${KEY}"\n\n`),
    "a type that names it": (response) => head(response, { "content-type": `text/${KEY}` }).end(),
    "a redirect that names it": (response) => response.writeHead(302, { location: `http://127.0.0.1:9/?key=${KEY}` }).end(),
    "a good answer whose small print names it": (response) =>
      head(response).end(
        anthropicWire
          .stream(script)
          .replace("msg_014p7gG3wDgGV9EUtLvnow3U", `msg_${KEY}`)
          .replaceAll('"output_tokens":', `"echo":"${KEY}","output_tokens":`),
      ),
  };

  test("M-9 while it runs, no command line of any process holds a key", async () => {
    const lines: string[] = [];
    const url = await serving((response) => {
      for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) lines.push(commandLine(pid));
      head(response).end(anthropicWire.stream(script));
    });
    const desk = deskWith({ claude: CLAUDE });
    const ran = await desk.start(["run", "claude", "--input", "hi"], undefined, { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: url }).ended;
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining("fine") });
    expect(lines.filter((line) => line.includes("claude") && line.includes("--input"))).not.toEqual([]); // it was among them
    expect(lines.filter((line) => line.includes(KEY))).toEqual([]);
  });

  test("M-9 whatever the server echoes, wherever it puts it", { timeout: 60_000 }, async () => {
    const answers = Object.values(leaks);
    const url = await serving((response, asked) => answers[Number(asked.path.split("/")[1])]?.(response, asked));
    const desk = deskWith({ claude: `${CLAUDE}retry = { backoffMs = 0 }\nbreaker = { failures = 100 }\n` });
    desk.write(".env", `OPENAI_API_KEY=${KEY}\n`);
    const run = (leak: number, ...args: readonly string[]) =>
      desk.within({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: `${url}/${leak}/v1` }, args);
    const said: Ended[] = [];
    for (const [leak] of answers.entries())
      said.push(await run(leak, "run", "claude", "--input", "hi", ...(leak % 2 === 0 ? ["--json"] : [])));
    expect(said.map(({ stdout }) => stdout).filter((text) => text === "")).toEqual([]); // every turn was opened and has ended
    const sessions = JSON.parse((await run(0, "sessions", "list", "--json")).stdout) as { session: string }[];
    expect(sessions).toHaveLength(answers.length);
    for (const { session } of sessions.slice(0, 2))
      said.push(await run(0, "sessions", "show", session), await run(0, "journal", "export", session));
    said.push(await run(0, "doctor", "--json"));
    expectNoKey(desk, said, KEY);
  });
});
