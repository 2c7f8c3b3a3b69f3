/**
 * Webhooks: did a delivery arrive, and what happened to it?
 * An accepted delivery links to its session, a rejected one says why, and unsigned ones are counted.
 */
import type { OperationOutput } from "@orgate/protocol";
import { memo, useEffect } from "react";
import { usePages } from "../../link/pages.ts";
import { useHub, useQuery } from "../../link/use.ts";
import { Link } from "../../parts/Link.tsx";
import { PagedList } from "../../parts/lists/PagedList.tsx";
import { Empty, Sentence } from "../../parts/States.tsx";
import { Tag, type Tone } from "../../parts/Tag.tsx";
import { ExactText } from "../../parts/text/ExactText.tsx";
import { Time, useNow } from "../../parts/time/Time.tsx";
import { chatWithPath, sessionPath } from "../../routing/addresses.ts";
import css from "./Schedules.module.css";

type Hook = OperationOutput<"webhooks">["items"][number];
type Delivery = OperationOutput<"deliveries">["items"][number];

export function Webhooks() {
  const hub = useHub();
  const first = useQuery("webhooks", { query: { limit: 100 } }, ["session.opened"]);
  useEachTick(first.reload);
  const pages = usePages({
    first: first.value,
    key: "webhooks",
    idOf: ({ webhook }) => webhook,
    read: (cursor) => hub.call("webhooks", { query: { limit: 100, cursor } }),
    failed: "More webhooks could not be read",
  });
  return (
    <PagedList
      label="Webhooks"
      asked={first}
      pages={pages}
      idOf={({ webhook }) => webhook}
      row={(one) => <Card of={one} />}
      estimate={180}
      more="Load more"
    >
      <Empty icon="link" title="No webhooks">
        <p>
          A webhook is declared in <code>orgate.toml</code> (<code>[webhooks.NAME]</code>), beside an agent or in a <code>.symbi</code>{" "}
          file: a path, who sends, and the secret they sign with. Each delivery opens one session, labelled <code>untrusted</code>.
        </p>
      </Empty>
    </PagedList>
  );
}

/** A rejected delivery is no journal entry, so it is polled. */
function useEachTick(reload: () => void): void {
  const now = useNow();
  // biome-ignore lint/correctness/useExhaustiveDependencies: with each tick
  useEffect(reload, [now, reload]);
}

const Card = memo(function Card({ of }: Readonly<{ of: Hook }>) {
  const { webhook, path, provider, agent, owner, from, filter, told } = of;
  return (
    <article className={css.hook} aria-label={`Webhook ${webhook}`}>
      <p className={css.head}>
        <strong>{webhook}</strong> <Tag>{provider}</Tag> <code>{`POST ${location.origin}${path}`}</code>
      </p>
      <p className={css.small}>
        To <Link to={chatWithPath(agent)}>{agent}</Link> on behalf of {owner}; declared in <code>{from}</code>.
        {filter.length === 0 ? null : (
          <>
            {" "}
            Only where <ExactText text={filter.join(", ")} />.
          </>
        )}
      </p>
      <Counted told={told} />
      <Deliveries of={of} />
    </article>
  );
});

function Counted({ told }: Readonly<{ told: Hook["told"] }>) {
  const { accepted, known, ignored, refused, unsigned, unsignedAt, since } = told;
  return (
    <p className={css.counted}>
      <span>
        Since the server started (<Time at={since} />
        ): {accepted} accepted, {known} duplicate, {ignored} filtered out
      </span>
      {refused === 0 ? null : <Tag tone="bad">{refused} rejected</Tag>}
      {unsigned === 0 || unsignedAt === null ? null : (
        <Tag tone="bad">
          {unsigned} not signed with its secret, the last <Time at={unsignedAt} />
        </Tag>
      )}
    </p>
  );
}

const WHAT: Readonly<Record<Delivery["what"], readonly [Tone, string]>> = {
  accepted: ["ok", "accepted"],
  known: ["plain", "duplicate"],
  ignored: ["plain", "filtered out"],
  refused: ["bad", "rejected"],
};

function Deliveries({ of: { agent, webhook, told } }: Readonly<{ of: Hook }>) {
  const asked = useQuery("deliveries", { params: { agent, webhook }, query: { limit: 5 } }, ["session.opened"]);
  const count = told.accepted + told.known + told.ignored + told.refused;
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever something else came
  useEffect(asked.reload, [count, asked.reload]);
  if (asked.value === null)
    return asked.problem === null ? (
      <p className={css.small}>…</p>
    ) : (
      <p className={css.small}>
        <Sentence text={asked.problem.detail} />
      </p>
    );
  if (asked.value.items.length === 0) return <p className={css.small}>No deliveries yet.</p>;
  return (
    <ol className={css.history} aria-label={`Last deliveries to ${webhook}`}>
      {asked.value.items.map((one) => (
        <li key={`${one.at} ${one.what} ${one.delivery ?? ""}`}>
          <span className={css.small}>
            <Time at={one.at} />
          </span>
          <span>
            <Tag tone={WHAT[one.what][0]}>{WHAT[one.what][1]}</Tag> {one.delivery === null ? null : <ExactText text={one.delivery} />}{" "}
            {one.session === null ? null : <Link to={sessionPath(one.session)}>{one.session}</Link>}
            {one.detail === "" ? null : <Sentence text={one.detail} />}
          </span>
        </li>
      ))}
    </ol>
  );
}
