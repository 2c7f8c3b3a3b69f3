/** A coordinator under another name, served by your own program: an agent with the coordinator's tools, which do only what the person who speaks may do. */
import { join } from "node:path";
import { createPerson, createRuntime, defineAgent, ed25519, sha256, tableGate } from "orgate";
import { type Access, type Caller, connectCoordinator, coordinatorTools, openCoordinator } from "orgate/server";
import { temporaryFolder } from "./temporary-folder.ts";

const folder = temporaryFolder();
const directory = join(folder, ".orgate");
const desk = coordinatorTools();
const dispatcher = defineAgent({
  name: "dispatcher",
  instructions: "Tell people what the agents do.",
  model: "offline/dispatcher",
  modelOptions: { rules: [{ when: { notCalled: ["list_agents"] }, calls: [{ tool: "list_agents", args: {} }] }, { say: "{{result}}" }] },
  tools: desk.tools,
  middleware: [desk.middleware],
});
const greeter = defineAgent({ name: "greeter", instructions: "Greet.", model: "offline/echo" });
const auditor = defineAgent({ name: "auditor", instructions: "Audit.", model: "offline/echo" });
const runtime = await createRuntime({
  directory,
  agents: [dispatcher, greeter, auditor],
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ada" },
  surface: "api",
  surfaces: { dispatcher: "coordinator" }, // policies/coordinator/ apply to it
  thread: "worker",
});
const ada = createPerson(join(folder, "home"), "ada", ed25519);
await runtime.place.keyring.certifyPerson(ada.name, ada.key.publicKey);

/** One token stands for ada, who may see and run every agent but the auditor. */
const caller: Caller = {
  principal: { kind: "user", id: ada.name },
  person: ada,
  scope: { agents: ["dispatcher", "greeter"], actions: null, expiresAt: null },
};
const access: Access = {
  authenticate: async ({ headers }) =>
    headers.authorization === "Bearer a-token-of-your-own" ? caller : Promise.reject(new Error("nobody")),
  watch: () => () => {},
  mayDo: (_, { agent, on }) => (on === "listing" || (agent !== null && agent !== "auditor") ? null : "not one of ada's agents"),
};
const server = await openCoordinator({
  runtime,
  access,
  host: "127.0.0.1",
  port: 0,
  version: "1.0.0",
  describe: () => ({}),
  more(front, operations) {
    connectCoordinator(desk, front, operations, { mayDo: access.mayDo, operator: async () => caller });
    return {};
  },
});
const answer = await fetch(`${server.url}/api/v1/agents/dispatcher/execute`, {
  method: "POST",
  headers: { authorization: "Bearer a-token-of-your-own", "content-type": "application/json", "idempotency-key": "visit-1" },
  body: JSON.stringify({ input: "who is there?" }),
});
const text = JSON.stringify(await answer.json());
console.log(text.includes("greeter") ? "ada hears of the greeter" : text);
await server.leave();
await runtime.close();
console.log(text.includes("auditor") ? "and of the auditor" : "and not of the auditor");
