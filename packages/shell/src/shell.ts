/**
 * A shell: conversations with agents over one link, slash commands, answers to approval requests. It stores what the operator chose
 * (the addressed agent) and nothing that the journal knows.
 *
 * `@agent message` goes to that agent's conversation, anything else to the addressed agent; the first message opens the session.
 * S-22 a message that could not be sent is reported with a remedy and goes back to the line: nothing is lost or sent twice.
 * Cancelling stops the running turn itself: its model call and its tools.
 */
import { type Answer, isRefusal, type SessionId } from "@orgate/core/vocab";
import { type Called, type Link, type LinkState, type Problem, sendMessage } from "@orgate/protocol";
import { AUTHOR, type AutoApprove, openAutoApprove, type UsedConsents } from "./auto-approve.ts";
import { parseLine, SHELL_COMMANDS } from "./commands/commands.ts";
import type { ServerConnection } from "./connection.ts";
import type { Shell } from "./contract.ts";
import { type Conversation, type Conversations, openConversations } from "./conversations.ts";
import { type AgentDetail, type Agents, describeHalt, openServerSnapshot, type ServerSnapshot } from "./server-state.ts";
import { shownApprovals } from "./shown-approvals.ts";
import { visible } from "./terminal/visible.ts";
import type { Footer } from "./ui/frame.ts";
import type { Choices, Offer } from "./ui/input/complete.ts";
import type { ApprovalRef, ShownApproval } from "./ui/panel.ts";
import { wrapText } from "./ui/screen.ts";
import { openScrollback, type Scrollback } from "./ui/scrollback.ts";
import type { ShellUi } from "./ui/ui.ts";

/** S-13 a program started from here would bypass the gate and the journal. */
const NO_COMMANDS =
  "`!` runs nothing here: a program would run outside the policies and the journal. Give an agent a tool for it (`/help tool`, or `orgate tools init`), or use another terminal; a message may begin with a space and then `!`";

/** `consented`: the conversations in which `--yes` was used up; null without `--yes`. */
type Options = Readonly<{ consented: UsedConsents | null }>;

export async function openShell(
  connection: ServerConnection,
  ui: ShellUi,
  switchServer: Shell["switchServer"],
  options: Options = { consented: null },
): Promise<Shell> {
  const shell = new ShellSession(connection, ui, switchServer, options);
  await shell.start();
  return shell;
}

class ShellSession implements Shell {
  readonly connection: ServerConnection;
  readonly ui: ShellUi;
  readonly link: Link;
  readonly conversations: Conversations;
  readonly #switchTo: Shell["switchServer"];
  readonly #server: ServerSnapshot;
  readonly #autoApprove: AutoApprove;
  readonly #scrollback: Scrollback;
  /** The session of each agent's conversation. */
  readonly #sessions = new Map<string, SessionId>();
  #linkState: LinkState = { kind: "connecting", attempt: 1 };
  #wasOpen = false;
  #isStarted = false;
  #addressee: string | null = null;
  #me: string | null = null;
  #isReviewing = false;
  #switches = 0; // under way

