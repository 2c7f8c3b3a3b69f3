/** Chat with the coordinator or any agent. The screen shows the fold of the session's entries; input is sent as intents. */
import { type Attachment, escapeHidden, type SessionId, sessionId } from "@orgate/core/vocab";
import { type OperationOutput, sendMessage } from "@orgate/protocol";
import type { ViewItem } from "@orgate/protocol/view";
import { type ReactNode, use, useCallback, useState } from "react";
import type { FeedState } from "../../link/feed.ts";
import type { Hub } from "../../link/hub.ts";
import { useFeed, useHub, useQuery } from "../../link/use.ts";
import { Button } from "../../parts/Button.tsx";
import { Figures } from "../../parts/charts/Figures.tsx";
import { Link } from "../../parts/Link.tsx";
import { VirtualList } from "../../parts/lists/VirtualList.tsx";
import { Page } from "../../parts/Page.tsx";
import { Empty, Failure, Loading } from "../../parts/States.tsx";
import { Tag } from "../../parts/Tag.tsx";
import { Time } from "../../parts/time/Time.tsx";
import { chatPath, chatWithPath, sessionPath } from "../../routing/addresses.ts";
import { navigate } from "../../routing/router.ts";
import { useShortcuts } from "../../state/shortcuts.ts";
import { toastProblem } from "../../state/toasts.ts";
import { haltFor } from "../halts.ts";
import type { ScreenProps } from "../index.ts";
import { countWaiting, OverviewContext, overviewFigures } from "../overview.ts";
import css from "./Chat.module.css";
import { Composer, type SendMode } from "./Composer.tsx";
import { EntriesContext } from "./Files.tsx";
import { InProgress, Row } from "./Items.tsx";

type Agent = OperationOutput<"agents">["items"][number];
const COORDINATOR = "coordinator";

export default function Chat({ params }: ScreenProps) {
  const agents = useQuery("agents", { query: { limit: 500 } });
  const session = params.session === undefined ? null : sessionId(params.session); // the server rejects an id that is not one
  if (agents.problem !== null && agents.value === null)
    return (
      <Wrapped>
        <Failure problem={agents.problem} again={agents.reload} />
      </Wrapped>
    );
  if (agents.value === null)
    return (
      <Wrapped>
        <Loading />
      </Wrapped>
    );
  const all = agents.value.items;
  const wanted = params.agent ?? (all.find(({ name }) => name === COORDINATOR) ?? all[0])?.name ?? null;
  if (session === null && wanted === null)
    return (
      <Wrapped>
        <NoAgents />
      </Wrapped>
    );
  return (
    <div className={css.screen}>
      <Conversations at={session} />
      {session === null ? <Fresh key={wanted} agent={wanted ?? ""} all={all} /> : <Session key={session} session={session} all={all} />}
    </div>
  );
}

const Wrapped = ({ children }: Readonly<{ children: ReactNode }>) => <Page title="Chat">{children}</Page>;

function NoAgents() {
  return (
    <Empty icon="fleet" title="No agent that you may talk with">
      <p>
        Agents are files in the project's folder <code>agents/</code>: <code>orgate init</code> writes a first one. If there are some, the
        policies do not let you see them.
      </p>
    </Empty>
  );
}

// ── a session ──

function Session({ session, all }: Readonly<{ session: SessionId; all: readonly Agent[] }>) {
  const hub = useHub();
  const feed = useFeed(session);
  const cancel = useCallback(() => void cancelTurn(hub, session), [hub, session]);
  const isRunning = feed !== null && (feed.view.state === "running" || feed.view.state === "waiting");
  useShortcuts([
    ...(isRunning ? [{ keys: "mod+.", says: "Cancel the turn", run: cancel }] : []),
    { keys: "n", says: "New conversation", run: () => navigate("/chat") },
  ]);
  if (feed?.ended?.problem != null)
    return (
      <Wrapped>
        <Failure problem={feed.ended.problem} />
      </Wrapped>
    );
  const view = feed?.view ?? null;
  const send = (text: string, how: SendMode, files: readonly Attachment[]): Promise<boolean> =>
    spoken(hub, { session, agent: view?.agent ?? "", text, how, files });
  return (
    <Page
      fill
      title={view === null || view.agent === "" ? "…" : view.agent}
      lead={
        <>
          <Link to={sessionPath(session)}>{session}</Link> {view === null ? null : <State state={view.state} agent={view.agent} />}
          {view?.labels.map((label) => (
            <Tag key={label} tone="wait">
              {label}
            </Tag>
          ))}
        </>
      }
      aside={<Others all={all} at={view?.agent ?? null} />}
    >
      {feed === null || !feed.caughtUp ? (
        <Loading what={feed === null || feed.count < 400 ? "Reading the session" : `Reading the session, ${feed.count} entries so far`} />
      ) : (
        <Told feed={feed} />
      )}
      <div className={css.foot}>
        {view === null || view.agent === "" ? null : (
          <Composer
            agent={view.agent}
            name={`chat.${session}`}
            isRunning={isRunning}
            isClosed={view.state === "closed"}
            send={send}
            cancel={cancel}
          />
        )}
      </div>
    </Page>
  );
}

