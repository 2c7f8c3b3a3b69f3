/**
 * Wakes drivers for orders of other processes. Every write of another process is noticed, by the check that sees its intents (`inbox.ts`), and most are
 * about nobody here: this process looks once for all its drivers, and wakes them only for news. A thousand drivers that each looked for themselves,
 * twenty times a second, kept the event loop busy with nothing else.
 */
import type { OpenBreakers, OpenOrders } from "@orgate/core";
import type { StoreInbox } from "../../store/store.ts";

type Watched = Readonly<{
  orders: OpenOrders;
  breakers: Pick<OpenBreakers, "refresh" | "version">;
  inbox: Pick<StoreInbox, "watchChanges">;
}>;

/** The orders with a `watch` that hears of other processes too. */
export function watchOrders({ orders, breakers, inbox }: Watched): OpenOrders {
  const watchers = new Set<() => void>();
  const seen = () => ({ orders: orders.now(), breakers: breakers.version() });
  let told = seen(); // what the drivers were last woken for: one of them may read the news before this look does
  let isLooking = false;
  let isDue = false;
  let stop: (() => void) | null = null;

  function wakeAll(): void {
    told = seen();
    for (const changed of [...watchers]) changed();
  }
  async function look(): Promise<void> {
    await orders.refresh();
    await breakers.refresh();
    const now = seen();
    if (now.orders !== told.orders || now.breakers !== told.breakers) wakeAll();
  }
  function soon(): void {
    isDue = isLooking;
    if (isLooking) return;
    isLooking = true;
    void look()
      .catch(wakeAll) // each driver looks for itself, and reports what is wrong
      .finally(() => {
        isLooking = false;
        if (isDue) soon();
      });
  }
  function start(): () => void {
    const stops = [orders.watch(wakeAll), inbox.watchChanges(soon)];
    return () => {
      for (const stopWatching of stops) stopWatching();
    };
  }
  return {
    ...orders,
    watch(changed) {
      const mine = (): void => changed();
      watchers.add(mine);
      stop ??= start();
      return () => {
        watchers.delete(mine);
        if (watchers.size > 0) return;
        stop?.();
        stop = null;
      };
    },
  };
}
