/**
 * A structured answer from a model that has no other way to give one: a tool that is not the agent's is offered beside its tools, and what the
 * model calls it with is its answer.
 *
 * M-25 its call becomes the text of the reply before anybody sees it: it is decided as `respond` like any answer, no tool runs, and middleware
 *      sees what it always sees. An answer beside other calls comes too early: those are run, and it is only something that was said.
 */
import type { Json, ReplyPart, ToolSpec } from "../vocab/index.ts";
import { type Model, type ModelReply, type ModelRequest, type Preview, toModelIdentity } from "./port.ts";

export const ANSWER_TOOL = "final_answer";

/** `when`: whether this request's answer is to be given so; without it, every structured one is. */
export function answersByCall(model: Model, when: (request: ModelRequest) => boolean = () => true): Model {
  return Object.freeze({
    ...toModelIdentity(model),
    async ask(request: ModelRequest, preview: (preview: Preview) => unknown, signal: AbortSignal): Promise<ModelReply> {
      const { answer, tools } = request;
      if (answer?.kind !== "text" || !when(request)) return model.ask(request, preview, signal);
      const tool = freeName(tools);
      const spec: ToolSpec = {
        name: tool,
        description:
          "Gives your answer. Call it once, alone, when you are done: its arguments are the whole answer, and nothing else is delivered.",
        inputSchema: answer.schema,
      };
      const asked = { ...request, tools: [...tools, spec], answer: { kind: "call", tool } as const };
      return answered(await model.ask(asked, shownAsText(preview, tool), signal), tool);
    },
  });
}

function freeName(tools: readonly ToolSpec[]): string {
  const taken = new Set(tools.map(({ name }) => name));
  let name = ANSWER_TOOL;
  for (let n = 2; taken.has(name); n += 1) name = `${ANSWER_TOOL}_${n}`;
  return name;
}

function answered(reply: ModelReply, tool: string): ModelReply {
  const { parts, finish } = reply;
  const isAnswer = (part: ReplyPart): boolean => part.kind === "call" && part.tool === tool;
  if (!parts.some(isAnswer)) return reply;
  const asText = (part: ReplyPart): ReplyPart => (isAnswer(part) ? { kind: "text", text: part.text, meta: null } : part);
  if (parts.some((part) => part.kind === "call" && !isAnswer(part))) return { ...reply, parts: parts.map(asText) };
  const aside = parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("");
  return {
    ...reply,
    parts: parts.filter((part) => part.kind !== "text").map(asText),
    finish: finish === "calls" ? "stop" : finish,
    meta: aside.trim() === "" ? reply.meta : withAside(reply.meta, aside),
  };
}

/** Text around the answer stays on record. */
const withAside = (meta: Json, aside: string): Json =>
  typeof meta === "object" && meta !== null && !Array.isArray(meta) ? { ...meta, aside } : { aside, meta };

/** Words of the answer go where words go; the calls after it are counted without it. */
function shownAsText(preview: (preview: Preview) => unknown, tool: string): (preview: Preview) => unknown {
  let said = 0;
  const answers = new Set<number>();
  const say = (text: string): unknown => {
    const offset = said;
    said += text.length;
    return preview({ part: "text", offset, text });
  };
  return (one) => {
    if (one.part === "text") return say(one.text);
    if (one.part !== "call") return preview(one);
    if (one.tool === tool) answers.add(one.call);
    if (answers.has(one.call)) return say(one.text);
    return preview({ ...one, call: one.call - [...answers].filter((n) => n < one.call).length });
  };
}
