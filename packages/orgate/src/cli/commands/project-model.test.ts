// Which model a project's agents run on: one line of orgate.toml, a flag of one run, the agent's own file. The real command, and a server that speaks a provider's wire.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { decisionsIn, type JournalEvent } from "@orgate/core/vocab";
import { afterEach, describe, expect, test } from "vitest";
import { chatWire } from "../../models/fixtures/openai-chat-wire.ts";
import { type Asked, listen, provider } from "../../models/fixtures/server.ts";
import { type Desk, expectRefusal, makeDesk, TOML, until } from "./fixtures/desk.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});
const PATIENCE = { timeout: 60_000 };
const OK = { parts: [{ say: "live" }], finish: "stop", usage: { input: 20, cached: 0, output: 9, reasoning: 0 } } as const;
async function server(answers: number): Promise<Readonly<{ url: string; models(): readonly string[] }>> {
  const wire = chatWire({ path: "/v1/chat/completions", keyed: false, thinks: "reasoning_content" });
  const local = await provider(
    wire,
    Array.from({ length: answers }, () => OK),
  );
  closing.push(local.close);
  return { url: `${local.url}/v1`, models: () => local.asked.map(modelIn) };
}
const modelIn = ({ body }: Asked): string => String((body as { model?: unknown }).model);
const env = (url: string) => ({ OPENAI_COMPATIBLE_BASE_URL: url });
function newDesk(more = ""): Desk {
  const desk = makeDesk();
  closing.push(desk.remove);
  desk.write("orgate.toml", `${TOML}${more}`);
  desk.write("agents/plain.toml", 'name = "plain"\ninstructions = "Be brief."\nretry = { times = 0 }\n');
  desk.write("agents/own.toml", 'name = "own"\ninstructions = "Be brief."\nmodel = "offline/own"\n');
  return desk;
}
const LIVE = '[models]\ndefault = "openai-compatible/live"\n';
type Result = Readonly<{ session: string; output: string; ending: string; detail: string | null }>;
const run = async (desk: Desk, url: string, ...args: readonly string[]): Promise<Result> => {
  const { stdout, stderr } = await desk.within(env(url), ["run", ...args, "--input", "hi", "--json"]);
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout) as Result;
};
type Shown = Readonly<{ event: Readonly<{ kind: string }> & Readonly<Record<string, unknown>> }>;
const eventsOf = async (desk: Desk, session: string): Promise<readonly Shown["event"][]> =>
  ((await desk.json("sessions", "show", session)) as { entries: readonly Shown[] }).entries.map(({ event }) => event);
const ofKind = (events: readonly Shown["event"][], kind: string) => events.filter((event) => event.kind === kind);

test("M-19 one line of orgate.toml takes every agent of a new project live, and no agent's file", PATIENCE, async () => {
  const desk = makeDesk();
  closing.push(desk.remove);
  await desk.json("init", "p", "--yes");
  const at = join(desk.root, "p");
  const files = () => readdirSync(join(at, "agents")).map((file) => readFileSync(join(at, "agents", file), "utf8"));
  const before = files();
  const line = /^# default = "[^"]+"/m;
  const toml = desk.read("p/orgate.toml");
  expect(toml).toMatch(line);
  type Listed = Readonly<{ name: string; model: string; modelSource: string }>;
  const models = async () =>
    ((await desk.json("agents", "list", "--project", "p")) as readonly Listed[])
      .filter(({ name }) => name !== "conductor")
      .map(({ model, modelSource }) => `${model} ${modelSource}`);
  expect(new Set(await models())).toEqual(new Set(["offline/echo built-in"]));
  desk.write("p/orgate.toml", toml.replace(line, 'default = "openai-compatible/live"'));
  const { url, models: asked } = await server(2);
  expect(new Set(await models())).toEqual(new Set(["openai-compatible/live project"]));
  expect(await run(desk, url, "assistant", "--project", "p")).toMatchObject({ output: "live" });
  expect(await run(desk, url, "helper", "--project", "p")).toMatchObject({ output: "live" });
  expect(asked()).toEqual(["live", "live"]);
  expect(files()).toEqual(before);
});

