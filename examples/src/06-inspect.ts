/** Looking, without holding: sessions, one session's events, its state as a fold of them. */
import { createRuntime, defineAgent, sha256, tableGate } from "orgate";
import { temporaryFolder } from "./temporary-folder.ts";

const echo = defineAgent({ name: "echo", instructions: "Repeat.", model: "offline/echo", modelOptions: { rules: [{ say: "{{input}}" }] } });
const runtime = await createRuntime({
  directory: temporaryFolder(),
  agents: [echo],
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ada" },
});

const first = await runtime.complete("echo", "one");
await runtime.complete("echo", "two", { session: first.session }); // the same conversation goes on

for (const s of await runtime.inspect.sessions({ state: "idle", agent: "echo", before: null, most: 10 })) console.log(s.turns, s.ending);
const state = await runtime.inspect.state(first.session);
console.log(state.messages.map((m) => m.role).join(" "));
let entries = 0;
for await (const entry of runtime.inspect.events(first.session)) entries = entry.seq;
console.log(entries === state.seq ? "the state is the fold of all entries" : "it is not");
await runtime.close();
