import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, expect, test } from "vitest";
import * as z from "zod";

const program = join(import.meta.dirname, "../../../bin/orgate.js");
const example = join(import.meta.dirname, "../../../../../examples/ops-desk");
const LEFT = new Set([".orgate", ".home", "effects.jsonl", "model-calls.jsonl", "reports"]);

const away: (() => void)[] = [];
afterEach(() => {
  for (const leave of away.splice(0)) leave();
});

const started = z.object({ url: z.string(), signIn: z.string() });
const result = z.object({ output: z.string().nullable(), ending: z.string().nullable(), session: z.string() });
const questions = z.object({ items: z.array(z.object({ approval: z.string(), digest: z.string(), agent: z.string(), tool: z.string() })) });
const summary = z.object({ state: z.string(), ending: z.string().nullable(), surface: z.string() });

async function served() {
  const folder = mkdtempSync(join(tmpdir(), "orgate-up-desk-"));
  const root = join(folder, "ops-desk");
  cpSync(example, root, { recursive: true, filter: (path) => !LEFT.has(basename(path)) });
  const env = { ...process.env, ORGATE_HOME: join(folder, "home"), ORGATE_USER: "ana" };
  const made = spawnSync(process.execPath, [program, "keys", "create", "ana", "--project", root], { env, encoding: "utf8" });
  expect([made.status, made.stderr]).toEqual([0, ""]);
  const child: ChildProcess = spawn(process.execPath, [program, "up", "--port", "0", "--json", "--project", root], {
    env,
    stdio: ["ignore", "pipe", "ignore"],
  });
  away.push(() => {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  if (child.stdout === null) throw new Error("it says nothing");
  const lines = createInterface(child.stdout);
  const { url, signIn } = started.parse(JSON.parse(await new Promise<string>((resolve) => lines.once("line", resolve))));
  const signed = await fetch(`${url}/sign-in`, { method: "POST", headers: { origin: url }, body: signIn });
  const cookie = signed.headers
    .getSetCookie()
    .map((one) => one.split(";", 1)[0])
    .join("; ");
  const csrf = /csrf[^=]*=([^;]+)/.exec(cookie)?.[1] ?? "";
  const asked = { cookie, origin: url, "x-orgate-csrf": csrf, "content-type": "application/json" };
  const get = async (path: string): Promise<unknown> => (await fetch(`${url}/api/v1${path}`, { headers: { cookie } })).json();
  const post = async (path: string, body: object): Promise<unknown> => {
    const headers = { ...asked, "idempotency-key": crypto.randomUUID() };
    return (await fetch(`${url}/api/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) })).json();
  };
  const say = async (input: string) => result.parse(await post("/agents/coordinator/execute", { input, id: "desk-of-ana" }));
  return { root, get, post, say };
}

test("W-37 an operator talks to the coordinator of the example, approves what it asks for, and what it runs has run", async () => {
  const { root, get, post, say } = await served();
  expect((await say("which agents are there?")).output).toMatch(/^4 agents\.\n- billing .*\n- coordinator .*\n- ops .*\n- reporter /);
  const { session, ending } = await say("run billing: refund ch_8811");
  expect(ending).toBeNull();
  for (const [agent, tool] of [
    ["coordinator", "run_agent"],
    ["billing", "refund"],
  ]) {
    let [question] = questions.parse(await get("/approvals")).items;
    while (question?.agent !== agent) [question] = questions.parse(await get("/approvals")).items; // it is asked once the turn got there
    expect(question?.tool).toBe(tool);
    await post(`/approvals/${question?.approval}/answer`, { digest: question?.digest, answer: { kind: "approve" } });
  }
  const where = summary.parse(await get(`/sessions/${session}`));
  expect(where.surface).toBe("coordinator");
  expect((await say("how is billing?")).output).toMatch(/^billing \(offline\/billing\): 1 sessions/);
  while (!readFileSync(join(root, "effects.jsonl"), { encoding: "utf8", flag: "a+" }).includes("refund")) await get("/health");
  expect(readFileSync(join(root, "effects.jsonl"), "utf8").match(/"refund"/g)).toHaveLength(1);
  expect((await say("what is waiting for me?")).output).toContain("0 questions wait");
}, 60_000);
