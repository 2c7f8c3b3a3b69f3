/**
 * Approval requests, unknown outcomes, failed calls, and grants.
 * O-10 everything here works with the keyboard alone: up and down choose, single keys approve, deny, edit and remember.
 */

import { type ApprovalId, approvalId, type SessionId } from "@orgate/core/vocab";
import type { OperationOutput } from "@orgate/protocol";
import { findSettledApproval, toApprovalRow } from "@orgate/protocol/view";
import { use, useEffect, useRef, useState } from "react";
import { useFeed, useMyName, useQuery } from "../../link/use.ts";
import { Button } from "../../parts/Button.tsx";
import { Link } from "../../parts/Link.tsx";
import { Page } from "../../parts/Page.tsx";
import { Empty, Failure, Loading } from "../../parts/States.tsx";
import { Tabs } from "../../parts/Tabs.tsx";
import { Tag } from "../../parts/Tag.tsx";
import { Time, useNow } from "../../parts/time/Time.tsx";
import { formatCountdown } from "../../parts/time/time.ts";
import { approvalPath, chatPath } from "../../routing/addresses.ts";
import { navigate, setQuery } from "../../routing/router.ts";
import { useShortcuts } from "../../state/shortcuts.ts";
import { haltFor } from "../halts.ts";
import type { ScreenProps } from "../index.ts";
import { APPROVAL_TOPICS, OverviewContext, UNKNOWN_TOPICS } from "../overview.ts";
import { AnswerForm } from "./AnswerForm.tsx";
import css from "./Approvals.module.css";
import { FailedCalls, Grants, Unknowns } from "./Queues.tsx";

type Listed = OperationOutput<"approvals">["items"][number];
const TABS = ["requests", "unknown", "failed", "grants"] as const;
type Tab = (typeof TABS)[number];

export default function Approvals({ params, query }: ScreenProps) {
  const questions = useQuery("approvals", { query: { limit: 500 } }, APPROVAL_TOPICS);
  const unknowns = useQuery("unknowns", { query: { limit: 500 } }, UNKNOWN_TOPICS);
  const failed = useQuery("deadLetters", { query: { limit: 500 } }, ["recovery.applied", "dead-letter.dismissed"]);
  const grants = useQuery("grants", { query: { limit: 500 } }, ["grant.given", "grant.revoked", "approval.answered", "turn.ended"]);
  const chosen = params.approval === undefined ? null : approvalId(params.approval); // the server rejects an id that is not one
  const tab: Tab = chosen !== null ? "requests" : (TABS.find((one) => one === query.get("tab")) ?? "requests");
  const counts: Readonly<Record<Tab, number>> = {
    requests: questions.value?.items.length ?? 0,
    unknown: unknowns.value?.items.length ?? 0,
    failed: failed.value?.items.length ?? 0,
    grants: grants.value?.items.length ?? 0,
  };
  const choose = (to: Tab): void => {
    if (chosen !== null) navigate(to === "requests" ? "/approvals" : `/approvals?tab=${to}`);
    else setQuery({ tab: to === "requests" ? null : to });
  };
  return (
    <Page title="Approvals" lead="Actions that wait for a person, oldest first">
      <Tabs
        label="Queues"
        at={tab}
        choose={choose}
        tabs={[
          { id: "requests", title: "Requests", count: counts.requests },
          { id: "unknown", title: "Unknown", count: counts.unknown },
          { id: "failed", title: "Failed", count: counts.failed },
          { id: "grants", title: "Grants", count: counts.grants },
        ]}
      >
        {tab === "requests" ? <Questions asked={questions} chosen={chosen} /> : null}
        {tab === "unknown" ? <Unknowns asked={unknowns} /> : null}
        {tab === "failed" ? <FailedCalls asked={failed} /> : null}
        {tab === "grants" ? <Grants asked={grants} /> : null}
      </Tabs>
    </Page>
  );
}

type Asked = ReturnType<typeof useQuery<"approvals">>;
/** Rows in the page at first: many requests do not make it slow. */
const FEW = 40;
const isWide = (): boolean => window.matchMedia("(min-width: 62rem)").matches;

