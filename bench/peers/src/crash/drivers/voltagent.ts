/**
 * VoltAgent: `Memory` on LibSQL, conversation saved per step and after every tool result (both the default),
 * https://voltagent.dev/docs/agents/memory/overview/ (also in the package: docs/agents/memory/overview.md). An approval is a message part in
 * the state `approval-requested`; the client sends the message back as `approval-responded`, https://voltagent.dev/docs/agents/tools/.
 * For a run that was cut off no call to go on is documented: what there is is the saved conversation, which the agent is called with again.
 */
import { join } from "node:path";
import { Agent, createTool, Memory } from "@voltagent/core";
import { LibSQLMemoryAdapter } from "@voltagent/libsql";
import * as z from "zod";
import { modelV3 } from "../ai-model.ts";
import { INPUT } from "../cases.ts";
import { type Driver, ended, lost, parked, type World } from "../driver.ts";
import type { Outcome } from "../wire.ts";

const parameters = z.object({ n: z.int() });
const where = { userId: "u1", conversationId: "c1" };

const memoryOf = ({ folder }: World): Memory =>
  new Memory({ storage: new LibSQLMemoryAdapter({ url: `file:${join(folder, "memory.db")}` }) });

function agentOf(world: World): Agent {
  return new Agent({
    name: "worker",
    instructions: "Do the work.",
    model: modelV3(world),
    memory: memoryOf(world),
    tools: [
      createTool({ name: "step", description: "Does one step.", parameters, execute: ({ n }) => world.effect({ tool: "step", n }) }),
      createTool({
        name: "pay",
        description: "Pays.",
        parameters,
        needsApproval: true,
        execute: ({ n }) => world.effect({ tool: "pay", n }),
      }),
    ],
    maxSteps: 20,
  });
}

type Input = Parameters<Agent["generateText"]>[0];
type Stored = Awaited<ReturnType<Memory["getMessages"]>>;
type StoredPart = Stored[number]["parts"][number];

async function go(world: World, input: Input): Promise<Outcome> {
  const result = await agentOf(world).generateText(input, where);
  return result.content.some(({ type }) => type === "tool-approval-request") ? parked : ended(result.text);
}

const storedIn = (world: World): Promise<Stored> => memoryOf(world).getMessages(where.userId, where.conversationId);
const isAsked = (part: StoredPart): boolean => "state" in part && part.state === "approval-requested";
const answered = (part: StoredPart): StoredPart =>
  "state" in part && part.state === "approval-requested"
    ? { ...part, state: "approval-responded", approval: { ...part.approval, approved: true } }
    : part;

export const driver: Driver = {
  start: (world) => go(world, INPUT),
  async resume(world) {
    const messages = await storedIn(world);
    if (messages.length === 0) return lost("the conversation has no messages");
    return messages.some(({ parts }) => parts.some(isAsked)) ? parked : go(world, messages.slice(-1));
  },
  async answer(world) {
    const asking = (await storedIn(world)).filter(({ parts }) => parts.some(isAsked));
    if (asking.length === 0) return lost("no open question is in the conversation");
    return go(
      world,
      asking.map((message) => ({ ...message, parts: message.parts.map(answered) })),
    );
  },
};