  constructor(connection: ServerConnection, ui: ShellUi, switchServer: Shell["switchServer"], { consented }: Options) {
    this.connection = connection;
    this.ui = ui;
    this.#switchTo = switchServer;
    this.link = connection.open((state) => {
      this.#linkState = state;
      this.#wasOpen ||= state.kind === "open";
      ui.changed();
    });
    this.#autoApprove = openAutoApprove(() => (this.#isStarted ? this : null), { consented, me: () => this.#me, changed: ui.changed });
    this.conversations = openConversations(this.link, () => {
      this.#autoApprove.look();
      ui.changed();
    });
    this.#scrollback = openScrollback(this.conversations);
    this.#server = openServerSnapshot(connection, {
      link: this.link,
      unwrap: this.unwrap,
      changed: () => {
        if (this.#server.waiting().length === 0) this.#isReviewing = false;
        ui.changed();
      },
    });
  }

  /** Reads who is at the keyboard, the agents and what waits, and addresses an agent. */
  async start(): Promise<void> {
    this.#me = (await this.unwrap(this.connection.client.call("whoami", {})))?.principal.id ?? null;
    await Promise.all([this.#server.refreshAgents(), this.#server.refreshWaiting(), this.#server.refreshHalts()]);
    this.#server.refreshNames();
    const [only, ...others] = this.agents();
    this.#addressee = this.agents().find(({ name }) => name === AUTHOR)?.name ?? (others.length === 0 ? (only?.name ?? null) : null);
    this.#isStarted = true;
    if (this.#addressee !== null) void this.agentDetail(this.#addressee);
  }

  async close(): Promise<void> {
    this.link.close();
    await this.connection.close();
  }

  // ── printing ── (arrow functions: commands take them apart)

  readonly say = (text: string): void => this.ui.print(wrapText(text, this.ui.look()));

  readonly unwrap = async <T>(called: Promise<Called<T>>): Promise<T | null> => {
    try {
      const found = await called;
      if (found.kind === "ok") return found.value;
      this.reportProblem(found.problem);
    } catch (error) {
      const why = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
      this.#printError(`the server cannot be reached: ${why}`);
    }
    return null;
  };

  reportProblem({ detail, hint, title }: Problem): void {
    this.#printError(detail === "" ? title : detail);
    if (hint !== "") this.ui.print(wrapText(visible(hint), this.ui.look(), { first: "  ", rest: "  ", indent: 2 }, "dim"));
  }

  #printError(text: string): void {
    const look = this.ui.look();
    this.ui.print(wrapText(visible(text), look, { first: look.paint("bad", "✗ "), rest: "  ", indent: 2 }));
  }

  // ── agents and conversations ──

  agents(): Agents {
    return this.#server.agents();
  }
  refreshAgents(): Promise<void> {
    return this.#server.refreshAgents();
  }
  agentDetail(agent: string): Promise<AgentDetail | null> {
    return this.#server.detail(agent);
  }
  me(): string | null {
    return this.#me === null ? null : `user:${this.#me}`;
  }
  addressee(): string | null {
    return this.#addressee;
  }
  address(agent: string | null): void {
    this.#addressee = agent;
    if (agent !== null) void this.agentDetail(agent);
    this.ui.changed();
  }
  current(): Conversation | null {
    const session = this.#addressee === null ? undefined : this.#sessions.get(this.#addressee);
    return session === undefined ? null : this.conversations.find(session);
  }
  continueIn(session: SessionId, agent: string): Conversation {
    this.#sessions.set(agent, session);
    this.#addressee = agent;
    return this.conversations.follow(session);
  }
  startNew(): void {
    if (this.#addressee !== null) this.#sessions.delete(this.#addressee);
  }
  async ensureConversation(): Promise<Conversation | null> {
    const found = this.current();
    if (found !== null || this.#addressee === null) return found;
    const made = await this.unwrap(this.connection.client.call("openSession", { body: { agent: this.#addressee } }));
    return made === null ? null : this.continueIn(made.session, made.agent);
  }
  /** A busy conversation, the current one first: cancelling stops what runs, also where the addressed agent is idle. */
  #running(): Conversation | null {
    return [this.current(), ...this.conversations.all()].find((one) => one !== null && isBusy(one)) ?? null;
  }

  // ── sending ──

  async submit(text: string): Promise<boolean> {
    const line = parseLine(text);
    if (line.kind === "command") {
      await line.command.run(line.rest, this);
      return true;
    }
    if (line.kind === "unknown") return this.#refuse(line.said);
    if (text.startsWith("!")) return this.#refuse(NO_COMMANDS);
    const [, named, message] = /^@([\w.-]+)\s+([\s\S]+)$/.exec(text) ?? [];
    const names = this.agents().map(({ name }) => name);
    if (named !== undefined && message !== undefined && names.includes(named)) return this.send(named, message);
    if (named !== undefined && message !== undefined && names.length > 0)
      return this.#refuse(`there is no agent \`${visible(named)}\`; there are: ${names.map(visible).join(", ")}`);
    if (this.#addressee !== null) return this.send(this.#addressee, text);
    return this.#refuse(
      `whom do you mean? \`@agent message\` tells one agent, \`/agent use NAME\` addresses it; there are: ${names.map(visible).join(", ")}`,
    );
  }
  #refuse(why: string): false {
    this.say(why);
    return false;
  }

  async send(agent: string, text: string): Promise<boolean> {
    const sent = await this.unwrap(sendMessage(this.#reachable(), { agent, session: this.#sessions.get(agent) ?? null }, { text }));
    if (sent === null) return false;
    this.#sessions.set(agent, sent.session);
    const conversation = this.conversations.follow(sent.session);
    if (sent.isHeldBack && !isBusy(conversation)) void this.#explainHaltedAgent(agent);
    return true;
  }

  async runInNewSession(agent: string, text: string): Promise<SessionId | null> {
    const sent = await this.unwrap(sendMessage(this.#reachable(), { agent, session: null }, { text }));
    if (sent === null) return null;
    this.conversations.follow(sent.session);
    return sent.session;
  }

  async cancel(reason: string): Promise<boolean> {
    const conversation = this.#running();
    if (conversation === null) return false;
    const input = { params: { session: conversation.session }, body: { reason } };
    return (await this.unwrap(this.#reachable().call("cancel", input))) !== null;
  }

  /** The link keeps a call until it is connected. That is worth a word, except during the very first attempt. */
  #reachable(): Pick<Link, "call"> {
    const state = this.#linkState;
    if (state.kind !== "open" && (this.#wasOpen || state.kind !== "connecting" || state.attempt > 1))
      this.say(`${this.connection.name} is away: it is sent as soon as it is back`);
    return this.link;
  }

  /** A message to a halted agent waits; the operator learns why. */
  async #explainHaltedAgent(agent: string): Promise<void> {
    await this.#server.refreshHalts();
    const halt = this.#server.halts().find(({ scope }) => scope === "all" || scope === `agent:${agent}`);
    if (halt === undefined) return;
    const what = halt.scope === "all" ? "all work" : visible(agent);
    const why = halt.reason === "" ? "" : ` (${visible(halt.reason)})`;
    this.say(
      `${what} is halted by ${visible(halt.by.id)}${why}: it hears this when it goes on, \`/resume-work ${halt.scope === "all" ? "all" : `agent ${visible(agent)}`} REASON\``,
    );
  }

  // ── approvals ──

  async answer({ session, approval, digest }: ApprovalRef, answer: Answer): Promise<boolean> {
    const input = { params: { approval }, body: { digest, answer } };
    const answered = await this.unwrap(this.#reachable().call("answer", input));
    if (answered !== null && !isRefusal(answer)) await this.#explainHaltedSession(session);
    return answered !== null;
  }
  /** Q-17 a call approved under a halt waits; the approver learns why. */
  async #explainHaltedSession(session: SessionId): Promise<void> {
    const found = await this.connection.client.call("session", { params: { session } }).catch(() => null);
    if (found?.kind === "ok" && found.value.halted !== null) this.say(`it has not run: ${visible(describeHalt(found.value.halted))}`);
  }
  openApprovals(): readonly ShownApproval[] {
    return shownApprovals(this.conversations, this.#isReviewing ? this.#server.waiting() : []);
  }
  async reviewApprovals(): Promise<number> {
    await this.#server.refreshWaiting();
    const { length } = this.#server.waiting();
    this.#isReviewing = length > 0;
    this.ui.changed();
    return length;
  }

  // ── servers ──

  async switchServer(to: string | null): Promise<void> {
    this.#switches += 1;
    try {
      await this.#switchTo(to);
    } finally {
      this.#switches -= 1;
      this.ui.changed();
    }
  }
  isSwitchingServer(): boolean {
    return this.#switches > 0;
  }
  hasPendingWork(): boolean {
    return this.#autoApprove.isSettling();
  }

  // ── what is drawn ──

  takeSettledLines(): readonly string[] {
    return this.#scrollback.settled(this.ui.look());
  }
  earlierLines(most: number): readonly string[] {
    const conversation = this.current();
    return conversation === null ? [] : this.#scrollback.earlier(conversation, most, this.ui.look());
  }
  footer(): Footer {
    const conversation = this.current();
    const agent = this.agents().find(({ name }) => name === this.#addressee);
    const { name, isLocal } = this.connection;
    const running = this.#running();
    return {
      where: isLocal ? `${name} · local` : name,
      state: this.#linkState.kind === "open" ? "connected" : this.#linkState.kind,
      addressee: this.#addressee,
      model: conversation?.chosenModel() ?? (conversation?.view.model || agent?.model || ""),
      contextTokens: conversation?.contextTokens() ?? 0,
      contextLimit: contextLimit(this.#server.cachedDetail(this.#addressee)),
      phase: phaseOf(running),
      micros: conversation?.view.totals.micros ?? null,
      waiting: this.#server.waiting().length,
      halts: this.#server.halts().map(({ scope }) => scope),
      isRunning: running !== null,
    };
  }
  choices(): Choices {
    return {
      commands: OFFERS,
      agents: this.agents().map(({ name, description }) => ({ word: name, about: description })),
      files: this.ui.files,
      argumentOffers: (command, at) => {
        const { takes = [] } = SHELL_COMMANDS.find(({ name }) => name === command) ?? {};
        const kind = takes[Math.min(at, takes.length - 1)];
        return kind === undefined ? null : kind === "command" ? OFFERS : this.#server.suggest(kind, this.#addressee);
      },
    };
  }
}

const OFFERS: readonly Offer[] = SHELL_COMMANDS.map(({ name, summary }) => ({ word: name, about: summary }));

/** The phase of a running turn, in a word. */
function phaseOf(conversation: Conversation | null): Footer["phase"] {
  if (conversation === null) return null;
  const { state, running, streaming } = conversation.view;
  if (state === "waiting") return "waits for you";
  if (running.length > 0) return "acts";
  return streaming === null ? "thinks" : "answers";
}
function contextLimit(agent: AgentDetail | null): number | null {
  const limit = agent?.limits["contextTokens"];
  return typeof limit === "number" ? limit : null;
}
const isBusy = ({ view: { state } }: Conversation): boolean => state === "running" || state === "waiting";
