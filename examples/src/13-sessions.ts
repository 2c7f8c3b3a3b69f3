/** Sessions as a whole: opened under your own id, with a history from elsewhere; followed; forked; closed. */
import { createRuntime, defineAgent, sha256, tableGate } from "orgate";
import { temporaryFolder } from "./temporary-folder.ts";

const helper = defineAgent({
  name: "helper",
  instructions: "Help with one ticket.",
  model: "offline/helper",
  modelOptions: { rules: [{ say: "About the ticket: {{input}}" }] },
});

const runtime = await createRuntime({
  directory: temporaryFolder(),
  agents: [helper],
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ada" },
});

const { session } = await runtime.sessions.import({
  agent: "helper",
  id: "ticket 17",
  history: [
    { role: "user", text: "Where is my parcel?" },
    { role: "assistant", text: "", calls: [{ id: "c1", tool: "track", text: '{"parcel":"p1"}' }] },
    { role: "tool", id: "c1", text: "in Graz since Monday", isError: false },
    { role: "assistant", text: "It is in Graz." },
  ],
});

const again = await runtime.sessions.create({ agent: "helper", id: "ticket 17" });
console.log(again.session === session ? "the same id is the same session" : "two sessions");

const following = (async () => {
  const kinds: string[] = [];
  for await (const told of runtime.subscribe({ session })) if (told.kind === "entry") kinds.push(told.entry.event.kind);
  return kinds; // it ends when the session is closed
})();

await runtime.complete("helper", "when does it arrive?", { id: "ticket 17" });

const before = await runtime.sessions.restore(session);
const fork = await runtime.sessions.fork(session, { at: 2, id: "ticket 17, another way" });
const other = await runtime.complete("helper", "send it back", { session: fork.session });
console.log(before.messages.length, other.conversation.length); // the fork knows nothing of the turn after entry 2

await runtime.sessions.close(session, "delivered");
const kinds = await following;

const everything: number[] = [];
const last = (await runtime.place.store.journal.position()) - 1;
for await (const told of runtime.subscribe({ all: true })) {
  if (told.kind === "preview") continue;
  everything.push(told.position);
  if (told.position > last) break;
}
const gapless = everything.every((position, i) => position === i + 1);
console.log(kinds[0], kinds.at(-1), gapless ? "no gaps" : "gaps");
await runtime.close();
