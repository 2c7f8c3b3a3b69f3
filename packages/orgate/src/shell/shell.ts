/**
 * What a shell does, whatever it is shown on: conversations with agents over one link, commands, answers. It keeps what a person chose (whom they talk to)
 * and nothing that the journal knows.
 *
 * `@agent message` goes to that agent's conversation of this shell, anything else to the one addressed; a session is opened with the first message.
 * What is cancelled is the turn that runs, really: the model call and its tools.
 * Rule: S-22.
 */
import { approvalRow, type QuestionItem } from "@orgate/core/journal/view";
import { type Answer, isRefusal, type SessionId } from "@orgate/core/vocab";
import type { Called, Link, LinkState, Problem } from "@orgate/core/wire";
import type { AskHidden } from "../identity/secrets.ts";
import { visible } from "../terminal/visible.ts";
import { openAutoApprove, type UsedConsents } from "./auto-approve.ts";
import { parseLine, SHELL_COMMANDS } from "./commands/commands.ts";
import type { ServerConnection } from "./connection.ts";
import { type Conversation, type Conversations, openConversations } from "./conversations.ts";
import { type AgentDetail, type Agents, describeHalt, openServerSnapshot, type WaitingApprovals } from "./server-state.ts";
import type { Choices, Offer } from "./ui/complete.ts";
import type { Footer } from "./ui/frame.ts";
import type { Key } from "./ui/keys.ts";
import type { ApprovalRef, ShownApproval } from "./ui/panel.ts";
import { type ScreenLook, wrapText } from "./ui/screen.ts";
import { openScrollback } from "./ui/scrollback.ts";
import type { Theme } from "./ui/themes.ts";

/** What a shell is shown on. */
export type ShellUi = Readonly<{
  look(): ScreenLook;
  /** Into the scrollback, at once. */
  print(lines: readonly string[]): void;
  /** Something is to be drawn anew, soon. */
  changed(): void;
  leave(): void;
  /** Where the shell was started. */
  cwd: string;
  /** Names of a folder below where the shell was started; a folder's end in a slash. */
  files(folder: string): readonly string[];
  /** Takes keys and rows until it is put away with null; false where nothing can be drawn. */
  show(modal: Modal | null): boolean;
  /** What is typed is neither shown nor kept; null: there is nobody to ask. */
  askHidden: AskHidden;
  setTheme(theme: Theme): void;
}>;
/** What takes the keys for a while. */
export type Modal = Readonly<{ rows(look: ScreenLook, most: number): readonly string[]; pressed(key: Key): void }>;

export type Shell = Readonly<{
  connection: ServerConnection;
  link: Link;
  ui: ShellUi;
  conversations: Conversations;
  agents(): Agents;
  refreshAgents(): Promise<void>;
  addressee(): string | null;
  address(agent: string | null): void;
  /** The conversation with whom is addressed. */
  current(): Conversation | null;
  /** Goes on in it, and addresses its agent. */
  continueIn(session: SessionId, agent: string): Conversation;
  /** The next message to the addressed agent opens a session. */
  startNew(): void;
  /** True when it was taken: there is nothing to give back. */
  submit(text: string): Promise<boolean>;
  send(agent: string, text: string): Promise<boolean>;
  /** In a session of its own, which is shown here and is nobody's conversation. */
  runInNewSession(agent: string, text: string): Promise<SessionId | null>;
  /** The session of the conversation with whom is addressed; opened where there is none. */
  ensureConversation(): Promise<Conversation | null>;
  /** As the server defines it; asked for once. */
  agentDetail(agent: string): Promise<AgentDetail | null>;
  /** Questions of other sessions are shown in the panel too, one after the other, until there is none. */
  reviewApprovals(): Promise<number>;
  /** Items before those that were printed, oldest first. */
  earlierLines(most: number): readonly string[];
  cancel(reason: string): Promise<boolean>;
  answer(bound: ApprovalRef, answer: Answer): Promise<boolean>;
  openApprovals(): readonly ShownApproval[];
  takeSettledLines(): readonly string[];
  /** Something is on its way that nobody has to be asked about: an answer that was given beforehand, a server that is begun anew. */
  hasPendingWork(): boolean;
  /** Whose shell it is, as principals are written; null where nobody has said. */
  me(): string | null;
  footer(): Footer;
  choices(): Choices;
  reportProblem(problem: Problem): void;
  say(text: string): void;
  /** What was asked for, or null when it was refused, which has been said then. */
  unwrap<T>(called: Promise<Called<T>>): Promise<T | null>;
  switchServer(to: string | null): Promise<void>;
  /** What is said now is for the server that it moves to. */
  isSwitchingServer(): boolean;
  close(): Promise<void>;
}>;

