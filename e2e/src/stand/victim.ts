/** The program that is killed. It knows nothing of crashes: an agent with a tool of each repeat class, run and resumed by the library's front door. */
import {
  type Agent,
  createRuntime,
  defineAgent,
  defineTool,
  ed25519,
  FaultError,
  type IntentBody,
  intentId,
  isFault,
  type Model,
  millis,
  openPerson,
  type RunResult,
  type Runtime,
  sessionId,
  sha256,
  signIntent,
  type Tool,
  tableGate,
} from "orgate";
import * as z from "zod";
import { effect } from "./effect.ts";
import { answerTo, orders, point, request, tell } from "./outlet.ts";
import { AGENT, PEOPLE_MAY, PERSON, resultOf, SCRIPT, TOOLS } from "./script.ts";
import type { Did, Job } from "./wire.ts";

const input = z.strictObject({ n: z.int() });
const tools: readonly Tool[] = [
  defineTool({ name: TOOLS.read, description: "looks", input, repeat: "read", run: ({ n }, c) => effect("look", n, c) }),
  defineTool({ name: TOOLS.idempotent, description: "puts", input, repeat: "idempotent", run: ({ n }, c) => effect("put", n, c) }),
  defineTool({ name: TOOLS.once, description: "fires", input, repeat: "once", run: ({ n }, c) => effect("fire", n, c) }),
  defineTool({
    name: TOOLS.reconcile,
    description: "sends",
    input,
    repeat: "reconcile",
    run: ({ n }, c) => effect("send", n, c),
    async reconcile({ n }, { key, signal }) {
      const id = request();
      const answer = answerTo(id, signal);
      tell({ kind: "reconcile", request: id, key });
      return (await answer) === "happened" ? { kind: "happened", output: resultOf("send", n) } : { kind: "did-not-happen" };
    },
  }),
];

/** Asks the counter before each reply, so that model calls are counted outside as well. */
const model: Model = {
  id: "counted/script",
  async ask({ messages, attempt }, _preview, signal) {
    const session = current;
    const iteration = messages.filter((m) => m.role === "assistant").length + 1;
    const at = `model ${iteration}#${attempt}`;
    point({ kind: "mark", point: `${at} enter`, step: "enter", written: [], seal: null });
    const id = request();
    const answer = answerTo(id, signal);
    point({ kind: "model", point: `${at} sent`, request: id, session, iteration, attempt });
    await answer;
    point({ kind: "mark", point: `${at} got`, step: "got", written: [], seal: null });
    const step = SCRIPT[iteration - 1];
    const usage = { input: 3, output: 2 };
    const reply = { usage, model: "counted/script", meta: null };
    if (step === undefined) throw new FaultError({ kind: "model-failed", detail: "off the script", again: false, broke: false });
    if (step.kind === "answer") return { ...reply, finish: "stop", parts: [{ kind: "text", text: step.text, meta: null }] };
    const parts = step.calls.map(
      ({ tool, n }) => ({ kind: "call", id: `${tool}-${n}`, tool, text: JSON.stringify({ n }), meta: null }) as const,
    );
    return { ...reply, finish: "calls", parts };
  },
};

/** The session that is being driven; the model port is not told, and need not know. */
let current = "";

const agent: Agent = defineAgent({ name: AGENT, instructions: "do as the script says", model: model.id, tools });
/** Permissive, and a policy like any other: what the agent may do, and that people may answer for it. */
const gate = tableGate(
  [
    { id: "work", action: "tool:*", verdict: "allow" },
    { id: "think", action: "model", verdict: "allow" },
    { id: "speak", action: "respond", verdict: "allow" },
    { id: "people", action: "approve", verdict: "allow" },
    ...PEOPLE_MAY,
  ],
  sha256,
);
const person = openPerson(orders.home, PERSON, ed25519);

async function wish(runtime: Runtime, session: string, wanted: IntentBody): Promise<"new" | "known"> {
  const id = intentId(`i_${crypto.randomUUID()}`);
  return runtime.putIntent(signIntent(person, { id, session: sessionId(session), at: millis(Date.now()), wish: wanted }));
}

/** A person approves every request until the turn has ended. */
async function toTheEnd(runtime: Runtime, first: RunResult): Promise<RunResult> {
  let result = first;
  for (let rounds = 0; result.state === "waiting" && rounds < 20; rounds += 1) {
    for (const { approval, digest } of result.questions)
      await wish(runtime, result.session, { kind: "answer", approval, digest, answer: { kind: "approve" } });
    result = await runtime.resume(result.session).result;
  }
  return result;
}

const toDid = ({ session, state, ending, output }: RunResult): Did => ({ kind: "result", session, state, ending, output });

async function perform(runtime: Runtime, job: Job): Promise<Did> {
  switch (job.kind) {
    case "run": {
      const run = runtime.run(AGENT, "go", { on: (live) => live.kind === "entry" && watch(live.entry.stream) });
      return toDid(await toTheEnd(runtime, await run.result));
    }
    case "resume":
      watch(job.session);
      return toDid(await toTheEnd(runtime, await runtime.resume(sessionId(job.session)).result));
    case "resume-all": {
      let did: Did = { kind: "nothing" };
      for (const { session, state } of await runtime.inspect.sessions({ state: null, agent: null, before: null, most: 1_000 })) {
        if (state !== "running" && state !== "waiting") continue;
        watch(session);
        did = toDid(await toTheEnd(runtime, await runtime.resume(session).result));
      }
      return did;
    }
    case "wish":
      return { kind: "put", as: await wish(runtime, job.session, job.wish) };
  }
}

function watch(session: string): void {
  current = session;
}

tell({ kind: "hello", pid: process.pid });
const runtime = await createRuntime({
  directory: orders.directory,
  agents: [agent],
  gate,
  principal: { kind: "user", id: PERSON },
  model: () => model,
});
for (const job of orders.jobs) {
  tell({ kind: "begins", job: job.kind });
  try {
    tell({ kind: "did", job: job.kind, outcome: await perform(runtime, job) });
  } catch (error) {
    if (!isFault(error)) throw error;
    tell({ kind: "did", job: job.kind, outcome: { kind: "fault", fault: error.fault } });
  }
}
await runtime.close();
