/**
 * The first run: an allow, a denial and an approval, with the example's agent and its offline model. Each step is a real turn, decided by the example's
 * policies and written to its journal.
 * O-7 started steps are still there after a reload, in the same tab, for the same person.
 */

import type { SessionId } from "@orgate/core/vocab";
import { isSessionId, policyId } from "@orgate/core/vocab";
import { sendMessage } from "@orgate/protocol";
import type { SessionView } from "@orgate/protocol/view";
import { type ReactNode, useMemo, useState } from "react";
import { useFeed, useHub, useQuery } from "../../link/use.ts";
import { Button } from "../../parts/Button.tsx";
import { Link } from "../../parts/Link.tsx";
import { Page } from "../../parts/Page.tsx";
import { Empty, Failure, Loading } from "../../parts/States.tsx";
import { Tag } from "../../parts/Tag.tsx";
import { chatPath, policyPath } from "../../routing/addresses.ts";
import { toastProblem } from "../../state/toasts.ts";
import { useUnsentText } from "../../state/unsent.ts";
import { Row } from "../chat/Items.tsx";
import css from "./Guide.module.css";

const AGENT = "billing";

type Step = Readonly<{
  id: string;
  title: string;
  says: ReactNode;
  input: string;
  action: string;
  isDone(view: SessionView): boolean;
  after: ReactNode;
}>;
const called = (view: SessionView, test: (verdict: string, status: string) => boolean): boolean =>
  view.items.some((item) => item.kind === "call" && test(item.verdict?.kind ?? "", item.status));

const STEPS: readonly Step[] = [
  {
    id: "allow",
    title: "An allow",
    says: "The agent looks up a charge. A policy permits this, so it happens at once.",
    input: "What became of ch_8812?",
    action: "Ask about a charge",
    isDone: (view) => called(view, (_, status) => status === "done"),
    after: (
      <>
        The call was decided <em>before</em> it ran, and the journal records the policy that decided:{" "}
        <Link to={policyPath(policyId("desk/find-charges"))}>desk/find-charges</Link>.
      </>
    ),
  },
  {
    id: "deny",
    title: "A denial",
    says: "Now it should refund 899.00. A policy forbids that to every agent.",
    input: "Refund ch_8813",
    action: "Ask for a large refund",
    isDone: (view) => called(view, (verdict) => verdict === "deny"),
    after: "Nothing was paid. The agent learned why, and says so.",
  },
  {
    id: "ask",
    title: "An approval",
    says: "A small refund is permitted once an operator approves it: that is you.",
    input: "Refund ch_8811",
    action: "Ask for a small refund",
    isDone: (view) => view.items.some((item) => item.kind === "question" && item.state !== "open"),
    after: "The turn waited for your answer, and would have survived a restart. Your answer is in the journal, under your name.",
  },
];

export default function Guide() {
  const agents = useQuery("agents", { query: { limit: 500 } });
  const [begun, setBegun] = useUnsentText("guide");
  const sessions = useMemo(() => begunIn(begun), [begun]);
  const begin = (step: string, session: SessionId | null): void =>
    setBegun(
      STEPS.flatMap(({ id }) => {
        const known = id === step ? session : sessions.get(id);
        return known === undefined || known === null ? [] : [`${id}=${known}`];
      }).join(" "),
    );
  const [done, setDone] = useState<ReadonlySet<string>>(new Set());
  if (agents.value === null)
    return (
      <Page title="First run">{agents.problem === null ? <Loading /> : <Failure problem={agents.problem} again={agents.reload} />}</Page>
    );
  if (!agents.value.items.some(({ name }) => name === AGENT)) return <Elsewhere />;
  const at = STEPS.findIndex(({ id }) => !done.has(id));
  return (
    <Page
      title="First run"
      lead="Three turns of an agent, without a key or a network: one permitted, one forbidden, one that needs your approval."
    >
      <ol className={css.steps}>
        {STEPS.map((step, i) => (
          <li key={step.id} className={css.step} aria-current={i === at ? "step" : undefined}>
            <StepCard
              step={step}
              number={i + 1}
              session={sessions.get(step.id) ?? null}
              isDone={done.has(step.id)}
              isOpen={at === -1 || i <= at}
              begin={(session) => begin(step.id, session)}
              finished={() => setDone((all) => (all.has(step.id) ? all : new Set([...all, step.id])))}
            />
          </li>
        ))}
      </ol>
      {at === -1 ? <Next /> : null}
    </Page>
  );
}

/** Parses the kept steps: `allow=s_… deny=s_…`. */
function begunIn(text: string): ReadonlyMap<string, SessionId> {
  const pairs = text.split(" ").map((pair) => pair.split("="));
  return new Map(pairs.flatMap(([step = "", session = ""]) => (isSessionId(session) ? [[step, session] as const] : [])));
}

type CardProps = Readonly<{
  step: Step;
  number: number;
  session: SessionId | null;
  isDone: boolean;
  isOpen: boolean;
  /** Null: the started session no longer exists. */
  begin(session: SessionId | null): void;
  finished(): void;
}>;

function StepCard({ step, number, session, isDone, isOpen, begin, finished }: CardProps) {
  const hub = useHub();
  const [isBusy, setBusy] = useState(false);
  const start = async (): Promise<void> => {
    setBusy(true);
    const sent = await sendMessage(hub.link, { agent: AGENT, session: null }, { text: step.input });
    setBusy(false);
    if (sent.kind === "problem") toastProblem("The step did not start", sent.problem);
    else begin(sent.value.session);
  };
  return (
    <>
      <h2>
        <span className={css.number}>{number}</span> {step.title} {isDone ? <Tag tone="ok">seen</Tag> : null}
      </h2>
      <p>{step.says}</p>
      {session === null ? (
        <div>
          <Button tone={isOpen ? "first" : "plain"} icon="send" busy={isBusy} disabled={!isOpen} onClick={() => void start()}>
            {step.action}
          </Button>
        </div>
      ) : (
        <Ran session={session} step={step} finished={finished} again={() => begin(null)} />
      )}
      {isDone ? <p className={css.after}>{step.after}</p> : null}
    </>
  );
}

type RanProps = Readonly<{ session: SessionId; step: Step; finished(): void; again(): void }>;

function Ran({ session, step, finished, again }: RanProps) {
  const feed = useFeed(session);
  if (feed === null) return <Loading />;
  const problem = feed.ended?.problem ?? null;
  if (problem !== null) return <Failure problem={problem} again={again} />;
  const { view } = feed;
  if (step.isDone(view)) queueMicrotask(finished);
  return (
    <div className={css.ran}>
      {view.items
        .filter((item) => item.kind !== "notice" && item.kind !== "ended" && (item.kind !== "said" || item.how === "turn"))
        .map((item) => (
          <Row key={item.key} item={item} view={view} />
        ))}
      <p>
        <Link to={chatPath(session)}>The conversation</Link>
      </p>
    </div>
  );
}

function Next() {
  return (
    <section className={css.next}>
      <h2>That is the whole idea</h2>
      <p>
        An agent proposes, a policy permits, the journal proves. Continue with <Link to="/chat">the coordinator</Link>, or change{" "}
        <code>policies/desk.cedar</code> of the example and see what changes in step two.
      </p>
    </section>
  );
}

function Elsewhere() {
  return (
    <Page title="First run">
      <Empty icon="guide" title="The first run needs the example project">
        <p>
          This server runs another project. <code>npm start</code> in a checkout of Orgate runs the example, without a key.
        </p>
        <p>
          <Link to="/chat">Talk with the agents of this one</Link>
        </p>
      </Empty>
    </Page>
  );
}
