/** The list of sessions, newest first, or one session. */
import { escapeHidden, type SessionId } from "@orgate/core/vocab";
import type { OperationOutput } from "@orgate/protocol";
import { memo } from "react";
import { usePages } from "../../link/pages.ts";
import { useHub, useQuery } from "../../link/use.ts";
import { Button } from "../../parts/Button.tsx";
import { Fields, Select, Text } from "../../parts/forms/Fields.tsx";
import { Link } from "../../parts/Link.tsx";
import { PagedList } from "../../parts/lists/PagedList.tsx";
import { Page } from "../../parts/Page.tsx";
import { Empty } from "../../parts/States.tsx";
import { Tag } from "../../parts/Tag.tsx";
import { Time } from "../../parts/time/Time.tsx";
import { countText } from "../../parts/time/time.ts";
import { sessionPath } from "../../routing/addresses.ts";
import { setQuery } from "../../routing/router.ts";
import { AgentSelect } from "../AgentSelect.tsx";
import type { ScreenProps } from "../index.ts";
import { SessionScreen } from "./Session.tsx";
import css from "./Sessions.module.css";
import { endingTone, STATE_TONES } from "./states.ts";

export default function Sessions({ params, query }: ScreenProps) {
  const { session } = params;
  return session === undefined ? <All query={query} /> : <SessionScreen key={session} session={session} query={query} />;
}

type Summary = OperationOutput<"sessions">["items"][number];
const STATES = ["running", "waiting", "idle", "closed"] as const;
const TOPICS = ["session.opened", "turn.started", "turn.ended", "approval.asked", "approval.answered", "session.closed"] as const;
const PAGE = 100;

function All({ query }: Readonly<{ query: URLSearchParams }>) {
  const hub = useHub();
  const state = STATES.find((one) => one === query.get("state")) ?? null;
  const agent = query.get("agent") ?? "";
  const text = query.get("text") ?? "";
  const asked = { limit: PAGE, ...(state === null ? {} : { state }), ...(agent === "" ? {} : { agent }) };
  const first = useQuery("sessions", { query: asked }, TOPICS);
  const pages = usePages({
    first: first.value,
    key: JSON.stringify(asked),
    idOf: ({ session }) => session,
    read: (cursor) => hub.call("sessions", { query: { ...asked, cursor } }),
    failed: "Older sessions could not be read",
  });
  const words = text.toLowerCase();
  const shown =
    words === ""
      ? pages.items
      : pages.items.filter((one) =>
          `${one.title ?? ""} ${one.session} ${one.external ?? ""} ${one.principal.id} ${one.agent} ${one.ending ?? ""}`
            .toLowerCase()
            .includes(words),
        );
  return (
    <Page title="Sessions" lead="Conversations with agents, newest first. Open one to step through its entries." fill>
      <Fields label="Filter sessions" active={[state, agent, text].filter((one) => one !== null && one !== "").length}>
        <Select
          label="State"
          value={state ?? ""}
          choose={(value) => setQuery({ state: value })}
          choices={[{ value: "", text: "Any" }, ...STATES.map((value) => ({ value, text: value }))]}
        />
        <AgentSelect agent={agent} />
        <Text label="Title, person or id" value={text} set={(value) => setQuery({ text: value })} placeholder="refund, ana, s_…" />
      </Fields>
      <PagedList
        label="Sessions"
        asked={first}
        pages={pages}
        shown={shown}
        idOf={({ session }) => session}
        row={(one) => <SessionRow of={one} />}
        estimate={52}
        more="Load older ones"
      >
        <None isFiltered={state !== null || agent !== "" || text !== ""} />
      </PagedList>
    </Page>
  );
}

function None({ isFiltered }: Readonly<{ isFiltered: boolean }>) {
  return isFiltered ? (
    <Empty icon="search" title="No session matches">
      <p>Remove a filter, or load older ones.</p>
      <Button onClick={() => setQuery({ state: null, agent: null, text: null })}>Show all</Button>
    </Empty>
  ) : (
    <Empty icon="sessions" title="No sessions yet">
      <p>
        A session begins when somebody talks to an agent. <Link to="/chat">Start one in Chat</Link>, or run{" "}
        <code>orgate run AGENT "…"</code>.
      </p>
    </Empty>
  );
}

/** A name that the server derived from a request's key: no person chose it. */
const MADE = /^key-[0-9a-f]{32,}$/;

const SessionRow = memo(function SessionRow({ of }: Readonly<{ of: Summary }>) {
  return (
    <Link className={css.row} to={sessionPath(of.session as SessionId)}>
      <span className={css.state}>
        {of.halted !== null && of.state === "running" ? (
          <Tag tone="bad">halted</Tag>
        ) : (
          <Tag tone={STATE_TONES[of.state]}>{of.openQuestions > 0 ? `${of.openQuestions} waiting` : of.state}</Tag>
        )}
      </span>
      <span className={css.agent}>{escapeHidden(of.agent)}</span>
      <span className={css.id}>
        {of.title === null ? null : <span className={css.title}>{escapeHidden(of.title)}</span>}
        <code>{of.external === null || MADE.test(of.external) ? of.session : escapeHidden(of.external)}</code>
      </span>
      <span className={css.who}>
        {escapeHidden(of.principal.id)} · {of.surface}
      </span>
      <span className={css.turns}>
        {of.turns} {of.turns === 1 ? "turn" : "turns"}, {countText(of.usage.input + of.usage.output)} tokens
      </span>
      <span className={css.ending}>
        {of.openUnknowns > 0 ? <Tag tone="wait">outcome unknown</Tag> : null}
        {of.ending === null ? null : <Tag tone={endingTone(of.ending)}>{of.ending}</Tag>}
      </span>
      <span className={css.when}>
        <Time at={of.lastAt} />
      </span>
    </Link>
  );
});
