/** Proposes one call that a person has written down, and then reports its result. The proposal is decided like any other. */
import type { JsonObject, Model, ModelReply } from "@orgate/core";

export const OPERATOR = "offline/operator";

export function operatorModel(tool: string, args: JsonObject): Model {
  const reply = (parts: ModelReply["parts"], finish: ModelReply["finish"]): ModelReply => ({
    parts,
    finish,
    usage: { input: 0, output: 0 },
    model: OPERATOR,
    meta: null,
  });
  return {
    id: OPERATOR,
    async ask({ messages }) {
      const last = messages.at(-1);
      if (last?.role !== "tool") return reply([{ kind: "call", id: "operator", tool, text: JSON.stringify(args), meta: null }], "calls");
      return reply([{ kind: "text", text: last.text, meta: null }], "stop");
    },
  };
}
