/**
 * Tools of an accepted catalogue, as the loop knows tools.
 *
 * T-32 Every tool of an MCP server is a tool like any other: an action of its own, its arguments enforced, a permit for each call. What its
 *      entry does not say is the strictest it could mean (`once`, `execute`, `untrusted`), whatever the server says of itself.
 * Rules: T-3, T-9.
 */
import { defineTool, describeFault, escapeHidden, FaultError, type Json, type JsonObject, type Tool, type ToolContext } from "@orgate/core";
import type { InvocationResult } from "@orgate/toolclad";
import { type CatalogueEntry, truncate, type UsableTool } from "./catalogue.ts";
import type { Progress } from "./client.ts";
import type { ToolOverride } from "./config.ts";
import { mirroredArguments } from "./headers.ts";
import type { CallOptions, McpLink } from "./link.ts";

/** The deadline is the call's own, and comes as a signal. */
const NO_DEADLINE_MS = 2 ** 31 - 1;
const MAX_OUTPUT = 1024 * 1024;
const MAX_NOTES = 100;
const NOTE_TEXT = 500;

/** A string is the reason why it cannot be used. */
export function mcpTool(reading: CatalogueEntry & UsableTool, link: McpLink): Tool | string {
  const { offered, digest, name, description, inputSchema, outputSchema } = reading;
  const { server } = link;
  const mirrored = server.transport.kind === "http" ? mirroredArguments(offered.inputSchema) : [];
  if (typeof mirrored === "string") return mirrored;
  const said: ToolOverride = { ...server.tools["*"], ...server.tools[offered.name] };
  const { resource, ...plain } = said;
  const define = (output: UsableTool["outputSchema"]): Tool =>
    defineTool({
      name,
      description,
      input: inputSchema.type === undefined ? { ...inputSchema, type: "object" } : inputSchema,
      ...(output === null ? {} : { output }),
      ...plain,
      ...(resource === undefined
        ? {}
        : {
            resourceTypes: [resource.type],
            resource: (args: JsonObject) => ({ type: resource.type, id: String(args[resource.arg] ?? "") }),
          }),
      version: digest.slice(0, 16),
      server: server.name,
      run: async (args: JsonObject, context: ToolContext) => {
        context.evidence({ tool: name, version: digest, invocation: { kind: "mcp", server: server.name, tool: offered.name } });
        const ran = await link.call({ tool: offered.name, args, timeMs: NO_DEADLINE_MS, outputBytes: MAX_OUTPUT }, optionsOf(context));
        context.evidence({ exitStatus: statusOf(ran) });
        return outputOf(ran);
      },
    });
  try {
    const tool = outputSchema === null ? define(null) : withOutput(define, outputSchema);
    const check: Tool["check"] = (args) => {
      const against = link.objection(offered.name);
      return against === null ? tool.check(args) : { kind: "refused", reason: against };
    };
    return Object.freeze({ ...tool, check });
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    return error.fault.kind === "tool-invalid" ? error.fault.detail : describeFault(error.fault).message;
  }
}

/** A server's output schema is only a promise. One that cannot be checked is no reason to refuse the tool: results are untrusted either way. */
function withOutput(define: (output: UsableTool["outputSchema"]) => Tool, schema: NonNullable<UsableTool["outputSchema"]>): Tool {
  try {
    return define(schema);
  } catch (error) {
    if (error instanceof FaultError && error.fault.kind === "tool-invalid" && error.fault.detail.startsWith("`output`"))
      return define(null);
    throw error;
  }
}

/** T-9 how it ended, in a word, for readers of the evidence. */
function statusOf(ran: InvocationResult): string {
  if (ran.kind !== "answered") return ran.kind;
  return ran.isError ? "error" : ran.truncated ? "answered, cut" : "answered";
}

function outputOf(ran: InvocationResult): Json {
  switch (ran.kind) {
    case "answered":
      if (ran.isError)
        throw new Error(typeof ran.output === "string" && ran.output !== "" ? ran.output : "it failed, and does not say why");
      return ran.output;
    case "refused":
      throw new Error(`${ran.reason}${ran.reason.startsWith("unreachable: ") ? "" : " (nothing was sent)"}`);
    case "stopped":
      throw new FaultError({
        kind: "outcome-unknown",
        cause: ran.by === "connection" ? "connection-lost" : "cancelled",
        detail: ran.detail,
      });
    case "exited":
    case "responded":
      throw new Error("an MCP server answers, and nothing else");
  }
}

/** Progress becomes notes, up to a limit: a server cannot fill the journal with it. */
function optionsOf(context: ToolContext): CallOptions {
  let left = MAX_NOTES;
  const note = (name: string, value: Json): void => {
    if (left-- > 0) context.note(name, value);
  };
  return {
    signal: context.signal,
    onProgress: ({ progress, total, message }: Progress) =>
      note("progress", { progress, total, message: message === null ? null : truncate(escapeHidden(message), NOTE_TEXT) }),
    onAsked: (method) => note("refused-request", { method }),
  };
}
