/** The fake model for pi: pi-ai's own faux provider, whose answers come from the counter. */
import { contentText, createModels, fauxAssistantMessage, fauxProvider, fauxToolCall, type Message, Type } from "@earendil-works/pi-ai";
import type { World } from "../driver.ts";
import type { Context } from "../wire.ts";

const contextOf = (messages: readonly Message[]): Context => ({
  calls: messages.flatMap((m) => (m.role === "assistant" ? m.content.flatMap((part) => (part.type === "toolCall" ? [part.id] : [])) : [])),
  results: messages.flatMap((m) => (m.role === "toolResult" ? [{ id: m.toolCallId, text: contentText(m.content) }] : [])),
});

export function modelsOf(world: World) {
  const faux = fauxProvider();
  const models = createModels();
  models.setProvider(faux.provider);
  faux.setResponses(
    Array.from({ length: 20 }, () => async ({ messages }: { readonly messages: readonly Message[] }) => {
      const reply = await world.ask(contextOf(messages));
      if (reply.kind === "text") return fauxAssistantMessage(reply.text);
      const calls = reply.calls.map(({ id, tool, n }) => fauxToolCall(tool, { n }, { id }));
      return fauxAssistantMessage(calls, { stopReason: "toolUse" });
    }),
  );
  return { models, model: faux.getModel() };
}

export const parameters = Type.Object({ n: Type.Integer() });

/**
 * pi has no approvals: an application asks in a hook, which waits. The question lives in this process alone.
 */
export type Desk = Readonly<{
  /** Called by the hook; settles once somebody says yes. */
  ask(): Promise<void>;
  /** Settles once the hook has asked. */
  asked: Promise<void>;
  yes(): void;
}>;

export function openDesk(): Desk {
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  return {
    ask() {
      asked.resolve();
      return answered.promise;
    },
    asked: asked.promise,
    yes: answered.resolve,
  };
}
