/** Images, PDFs and texts as parts of what a person says: with a run, with a follow-up, in a history that comes from elsewhere. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createPerson, createRuntime, defineAgent, ed25519, fileAt, isFault, sha256, tableGate } from "orgate";
import { temporaryFolder } from "./temporary-folder.ts";

const folder = temporaryFolder();
const PIXEL = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "shelf.png"), PIXEL);

const clerk = defineAgent({
  name: "clerk",
  instructions: "Say what is on the shelf.",
  model: "offline/clerk", // a model that sees works the same: anthropic/…, openai/…, google/…
  modelOptions: { rules: [{ say: "I was shown {{files}}." }] },
});

const runtime = await createRuntime({
  directory: join(folder, ".orgate"),
  agents: [clerk],
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ada" },
});

const { session, output } = await runtime.complete("clerk", "What is on the shelf?", {
  files: [
    fileAt(join(folder, "shelf.png")), // its type is what its bytes say
    { mediaType: "text/csv", name: "stock.csv", text: "item,left\nbolts,3\n" },
    { mediaType: "image/png", name: "camera.png", bytes: PIXEL },
  ],
});
console.log(output);

const ada = createPerson(join(folder, "home"), "ada", ed25519);
await runtime.place.keyring.certifyPerson("ada", ada.key.publicKey);
const { result } = await runtime.followUp(session, { text: "And now?", files: [fileAt(join(folder, "shelf.png"))] }, ada);
console.log(result?.output);

try {
  await runtime.complete("clerk", "And this?", { files: [{ mediaType: "image/jpeg", name: "shelf.jpg", bytes: PIXEL }] });
} catch (error) {
  if (!isFault(error, "file-refused")) throw error;
  console.log(error.message);
}

const { messages } = await runtime.sessions.restore(session); // as any process would take it up
const shown = messages.flatMap((m) => (m.role === "user" ? [m.files?.length ?? 0] : []));
console.log("files of the first and the second turn:", ...shown);
await runtime.close();
