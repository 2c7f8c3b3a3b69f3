/**
 * A process dies in the middle of a call; another takes the session up. What could be repeated is repeated, what could not is `unknown`,
 * and the model's recorded reply is not asked for again. The child below is this same file.
 */
import { spawnSync } from "node:child_process";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createRuntime, defineAgent, defineTool, sha256, tableGate } from "orgate";
import * as z from "zod";
import { temporaryFolder } from "./temporary-folder.ts";

const child = process.argv[2];
const folder = child ?? temporaryFolder();
const log = join(folder, "effects.log");

const mail = defineTool({
  name: "send_mail",
  description: "Sends a mail. Nobody knows how to take one back.",
  input: z.strictObject({ to: z.string() }),
  effects: ["network"],
  run: ({ to }) => {
    appendFileSync(log, `mail to ${to}\n`);
    if (child !== undefined) process.kill(process.pid, "SIGKILL"); // after the effect, before anybody could write down that it happened
    return "sent";
  },
});

const clerk = defineAgent({
  name: "clerk",
  instructions: "Send one mail.",
  model: "offline/clerk",
  modelOptions: {
    rules: [
      { when: { notCalled: ["send_mail"] }, calls: [{ tool: "send_mail", args: { to: "bob" } }] },
      { when: { called: ["send_mail"] }, say: "Whether the mail went out is unknown: {{result}}" },
    ],
  },
  tools: [mail],
});

const runtime = await createRuntime({
  directory: join(folder, ".orgate"),
  agents: [clerk],
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ada" },
});

if (child !== undefined) {
  await runtime.complete("clerk", "write to bob"); // never returns
} else {
  await runtime.close();
  writeFileSync(log, "");
  const died = spawnSync(process.execPath, [fileURLToPath(import.meta.url), folder]);
  console.log("the child was ended by", died.signal);

  const again = await createRuntime({
    directory: join(folder, ".orgate"),
    agents: [clerk],
    gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
    principal: { kind: "user", id: "ada" },
  });
  const [session] = await again.inspect.sessions({ state: null, agent: null, before: null, most: 1 });
  if (session === undefined) throw new Error("the session is gone");
  const result = await again.resume(session.session).result;
  const sent = readFileSync(log, "utf8").split("\n").filter(Boolean).length;
  console.log(result.ending, "mails sent:", sent, "unknown outcomes:", result.unknowns.length, result.unknowns[0]?.outcome.cause);
  await again.close();
}
