/**
 * Signs an intent, checks it and puts it into its session's inbox: the one way in, for the server, the command line and the library. They differ in how an
 * intent is carried: who puts it, and who drives the session until the intent is taken.
 *
 * W-1 The outcome of an intent is read from the journal: the event it became, or the reason of its refusal.
 */
import {
  type Clock,
  type Entry,
  FaultError,
  type Intent,
  type IntentBody,
  type IntentId,
  type Journal,
  type SessionId,
  seq,
} from "@orgate/core";
import { eachEntry } from "@orgate/core/journal";
import { type Person, signIntent } from "../../store/keyring.ts";
import { type IntentCarrier, readIntentId } from "../delivery.ts";

/** `id` makes it idempotent: the same id again is the same intent. */
export type IntentToSend = Readonly<{ session: SessionId; wish: IntentBody; as: Person; id: IntentId }>;

/** `entry`: the event that the intent became; null while nobody has taken it. */
export type AcceptedIntent = Readonly<{ intent: Intent; entry: Entry | null }>;

type Ports = Readonly<{ journal: Pick<Journal, "session" | "read">; clock: Pick<Clock, "now">; carrier: IntentCarrier }>;

/** Throws `session-unknown`, and `intent-refused` with the reason. */
export async function sendIntent({ journal, clock, carrier }: Ports, { session, wish, as, id }: IntentToSend): Promise<AcceptedIntent> {
  const before = await journal.session(session);
  if (before === null) throw new FaultError({ kind: "session-unknown", session });
  const intent = signIntent(as, { id, session, at: clock.now(), wish });
  const put = await carrier.put(intent);
  if (typeof put === "object") throw refusedIntent(id, put.reason);
  if (!(await carrier.waitUntilTaken(intent))) return { intent, entry: null };
  const entry = await findEntry(journal, intent, put === "new" ? before.seq : 0);
  if (entry?.event.kind === "intent.refused") throw refusedIntent(id, entry.event.reason);
  return { intent, entry };
}

const refusedIntent = (intent: IntentId, detail: string): FaultError => new FaultError({ kind: "intent-refused", intent, detail });

/** The first one: a message has an entry when it is queued, and another when its turn starts. */
async function findEntry(journal: Pick<Journal, "read">, { id, session }: Intent, after: number): Promise<Entry | null> {
  for await (const entry of eachEntry(journal, session, seq(after))) if (readIntentId(entry.event) === id) return entry;
  return null;
}
