/** The interface of a shell for commands and user interfaces. */
import type { Answer, SessionId } from "@orgate/core/vocab";
import type { Called, Link, Problem } from "@orgate/protocol";
import type { ServerConnection } from "./connection.ts";
import type { Conversation, Conversations } from "./conversations.ts";
import type { AgentDetail, Agents } from "./server-state.ts";
import type { Footer } from "./ui/frame.ts";
import type { Choices } from "./ui/input/complete.ts";
import type { ApprovalRef, ShownApproval } from "./ui/panel.ts";
import type { ShellUi } from "./ui/ui.ts";

export type Shell = Readonly<{
  connection: ServerConnection;
  link: Link;
  ui: ShellUi;
  conversations: Conversations;
  agents(): Agents;
  refreshAgents(): Promise<void>;
  /** The agent that messages without `@` go to. */
  addressee(): string | null;
  address(agent: string | null): void;
  /** The conversation with the addressed agent. */
  current(): Conversation | null;
  /** Follows a session, makes it the agent's conversation and addresses that agent. */
  continueIn(session: SessionId, agent: string): Conversation;
  /** The next message to the addressed agent opens a new session. */
  startNew(): void;
  /** Runs a command or sends a message. False if the text was refused and should go back to the line. */
  submit(text: string): Promise<boolean>;
  send(agent: string, text: string): Promise<boolean>;
  /** Runs one turn in a new session. It is shown here and becomes no agent's conversation. */
  runInNewSession(agent: string, text: string): Promise<SessionId | null>;
  /** The conversation with the addressed agent, opened if there is none yet. */
  ensureConversation(): Promise<Conversation | null>;
  /** The agent's definition, fetched once. */
  agentDetail(agent: string): Promise<AgentDetail | null>;
  /** Shows approval requests of other sessions in the panel too, until none waits. Returns how many wait. */
  reviewApprovals(): Promise<number>;
  /** Lines of items older than those that were printed, oldest first. */
  earlierLines(most: number): readonly string[];
  cancel(reason: string): Promise<boolean>;
  answer(approval: ApprovalRef, answer: Answer): Promise<boolean>;
  /** Open approval requests that the panel can show. */
  openApprovals(): readonly ShownApproval[];
  /** Lines of items that can no longer change and were not printed yet. */
  takeSettledLines(): readonly string[];
  /** An automatic approval, or a change of server, is under way. */
  hasPendingWork(): boolean;
  /** The principal of this shell, as principals are written; null if unknown. */
  me(): string | null;
  footer(): Footer;
  choices(): Choices;
  reportProblem(problem: Problem): void;
  say(text: string): void;
  /** The value of a call, or null after its problem was printed. */
  unwrap<T>(called: Promise<Called<T>>): Promise<T | null>;
  /** Moves to another server; null: the local server, started again. */
  switchServer(to: string | null): Promise<void>;
  /** True while the shell moves to another server: lines typed now are for that one. */
  isSwitchingServer(): boolean;
  close(): Promise<void>;
}>;
