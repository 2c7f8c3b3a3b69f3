/** A journal store that the program brings: journal and inbox are enough to run agents; the rest of a store is for servers and auditors. */
import { FaultError, type Inbox, type Journal } from "@orgate/core";
import { bindMethods } from "../../node/bind-methods.ts";
import { openRequestKeys } from "../../store/idempotency-keys.ts";
import type { Store, StoreInbox, StoreOpening } from "../../store/store.ts";

export type OwnStore = Readonly<{ journal: Journal; inbox: Inbox & Partial<Pick<StoreInbox, "watchChanges" | "waiting">> }> &
  Partial<Omit<Store, "journal" | "inbox">>;

export type OpenOwnStore = (opening: StoreOpening) => OwnStore | Promise<OwnStore>;

const OPEN_MS = 10_000;

/** Throws a `usage` fault when what comes is no store, or nothing comes within ten seconds. */
export async function openOwnStore(open: OpenOwnStore, opening: StoreOpening, withinMs = OPEN_MS): Promise<Store> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(wrong(`it was not open within ${withinMs} ms`)), withinMs);
  const opened = Promise.resolve().then(() => open(opening));
  try {
    const own: unknown = await Promise.race([opened, late.promise]);
    if (!isStore(own)) throw wrong("it has no `journal` or no `inbox`");
    return toStore(own, opening.directory);
  } catch (error) {
    opened.then((own) => (own.close === undefined ? own.journal.close() : own.close())).catch(() => {}); // it may come after the time limit: nobody else would close it
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

const wrong = (detail: string): FaultError =>
  new FaultError({
    kind: "usage",
    detail: `\`store\`: ${detail}`,
    hint: "return { journal, inbox }; docs/guide/library.md names the parts",
  });

const isStore = (value: unknown): value is OwnStore => {
  const has = (of: unknown, name: string): boolean => typeof of === "object" && of !== null && typeof Reflect.get(of, name) === "function";
  if (typeof value !== "object" || value === null || !("journal" in value) || !("inbox" in value)) return false;
  return has(value.journal, "append") && has(value.journal, "read") && has(value.inbox, "put") && has(value.inbox, "pending");
};

function toStore(given: OwnStore, directory: string): Store {
  const own = bindMethods(given);
  const { alarms = memoryAlarms() } = own;
  const requests = openRequestKeys(directory);
  const [journal, inbox] = [bindMethods(own.journal), bindMethods(own.inbox)];
  const watchChanges: StoreInbox["watchChanges"] = (changed) =>
    journal.watch((stream) => {
      if (stream === null) changed();
    });
  return {
    head: cannot("show its head"),
    snapshot: cannot("show its records"),
    holder: cannot("say which process holds a session"),
    holders: cannot("say which process holds a session"),
    slot: { writer: journal.writer, incarnation: 1, isNew: true },
    unknowns: cannot("list unknown outcomes"),
    unknownsOf: cannot("list unknown outcomes"),
    tally: cannot("count sessions"),
    stored: cannot("show stored entries"),
    checkWritable: cannot("say whether it can be written"),
    erase: cannot("erase"),
    processes: async () => [{ writer: journal.writer, place: "this machine", ...UNCOUNTED, quietest: [] }],
    play: async () => {}, // it has nobody to tell
    requests,
    claims: null,
    signals: null,
    stopped: new Promise<never>(() => {}), // its appends say so
    seal: async () => {}, // a store of one's own seals as it likes
    ...own,
    alarms: bindMethods(alarms),
    journal: { ...journal, powerCut: own.journal.powerCut ?? "lose-last-moments" }, // who does not say has promised nothing
    inbox: { watchChanges, waiting: cannot("list sessions that intents wait for"), ...inbox },
    async close() {
      requests.close();
      await (own.close === undefined ? journal.close() : own.close());
    },
  };
}

const UNCOUNTED = { role: null, version: null, holds: null, heardMs: null, commits: null, appends: null, figures: null } as const;

const cannot = (what: string) => async (): Promise<never> => {
  throw new FaultError({ kind: "usage", detail: `this journal store cannot ${what}`, hint: "add it to what `store` returns" });
};

/** Alarms of a store without a place for them: they stand as long as the process does. */
function memoryAlarms(): Store["alarms"] {
  const standing: { readonly at: number; readonly what: string; readonly detail: string }[] = [];
  return {
    standing: async () => standing,
    async raise(what, detail) {
      if (!standing.some((alarm) => alarm.what === what)) standing.push({ at: Date.now(), what, detail });
      return true;
    },
    acknowledge: async () => standing.splice(0),
  };
}
