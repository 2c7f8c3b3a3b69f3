/**
 * LangGraph: `createAgent` with `SqliteSaver`, approval by `humanInTheLoopMiddleware`, https://docs.langchain.com/oss/javascript/langchain/human-in-the-loop.
 * Going on after a failure is `invoke(null, config)` on the same thread, https://docs.langchain.com/oss/javascript/langgraph/durable-execution;
 * answering is `invoke(new Command({ resume }), config)`.
 */
import { join } from "node:path";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, isAIMessage, isToolMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import { Command } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { createAgent, humanInTheLoopMiddleware, tool } from "langchain";
import * as z from "zod";
import { INPUT } from "../cases.ts";
import { type Driver, ended, lost, parked, type World } from "../driver.ts";
import type { Outcome } from "../wire.ts";

class CountedModel extends BaseChatModel {
  readonly #world: World;
  constructor(world: World) {
    super({});
    this.#world = world;
  }
  _llmType(): string {
    return "counted";
  }
  override bindTools(): this {
    return this;
  }
  async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const reply = await this.#world.ask({
      calls: messages.flatMap((m) => (isAIMessage(m) ? (m.tool_calls ?? []).map(({ id }) => id ?? "") : [])),
      results: messages.flatMap((m) => (isToolMessage(m) ? [{ id: m.tool_call_id, text: m.text }] : [])),
    });
    const text = reply.kind === "text" ? reply.text : "";
    const tool_calls =
      reply.kind === "text" ? [] : reply.calls.map(({ id, tool: name, n }) => ({ id, name, args: { n }, type: "tool_call" as const }));
    return { generations: [{ text, message: new AIMessage({ content: text, tool_calls }) }] };
  }
}

const schema = z.object({ n: z.int() });
type Args = z.infer<typeof schema>;
const config = { configurable: { thread_id: "t1" } };

function agentOf(world: World) {
  return createAgent({
    model: new CountedModel(world),
    tools: [
      tool(({ n }: Args) => world.effect({ tool: "step", n }), { name: "step", description: "Does one step.", schema }),
      tool(({ n }: Args) => world.effect({ tool: "pay", n }), { name: "pay", description: "Pays.", schema }),
    ],
    middleware: [humanInTheLoopMiddleware({ interruptOn: { pay: true } })],
    checkpointer: SqliteSaver.fromConnString(join(world.folder, "checkpoints.db")),
  });
}

function driverOf(durability: "async" | "exit"): Driver {
  const options = { ...config, durability };
  async function outcomeOf(world: World): Promise<Outcome> {
    const state = await agentOf(world).graph.getState(config);
    if (state.tasks.some(({ interrupts }) => interrupts.length > 0)) return parked;
    const messages: BaseMessage[] = state.values.messages ?? [];
    const last = messages.at(-1);
    return last === undefined ? lost("the thread has no checkpoint") : ended(last.text);
  }
  return {
    async start(world) {
      await agentOf(world).invoke({ messages: [{ role: "user", content: INPUT }] }, options);
      return outcomeOf(world);
    },
    async resume(world) {
      const before = await agentOf(world).graph.getState(config);
      if (before.config.configurable?.checkpoint_id === undefined) return lost("the thread has no checkpoint");
      await agentOf(world).graph.invoke(null, options);
      return outcomeOf(world);
    },
    async answer(world) {
      if ((await outcomeOf(world)).kind !== "parked") return lost("the thread has no open interrupt");
      await agentOf(world).invoke(new Command({ resume: { decisions: [{ type: "approve" }] } }), options);
      return outcomeOf(world);
    },
  };
}

/** The default. */
export const asyncDriver: Driver = driverOf("async");
/** Written when the graph stops, and only then. */
export const exitDriver: Driver = driverOf("exit");
