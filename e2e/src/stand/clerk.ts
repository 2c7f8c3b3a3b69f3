/** Puts one answer into a session's inbox and exits, without driving the session. */
import { ed25519, type IntentBody, intentId, millis, openPerson, openReadStore, sessionId, signIntent } from "orgate";
import { orders } from "./outlet.ts";
import { decode } from "./wire.ts";

const [by = "", session = "", wish = ""] = process.argv.slice(2);
const store = openReadStore({ directory: orders.directory });
const person = openPerson(orders.home, by, ed25519);
const id = intentId(`i_${crypto.randomUUID()}`);
await store.inbox.put(signIntent(person, { id, session: sessionId(session), at: millis(Date.now()), wish: decode<IntentBody>(wish) }));
await store.close();