test("M-19 an agent that names a model keeps it, and policies see the model that is asked", PATIENCE, async () => {
  const desk = newDesk(LIVE);
  const { url } = await server(1);
  expect((await run(desk, url, "own")).output).toContain("offline/own");
  desk.write(
    "policies/live.cedar",
    '@id("not-live") forbid(principal, action == Action::"model", resource == Model::"openai-compatible/live");\n',
  );
  expect(await run(desk, url, "plain")).toMatchObject({ ending: "denied" });
});

test("B-7 without a price the cost of a run is null, and nothing is said of it", PATIENCE, async () => {
  const desk = newDesk(LIVE);
  const { url } = await server(2);
  expect(await run(desk, url, "plain")).toMatchObject({ output: "live", cost: null });
  const { stdout } = await desk.within(env(url), ["run", "plain", "--input", "hi"]);
  expect(stdout).toContain("29 tokens");
  expect(stdout).not.toContain("cost");
});

describe("M-19 a model that is chosen for a run", () => {
  test("M-19 wins over the agent's own, is decided on like any, and is on record with who chose it", PATIENCE, async () => {
    const desk = newDesk();
    const { url, models } = await server(1);
    const { session, output } = await run(desk, url, "own", "--model", "openai-compatible/live");
    expect([output, models()]).toEqual(["live", ["live"]]);
    const events = await eventsOf(desk, session);
    expect(ofKind(events, "session.opened")).toMatchObject([{ agent: { model: "openai-compatible/live" } }]);
    expect(ofKind(events, "model.chosen")).toMatchObject([{ model: "openai-compatible/live", by: { kind: "user" }, intent: null }]);
    const asked = events.flatMap((event) =>
      decisionsIn(event as unknown as JournalEvent).flatMap(({ action }) => (action.kind === "model" ? [action] : [])),
    );
    expect(asked).toEqual([{ kind: "model", model: "openai-compatible/live" }]);
    desk.write(
      "policies/live.cedar",
      '@id("not-live") forbid(principal, action == Action::"model", resource == Model::"openai-compatible/live");\n',
    );
    expect(await run(desk, url, "own", "--model", "openai-compatible/live")).toMatchObject({ ending: "denied" });
    expect((await desk.json("journal", "verify")) as object).toMatchObject({ verified: true });
  });

  test("M-19 goes on in the turns after it, in a fork, and until another is chosen", PATIENCE, async () => {
    const desk = newDesk();
    const { url, models } = await server(3);
    const { session } = await run(desk, url, "own", "--model", "openai-compatible/live");
    await run(desk, url, "own", "--session", session);
    const fork = (await desk.json("sessions", "fork", session)) as { session: string };
    await run(desk, url, "own", "--session", fork.session);
    expect(models()).toEqual(["live", "live", "live"]);
    expect((await run(desk, url, "own", "--session", session, "--model", "offline/own")).output).toContain("offline/own");
    expect((await run(desk, url, "own", "--session", session)).output).toContain("offline/own");
    const events = await eventsOf(desk, session);
    expect(ofKind(events, "model.chosen").map(({ model }) => model)).toEqual(["openai-compatible/live", "offline/own"]);
    expect(ofKind(events, "agent.changed")).toMatchObject([{ agent: { model: "offline/own" } }]);
  });

  test("M-19 is asked again after a crash, by whoever takes the session up, and never another in its place", PATIENCE, async () => {
    const desk = newDesk();
    const asked: string[] = [];
    const hung = await listen((_, request) => void asked.push(modelIn(request))); // it never answers
    closing.push(hung.close);
    const going = desk.start(["run", "own", "--input", "hi", "--model", "openai-compatible/live"], undefined, env(`${hung.url}/v1`));
    await until(() => (asked.length > 0 ? true : null));
    going.kill("SIGKILL");
    await going.ended;
    const [found] = (await desk.json("sessions", "list")) as readonly { session: string }[];
    const session = found?.session ?? "";
    const { url, models } = await server(1);
    const { stdout } = await desk.within(env(url), ["sessions", "resume", session, "--json"]);
    expect([JSON.parse(stdout), models()]).toMatchObject([{ ending: "completed", output: "live" }, ["live"]]);
    const events = await eventsOf(desk, session);
    expect(ofKind(events, "agent.changed")).toEqual([]);
    expect(new Set(ofKind(events, "model.asked").map(({ model }) => model))).toEqual(new Set(["openai-compatible/live"]));
  });
});

