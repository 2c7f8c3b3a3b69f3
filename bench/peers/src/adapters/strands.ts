/**
 * Strands: `Agent`, `tool`, README of @strands-agents/sdk; Cedar as its `CedarAuthorization` intervention documents (@strands-agents/sdk/vended-interventions/cedar);
 * sessions in files by `SessionManager`, saved at the end (its default) or with every message. The conversation window is its default.
 */
import { Agent, type Message, Model, type ModelStreamEvent, SessionManager, tool } from "@strands-agents/sdk";
import { LocalFileStorage } from "@strands-agents/sdk/storage";
import { CedarAuthorization } from "@strands-agents/sdk/vended-interventions/cedar";
import * as z from "zod";
import type { Open } from "../adapter.ts";
import { policiesText } from "../policies.ts";
import { argsOf, argsText, DESCRIPTION, PROMPT, TOOL, type Work } from "../workload.ts";

function newestResult(messages: readonly Message[]): string | null {
  for (const block of messages.at(-1)?.content ?? [])
    if (block.type === "toolResultBlock") for (const part of block.content) if (part.type === "textBlock") return part.text;
  return null;
}

class CountingModel extends Model {
  readonly #work: Work;
  constructor(work: Work) {
    super();
    this.#work = work;
  }
  updateConfig(): void {}
  getConfig() {
    return { modelId: "counting", contextWindowLimit: 1_000_000_000 };
  }
  async *stream(messages: Message[]): AsyncGenerator<ModelStreamEvent> {
    const reply = this.#work.ask(newestResult(messages));
    yield { type: "modelMessageStartEvent", role: "assistant" };
    if (reply.kind === "text") {
      yield { type: "modelContentBlockStartEvent" };
      yield { type: "modelContentBlockDeltaEvent", delta: { type: "textDelta", text: reply.text } };
    } else {
      yield { type: "modelContentBlockStartEvent", start: { type: "toolUseStart", name: TOOL, toolUseId: reply.id } };
      yield { type: "modelContentBlockDeltaEvent", delta: { type: "toolUseInputDelta", input: argsText(reply.n) } };
    }
    yield { type: "modelContentBlockStopEvent" };
    yield { type: "modelMessageStopEvent", stopReason: reply.kind === "text" ? "endTurn" : "toolUse" };
    yield { type: "modelMetadataEvent", usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 } };
  }
}

const inputSchema = z.strictObject({ n: z.number().int(), path: z.string(), query: z.string() });
let sessions = 0;

type Variant = Readonly<{ gated: boolean; saved?: "invocation" | "message" }>;

const variant =
  ({ gated, saved }: Variant): Open =>
  async ({ work, folder, policies }) => {
    const lookup = tool({ name: TOOL, description: DESCRIPTION, inputSchema, callback: (args) => work.effect(args) });
    const model = new CountingModel(work);
    const text = policiesText(policies, { action: `Action::"${TOOL}"`, args: "context.input", person: "User" });
    const cedar = () => new CedarAuthorization({ policies: text });
    // One agent per conversation, as its documentation says: an agent owns its messages. The gate counts calls, so it is the conversation's too.
    const open = (): Agent =>
      new Agent({
        model,
        systemPrompt: "Look things up.",
        tools: [lookup],
        printer: false,
        ...(gated ? { interventions: [cedar()] } : {}),
        ...(saved === undefined
          ? {}
          : {
              sessionManager: new SessionManager({
                sessionId: `s${++sessions}`,
                storage: new LocalFileStorage(folder),
                saveLatestOn: saved,
              }),
            }),
      });
    return {
      async run() {
        const { lastMessage } = await open().invoke(PROMPT);
        const part = lastMessage.content.find((block) => block.type === "textBlock");
        return part?.type === "textBlock" ? part.text : "no text";
      },
      close: async () => {},
      decide(times) {
        const gate = cedar();
        const agent = open();
        for (let n = 1; n <= times; n += 1) {
          const toolUse = { name: TOOL, toolUseId: `call_${n}`, input: { ...argsOf(n) } };
          const action = gate.beforeToolCall({ agent, toolUse, invocationState: {} } as unknown as Parameters<
            typeof gate.beforeToolCall
          >[0]);
          if (action.type !== "proceed") throw new Error("a look-up was not allowed");
        }
      },
    };
  };

export const strands: Open = variant({ gated: false });
export const strandsCedar: Open = variant({ gated: true });
export const strandsFiles: Open = variant({ gated: true, saved: "invocation" });
export const strandsFilesPerMessage: Open = variant({ gated: true, saved: "message" });
