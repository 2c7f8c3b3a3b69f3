/**
 * One turn of an agent whose tools fail for as long as the file `up` is not there: `fetch`, which has a breaker, and `put`, which is retried.
 * `flaky.ts fetch`, `flaky.ts put`, `flaky.ts resume`; with a further name it waits for that file before it begins. Prints the result.
 */
import { appendFileSync, existsSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { createRuntime, defineAgent, defineTool, sha256, tableGate } from "orgate";
import * as z from "zod";
import { orders } from "./outlet.ts";
import { PERSON } from "./script.ts";

const [what = "fetch", gateFile = null] = process.argv.slice(2);
const LOOK_MS = 20;
const input = z.strictObject({ n: z.int() });

const fetch = defineTool({
  name: "fetch",
  description: "fetches",
  input,
  effects: ["read"],
  repeat: "read",
  breaker: { failures: 3, openMs: 3_600_000, probes: 2 },
  run({ n }, { key, start }) {
    appendFileSync("runs.log", `fetch ${key} ${start}\n`);
    if (!existsSync("up")) throw new Error("no answer");
    return `fetched ${n}`;
  },
});
const put = defineTool({
  name: "put",
  description: "puts",
  input,
  effects: ["write"],
  repeat: "idempotent",
  recover: { kind: "retry", times: 5, backoffMs: 1_500, maxBackoffMs: 1_500 },
  async run({ n }, { key, start }) {
    appendFileSync("runs.log", `put ${key} ${start}\n`);
    if (start === 1) throw new Error("no answer");
    while (!existsSync("up")) await setTimeout(LOOK_MS); // hangs in its second start until it is killed
    return `put ${n}`;
  },
});

const calls = Array.from({ length: 4 }, (_, n) => ({ tool: "fetch", args: { n } }));
const agent = defineAgent({
  name: "flaky",
  instructions: "Go on.",
  model: "offline/flaky",
  tools: [fetch, put],
  limits: { toolsAtOnce: 1 },
  modelOptions: {
    rules: [
      { when: { says: "fetch", notCalled: ["fetch"] }, calls },
      { when: { says: "put", notCalled: ["put"] }, calls: [{ tool: "put", args: { n: 1 } }] },
      { when: {}, say: "{{result}}" },
    ],
  },
});

const runtime = await createRuntime({
  directory: orders.directory,
  agents: [agent],
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: PERSON },
});
appendFileSync("ready.log", `${what}\n`);
while (gateFile !== null && !existsSync(gateFile)) await setTimeout(LOOK_MS);
const [left] = what === "resume" ? await runtime.inspect.sessions({ state: "running", agent: "flaky", before: null, most: 1 }) : [];
const { result } = left === undefined ? runtime.run("flaky", what) : runtime.resume(left.session);
const { session, ending, conversation } = await result;
const told = conversation.flatMap((m) => (m.role === "tool" ? [m.text] : []));
process.stdout.write(JSON.stringify({ session, ending, told }));
await runtime.close();