test(
  "M-3 a model that cannot be used is refused before a session opens, with the place that names it and what to do",
  PATIENCE,
  async () => {
    const desk = newDesk('[models]\ndefault = "anthropic/claude-sonnet-5"\n');
    const { stderr } = await desk.orgate("run", "plain", "--input", "hi");
    expect(stderr).toMatch(/\$ANTHROPIC_API_KEY is not set.*`\[models\] default` in orgate\.toml.*hint: `orgate doctor`/s);
    const odd = await desk.orgate("run", "plain", "--input", "hi", "--model", "nowhere/x");
    expectRefusal(odd, 1, "there is no provider `nowhere`; there are: offline, anthropic");
    expect(odd.stderr).toContain("`--model` of `orgate run` chooses another");
    expectRefusal(await desk.orgate("run", "plain", "--input", "hi", "--model", "gpt"), 2, "--model is `gpt`");
    desk.write("orgate.toml", `${TOML}[models]\ndefault = "gpt"\n`);
    expectRefusal(await desk.orgate("run", "plain", "--input", "hi"), 1, "orgate.toml:4");
    desk.write("orgate.toml", TOML);
    expect(await desk.json("sessions", "list")).toEqual([]);
  },
);

test("M-19 a session goes on when the default has changed, on record; what was chosen for it stays", PATIENCE, async () => {
  const desk = newDesk('[models]\ndefault = "offline/first"\n');
  const { url, models: answered } = await server(3);
  const models: string[] = [];
  const first = await run(desk, url, "plain");
  expect(first.output).toContain("offline/first");
  const chosen = await run(desk, url, "plain", "--model", "offline/first");
  desk.write("orgate.toml", `${TOML}${LIVE}`);
  expect(await run(desk, url, "plain", "--session", first.session)).toMatchObject({ output: "live", ending: "completed" });
  const changed = ofKind(await eventsOf(desk, first.session), "agent.changed");
  expect(changed).toMatchObject([{ agent: { model: "openai-compatible/live" } }]);
  expect((await run(desk, url, "plain", "--session", chosen.session)).output).toContain("offline/first");
  expect(answered()).toEqual(["live"]);
  const hung = await listen((_, request) => void models.push(modelIn(request)));
  closing.push(hung.close);
  const cut = desk.start(["run", "plain", "--input", "hi"], undefined, env(`${hung.url}/v1`)); // a turn in flight on the default of then
  await until(() => (models.length > 0 ? true : null));
  cut.kill("SIGKILL");
  await cut.ended;
  const [open] = (await desk.json("sessions", "list")) as readonly { session: string }[];
  desk.write("orgate.toml", `${TOML}[models]\ndefault = "offline/second"\n`);
  const resumed = (await desk.json("sessions", "resume", open?.session ?? "")) as Result;
  expect(resumed).toMatchObject({ ending: "completed", output: expect.stringContaining("offline/second") });
  const events = await eventsOf(desk, resumed.session);
  expect(ofKind(events, "agent.changed")).toMatchObject([{ agent: { model: "offline/second" } }]);
  expect(ofKind(events, "model.asked").map(({ model }) => model)).toEqual(["openai-compatible/live", "offline/second"]);
  expect((await desk.json("journal", "verify")) as object).toMatchObject({ verified: true });
});

test("M-20 doctor, agents list and show, and init say which model each agent runs on, and who named it", PATIENCE, async () => {
  const desk = newDesk('[models]\ndefault = "offline/shared"\n');
  const listed = (await desk.orgate("agents", "list")).stdout;
  expect(listed).toMatch(/own +offline\/own \(its own\)/);
  expect(listed).toMatch(/plain +offline\/shared \(project default\)/);
  expect((await desk.orgate("agents", "show", "plain")).stdout).toContain(
    "offline/shared (it is the project's default: `[models] default` in orgate.toml",
  );
  expect((await desk.orgate("doctor")).stdout).toMatch(/agent plain +offline\/shared \(project default\)/);
  desk.write("orgate.toml", TOML);
  expect((await desk.orgate("agents", "list")).stdout).toMatch(/plain +offline\/echo \(built in\)/);
  expect((await desk.orgate("doctor")).stdout).toMatch(/agent plain +offline\/echo \(built in\)/);
  expect((await desk.orgate("init", "p", "--yes")).stdout).toContain("until `[models] default` in orgate.toml names another");
});
