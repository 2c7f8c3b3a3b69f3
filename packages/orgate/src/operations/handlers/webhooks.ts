import { isSessionStream } from "@orgate/core";
import { wireProblem } from "@orgate/protocol";
import type { OperationGroups } from "@orgate/protocol/words";
import type { Filter, Webhook } from "../../schedules/declaring.ts";
import { act } from "../access.ts";
import type { OperationContext } from "../context.ts";
import type { WebhookDelivery } from "../deliveries.ts";
import type { OperationHandlers } from "../execute.ts";
import { toPage } from "../paging.ts";
import { refusal } from "../refusal.ts";
import { json } from "../result.ts";

type Group = OperationGroups["webhooks"];

/** Webhooks belong to their agents: a caller who sees the agent sees them. A delivery's session is shown to those who may see that session. */
export function webhookHandlers({
  deliveries: book,
  runtime,
  views,
  cursors,
  whose,
}: OperationContext): Required<Pick<OperationHandlers, Group>> {
  const { journal } = runtime.place.store;

  /** Those that opened a session, from whichever server, as far as they are looked up yet. */
  async function recorded(webhook: string, most: number): Promise<Readonly<{ items: readonly WebhookDelivery[]; behind: number }>> {
    const { positions, behind } = await views.find({ webhook }, Number.MAX_SAFE_INTEGER, most);
    const items: WebhookDelivery[] = [];
    for (const position of positions)
      for (const written of await journal.tail(position - 1, 1)) {
        if (written.kind !== "entry" || written.entry.event.kind !== "session.opened") continue; // erased
        const { origin } = written.entry.event;
        const delivery = origin?.kind === "webhook" ? origin.delivery : null;
        const session = isSessionStream(written.stream) ? written.stream : null;
        items.push({ at: written.at, what: "accepted", delivery, session, detail: "" });
      }
    return { items, behind };
  }

  return {
    webhooks: async ({ query, sees }) => {
      const { items, next } = await toPage(cursors, query, book.hooks, ({ agent }) => sees(agent));
      return json({ items: items.map((hook) => ({ ...shown(hook), told: book.told(hook.name) })), next });
    },
    deliveries: async ({ params: { agent, webhook }, query, may }) => {
      if (!book.hooks.some((hook) => hook.name === webhook && hook.agent === agent))
        throw refusal(
          wireProblem("not-found", `agent \`${agent}\` has no webhook \`${webhook}\``, "the operation `webhooks` lists the webhooks"),
        );
      const { items, behind } = await recorded(webhook, query.limit);
      const known = new Set(items.map(({ session }) => session));
      const rest = book.last(webhook).filter(({ session }) => session === null || !known.has(session));
      const newest = [...items, ...rest].sort((a, b) => b.at - a.at).slice(0, query.limit);
      const seen: WebhookDelivery[] = [];
      for (const one of newest) {
        const of = one.session === null ? null : await whose(one.session);
        const shows = one.session !== null && of !== null && may(act("observe", "session", { session: one.session, ...of }));
        seen.push(shows ? one : { ...one, session: null });
      }
      return json({ items: seen, behind });
    },
  };
}

/** No secret, not even its name. */
const shown = ({ name, path, provider, agent, owner, from, filter, maxBytes, windowMs }: Webhook) => ({
  webhook: name,
  path,
  provider,
  agent,
  owner,
  from,
  filter: filter.map(filterText),
  maxBytes,
  windowMs,
});
const filterText = ({ path, equals, contains }: Filter): string =>
  contains === undefined ? `${path.join(".")} = ${JSON.stringify(equals)}` : `${path.join(".")} contains ${JSON.stringify(contains)}`;
