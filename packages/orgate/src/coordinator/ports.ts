/**
 * The port of the coordinator's tools: a desk for one conversation, which sees and does only what everybody who speaks in it may see and do.
 * `operations/coordinator/` implements it. Types alone: a project loads the tools by name, and few ever call one.
 */
import type { JsonObject, Principal, SessionId, Surface, ToolContext } from "@orgate/core";
import type { ActName, ActOn, OperationName } from "@orgate/protocol";

/** The speakers of a conversation and what all of them may do. */
export type SpeakerAccess = Readonly<{
  /** Whose words began the turn: what is done is signed as theirs. */
  speaker: Readonly<{ principal: Principal }>;
  /** Null if all of them may, otherwise the reason for the refusal. */
  refuses(
    act: Readonly<Record<"agent" | "session" | "id" | "tool" | "requester", string | null> & { kind: ActName; on: ActOn }>,
  ): string | null;
}>;

/** `surface` is null in a session that works for another one. */
export type DeskConversation = Readonly<{ agent: string; surface: Surface | null; voices: SpeakerAccess }>;
/** A call of a tool: what is done under its key is done once. */
export type DeskCall = Pick<ToolContext, "key" | "signal">;
export type EventsSought = Readonly<{ of: string; only: "denied" | "all"; most: number }>;

export type CoordinatorDesk = Readonly<{
  conversation(): Promise<DeskConversation>;
  /** Null if all speakers may run this agent, otherwise the reason for the refusal. */
  refusesRun(agent: string): string | null;
  listAgents(): Promise<JsonObject>;
  agentStatus(agent: string): Promise<JsonObject>;
  sessionEvents(sought: EventsSought): Promise<JsonObject>;
  queryMetrics(agent: string | null): Promise<JsonObject>;
  systemHealth(): Promise<JsonObject>;
  runAgent(order: Readonly<{ agent: string; input: string }>, call: DeskCall): Promise<JsonObject>;
  /** Calls the operation behind a derived tool; `given` is what the model gave, by the `tool` words of the operation. */
  callOperation(name: OperationName, given: JsonObject, call: DeskCall): Promise<JsonObject>;
}>;
/** Opens the desk of the conversation in which a tool is called. */
export type OpenDesk = (session: SessionId) => Promise<CoordinatorDesk>;
