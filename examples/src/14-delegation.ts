/** An agent that has others work for it: each in a session of its own, with its own tools, a share of the budget, and a policy that says who may. */
import { join } from "node:path";
import { createPerson, createRuntime, defineAgent, defineTool, ed25519, sha256, tableGate } from "orgate";
import * as z from "zod";
import { temporaryFolder } from "./temporary-folder.ts";

const lookUp = defineTool({
  name: "look_up",
  description: "Looks a supplier up.",
  input: z.strictObject({ name: z.string() }),
  repeat: "read",
  effects: ["read"],
  labels: ["untrusted"], // the parent gets this label too, with the answer
  run: ({ name }) => `${name} delivers on Mondays`,
});

const reader = defineAgent({
  name: "reader",
  instructions: "Look things up and say what you found in one sentence.",
  model: "offline/reader",
  modelOptions: {
    rules: [
      { when: { notCalled: ["look_up"] }, calls: [{ tool: "look_up", args: { name: "{{input}}" } }] },
      { when: { called: ["look_up"] }, say: "It delivers on Mondays." },
    ],
  },
  tools: [lookUp],
});

const desk = defineAgent({
  name: "desk",
  instructions: "Answer questions about suppliers. Have the reader look things up.",
  model: "offline/desk",
  modelOptions: {
    rules: [
      {
        when: { notCalled: ["delegate"] },
        calls: [{ tool: "delegate", args: { agent: "reader", task: "{{input}}", budget: { iterations: 5 } } }],
      },
      { when: { called: ["delegate"] }, say: "On Mondays." },
    ],
  },
  delegates: ["reader"], // its model gets the tool `delegate`; maxDepth is 3 unless said
});

const folder = temporaryFolder();
const runtime = await createRuntime({
  directory: join(folder, ".orgate"),
  agents: [desk, reader],
  // In a project: permit(principal == Agent::"desk", action == Action::"delegate", resource == Agent::"reader");
  gate: tableGate(
    [
      { id: "desk-may-have-it-read", action: "delegate:reader", verdict: "allow" },
      { id: "looking-asks", action: "tool:look_up", verdict: "ask", say: "May it be looked up?" },
      { id: "think-and-answer", action: "model", verdict: "allow" },
      { id: "speak", action: "respond", verdict: "allow" },
      { id: "people", action: "approve", verdict: "allow" },
    ],
    sha256,
  ),
  principal: { kind: "user", id: "ada" },
});
const ben = createPerson(join(folder, "home"), "ben", ed25519);
await runtime.place.keyring.certifyPerson(ben.name, ben.key.publicKey);

const first = await runtime.complete("desk", "ACME");
const [question] = first.questions; // the reader's, among those of the desk
if (question === undefined) throw new Error("nothing waits");
console.log(first.state, question.agent, "asks:", question.asks[0]?.question);

// The process that answers drives the reader on, and then the desk.
const { approval, digest } = question;
await runtime.approvals.answer({ approval, digest, answer: { kind: "approve" } }, ben);

const state = await runtime.inspect.state(first.session);
const child = await runtime.inspect.session(question.session);
console.log("the reader worked for", child?.parent === first.session ? "the desk" : "nobody", "and ended", child?.ending);
console.log(state.last?.ending, state.last?.output, "labels:", [...state.labels].join());
await runtime.close();
