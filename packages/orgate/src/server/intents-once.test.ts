/** Intents under an idempotency key: the reply to a repeated request, and the one scheme that their ids come from. */
import type { Entry, SessionId } from "@orgate/core";
import { reply } from "@orgate/core/testing";
import type { OperationName } from "@orgate/protocol";
import { afterEach, expect, test } from "vitest";
import { callOperation } from "../operations/call-operation.ts";
import { openStage, type Stage } from "./fixtures/stage.ts";

const open: Stage[] = [];
afterEach(async () => {
  for (const stage of open.splice(0)) await stage.close();
});

/** Nobody drives sessions here, and nobody waits long: an intent stays in the inbox until the test resumes its session. */
async function undriven(): Promise<Stage> {
  const stage = await openStage({ steps: [reply.text("done")], atOnce: 0, waitMs: 1 });
  open.push(stage);
  return stage;
}

type Sent = Readonly<{ session: SessionId; entry: Entry | null }>;
async function call({ ports, caller }: Stage, name: OperationName, input: object, key: string): Promise<Sent> {
  const gone = new AbortController().signal;
  return (await callOperation(ports.operations, { name, input, caller, key, gone })).value as Sent;
}

test("W-5 an intent that nobody had taken when it was answered: the same key returns its entry later", async () => {
  const stage = await undriven();
  const { session } = await stage.runtime.sessions.create({ agent: "clerk" });
  const say = () => call(stage, "say", { params: { session }, body: { text: "hello" } }, "k-1");
  expect(await say()).toMatchObject({ session, entry: null });
  await stage.runtime.resume(session).result;
  const later = await say();
  expect(later.entry?.event).toMatchObject({ kind: "input.queued", text: "hello" });
  expect(await say()).toEqual(later);
});

test("W-5 another intent under a used key is refused, and nothing of it is put into the inbox", async () => {
  const stage = await undriven();
  const { session } = await stage.runtime.sessions.create({ agent: "clerk" });
  const say = (text: string) => call(stage, "say", { params: { session }, body: { text } }, "k-1");
  await say("hello");
  await expect(say("bye")).rejects.toMatchObject({ problem: { kind: "idempotency-key-reused" } });
  const pending = await stage.runtime.place.store.inbox.pending(session);
  expect(pending.map(({ intent }) => intent.wish)).toEqual([{ kind: "follow-up", text: "hello" }]);
});
