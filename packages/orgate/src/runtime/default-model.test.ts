// The library's side of which model answers: `defaultModel` of a runtime, `model` of a run.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineAgent, OFFLINE_OPTIONS, tableGate } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import { modelFor } from "../models/offline/model.ts";
import { nodeClock } from "../node/clock.ts";
import { sha256 } from "../node/crypto.ts";
import type { Runtime } from "./api.ts";
import { createRuntime } from "./runtime.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});
const gate = tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256);
const plain = defineAgent({ name: "plain", instructions: "x" });
const own = defineAgent({ name: "own", instructions: "x", model: "offline/own" });
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "orgate-default-model-"));
  closing.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
async function open(directory: string, more: object = {}): Promise<Runtime> {
  const runtime = await createRuntime({
    directory,
    agents: [plain, own],
    gate,
    principal: { kind: "user", id: "ann" },
    powerCut: "lose-last-moments",
    env: {},
    ...more,
  });
  closing.push(runtime.close);
  return runtime;
}

test("M-19 a runtime has a default model; a run may choose another, and a later process keeps it", async () => {
  const folder = newFolder();
  const first = await open(folder, { defaultModel: "offline/shared" });
  expect((await first.complete(plain, "hi")).output).toContain("offline/shared");
  expect((await first.complete(own, "hi")).output).toContain("offline/own");
  const chosen = await first.complete("own", "hi", { model: "offline/chosen" });
  const { session } = await first.sessions.create({ agent: "own", model: "offline/chosen" });
  await first.close();
  const second = await open(folder);
  for (const id of [chosen.session, session])
    expect((await second.complete("own", "again", { session: id })).output).toContain("offline/chosen");
  for await (const { event } of second.inspect.events(chosen.session)) expect(event.kind).not.toBe("agent.changed");
});

test("M-3 what cannot be used is refused before a session opens, with its place", async () => {
  const runtime = await open(newFolder(), { defaultModel: "anthropic/x" });
  await expect(runtime.complete("plain", "hi")).rejects.toThrow("`defaultModel` of `createRuntime`");
  await expect(runtime.complete("own", "hi", { model: "nowhere/x" })).rejects.toThrow("there is no provider `nowhere`");
  await expect(runtime.complete("own", "hi", { model: "gpt" })).rejects.toThrow("options.model");
  await expect(runtime.sessions.create({ agent: "own", model: "nowhere/x" })).rejects.toThrow("there is no provider `nowhere`");
  expect(await runtime.sessions.list()).toEqual([]);
  await expect(open(newFolder(), { defaultModel: "gpt" })).rejects.toThrow("options.defaultModel");
});

test("M-19 what is left out for other models is what the offline model reads", () => {
  const wrong = { rules: 1, author: 1, delayMs: -1, log: 1 };
  expect(Object.keys(wrong)).toEqual(OFFLINE_OPTIONS);
  for (const [name, value] of Object.entries(wrong))
    expect(() => modelFor("offline/x", { [name]: value }, nodeClock)).toThrow(new RegExp(`options are wrong: .*${name}`));
  expect(() => modelFor("offline/x", { other: 1 }, nodeClock)).toThrow("other");
});