function Told({ feed }: Readonly<{ feed: FeedState }>) {
  const { view, version } = feed;
  const items = withoutTakenUp(view.items);
  const last = items.at(-1);
  return (
    <EntriesContext value={feed.items}>
      <VirtualList
        className={css.told}
        label="Conversation"
        count={items.length}
        keyAt={(i) => items[i]?.key ?? String(i)}
        row={(i) => {
          const item = items[i];
          return item === undefined ? null : <Row item={item} view={view} />;
        }}
        follow
        version={version}
        estimate={72}
        after={<InProgress view={view} />}
      />
      <p className="unseen" role="status">
        {last === undefined || !feed.caughtUp
          ? ""
          : last.kind === "question" && last.state === "open"
            ? `An approval request waits: ${last.asks[0]?.question ?? last.tool}`
            : last.kind === "ended"
              ? `The turn ended: ${last.ending}`
              : ""}
      </p>
    </EntriesContext>
  );
}

/** A queued message is shown once: where its turn began, if it has. */
function withoutTakenUp(items: readonly ViewItem[]): readonly ViewItem[] {
  const begun = new Set(items.flatMap((item) => (item.kind === "said" && item.how === "turn" ? [`${item.by}\n${item.text}`] : [])));
  return items.filter((item) => item.kind !== "said" || item.how !== "queued" || !begun.has(`${item.by}\n${item.text}`));
}

/** As wide as the widest state, so that nothing beside it moves. */
function State({ state, agent }: Readonly<{ state: "idle" | "running" | "waiting" | "closed"; agent: string }>) {
  const isHalted = haltFor(use(OverviewContext).halts, agent) !== null && state !== "closed";
  return (
    <span className={css.state}>
      <Tag tone={isHalted ? "bad" : state === "running" ? "act" : state === "waiting" ? "wait" : "plain"}>
        {isHalted ? "halted" : state}
      </Tag>
    </span>
  );
}

/** `files` are left out where there are none. */
const withFiles = (files: readonly Attachment[]) => (files.length === 0 ? {} : { files: files.map(({ kind: _, ...file }) => file) });

type Spoken = Readonly<{ session: SessionId; agent: string; text: string; how: SendMode; files: readonly Attachment[] }>;
async function spoken(hub: Hub, { session, agent, text, how, files }: Spoken): Promise<boolean> {
  const said = { text, ...withFiles(files) };
  const sent = await (how === "steer"
    ? hub.link.call("steer", { params: { session }, body: said })
    : sendMessage(hub.link, { agent, session }, said));
  if (sent.kind === "problem") toastProblem("The message was not sent", sent.problem);
  return sent.kind === "ok";
}

async function cancelTurn(hub: Hub, session: SessionId): Promise<void> {
  const cancelled = await hub.link.call("cancel", { params: { session }, body: { reason: "cancelled in the console" } });
  if (cancelled.kind === "problem") toastProblem("The turn was not cancelled", cancelled.problem);
}

// ── a new conversation ──

