// A model call that is cut off while it is in flight, through the real command line and the real shell: what was used is told apart from what was reserved.
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { openPane } from "../../local-server/fixtures/pane.ts";
import { chatWire } from "../../models/fixtures/openai-chat-wire.ts";
import { listen } from "../../models/fixtures/server.ts";
import { type Desk, makeDesk, TOML } from "./fixtures/desk.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
const PATIENCE = { timeout: 60_000 };
const wire = chatWire({ path: "/v1/chat/completions", keyed: false, thinks: "reasoning_content" });
const OK = { parts: [{ say: "first" }], finish: "stop", usage: { input: 20, cached: 0, output: 9, reasoning: 0 } } as const;

/** The model `slow` never answers; any other answers once `slow` has been asked. */
async function server(): Promise<Readonly<{ env: Readonly<Record<string, string>>; asked: Promise<void> }>> {
  let tell = (): void => {};
  const asked = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const local = await listen(async (response, { body }) => {
    if ((body as { model: string }).model === "slow") return tell();
    await asked;
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
    response.end(wire.stream(OK));
  });
  closing.push(local.close);
  return { env: { OPENAI_COMPATIBLE_BASE_URL: `${local.url}/v1` }, asked };
}
const agent = (name: string): string => `name = "${name}"\ninstructions = "Be brief."\nmodel = "openai-compatible/${name}"\n`;
function newDesk(): Desk {
  const desk = makeDesk();
  closing.push(desk.remove);
  desk.write("orgate.toml", `${TOML}agents = ["agents/*.toml"]\n`);
  desk.write("policies/desk.cedar", "permit(principal, action, resource);\n");
  desk.write("agents/slow.toml", agent("slow"));
  return desk;
}
const CUT = /\b0 tokens, and up to (\d+) reserved for a call that was cut off/;

test("V-5 Ctrl-C on a model call in flight: the run and `sessions show` tell what was used and what was reserved", PATIENCE, async () => {
  const [desk, { env, asked }] = [newDesk(), await server()];
  const going = desk.start(["run", "slow", "--input", "hi"], undefined, env);
  await asked;
  going.kill("SIGINT");
  const { stdout } = await going.ended;
  const [, reserved] = CUT.exec(stdout) ?? [];
  expect(Number(reserved)).toBeGreaterThan(100);
  const [listed] = (await desk.json("sessions", "list")) as readonly { session: string }[];
  const shown = (await desk.orgate("sessions", "show", listed?.session ?? "")).stdout;
  expect(shown).toMatch(new RegExp(`agent slow, 1 turn, .*\\b0 tokens, and up to ${reserved} reserved`));
});

test("V-5 Esc in the shell on a model call in flight tells the same", { ...PATIENCE, tags: ["tmux"] }, async () => {
  const [desk, { env, asked }] = [newDesk(), await server()];
  const pane = openPane(desk, env);
  closing.push(pane.close);
  pane.orgate("shell");
  await pane.sees("@slow");
  pane.keys("hi", "Enter");
  await asked;
  pane.keys("Escape");
  await pane.sees(/cancelled · 0 tokens, and up to \d+ reserved for a call\s+that was cut off/);
});

test("V-5 who lost a race is told apart alike: by member, together, and for programs", PATIENCE, async () => {
  const [desk, { env }] = [newDesk(), await server()];
  await desk.json("init", "p", "--profile", "multi-agent", "--yes");
  for (const name of ["slow", "quick"]) desk.write(join("p", "agents", `${name}.toml`), agent(name));
  const race = ["race", "slow", "quick", "--input", "hi", "--project", "p"];
  const told = (await desk.within(env, race)).stdout;
  expect(told).toMatch(/slow +s_\w+ +cancelled +0 tokens, and up to \d+ reserved for a call that was cut off/);
  expect(told).toMatch(/quick +s_\w+ +completed +29 tokens /);
  expect(told).toMatch(/together +29 tokens, and up to \d+ reserved/);
  const { members } = JSON.parse((await desk.within(env, [...race, "--json"])).stdout) as { members: readonly { agent: string }[] };
  expect(members).toMatchObject([
    { agent: "slow", ending: "cancelled", tokens: 0, lost: expect.any(Number) },
    { agent: "quick", ending: "completed", tokens: 29, lost: 0 },
  ]);
});
