/** The queues beside the approval requests: unknown outcomes, failed calls, grants. */
import { type CallId, escapeHidden, type GrantId, type Resource, type SessionId } from "@orgate/core/vocab";
import type { Problem } from "@orgate/protocol";
import { policyRef, resourceText } from "@orgate/protocol/view";
import { type ReactNode, useState } from "react";
import { type Query, useHub, type useQuery } from "../../link/use.ts";
import { Button } from "../../parts/Button.tsx";
import { ReasonDialog } from "../../parts/forms/ReasonDialog.tsx";
import type { IconName } from "../../parts/Icon.tsx";
import { Link } from "../../parts/Link.tsx";
import { queryFallback } from "../../parts/lists/PagedList.tsx";
import { Empty } from "../../parts/States.tsx";
import { Tag } from "../../parts/Tag.tsx";
import { Time } from "../../parts/time/Time.tsx";
import { Policies } from "../../parts/Verdict.tsx";
import { chatPath } from "../../routing/addresses.ts";
import { toast, toastProblem } from "../../state/toasts.ts";
import css from "./Queues.module.css";

type Asked<K extends "unknowns" | "deadLetters" | "grants"> = Readonly<{ asked: ReturnType<typeof useQuery<K>> }>;

type QueueProps<T> = Readonly<{
  asked: Query<Readonly<{ items: readonly T[] }>>;
  empty: Readonly<{ icon: IconName; title: string; says: ReactNode }>;
  idOf(item: T): string;
  /** The parts of one card: title, state, details, buttons. */
  card(item: T): Readonly<{ tool: string; resource: Resource; tag: ReactNode; about: ReactNode; choices: ReactNode }>;
}>;

function Queue<T>({ asked, empty, idOf, card }: QueueProps<T>) {
  const none = queryFallback(asked);
  if (none !== null) return none;
  const items = asked.value?.items ?? [];
  if (items.length === 0)
    return (
      <Empty icon={empty.icon} title={empty.title}>
        <p>{empty.says}</p>
      </Empty>
    );
  return (
    <ul className={css.queue}>
      {items.map((item) => {
        const { tool, resource, tag, about, choices } = card(item);
        return (
          <li key={idOf(item)} className={css.card}>
            <p className={css.head}>
              <strong>{escapeHidden(tool)}</strong> <code>{resourceText(resource)}</code> {tag}
            </p>
            <p className={css.aside}>{about}</p>
            <div className={css.choices}>{choices}</div>
          </li>
        );
      })}
    </ul>
  );
}

const CAUSES: Readonly<Record<string, string>> = {
  "timed-out": "it timed out",
  cancelled: "the turn was cancelled while it ran",
  "hold-lost": "the process that ran it was lost",
  "connection-lost": "the connection was lost",
  killed: "it was killed",
  "not-reconciled": "its tool could not tell when asked",
};

export function Unknowns({ asked }: Asked<"unknowns">) {
  return (
    <Queue
      asked={asked}
      idOf={({ session, call }) => `${session}${call}`}
      empty={{
        icon: "check",
        title: "No unknown outcomes",
        says: "A call that started and never reported back appears here. It is not repeated on a guess: somebody has to look.",
      }}
      card={({ tool, resource, agent, at, cause, session, call }) => ({
        tool,
        resource,
        tag: <Tag tone="wait">outcome unknown</Tag>,
        about: (
          <>
            {escapeHidden(agent)}, <Time at={at} />: {CAUSES[cause] ?? cause}. Did it take effect? Look where it would have, and say so.{" "}
            <Link to={chatPath(session)}>Its conversation</Link>
          </>
        ),
        choices: <Resolving session={session} call={call} />,
      })}
    />
  );
}

const RESOLUTIONS = [
  ["happened", "It happened"],
  ["did-not-happen", "It did not happen"],
  ["reconcile", "Ask the tool"],
  ["abandon", "Leave it unknown"],
] as const;

