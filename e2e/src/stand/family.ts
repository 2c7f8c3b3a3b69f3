/**
 * A program with delegates, two levels of them, to be killed: `boss` has `clerk` and `hand` work beside each other, and `clerk` has `hand` work for it.
 * With `asks` among its arguments a person is asked before anything is fired.
 */
import {
  createRuntime,
  defineAgent,
  defineTool,
  ed25519,
  intentId,
  isFault,
  type Model,
  millis,
  openPerson,
  type RunResult,
  sessionId,
  sha256,
  signIntent,
  tableGate,
} from "orgate";
import * as z from "zod";
import { effect } from "./effect.ts";
import { orders, tell } from "./outlet.ts";
import { PERSON } from "./script.ts";
import type { Did, Job } from "./wire.ts";

const fire = defineTool({
  name: "fire",
  description: "fires",
  input: z.strictObject({ n: z.int() }),
  labels: ["smoke"],
  run: ({ n }, context) => effect("fire", n, context),
});

type Call = Readonly<{ tool: string; args: { readonly [name: string]: unknown } }>;
const give = (agent: string, n: number): Call => ({ tool: "delegate", args: { agent, task: `fire ${n}` } });
const PLANS: Readonly<Record<string, readonly (readonly Call[])[]>> = {
  boss: [[give("clerk", 1), give("hand", 2)]],
  clerk: [[give("hand", 3)]],
};

/** The same reply at the same place of a conversation: a lost call that is repeated says the same. */
const planned = (name: string): Model => ({
  id: `planned/${name}`,
  ask: async ({ messages }) => {
    const task = messages.find((m) => m.role === "user")?.text ?? "";
    const shot: readonly (readonly Call[])[] = [[{ tool: "fire", args: { n: Number(task.replace(/\D/g, "")) } }]];
    const calls = (PLANS[name] ?? shot)[messages.filter((m) => m.role === "assistant").length] ?? [];
    const parts = calls.map(
      ({ tool, args }, i) => ({ kind: "call", id: `${tool}-${i}`, tool, text: JSON.stringify(args), meta: null }) as const,
    );
    const reply = { usage: { input: 30, output: 5 }, model: name, meta: null };
    if (parts.length > 0) return { ...reply, finish: "calls", parts };
    return { ...reply, finish: "stop", parts: [{ kind: "text", text: `${name} is done`, meta: null }] };
  },
});

const agentOf = (name: string, delegates: readonly string[], tools: Parameters<typeof defineAgent>[0]["tools"] = []) =>
  defineAgent({
    name,
    instructions: "do as the plan says",
    model: `planned/${name}`,
    delegates,
    tools,
    limits: { iterations: 50, tokens: 200_000 },
  });
const agents = [agentOf("boss", ["clerk", "hand"]), agentOf("clerk", ["hand"]), agentOf("hand", [], [fire])];

const asks = process.argv.includes("asks") ? [{ id: "ask", action: "tool:fire", verdict: "ask" } as const] : [];
const gate = tableGate([...asks, { id: "all", action: "*", verdict: "allow" }], sha256);
const person = openPerson(orders.home, PERSON, ed25519);
const toDid = ({ session, state, ending, output }: RunResult): Did => ({ kind: "result", session, state, ending, output });

tell({ kind: "hello", pid: process.pid });
const runtime = await createRuntime({
  directory: orders.directory,
  agents,
  gate,
  principal: { kind: "user", id: PERSON },
  model: ({ name }) => planned(name),
});

async function perform(job: Job): Promise<Did> {
  switch (job.kind) {
    case "run":
      return toDid(await runtime.run("boss", "go").result);
    case "resume":
      return toDid(await runtime.resume(sessionId(job.session)).result);
    case "resume-all": {
      let did: Did = { kind: "nothing" };
      for (const { session } of await runtime.inspect.sessions({ state: "running", agent: null, before: null, most: 100 }))
        if ((await runtime.inspect.session(session))?.state === "running") did = toDid(await runtime.resume(session).result);
      return did;
    }
    case "wish": {
      const intent = { id: intentId(`i_${crypto.randomUUID()}`), session: sessionId(job.session), at: millis(Date.now()), wish: job.wish };
      return { kind: "put", as: await runtime.putIntent(signIntent(person, intent)) };
    }
  }
}

for (const job of orders.jobs) {
  tell({ kind: "begins", job: job.kind });
  try {
    tell({ kind: "did", job: job.kind, outcome: await perform(job) });
  } catch (error) {
    if (!isFault(error)) throw error;
    tell({ kind: "did", job: job.kind, outcome: { kind: "fault", fault: error.fault } });
  }
}
await runtime.close();
