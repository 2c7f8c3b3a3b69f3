/**
 * Orgate: `runtime.run`, `runtime.resume`, `runtime.approvals.answer`, as in examples/src/05-resume-after-kill.ts and 09-approvals.ts.
 * Both tools are `once`, the default: what they do must not be done twice.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  type Agent,
  createPerson,
  createRuntime,
  defineAgent,
  defineTool,
  ed25519,
  type Model,
  openPerson,
  type RunResult,
  type Runtime,
  sha256,
  tableGate,
} from "orgate";
import * as z from "zod";
import { INPUT } from "../cases.ts";
import { type Driver, ended, lost, parked, type World } from "../driver.ts";
import type { Outcome } from "../wire.ts";

const input = z.strictObject({ n: z.int() });
const PERSON = "ada";

const agentOf = (world: World): Agent =>
  defineAgent({
    name: "worker",
    instructions: "Do the work.",
    model: "counted/worker",
    tools: [
      defineTool({ name: "step", description: "Does one step.", input, run: ({ n }) => world.effect({ tool: "step", n }) }),
      defineTool({ name: "pay", description: "Pays.", input, run: ({ n }) => world.effect({ tool: "pay", n }) }),
    ],
  });

const modelOf = (world: World): Model => ({
  id: "counted/worker",
  async ask({ messages }) {
    const reply = await world.ask({
      calls: messages.flatMap((m) => (m.role === "assistant" ? m.parts.flatMap((p) => (p.kind === "call" ? [p.wireId] : [])) : [])),
      results: messages.flatMap((m) => (m.role === "tool" ? [{ id: m.wireId, text: m.text }] : [])),
    });
    const rest = { usage: { input: 10, output: 5 }, model: "counted/worker", meta: null };
    if (reply.kind === "text") return { ...rest, finish: "stop", parts: [{ kind: "text", text: reply.text, meta: null }] };
    const parts = reply.calls.map(({ id, tool, n }) => ({ kind: "call", id, tool, text: JSON.stringify({ n }), meta: null }) as const);
    return { ...rest, finish: "calls", parts };
  },
});

async function open(world: World): Promise<Runtime> {
  const runtime = await createRuntime({
    directory: join(world.folder, ".orgate"),
    agents: [agentOf(world)],
    gate: tableGate(
      [
        { id: "paying-asks", action: "tool:pay", verdict: "ask", say: "Pay?" },
        { id: "the-rest", action: "*", verdict: "allow" },
      ],
      sha256,
    ),
    principal: { kind: "user", id: PERSON },
    model: () => modelOf(world),
  });
  return runtime;
}

function toOutcome({ state, output, ending, sentence }: RunResult): Outcome {
  if (state === "waiting") return parked;
  return ending === "completed" ? ended(output ?? "") : lost(`${ending}: ${sentence}`);
}

export const driver: Driver = {
  async start(world) {
    const runtime = await open(world);
    const home = join(world.folder, "home");
    if (!existsSync(home)) {
      const person = createPerson(home, PERSON, ed25519);
      await runtime.place.keyring.certifyPerson(person.name, person.key.publicKey);
    }
    const outcome = toOutcome(await runtime.complete("worker", INPUT));
    await runtime.close();
    return outcome;
  },
  async resume(world) {
    const runtime = await open(world);
    const [newest] = await runtime.inspect.sessions({ state: null, agent: null, before: null, most: 1 });
    if (newest === undefined) return lost("there is no session");
    const outcome = toOutcome(await runtime.resume(newest.session).result);
    await runtime.close();
    return outcome;
  },
  async answer(world) {
    const runtime = await open(world);
    const [question] = await runtime.approvals.list();
    if (question === undefined) return lost("there is no open question");
    const { approval, digest } = question;
    const { result } = await runtime.approvals.answer(
      { approval, digest, answer: { kind: "approve" } },
      openPerson(join(world.folder, "home"), PERSON, ed25519),
    );
    if (result === null) return lost("the answer was taken by nobody");
    await runtime.close();
    return toOutcome(result);
  },
};
