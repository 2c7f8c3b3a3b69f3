/**
 * LangGraph.js: `createAgent`, https://docs.langchain.com/oss/javascript/langchain/agents; checkpointers and `durability`,
 * https://docs.langchain.com/oss/javascript/langgraph/durable-execution and .../persistence. A thread of its own for each run.
 */
import { join } from "node:path";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, isToolMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { createAgent, tool } from "langchain";
import * as z from "zod";
import type { Open } from "../adapter.ts";
import { argsOf, DESCRIPTION, PROMPT, TOOL, type Work } from "../workload.ts";

class CountingModel extends BaseChatModel {
  readonly #work: Work;
  constructor(work: Work) {
    super({});
    this.#work = work;
  }
  _llmType(): string {
    return "counting";
  }
  override bindTools(): this {
    return this;
  }
  async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const last = messages.at(-1);
    const reply = this.#work.ask(last !== undefined && isToolMessage(last) ? last.text : null);
    const text = reply.kind === "text" ? reply.text : "";
    const tool_calls =
      reply.kind === "text" ? [] : [{ id: reply.id, name: TOOL, args: { ...argsOf(reply.n) }, type: "tool_call" as const }];
    return { generations: [{ text, message: new AIMessage({ content: text, tool_calls }) }] };
  }
}

const schema = z.strictObject({ n: z.number().int(), path: z.string(), query: z.string() });
let threads = 0;

const variant =
  (saverIn: (folder: string) => BaseCheckpointSaver | null, options: Readonly<{ durability?: "exit" }>): Open =>
  async ({ work, folder }) => {
    const lookup = tool((args) => work.effect(args), { name: TOOL, description: DESCRIPTION, schema });
    const checkpointer = saverIn(folder);
    const agent = createAgent({
      model: new CountingModel(work),
      systemPrompt: "Look things up.",
      tools: [lookup],
      ...(checkpointer === null ? {} : { checkpointer }),
    });
    return {
      async run() {
        const config = { recursionLimit: 4 * work.iterations + 20, configurable: { thread_id: `t${++threads}` }, ...options };
        const { messages } = await agent.invoke({ messages: [{ role: "user", content: PROMPT }] }, config);
        return messages.at(-1)?.text ?? "no message";
      },
      async close() {
        if (checkpointer instanceof SqliteSaver) checkpointer.db.close();
      },
    };
  };

const sqlite = (folder: string): SqliteSaver => SqliteSaver.fromConnString(join(folder, "checkpoints.db"));

export const langgraph: Open = variant(() => null, {});
export const langgraphMemory: Open = variant(() => new MemorySaver(), {});
export const langgraphSqlite: Open = variant(sqlite, {});
export const langgraphSqliteExit: Open = variant(sqlite, { durability: "exit" });
