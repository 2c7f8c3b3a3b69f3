/** The developer's own code around every turn: secrets are kept from the model, calls are put right or refused before the gate sees them, and a follow-up waits its turn. */
import { join } from "node:path";
import { createPerson, createRuntime, defineAgent, defineMiddleware, defineTool, ed25519, sha256, tableGate } from "orgate";
import * as z from "zod";
import { temporaryFolder } from "./temporary-folder.ts";

const CARD = /\b\d{4}(?: ?\d{4}){3}\b/g;
const redact = defineMiddleware({
  name: "redact",
  userMessage: (text) => text.replace(CARD, "[card]"), // a run's input, `say`, steering, follow-ups
  afterTool: ({ text }) => text.replace(CARD, "[card]"), // what the model is shown; the journal keeps the outcome
});

const manners = defineMiddleware({
  name: "manners",
  beforeModel: ({ system }, { iteration }) => ({ system: `${system} This is reply ${iteration}.` }), // for this one call
  beforeTool: ({ tool, args }, { note }) => {
    if (tool === "lookup" && JSON.stringify(args).includes("*")) return { kind: "block", reason: "name one customer" };
    note("checked", tool);
    return undefined; // nothing to change
  },
});

const seen: string[] = [];
const clerk = defineAgent({
  name: "clerk",
  instructions: "Look customers up.",
  model: "offline/clerk",
  modelOptions: {
    rules: [
      { when: { says: "everybody", notCalled: ["lookup"] }, calls: [{ tool: "lookup", args: { customer: "*" } }] },
      { when: { notCalled: ["lookup"] }, calls: [{ tool: "lookup", args: { customer: "ada" } }] },
      { when: { called: ["lookup"] }, say: "{{result}}" },
    ],
  },
  tools: [
    defineTool({
      name: "lookup",
      description: "Looks a customer up.",
      input: z.strictObject({ customer: z.string() }),
      repeat: "read",
      run: ({ customer }) => {
        seen.push(customer);
        return `${customer} pays with 4111 1111 1111 1111`;
      },
    }),
  ],
  middleware: [manners], // after the runtime's own
});

const folder = temporaryFolder();
const runtime = await createRuntime({
  directory: join(folder, ".orgate"),
  agents: [clerk],
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ada" },
  middleware: [redact],
});

const { session, output, events } = await runtime.complete("clerk", "is 4111 1111 1111 1111 mine?");
console.log(output);
for (const { event } of events) if (event.kind === "middleware.applied") console.log(event.middleware, event.stage, event.change.kind);

// Said for when the turn in progress has ended; with none in progress it starts one.
const ada = createPerson(join(folder, "home"), "ada", ed25519);
await runtime.place.keyring.certifyPerson(ada.name, ada.key.publicKey);
const { result } = await runtime.followUp(session, "and everybody else?", ada);
console.log(result?.ending, "|", result?.output, "| looked up:", seen.length);
await runtime.close();
