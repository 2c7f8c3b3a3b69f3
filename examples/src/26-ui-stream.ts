/** A turn as an AI SDK UI message stream, from one's own server: what `useChat` reads, made from the journal as it is written. */
import { join } from "node:path";
import { UI_STREAM_END, type UiPart, uiStreamText, uiTurn } from "@orgate/protocol";
import { createPerson, createRuntime, defineAgent, ed25519, intentId, millis, sha256, signIntent, tableGate } from "orgate";
import { temporaryFolder } from "./temporary-folder.ts";

const helper = defineAgent({
  name: "helper",
  instructions: "Be brief.",
  model: "offline/helper",
  modelOptions: { rules: [{ say: "You asked: {{input}}" }] },
});
const folder = temporaryFolder();
const runtime = await createRuntime({
  directory: join(folder, ".orgate"),
  agents: [helper],
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ada" },
});
const ada = createPerson(join(folder, "home"), "ada", ed25519);
await runtime.place.keyring.certifyPerson(ada.name, ada.key.publicKey);

// The chat's id is the session's, the message's id makes it once.
const { session } = await runtime.sessions.create({ agent: "helper", id: "chat-1" });
const intent = signIntent(ada, {
  id: intentId("message-1"),
  session,
  at: millis(Date.now()),
  wish: { kind: "follow-up", text: "is it open?" },
});
await runtime.putIntent(intent);
const driven = runtime.resume(session).result;

const sent: UiPart[] = [];
let body = "";
const turn = uiTurn(intent.id);
for await (const live of runtime.subscribe({ session })) {
  for (const part of turn.hear(live)) {
    sent.push(part);
    body += uiStreamText(part); // in a server: written to the response, with `UI_STREAM_HEADERS`
  }
  if (turn.isOver()) break;
}
body += UI_STREAM_END;
await driven;

const words = sent.flatMap((part) => (part.type === "text-delta" ? [part.delta] : [])).join("");
console.log(words, "|", sent[0]?.type, sent.at(-1)?.type, body.endsWith("[DONE]\n\n"));
await runtime.close();
