/** pi-agent-core's `AgentHarness` on a JSONL session (dist/harness/agent-harness.d.ts and dist/harness/session of the package; not yet in its README). */
import { join } from "node:path";
import { AgentHarness, type AgentHarnessTool, JsonlSessionRepo } from "@earendil-works/pi-agent-core";
import { BACKGROUND_CONTEXT } from "@earendil-works/pi-agent-core/harness/context";
import { NodeExecutionEnv } from "@earendil-works/pi-agent-core/node";
import { type AssistantMessageEventStream, createModels, type Provider, type TranscriptContext } from "@earendil-works/pi-ai";
import type { Open } from "../adapter.ts";
import { DESCRIPTION, PROMPT, TOOL, type Work } from "../workload.ts";
import { model, parameters, replyTo } from "./pi.ts";

const context = BACKGROUND_CONTEXT;

function providerOf(work: Work): Provider<"counting"> {
  const stream = (_model: unknown, { messages }: TranscriptContext): AssistantMessageEventStream => replyTo(work, messages);
  return {
    id: model.provider,
    name: model.provider,
    auth: { apiKey: { name: "none", resolve: async () => ({ auth: {}, source: "none" }) } },
    getModels: () => [model],
    stream,
    streamSimple: stream,
  };
}

export const piSession: Open = async ({ work, folder: cwd }) => {
  const models = createModels();
  models.setProvider(providerOf(work));
  const repo = new JsonlSessionRepo({ fileSystem: new NodeExecutionEnv({ cwd }), sessionsRoot: join(cwd, "sessions") });
  const lookup: AgentHarnessTool<undefined, typeof parameters> = {
    name: TOOL,
    label: TOOL,
    description: DESCRIPTION,
    parameters,
    execute: async (_id, args) => ({ content: [{ type: "text", text: work.effect(args) }], details: {} }),
  };
  return {
    async run() {
      const session = await repo.create({ cwd }, context);
      const { harness } = await AgentHarness.create({ session, models, model, tools: [lookup], systemPrompt: "Look things up." }, context);
      const lane = await harness.lane("main", { createAt: null }, context);
      const result = await lane.prompt(PROMPT, undefined, context);
      if (!result.ok) return `the lane says ${result.error.message}`;
      const entry = await lane.findEntry({ type: "message", order: "newestFirst" }, context);
      const part = entry?.type === "message" && entry.message.role === "assistant" ? entry.message.content[0] : undefined;
      return part?.type === "text" ? part.text : `the run ${result.value.status}`;
    },
    close: async () => {},
  };
};