function Fresh({ agent, all }: Readonly<{ agent: string; all: readonly Agent[] }>) {
  const hub = useHub();
  const found = all.find(({ name }) => name === agent) ?? null;
  const send = async (text: string, files: readonly Attachment[] = []): Promise<boolean> => {
    const sent = await sendMessage(hub.link, { agent, session: null }, { text, ...withFiles(files) });
    if (sent.kind === "problem") toastProblem("The message was not sent", sent.problem);
    else navigate(chatPath(sent.value.session), { replace: true });
    return sent.kind === "ok";
  };
  return (
    <Page fill title={agent} lead="A new conversation" aside={<Others all={all} at={agent} />}>
      <div className={css.fresh}>
        <Now />
        {found === null ? (
          <Empty icon="fleet" title={`No agent ${agent} that you may see`} />
        ) : (
          <Empty icon="chat" title={agent === COORDINATOR ? "Ask about the fleet" : `Talk with ${agent}`}>
            {agent === COORDINATOR ? (
              <p>
                Orgate runs AI agents under your policies: each action is decided before it happens, waits for an approval where a policy
                requires one, and stays in a journal that can be verified. Here you talk with the agents, answer approval requests, watch
                what they do, and stop them.
              </p>
            ) : null}
            <p>
              {agent === COORDINATOR
                ? "It reports what the agents do, what waits and what went wrong, and starts, steers and cancels work for you, within your permissions."
                : escapeHidden(found.description)}
            </p>
            <Starters agent={found} send={send} />
            <p>
              New here? <Link to="/guide">The first run</Link> shows an allow, a denial and an approval within a minute.
            </p>
          </Empty>
        )}
      </div>
      <div className={css.foot}>
        <Composer
          agent={agent}
          name={`chat.with.${agent}`}
          isRunning={false}
          isClosed={found === null}
          send={(text, _, files) => send(text, files)}
          cancel={() => {}}
        />
      </div>
    </Page>
  );
}

/** The three figures: working, waiting, broken. */
function Now() {
  const running = useQuery("sessions", { query: { limit: 100, state: "running" } }, SESSION_TOPICS);
  const glance = use(OverviewContext);
  const { working, waiting, wrong } = overviewFigures(
    running.value?.items.filter(({ halted }) => halted === null).length ?? null,
    countWaiting(glance),
    glance,
  );
  return <Figures label="Now" of={[working, waiting, wrong]} />;
}

const STARTERS: readonly string[] = [
  "Which agents are there?",
  "What waits for me?",
  "Is everything healthy?",
  "How many tokens were used?",
];
function Starters({ agent, send }: Readonly<{ agent: Agent; send(text: string): Promise<boolean> }>) {
  const [busy, setBusy] = useState<string | null>(null);
  if (agent.name !== COORDINATOR) return agent.tools.length === 0 ? null : <p>Its tools: {agent.tools.map(escapeHidden).join(", ")}.</p>;
  const start = async (text: string): Promise<void> => {
    setBusy(text);
    await send(text);
    setBusy(null);
  };
  return (
    <div className={css.starters}>
      {STARTERS.map((text) => (
        <Button key={text} size="small" busy={busy === text} onClick={() => void start(text)}>
          {text}
        </Button>
      ))}
    </div>
  );
}

function Others({ all, at }: Readonly<{ all: readonly Agent[]; at: string | null }>) {
  return (
    <>
      <label className={css.pick}>
        <span>With</span>
        <select value={at ?? ""} onChange={({ target }) => navigate(chatWithPath(target.value))}>
          {at !== null && all.some(({ name }) => name === at) ? null : <option value={at ?? ""}>{at ?? "…"}</option>}
          {all.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <Button icon="plus" onClick={() => navigate(at === null ? "/chat" : chatWithPath(at))}>
        New
      </Button>
    </>
  );
}

// ── earlier conversations ──

const SESSION_TOPICS = ["session.opened", "turn.started", "turn.ended", "approval.asked", "approval.answered", "session.closed"] as const;

function Conversations({ at }: Readonly<{ at: SessionId | null }>) {
  const sessions = useQuery("sessions", { query: { limit: 16 } }, SESSION_TOPICS);
  const items = sessions.value?.items ?? [];
  if (items.length === 0) return null;
  return (
    <nav className={css.others} aria-label="Conversations">
      <h2>Conversations</h2>
      <ul>
        {items.map(({ session, agent, title, state, lastAt, turns }) => (
          <li key={session}>
            <Link to={chatPath(session)} aria-current={session === at ? "page" : undefined}>
              <span className={css.agent}>
                <strong>{agent}</strong> {state === "idle" || state === "closed" ? null : <State state={state} agent={agent} />}
              </span>
              {title === null ? null : <span className={css.title}>{escapeHidden(title)}</span>}
              <span className={css.when}>
                <Time at={lastAt} /> · {turns} {turns === 1 ? "turn" : "turns"}
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
