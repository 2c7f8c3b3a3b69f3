import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineAgent, defineTool, seq, tableGate } from "@orgate/core";
import { reply, scriptedModel } from "@orgate/core/testing";
import { afterEach, expect, test } from "vitest";
import { sha256 } from "../node/crypto.ts";
import type { Runtime } from "./api.ts";
import { createRuntime } from "./runtime.ts";

const folders: string[] = [];
const runtimes: Runtime[] = [];
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const PIXEL = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
const MEGABYTE = Buffer.concat([PIXEL, Buffer.alloc(1024 * 1024, "pixels")]);

/** A session of so many iterations, with a picture or without. */
async function session(iterations: number, bytes: Uint8Array | null) {
  const directory = mkdtempSync(join(tmpdir(), "orgate-files-disk-"));
  folders.push(directory);
  const look = defineTool({
    name: "look",
    description: "looks",
    input: { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false },
    repeat: "read",
    run: ({ n }) => `looked ${String(n)}`,
  });
  const steps = Array.from({ length: iterations }, (_, n) => reply.calls([{ tool: "look", args: { n }, id: `c${n}` }]));
  const model = scriptedModel([...steps, reply.text("done"), reply.text("again")]);
  const runtime = await createRuntime({
    directory,
    agents: [defineAgent({ name: "eye", instructions: "Look.", model: "offline/eye", tools: [look], limits: { iterations: 100 } })],
    gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
    principal: { kind: "user", id: "ann" },
    powerCut: "lose-last-moments",
    model: () => model,
  });
  runtimes.push(runtime);
  const files = bytes === null ? [] : [{ mediaType: "image/png", name: "shelf.png", bytes }];
  const result = await runtime.complete("eye", "what is on the shelf?", { files });
  expect(result).toMatchObject({ ending: "completed", iterations: iterations + 1 });
  return { directory, runtime, result, model };
}

/** All that lies there, the log that SQLite keeps beside the database written back first. */
function bytesOn(directory: string): number {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((n, { parentPath, name }) => n + statSync(join(parentPath, name)).size, 0);
}
const atRest = async (iterations: number, bytes: Uint8Array | null): Promise<number> => {
  const { runtime, directory } = await session(iterations, bytes);
  await runtime.close();
  return bytesOn(directory);
};

test("M-21 a megabyte that is shown costs the disk once: an iteration adds as much as it does without", async () => {
  const [few, many] = [5, 45];
  const per = async (bytes: Uint8Array | null) => ((await atRest(many, bytes)) - (await atRest(few, bytes))) / (many - few);
  const [plain, shown] = [await per(null), await per(MEGABYTE)];
  expect(plain).toBeGreaterThan(0);
  expect(Math.abs(shown - plain)).toBeLessThan(0.25 * plain); // pages are whole
  expect((await atRest(few, MEGABYTE)) - (await atRest(few, null))).toBeLessThan(1.5 * MEGABYTE.length); // base64, once
});

test("M-21 the same picture in another turn and in a fork is one blob, which goes with the last entry that refers to it", async () => {
  const { directory, runtime, result } = await session(0, MEGABYTE);
  const blobs = () => readdirSync(join(directory, "blobs"));
  const second = await runtime.complete("eye", "and again?", {
    session: result.session,
    files: [{ mediaType: "image/png", bytes: MEGABYTE }],
  });
  const fork = await runtime.sessions.fork(result.session);
  expect(blobs()).toHaveLength(1);
  const { store } = runtime.place;
  const last = (await runtime.inspect.session(result.session))?.seq ?? seq(0);
  expect(second.ending).toBe("completed");
  expect(await store.erase(result.session, seq(1), last)).toMatchObject({ files: 0 });
  expect(blobs()).toHaveLength(1);
  expect((await runtime.sessions.restore(fork.session)).messages[0]).toMatchObject({ files: [{ name: "shelf.png" }] });
  expect(await store.erase(fork.session, seq(1), seq(3))).toMatchObject({ files: 1 });
  expect(blobs()).toEqual([]);
});
