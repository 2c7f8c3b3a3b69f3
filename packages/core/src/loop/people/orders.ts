/** Standing orders read from a journal's system streams; the same code serves any adapter that can read and append. */

import { foldOrders, NO_ORDERS, type Orders } from "../../journal/orders.ts";
import type { Append, Journal } from "../../journal/port.ts";
import { entryPages } from "../../journal/read-pages.ts";
import { GRANTS, HALT, isFault, type JournalEvent, type Millis, type Seq, type StreamId, seq } from "../../vocab/index.ts";
import type { OrdersPort } from "../ports.ts";

const TRIES = 100;

export type OpenOrders = OrdersPort &
  Readonly<{
    halt(order: Extract<JournalEvent, { kind: "work.halted" }>): Promise<void>;
    resume(order: Extract<JournalEvent, { kind: "work.resumed" }>): Promise<void>;
    revoke(order: Extract<JournalEvent, { kind: "grant.revoked" }>): Promise<void>;
  }>;

export function openOrders(journal: Pick<Journal, "read" | "append">, now: () => Millis): OpenOrders {
  let orders: Orders = NO_ORDERS;
  const seen = new Map<StreamId, Seq>([
    [GRANTS, seq(0)],
    [HALT, seq(0)],
  ]);
  const watchers = new Set<() => void>();

  async function refresh(): Promise<void> {
    for (const [stream, after] of seen) {
      for await (const entries of entryPages(journal, stream, after)) {
        const news = entries.filter(({ seq: at }) => at > (seen.get(stream) ?? after)); // another refresh may have folded them while this one was reading
        if (news.length > 0) orders = foldOrders(orders, news);
        seen.set(stream, news.at(-1)?.seq ?? seen.get(stream) ?? after);
      }
    }
  }

  async function append(stream: StreamId, event: Append["events"][number]["event"], isDone: () => boolean): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      await refresh();
      if (isDone()) return;
      try {
        await journal.append({
          stream,
          after: seen.get(stream) ?? seq(0),
          hold: null,
          events: [{ at: now(), event }],
          consumes: [],
          unlessHalted: [],
        });
        await refresh();
        for (const changed of [...watchers]) changed();
        return;
      } catch (error) {
        if (!isFault(error, "append-conflict") || tries === TRIES) throw error;
      }
    }
  }

  return {
    now: () => orders,
    refresh,
    halt: (order) => append(HALT, order, () => false),
    resume: (order) => append(HALT, order, () => false),
    revoke: (order) => append(GRANTS, order, () => !orders.grants.has(order.grant)),
    give: (grant) => append(GRANTS, grant, () => orders.given.has(grant.grant)),
    watch(changed) {
      const mine = () => changed();
      watchers.add(mine);
      return () => watchers.delete(mine);
    },
  };
}
