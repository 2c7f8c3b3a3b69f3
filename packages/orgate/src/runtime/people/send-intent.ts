/** Signs an intent and delivers it: the way into a session's inbox for the command line and the library. */
import { FaultError, type Intent, type IntentBody, type IntentId, type SessionId } from "@orgate/core";
import { type Person, signIntent } from "../../store/keyring.ts";
import { type DeliveryOutcome, deliver, type IntentDelivery } from "../delivery.ts";
import type { Outside } from "../ports/outside.ts";

type Sending = Omit<IntentDelivery, "intent"> &
  Readonly<{
    session: SessionId;
    wish: IntentBody;
    as: Person;
    outside: Pick<Outside, "clock" | "ids">;
    /** Makes it idempotent: the same id again is the same intent. */
    id?: IntentId;
  }>;
export type AcceptedIntent = Readonly<{ became: Exclude<DeliveryOutcome, { kind: "refused" }>; intent: Intent }>;

/** Throws `intent-refused` with the reason. */
export async function sendIntent(sending: Sending): Promise<AcceptedIntent> {
  const { session, wish, as, outside, id = outside.ids.intent(), ...delivery } = sending;
  const intent = signIntent(as, { id, session, at: outside.clock.now(), wish });
  const became = await deliver({ ...delivery, intent });
  if (became.kind === "refused") throw new FaultError({ kind: "intent-refused", intent: intent.id, detail: became.reason });
  return { became, intent };
}
