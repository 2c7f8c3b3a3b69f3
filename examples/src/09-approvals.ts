/** A person in the loop: the agent asks, somebody answers and lets it be remembered, and the next call runs by that grant. */
import { join } from "node:path";
import { createPerson, createRuntime, defineAgent, defineTool, ed25519, sha256, tableGate } from "orgate";
import * as z from "zod";
import { temporaryFolder } from "./temporary-folder.ts";

const sent: string[] = [];
const send = defineTool({
  name: "send_mail",
  description: "Sends a mail.",
  input: z.strictObject({ to: z.email(), text: z.string() }),
  effects: ["network"],
  resource: ({ to }) => ({ type: "Mailbox", id: to }), // what a question shows, and what a grant may be given for
  run: ({ to }) => sent.push(to),
});

const clerk = defineAgent({
  name: "clerk",
  instructions: "Answer mail.",
  model: "offline/clerk",
  modelOptions: {
    rules: [
      { when: { notCalled: ["send_mail"] }, calls: [{ tool: "send_mail", args: { to: "ben@example.org", text: "{{input}}" } }] },
      { when: { called: ["send_mail"] }, say: "Sent." },
    ],
  },
  tools: [send],
});

const folder = temporaryFolder();
const runtime = await createRuntime({
  directory: join(folder, ".orgate"),
  agents: [clerk],
  // In a project: @ask("Send it?") @grant("session") @grantSurvives("untrusted") on a permit, and a permit for Action::"approve".
  gate: tableGate(
    [
      {
        id: "mail-asks",
        action: "tool:send_mail",
        verdict: "ask",
        say: "Send it?",
        terms: { grant: "session", grantSurvives: ["untrusted"] },
      },
      { id: "the-rest", action: "*", verdict: "allow" },
    ],
    sha256,
  ),
  principal: { kind: "user", id: "ada" },
});

// A person who answers has their own key, which the project certifies.
const ben = createPerson(join(folder, "home"), "ben", ed25519);
await runtime.place.keyring.certifyPerson(ben.name, ben.key.publicKey);

const { session, state } = await runtime.complete("clerk", "see you at noon");
console.log(state, "mails sent:", sent.length);

const [question] = await runtime.approvals.list();
if (question === undefined) throw new Error("nothing waits");
const shown = await runtime.approvals.show(question.approval); // all there is to see before answering
console.log(shown?.tool, shown?.resource?.id, shown?.args);

const { result } = await runtime.approvals.answer(
  { approval: question.approval, digest: question.digest, answer: { kind: "grant", grant: { scope: "resource", until: "session" } } },
  ben,
);
console.log(result?.ending, "mails sent:", sent.length);

const second = await runtime.complete("clerk", "and bring the contract", { session }); // the same mailbox, in the same session: not asked again
const used = second.events.filter(({ event }) => event.kind === "grant.used").length;
console.log(second.ending, "mails sent:", sent.length, "grants used:", used);
await runtime.close();
