/** A context plan of the program's own, beside window, mask and summarise: `beforeModel` says what the model is shown; the journal keeps everything. */
import { createRuntime, defineAgent, defineMiddleware, type RequestMessage, sha256, tableGate } from "orgate";
import { temporaryFolder } from "./temporary-folder.ts";

const shown: number[] = [];
/** Shows the first thing that was said, a note about what is left out, and the newest question. */
const firstAndLast = defineMiddleware({
  name: "first-and-last",
  beforeModel: ({ messages }) => {
    const [first, last] = [messages[0], messages.at(-1)];
    if (first === undefined || last === undefined || last.role !== "user" || messages.length < 4) {
      shown.push(messages.length);
      return undefined; // nothing to change
    }
    const note: RequestMessage = { role: "note", text: `${messages.length - 2} messages are left out` };
    shown.push(3);
    return { messages: [first, note, last] };
  },
});

const runtime = await createRuntime({
  directory: temporaryFolder(),
  agents: [defineAgent({ name: "echo", instructions: "Repeat.", model: "offline/echo", middleware: [firstAndLast] })],
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ada" },
});
const { session } = await runtime.complete("echo", "one");
for (const said of ["two", "three", "four"]) await runtime.complete("echo", said, { session });
const { messages } = await runtime.inspect.state(session);
console.log(`shown: ${shown.join(" ")} | kept: ${messages.length}`);
await runtime.close();