/** S-13 a program that is run from here would pass by the gate and the journal. */
const NO_COMMANDS =
  "`!` runs nothing here: a program would run outside the policies and the journal. Give an agent a tool for it (`/help tool`, or `orgate tools init`), or use another terminal; a message may begin with a space and then `!`";

/** `move`: to another server, or to one's own (null); what cannot be done is said. `consented`: saving what is authored was consented to beforehand (`--yes`), and in which conversations that was used up. */
export async function openShell(
  reach: ServerConnection,
  face: ShellUi,
  move: Shell["switchServer"],
  { consented }: Readonly<{ consented: UsedConsents | null }> = { consented: null },
): Promise<Shell> {
  let state: LinkState = { kind: "connecting", attempt: 1 };
  let wasOpen = false;
  let addressee: string | null = null;
  let isReviewing = false;
  let moves = 0; // on their way
  /** Of this shell, by agent. */
  const sessions = new Map<string, SessionId>();

  const link = reach.open((now) => {
    state = now;
    wasOpen ||= now.kind === "open";
    face.changed();
  });
  let opened: Shell | null = null;
  let me: string | null = null;
  const authors = openAutoApprove(() => opened, { consented, me: () => me, changed: face.changed });
  const talks = openConversations(link, () => {
    authors.look();
    face.changed();
  });

  const scrollback = openScrollback(talks);

  const say = (text: string): void => face.print(wrapText(text, face.look()));
  function problem({ detail, hint, title }: Problem): void {
    const look = face.look();
    face.print([
      ...wrapText(visible(detail === "" ? title : detail), look, { first: look.paint("bad", "✗ "), rest: "  ", indent: 2 }),
      ...(hint === "" ? [] : wrapText(visible(hint), look, { first: "  ", rest: "  ", indent: 2 }, "dim")),
    ]);
  }
  async function asked<T>(called: Promise<Called<T>>): Promise<T | null> {
    try {
      const found = await called;
      if (found.kind === "ok") return found.value;
      problem(found.problem);
    } catch (error) {
      const look = face.look();
      const why = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
      face.print(
        wrapText(visible(`the server cannot be reached: ${why}`), look, { first: look.paint("bad", "✗ "), rest: "  ", indent: 2 }),
      );
    }
    return null;
  }

  const around = openServerSnapshot(reach, {
    link,
    asked,
    changed: () => {
      if (around.waiting().length === 0) isReviewing = false;
      face.changed();
    },
  });
  const { agents, waiting, detail } = around;

  const sessionOf = (agent: string | null): Conversation | null => {
    const session = agent === null ? undefined : sessions.get(agent);
    return session === undefined ? null : talks.find(session);
  };
  const isFollowed = (session: SessionId): boolean => [...talks.all(), ...talks.subAgents()].some((talk) => talk.session === session);
  const current = (): Conversation | null => sessionOf(addressee);

  function take(session: SessionId, agent: string): Conversation {
    sessions.set(agent, session);
    addressee = agent;
    return talks.follow(session);
  }

  /** It is kept, and sent when there is somebody: but that is said, unless it has not even begun to be there. */
  const ask: Link["ask"] = (frame) => {
    if (state.kind !== "open" && (wasOpen || state.kind !== "connecting" || state.attempt > 1))
      say(`${reach.name} is away: it is sent as soon as it is back`);
    return link.ask(frame);
  };

  async function tell(agent: string, text: string): Promise<boolean> {
    const reply = await ask({ kind: "chat", agent, session: sessions.get(agent) ?? null, text });
    if (reply.kind === "error") {
      problem(reply.problem);
      return false;
    }
    if (reply.kind === "done") {
      sessions.set(agent, reply.session);
      const talk = talks.follow(reply.session);
      if (reply.entry?.event.kind === "input.queued" && !isBusy(talk)) void tellHalt(agent);
    }
    return true;
  }
  /** Q-17 what was approved under a halt waits, and whoever approved it is to know why. */
  async function tellHeld(session: SessionId): Promise<void> {
    const found = await reach.client.call("session", { params: { session } }).catch(() => null);
    if (found?.kind === "ok" && found.value.halted !== null) say(`it has not run: ${visible(describeHalt(found.value.halted))}`);
  }
  /** What was said to an agent that is halted waits, and whoever said it is to know why. */
  async function tellHalt(agent: string): Promise<void> {
    await around.refreshHalts();
    const halt = around.halts().find(({ scope }) => scope === "all" || scope === `agent:${agent}`);
    if (halt === undefined) return;
    const what = halt.scope === "all" ? "all work" : visible(agent);
    const why = halt.reason === "" ? "" : ` (${visible(halt.reason)})`;
    say(
      `${what} is halted by ${visible(halt.by.id)}${why}: it hears this when it goes on, \`/resume-work ${halt.scope === "all" ? "all" : `agent ${visible(agent)}`} REASON\``,
    );
  }

  async function submit(text: string): Promise<boolean> {
    const command = parseLine(text);
    if (command.kind === "command") {
      await command.command.run(command.rest, shell);
      return true;
    }
    if (command.kind === "unknown") {
      say(command.said);
      return false;
    }
    if (text.startsWith("!")) {
      say(NO_COMMANDS);
      return false;
    }
    const [, named, message] = /^@([\w.-]+)\s+([\s\S]+)$/.exec(text) ?? [];
    if (named !== undefined && message !== undefined && agents().some(({ name }) => name === named)) return tell(named, message);
    if (named !== undefined && agents().length > 0 && message !== undefined) {
      say(
        `there is no agent \`${visible(named)}\`; there are: ${agents()
          .map(({ name }) => visible(name))
          .join(", ")}`,
      );
      return false;
    }
    if (addressee !== null) return tell(addressee, text);
    say(
      `whom do you mean? \`@agent message\` tells one agent, \`/agent use NAME\` addresses it; there are: ${agents()
        .map(({ name }) => visible(name))
        .join(", ")}`,
    );
    return false;
  }

  /** Also where the one addressed is idle: what runs is what is to be cancelled. */
  const running = (): Conversation | null => [current(), ...talks.all()].find((talk) => talk !== null && isBusy(talk)) ?? null;

  const shell: Shell = {
    connection: reach,
    link,
    ui: face,
    conversations: talks,
    agents,
    refreshAgents: around.refreshAgents,
    addressee: () => addressee,
    address: (agent) => {
      addressee = agent;
      if (agent !== null) void detail(agent);
      face.changed();
    },
    current,
    continueIn: take,
    startNew: () => {
      if (addressee !== null) sessions.delete(addressee);
    },
    submit,
    send: tell,
    async cancel(reason) {
      const talk = running();
      if (talk === null) return false;
      const reply = await ask({ kind: "cancel", session: talk.session, reason });
      if (reply.kind === "error") problem(reply.problem);
      return reply.kind !== "error";
    },
    async answer({ session, approval, digest }, answer) {
      const reply = await ask({ kind: "answer", session, approval, digest, answer });
      if (reply.kind === "error") problem(reply.problem);
      else if (!isRefusal(answer)) await tellHeld(session);
      return reply.kind !== "error";
    },
    openApprovals: () => [
      ...[...talks.all(), ...talks.subAgents()].flatMap(({ session, view }) =>
        view.openQuestions.length === 0 // an old session has many items, and nobody is asked most of the time
          ? []
          : view.items.flatMap((item) =>
              item.kind === "question" && item.state === "open" ? [{ session, agent: view.agent, item, edit: editAsked(view, item) }] : [],
            ),
      ),
      ...(isReviewing
        ? waiting()
            .filter(({ session }) => !isFollowed(session))
            .map(askedIn)
        : []),
    ],
    async reviewApprovals() {
      await around.refreshWaiting();
      isReviewing = waiting().length > 0;
      face.changed();
      return waiting().length;
    },
    async runInNewSession(agent, text) {
      const reply = await ask({ kind: "chat", agent, session: null, text });
      if (reply.kind === "error") problem(reply.problem);
      if (reply.kind !== "done") return null;
      talks.follow(reply.session);
      return reply.session;
    },
    async ensureConversation() {
      const here = current();
      if (here !== null || addressee === null) return here;
      const made = await asked(reach.client.call("openSession", { body: { agent: addressee } }));
      return made === null ? null : take(made.session, made.agent);
    },
    agentDetail: detail,
    earlierLines(most) {
      const talk = current();
      return talk === null ? [] : scrollback.earlier(talk, most, face.look());
    },
    hasPendingWork: authors.isSettling,
    me: () => (me === null ? null : `user:${me}`),
    takeSettledLines: () => scrollback.settled(face.look()),
    footer() {
      const talk = current();
      const known = agents().find(({ name }) => name === addressee);
      return {
        where: reach.isLocal ? `${reach.name} · local` : reach.name,
        state: state.kind === "open" ? "connected" : state.kind,
        addressee,
        model: talk?.chosenModel() ?? (talk?.view.model || known?.model || ""),
        contextTokens: talk?.contextTokens() ?? 0,
        contextLimit: limitIn(around.cachedDetail(addressee)),
        phase: phaseOf(running()),
        micros: talk?.view.totals.micros ?? null,
        waiting: waiting().length,
        halts: around.halts().map(({ scope }) => scope),
        isRunning: running() !== null,
      };
    },
    choices: () => ({
      commands: OFFERS,
      agents: agents().map(({ name, description }) => ({ word: name, about: description })),
      files: face.files,
      argumentOffers: (command, at) => {
        const { takes = [] } = SHELL_COMMANDS.find(({ name }) => name === command) ?? {};
        const taken = takes[Math.min(at, takes.length - 1)];
        return taken === undefined ? null : taken === "command" ? OFFERS : around.suggest(taken, addressee);
      },
    }),
    reportProblem: problem,
    say,
    unwrap: asked,
    async switchServer(to) {
      moves += 1;
      try {
        await move(to);
      } finally {
        moves -= 1;
        face.changed();
      }
    },
    isSwitchingServer: () => moves > 0,
    async close() {
      link.close();
      await reach.close();
    },
  };
  me = (await asked(reach.client.call("whoami", {})))?.principal.id ?? null;
  await Promise.all([around.refreshAgents(), around.refreshWaiting(), around.refreshHalts()]);
  around.refreshNames();
  const [only, ...others] = agents();
  addressee = agents().find(({ name }) => name === "shell")?.name ?? (others.length === 0 ? (only?.name ?? null) : null);
  opened = shell;
  if (addressee !== null) void detail(addressee);
  return shell;
}

