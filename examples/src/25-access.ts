/** Access to a server: an API key for one agent, decided by the policies each time, and revoked. */
import { join } from "node:path";
import { createRuntime, defineAgent, millis, sha256, tableGate } from "orgate";
import { act, openIdentity } from "orgate/server";
import { temporaryFolder } from "./temporary-folder.ts";

const agent = (name: string) => defineAgent({ name, instructions: "Help.", model: "offline/echo" });
const directory = join(temporaryFolder(), ".orgate");
// In a project: permits for Action::"observe", Action::"run" and so on, on Agent::"…" or what is in it.
const gate = tableGate(
  [
    { id: "nobody-stops-it", action: "halt", verdict: "deny", say: "nobody halts work here" },
    { id: "all", action: "*", verdict: "allow" },
  ],
  sha256,
);
const runtime = await createRuntime({ directory, agents: [agent("clerk"), agent("boss")], gate, principal: { kind: "user", id: "ada" } });

const identity = await openIdentity({
  place: runtime.place,
  directory,
  gate,
  now: () => millis(Date.now()),
  origins: () => ["http://127.0.0.1:4680"], // what the server is called: cookies count for no other site
  coordinators: [], // agents that act for the person who speaks with them
});

// `orgate keys create ben --api --agents clerk` does this.
const { access, token } = await identity.accesses.give({
  means: "key",
  person: "ben",
  agents: ["clerk"],
  actions: null,
  until: millis(Date.now() + 3_600_000),
  note: "for the build",
  by: { kind: "user", id: "ada" },
});

// What a server does with each request.
const headers = { authorization: `Bearer ${token}` };
const caller = await identity.authenticate({
  via: "http",
  method: "GET",
  path: "/api/v1/agents",
  query: new URLSearchParams(),
  headers,
  remote: "127.0.0.1",
});
if ("status" in caller) throw new Error(caller.detail);
console.log(caller.person.name, "clerk:", identity.mayDo(caller, act("run", "agent", { agent: "clerk" })) ?? "may run");
console.log("boss:", identity.mayDo(caller, act("run", "agent", { agent: "boss" })) ?? "may run");
console.log("work:", identity.mayDo(caller, act("halt", "work", { id: "agent:clerk" })) ?? "may halt");

await identity.accesses.revoke(access.access, { kind: "user", id: "ada" }, "the build is gone");
console.log("then:", identity.mayDo(caller, act("run", "agent", { agent: "clerk" })) ?? "may run");
identity.close();
await runtime.close();
