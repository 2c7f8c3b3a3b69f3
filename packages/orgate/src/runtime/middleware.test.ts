import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineAgent, defineMiddleware, tableGate } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import { ed25519, sha256 } from "../node/crypto.ts";
import { createPerson } from "../store/keyring.ts";
import type { Runtime, RuntimeOptions } from "./api.ts";
import { createRuntime } from "./runtime.ts";

const folders: string[] = [];
const runtimes: Runtime[] = [];
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const mark = (name: string) => defineMiddleware({ name, userMessage: (text) => `${text} ${name}` });

async function open(folder: string, more: Partial<RuntimeOptions> = {}, own = [mark("c")]): Promise<Runtime> {
  const echo = defineAgent({
    name: "echo",
    instructions: "Repeat.",
    model: "offline/echo",
    modelOptions: { rules: [{ when: {}, say: "{{input}}" }] },
    middleware: own,
  });
  const runtime = await createRuntime({
    directory: join(folder, ".orgate"),
    agents: [echo],
    gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
    principal: { kind: "user", id: "ann" },
    powerCut: "lose-last-moments",
    ...more,
  });
  runtimes.push(runtime);
  return runtime;
}
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "orgate-middleware-"));
  folders.push(folder);
  return folder;
}

test("H-1 the runtime's middleware comes first, then the agent's, each in order", async () => {
  const runtime = await open(newFolder(), { middleware: [mark("a"), mark("b")] });
  expect(await runtime.complete("echo", "say")).toMatchObject({ ending: "completed", output: "say a b c" });
});

test("H-1 two of one name are refused before anything is opened", async () => {
  await expect(open(newFolder(), { middleware: [mark("c")] })).rejects.toThrow(/two middlewares are named `c`/);
});

test("H-2 another process without the middleware takes the session up, and it reads the same", async () => {
  const folder = newFolder();
  const first = await open(folder, { middleware: [mark("a")] });
  const { session } = await first.complete("echo", "say");
  const before = await first.inspect.state(session);
  await first.close();
  const second = await open(folder, {}, []);
  expect((await second.inspect.state(session)).messages).toEqual(before.messages);
  expect(await second.complete("echo", "again", { session })).toMatchObject({ ending: "completed", output: "again" });
});

test("L-20 a follow-up through the library starts a turn of its own, by whoever sent it", async () => {
  const folder = newFolder();
  const runtime = await open(folder, {}, []);
  const bob = createPerson(join(folder, "home"), "bob", ed25519);
  await runtime.place.keyring.certifyPerson(bob.name, bob.key.publicKey);
  const { session } = await runtime.complete("echo", "one");
  const { entry, result } = await runtime.followUp(session, "two", bob);
  expect(entry?.event).toMatchObject({ kind: "input.queued", by: { id: "bob" } });
  expect(result).toMatchObject({ ending: "completed", output: "two" });
  expect((await runtime.inspect.state(session)).turns).toBe(2);
});

test("L-20 a follow-up that middleware was still at when its runtime was closed is there for the next one", async () => {
  const folder = newFolder();
  const never = defineMiddleware({ name: "never", userMessage: (text) => (text === "two" ? new Promise(() => {}) : undefined) });
  const first = await open(folder, {}, [never]);
  const bob = createPerson(join(folder, "home"), "bob", ed25519);
  await first.place.keyring.certifyPerson(bob.name, bob.key.publicKey);
  const { session } = await first.complete("echo", "one");
  const said = first.followUp(session, "two", bob).catch((error: unknown) => error);
  await new Promise((resume) => setTimeout(resume, 300));
  await first.close();
  await said;
  const second = await open(folder, {}, []);
  expect(await second.resume(session).result).toMatchObject({ ending: "completed", output: "two" });
  expect((await second.inspect.state(session)).turns).toBe(2);
});
