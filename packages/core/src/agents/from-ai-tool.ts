/**
 * Tools of the AI SDK (`tool({ … })`) as tools of ours. The SDK's object says nothing of effects or of repeats, so it gets the strictest of both.
 *
 * M-15 An AI SDK tool is taken with its name, description, schema and `execute`; it is `once`, `execute`, `untrusted`, unless its settings say more.
 * M-15 What would run past the gate, or lose a safeguard on the way, is refused with the reason: a tool that the provider runs, one without
 *     `execute`, one whose `needsApproval` no policy has taken over, one that keeps part of its result from the model (`toModelOutput`).
 */
import { FaultError, type Json, type JsonObject, type Tool, type ToolContext } from "../vocab/index.ts";
import { defineTool, type ToolDefinition } from "./define-tool.ts";
import { isStandardSchema, type StandardSchema } from "./schemas/standard-schema.ts";

/** As much of the SDK's object as is used. Core depends on no package of it. */
export type AiTool = Readonly<{
  type?: string | undefined;
  description?: unknown;
  inputSchema?: unknown;
  outputSchema?: unknown;
  needsApproval?: unknown;
  toModelOutput?: unknown;
  // A method, so that a function of typed input is one too: what it is called with has been checked against its own schema.
  execute?(input: never, options: never): unknown;
}>;

/** Settings that the SDK's object has no field for. */
export type AiToolSettings = Readonly<
  Partial<
    Pick<
      ToolDefinition<JsonObject>,
      | "repeat"
      | "effects"
      | "labels"
      | "resource"
      | "resourceTypes"
      | "timeoutMs"
      | "maxCents"
      | "endsTurn"
      | "recover"
      | "breaker"
      | "targets"
      | "outgoing"
      | "learns"
      | "names"
      | "records"
      | "markup"
    >
  > & {
    /** `policy`: a policy asks (`@ask`) where the tool's `needsApproval` would have. */
    approval?: "policy";
  }
>;

export function fromAiTool(name: string, tool: AiTool, settings: AiToolSettings = {}): Tool {
  const refuse = (detail: string) => new FaultError({ kind: "tool-invalid", tool: String(name), detail });
  if (typeof tool !== "object" || tool === null) throw refuse("it is no tool");
  const { type, description, needsApproval } = tool;
  if (type !== undefined && type !== "function" && type !== "dynamic")
    throw refuse("the provider runs it or defines it, past the gate: use a tool with an `execute` of its own");
  const { execute } = tool as { execute?: (input: unknown, options: AiOptions) => unknown };
  if (typeof execute !== "function") throw refuse("it has no `execute`, so that nothing here could run it");
  const { approval, ...rest } = settings;
  if (needsApproval !== undefined && needsApproval !== false && approval !== "policy")
    throw refuse('it has `needsApproval`, and here a policy decides who is asked: write one with @ask, then say `approval: "policy"`');
  if (tool.toModelOutput !== undefined)
    throw refuse(
      "it has `toModelOutput`, which says what of a result the model may see, and nothing here calls it: return just that from `execute`",
    );
  if (typeof description === "function") throw refuse("its description is a function: give it a text");
  const output = tool.outputSchema === undefined ? null : schemaOf(tool.outputSchema, "outputSchema", refuse);
  return defineTool({
    ...rest,
    name,
    description: typeof description === "string" ? description : "",
    input: schemaOf(tool.inputSchema, "inputSchema", refuse),
    ...(output === null ? {} : { output }),
    run: (input: JsonObject, context: ToolContext) => last(execute.call(tool, input, optionsFor(context))),
  });
}

/** Options that the SDK passes beside the input. A tool never sees the conversation here. */
type AiOptions = Readonly<{ toolCallId: string; messages: readonly []; abortSignal: AbortSignal }>;
const optionsFor = ({ key, signal }: ToolContext): AiOptions => ({ toolCallId: key, messages: [], abortSignal: signal });

/** A tool that yields preliminary results: the last one is the result. */
async function last(given: unknown): Promise<Json | undefined> {
  const value: unknown = await given;
  if (typeof value !== "object" || value === null || !(Symbol.asyncIterator in value)) return value as Json | undefined; // checked by `defineTool`
  let final: unknown;
  for await (const one of value as AsyncIterable<unknown>) final = one;
  return final as Json | undefined;
}

/** A Standard Schema, what the SDK's `jsonSchema()` made, or a function that makes either. */
function schemaOf(
  given: unknown,
  field: string,
  refuse: (detail: string) => FaultError,
): StandardSchema<Json | undefined, JsonObject> | JsonObject {
  const made: unknown = typeof given === "function" && !isStandardSchema(given) ? given() : given;
  if (isStandardSchema(made)) return made as StandardSchema<Json | undefined, JsonObject>; // `defineTool` takes no other
  if (typeof made !== "object" || made === null || !("jsonSchema" in made)) throw refuse(`its \`${field}\` is no schema`);
  const { jsonSchema } = made;
  if (typeof jsonSchema !== "object" || jsonSchema === null || "then" in jsonSchema)
    throw refuse(`its \`${field}\` makes its JSON Schema later: give one that is there`);
  const { $schema: _, ...plain } = jsonSchema as JsonObject;
  return plain;
}