/** What would change in a file, where that is what is asked about. */
const editAsked = ({ items }: Conversation["view"], { call }: QuestionItem): ShownApproval["edit"] => {
  const card = call === null ? undefined : items.findLast((item) => item.kind === "call" && item.call === call);
  return card?.kind === "call" ? card.edit : null;
};

const OFFERS: readonly Offer[] = SHELL_COMMANDS.map(({ name, summary }) => ({ word: name, about: summary }));
/** A question of a session that is not followed here. */
function askedIn(question: WaitingApprovals[number]): ShownApproval {
  const { approval, session, agent, tool, touches, digest, asks, quorum } = approvalRow(question);
  return { session, agent, item: { approval, digest, tool, summary: touches ?? "", asks, quorum }, edit: null };
}
/** What the turn that runs is at, in a word. */
function phaseOf(talk: Conversation | null): Footer["phase"] {
  if (talk === null) return null;
  if (talk.view.state === "waiting") return "waits for you";
  if (talk.view.running.length > 0) return "acts";
  return talk.view.streaming === null ? "thinks" : "answers";
}
function limitIn(found: AgentDetail | null): number | null {
  const limit = found?.limits["contextTokens"];
  return typeof limit === "number" ? limit : null;
}
const isBusy = ({ view: { state } }: Conversation): boolean => state === "running" || state === "waiting";
