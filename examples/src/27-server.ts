/** A server around your own runtime: the API, the probes and the sockets, with callers that your own code knows. */
import { join } from "node:path";
import { createPerson, createRuntime, defineAgent, ed25519, sha256, tableGate } from "orgate";
import { type Access, openCoordinator, openSockets } from "orgate/server";
import { temporaryFolder } from "./temporary-folder.ts";

const folder = temporaryFolder();
const directory = join(folder, ".orgate");
const greeter = defineAgent({
  name: "greeter",
  instructions: "Greet whoever comes.",
  model: "offline/greeter",
  modelOptions: { rules: [{ say: "Welcome, and thank you for: {{input}}" }] },
});
const runtime = await createRuntime({
  directory,
  agents: [greeter],
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ada" },
  surface: "api",
  thread: "worker",
});
const ada = createPerson(join(folder, "home"), "ada", ed25519);
await runtime.place.keyring.certifyPerson(ada.name, ada.key.publicKey);

/** `orgate up` brings keys, sign-ins and policies; here one token stands for ada, who may see and run one agent. */
const access: Access = {
  authenticate: async ({ headers }) =>
    headers.authorization === "Bearer a-token-of-your-own"
      ? { principal: { kind: "user", id: ada.name }, person: ada, scope: { agents: ["greeter"], actions: null, expiresAt: null } }
      : Promise.reject(new Error("nobody")), // an error is a refusal
  watch: () => () => {}, // it never ends
  mayDo: (_, { agent, on }) => (on === "listing" || agent === "greeter" ? null : "not one of ada's agents"),
};

const server = await openCoordinator({
  runtime,
  access,
  host: "127.0.0.1",
  port: 0,
  version: "1.0.0",
  describe: () => ({}),
  more: (front, operations) => openSockets(front, operations, access, () => {}), // /ws/v1, server-sent events, useChat
});

const answer = await fetch(`${server.url}/api/v1/agents/greeter/execute`, {
  method: "POST",
  headers: { authorization: "Bearer a-token-of-your-own", "content-type": "application/json", "idempotency-key": "visit-1" },
  body: JSON.stringify({ input: "the flowers" }),
});
console.log(JSON.stringify(await answer.json()).includes("Welcome") ? "the agent answered over HTTP" : "it did not");
const stranger = await fetch(`${server.url}/api/v1/agents`);
console.log(`a stranger gets ${stranger.status}`);

await server.leave();
await runtime.close();
console.log("it is down, and nothing is left half done");
