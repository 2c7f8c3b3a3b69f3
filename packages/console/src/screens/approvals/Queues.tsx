/** The queues beside the questions: outcomes that nobody can tell, calls that were set aside, and remembered answers. */
import { policyRef, resourceText } from "@orgate/core/journal/view";
import { type CallId, escapeHidden, type SessionId } from "@orgate/core/vocab";
import type { Problem } from "@orgate/core/wire";
import { type ReactNode, useState } from "react";
import { type useCalled, useHub } from "../../link/use.ts";
import { Button } from "../../parts/Button.tsx";
import { Link } from "../../parts/Link.tsx";
import { Empty, Failing, Loading } from "../../parts/States.tsx";
import { Tag } from "../../parts/Tag.tsx";
import { Time } from "../../parts/Time.tsx";
import { toast, toastProblem } from "../../parts/toasts.ts";
import { Policies } from "../../parts/Verdict.tsx";
import { chatOf } from "../../places.ts";
import css from "./Queues.module.css";

type Asked<K extends "unknowns" | "deadLetters" | "grants"> = Readonly<{ asked: ReturnType<typeof useCalled<K>> }>;

/** What there is to say while there is no list. Null: there is one. */
function without(asked: Readonly<{ value: unknown; problem: Problem | null; reload(): void }>): ReactNode | null {
  if (asked.value === null && asked.problem !== null) return <Failing problem={asked.problem} again={asked.reload} />;
  return asked.value === null ? <Loading /> : null;
}

const CAUSES: Readonly<Record<string, string>> = {
  "timed-out": "it took too long",
  cancelled: "the turn was cancelled while it ran",
  "hold-lost": "the process that ran it was lost",
  "connection-lost": "the connection was lost",
  killed: "it was killed",
  "not-reconciled": "its tool was asked and could not tell",
};

export function Unknowns({ asked }: Asked<"unknowns">) {
  const none = without(asked);
  if (none !== null) return none;
  const items = asked.value?.items ?? [];
  if (items.length === 0)
    return (
      <Empty icon="check" title="Every outcome is known">
        <p>A call that was started and never heard of again comes here: nothing is run twice on a guess, somebody has to look.</p>
      </Empty>
    );
  return (
    <ul className={css.queue}>
      {items.map((item) => (
        <li key={`${item.session}${item.call}`} className={css.card}>
          <p className={css.head}>
            <strong>{escapeHidden(item.tool)}</strong> <code>{resourceText(item.resource)}</code> <Tag tone="wait">outcome unknown</Tag>
          </p>
          <p className={css.aside}>
            {escapeHidden(item.agent)}, <Time at={item.at} />: {CAUSES[item.cause] ?? item.cause}. Did it take effect? Look where it would
            have, and say so. <Link to={chatOf(item.session)}>Its conversation</Link>
          </p>
          <Resolving session={item.session} call={item.call} />
        </li>
      ))}
    </ul>
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
    const reply = await hub.wish({ kind: "resolve", session, call, as });
    setBusy(null);
    const refused = reply.kind === "done" && reply.entry?.event.kind === "intent.refused" ? reply.entry.event.reason : null;
    if (reply.kind === "error") toastProblem("It was not resolved", reply.problem);
    else if (refused !== null) toast({ tone: "bad", title: "It was not resolved", detail: refused });
    else toast({ tone: "ok", title: "It is on record", detail: "the model is told at its next turn" });
  };
  return (
    <div className={css.choices}>
      {RESOLUTIONS.map(([as, says]) => (
        <Button key={as} size="small" busy={busy === as} disabled={busy !== null} onClick={() => void resolve(as)}>
          {says}
        </Button>
      ))}
    </div>
  );
}

export function SetAside({ asked }: Asked<"deadLetters">) {
  const hub = useHub();
  const none = without(asked);
  if (none !== null) return none;
  const items = asked.value?.items ?? [];
  if (items.length === 0)
    return (
      <Empty icon="check" title="Nothing was set aside">
        <p>A call that failed for good, and whose recovery says so, is put here for somebody to see to.</p>
      </Empty>
    );
  const dismiss = async (session: SessionId, call: CallId): Promise<void> => {
    const came = await hub.call("dismiss", { params: { session, call }, body: {} });
    if (came.kind === "problem") toastProblem("It was not put away", came.problem);
    asked.reload();
  };
  return (
    <ul className={css.queue}>
      {items.map((item) => (
        <li key={`${item.session}${item.call}`} className={css.card}>
          <p className={css.head}>
            <strong>{escapeHidden(item.tool)}</strong> <code>{resourceText(item.resource)}</code> <Tag tone="bad">failed</Tag>
          </p>
          <p className={css.aside}>
            {escapeHidden(item.agent)}, <Time at={item.at} />: {escapeHidden(item.error)}{" "}
            <Link to={chatOf(item.session)}>Its conversation</Link>
          </p>
          <div className={css.choices}>
            <Button size="small" onClick={() => void dismiss(item.session, item.call)}>
              Seen to
            </Button>
          </div>
        </li>
      ))}
    </ul>
  );
}

const SCOPES: Readonly<Record<string, string>> = {
  digest: "exactly this action",
  resource: "this tool on this",
  tool: "this tool, whatever it touches",
};

export function Grants({ asked }: Asked<"grants">) {
  const hub = useHub();
  const none = without(asked);
  if (none !== null) return none;
  const items = asked.value?.items ?? [];
  if (items.length === 0)
    return (
      <Empty icon="approvals" title="No answer is remembered">
        <p>
          Where a policy says <code>@grant</code>, an answer can be remembered: it stands here, with who gave it and until when, and can be
          revoked.
        </p>
      </Empty>
    );
  const revoke = async (grant: (typeof items)[number]["grant"]): Promise<void> => {
    const came = await hub.call("revoke", { params: { grant }, body: { reason: "revoked in the console" } });
    if (came.kind === "problem") toastProblem("It was not revoked", came.problem);
    else toast({ tone: "ok", title: "Revoked", detail: "what it covered asks again" });
    asked.reload();
  };
  return (
    <ul className={css.queue}>
      {items.map((item) => (
        <li key={item.grant} className={css.card}>
          <p className={css.head}>
            <strong>{escapeHidden(item.tool)}</strong> <code>{resourceText(item.resource)}</code> <Tag tone="ok">granted</Tag>
          </p>
          <p className={css.aside}>
            By {escapeHidden(item.by.id)}, <Time at={item.givenAt} />, to {escapeHidden(item.agent)} for {escapeHidden(item.onBehalfOf.id)}:{" "}
            {SCOPES[item.scope]}
            {item.until === null ? (item.turn === null ? ", for the session" : ", for the turn") : ", until "}
            {item.until === null ? null : <Time at={item.until} />}. Answers the question <Policies of={item.policies.map(policyRef)} />.
          </p>
          <div className={css.choices}>
            <Button size="small" tone="bad" onClick={() => void revoke(item.grant)}>
              Revoke
            </Button>
          </div>
        </li>
      ))}
    </ul>
  );
}