function Questions({ asked, chosen }: Readonly<{ asked: Asked; chosen: ApprovalId | null }>) {
  const items = asked.value?.items ?? [];
  const at = items.findIndex(({ approval }) => approval === chosen);
  const [most, setMost] = useState(FEW);
  /** The session of every request that was listed here: it shows how a closed request ended. */
  const seen = useRef(new Map<ApprovalId, SessionId>());
  const step = (by: number): void => {
    const next = items[Math.min(items.length - 1, Math.max(0, at === -1 ? 0 : at + by))];
    if (next !== undefined) navigate(approvalPath(next.approval), { replace: chosen !== null });
  };
  useShortcuts([
    { keys: "j", says: "Next request", run: () => step(1), repeats: true },
    { keys: "k", says: "Previous request", run: () => step(-1), repeats: true },
    { keys: "ArrowDown", says: "Next request", run: () => step(1), repeats: true },
    { keys: "ArrowUp", says: "Previous request", run: () => step(-1), repeats: true },
  ]);
  const first = items[0]?.approval ?? null;
  useEffect(() => {
    if (chosen === null && first !== null && isWide()) navigate(approvalPath(first), { replace: true });
  }, [chosen, first]);
  if (asked.value === null && asked.problem !== null) return <Failure problem={asked.problem} again={asked.reload} />;
  if (asked.value === null) return <Loading />;
  if (items.length === 0 && chosen === null)
    return (
      <Empty icon="approvals" title="Nothing waits for you">
        <p>When a policy requires an approval, the request appears here and in its conversation.</p>
        <p>
          <Link to="/guide">The first run</Link> makes one.
        </p>
      </Empty>
    );
  for (const { approval, session } of items) seen.current.set(approval, session);
  const here = items[at] ?? null;
  const shown = items.slice(0, Math.max(most, at + FEW / 2));
  return (
    <div className={`${css.panes} ${chosen === null ? "" : css.chosen}`}>
      <ol className={css.list} aria-label="Requests">
        {shown.map((item) => (
          <Row key={item.approval} item={item} isHere={item.approval === chosen} />
        ))}
        {shown.length === items.length && asked.value.next === null ? null : (
          <li className={css.rest}>
            {shown.length < items.length ? (
              <Button size="small" onClick={() => setMost(shown.length + FEW)}>
                {items.length - shown.length} more
              </Button>
            ) : (
              <span>More than these {items.length} wait: the others appear once some are answered.</span>
            )}
          </li>
        )}
      </ol>
      {chosen === null ? null : (
        <section className={css.detail} aria-label="The request">
          <div className={css.back}>
            <Button size="small" onClick={() => navigate("/approvals")}>
              All requests
            </Button>
          </div>
          {here === null ? (
            <Done approval={chosen} session={seen.current.get(chosen) ?? null} left={items.length} next={first} />
          ) : (
            <AnswerForm key={chosen} approval={chosen} session={here.session} version={`${here.digest} ${here.votes.length}`} keys />
          )}
        </section>
      )}
    </div>
  );
}

type DoneProps = Readonly<{ approval: ApprovalId; session: SessionId | null; left: number; next: ApprovalId | null }>;
function Done({ approval, session, left, next }: DoneProps) {
  const me = useMyName();
  const { halts } = use(OverviewContext);
  const view = useFeed(session)?.view ?? null;
  const settled = view === null ? null : findSettledApproval(view, approval, me, haltFor(halts, view.agent));
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (document.activeElement === document.body) box.current?.querySelector("button")?.focus(); // the focused element is gone
  }, []);
  return (
    <Empty icon="check" title="This request is no longer open">
      {settled === null ? (
        <p>It was answered, its time was up, or its turn has ended.</p>
      ) : (
        <p>
          {settled.says} {settled.at === null ? null : <Time at={settled.at} />}
        </p>
      )}
      {session === null ? null : (
        <p>
          <Link to={chatPath(session)}>Its conversation</Link>
        </p>
      )}
      {next === null ? (
        <p>Nothing else waits.</p>
      ) : (
        <div ref={box}>
          <Button onClick={() => navigate(approvalPath(next), { replace: true })}>
            {left === 1 ? "Open the last request" : `Open the next of ${left} requests`}
          </Button>
        </div>
      )}
    </Empty>
  );
}

function Row({ item, isHere }: Readonly<{ item: Listed; isHere: boolean }>) {
  const row = toApprovalRow(item);
  const box = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isHere) box.current?.scrollIntoView({ block: "nearest" }); // keys may choose a row outside the visible part
  }, [isHere]);
  return (
    <li ref={box}>
      <Link to={approvalPath(item.approval)} className={css.row} aria-current={isHere ? "true" : undefined}>
        <span className={css.top}>
          <strong>{row.tool}</strong>
          <Left expiresAt={row.expiresAt} />
        </span>
        <span className={css.touches}>{row.touches ?? "—"}</span>
        <span className={css.foot}>
          {row.agent} · <Time at={row.askedAt} />
          {row.missing > 1 || row.votes.length > 0 ? (
            <Tag tone="wait">
              {row.missing} more {row.missing === 1 ? "approval" : "approvals"} needed
            </Tag>
          ) : null}
        </span>
      </Link>
    </li>
  );
}

function Left({ expiresAt }: Readonly<{ expiresAt: number | null }>) {
  const now = useNow("second");
  if (expiresAt === null) return null;
  const left = expiresAt - now;
  return <Tag tone={left < 60_000 ? "bad" : "wait"}>{left <= 0 ? "time is up" : formatCountdown(left)}</Tag>;
}