function Resolving({ session, call }: Readonly<{ session: SessionId; call: CallId }>) {
  const hub = useHub();
  const [busy, setBusy] = useState<string | null>(null);
  const resolve = async (as: (typeof RESOLUTIONS)[number][0]): Promise<void> => {
    setBusy(as);
    const resolved = await hub.link.call("resolve", { params: { session, call }, body: { as } });
    setBusy(null);
    if (resolved.kind === "problem") toastProblem("It was not resolved", resolved.problem);
    else toast({ tone: "ok", title: "It is resolved", detail: "the model learns it at its next turn" });
  };
  return (
    <>
      {RESOLUTIONS.map(([as, says]) => (
        <Button key={as} size="small" busy={busy === as} disabled={busy !== null} onClick={() => void resolve(as)}>
          {says}
        </Button>
      ))}
    </>
  );
}

export function FailedCalls({ asked }: Asked<"deadLetters">) {
  const hub = useHub();
  const dismiss = async (session: SessionId, call: CallId): Promise<void> => {
    const came = await hub.call("dismiss", { params: { session, call }, body: {} });
    if (came.kind === "problem") toastProblem("It was not dismissed", came.problem);
    asked.reload();
  };
  return (
    <Queue
      asked={asked}
      idOf={({ session, call }) => `${session}${call}`}
      empty={{
        icon: "check",
        title: "No failed calls",
        says: "A call that failed for good appears here if its recovery rule says so.",
      }}
      card={({ tool, resource, agent, at, error, session, call }) => ({
        tool,
        resource,
        tag: <Tag tone="bad">failed</Tag>,
        about: (
          <>
            {escapeHidden(agent)}, <Time at={at} />: {escapeHidden(error)} <Link to={chatPath(session)}>Its conversation</Link>
          </>
        ),
        choices: (
          <Button size="small" onClick={() => void dismiss(session, call)}>
            Dismiss
          </Button>
        ),
      })}
    />
  );
}

export function Grants({ asked }: Asked<"grants">) {
  const hub = useHub();
  const revoke = async (grant: GrantId, reason: string): Promise<Problem | null> => {
    const came = await hub.call("revoke", { params: { grant }, body: { reason } });
    if (came.kind === "problem") return came.problem;
    toast({ tone: "ok", title: "Revoked", detail: "calls that it covered need an approval again" });
    asked.reload();
    return null;
  };
  return (
    <Queue
      asked={asked}
      idOf={({ grant }) => grant}
      empty={{
        icon: "approvals",
        title: "No grants",
        says: (
          <>
            Where a policy says <code>@grant</code>, an approval can be remembered. It is listed here with who gave it and until when, and
            can be revoked.
          </>
        ),
      }}
      card={(item) => ({
        tool: item.tool,
        resource: item.resource,
        tag: <Tag tone="ok">granted</Tag>,
        about: (
          <>
            By {escapeHidden(item.by.id)}, <Time at={item.givenAt} />, to {escapeHidden(item.agent)} for {escapeHidden(item.onBehalfOf.id)}:{" "}
            {item.says}. It answers approval requests <Policies of={item.policies.map(policyRef)} />.
          </>
        ),
        choices: <Revoking send={(reason) => revoke(item.grant, reason)} what={`${item.tool} for ${item.agent}`} />,
      })}
    />
  );
}

function Revoking({ what, send }: Readonly<{ what: string; send(reason: string): Promise<Problem | null> }>) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button size="small" tone="bad" onClick={() => setOpen(true)}>
        Revoke
      </Button>
      {isOpen ? (
        <ReasonDialog title="Revoke a remembered approval" does="Revoke it" tone="bad" send={send} close={() => setOpen(false)}>
          <p>From now on {escapeHidden(what)} needs an approval again.</p>
        </ReasonDialog>
      ) : null}
    </>
  );
}
