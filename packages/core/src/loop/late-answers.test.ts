import { hash as nodeHash } from "node:crypto";
import { expect, test } from "vitest";
import * as z from "zod";
import { defineTool } from "../agents/define-tool.ts";
import { AwaitsGate } from "../gate/late.ts";
import { reply, scriptedModel, world } from "../testing/index.ts";
import { digest } from "../vocab/index.ts";

/** A world whose gate throws `AwaitsGate` about every call, as a developer's gate may, and never decides one. */
function worldThatAwaits(answered: Promise<void>, timeoutMs?: number) {
  const ran: string[] = [];
  const asked = Promise.withResolvers<void>();
  const model = scriptedModel([reply.calls([{ tool: "pay", args: {}, id: "c1" }]), reply.text("done")]);
  const w = world({
    hash: (text) => digest(nodeHash("sha256", text, "hex")),
    model,
    tools: [defineTool({ name: "pay", description: "Pays.", input: z.strictObject({}), run: async () => void ran.push("paid") })],
    spoil: (ports) => ({
      ...ports,
      gate: {
        ...ports.gate,
        decide(action, facts) {
          if (action.kind !== "call") return ports.gate.decide(action, facts);
          asked.resolve();
          throw new AwaitsGate("pay", answered, timeoutMs);
        },
      },
    }),
  });
  const verdicts = () => w.events("gate.decided").flatMap(({ action, verdict }) => (action.kind === "call" ? [verdict] : []));
  return { w, ran, asked: asked.promise, verdicts };
}

test("G-38 a late answer that is rejected denies the call", async () => {
  const { w, ran, verdicts } = worldThatAwaits(Promise.reject(new Error("no connection")));
  const { last } = await w.run("go");
  expect([last?.ending, ran]).toEqual(["completed", []]);
  expect(verdicts()).toMatchObject([{ kind: "deny", faults: [{ message: "the gate failed to answer: no connection" }] }]);
});

test("G-38 a late answer that never comes denies the call at its time limit", async () => {
  const { w, ran, asked, verdicts } = worldThatAwaits(new Promise(() => {}), 5_000);
  const running = w.run("go");
  await asked;
  while (w.clock.sleepers() < 2) await new Promise((resolve) => setImmediate(resolve)); // the turn's alarm and the gate's
  w.clock.advance(5_000);
  expect([(await running).last?.ending, ran]).toEqual(["completed", []]);
  expect(verdicts()).toMatchObject([{ kind: "deny", faults: [{ message: "the gate did not answer within 5000 ms" }] }]);
});

test("L-18 a cancelled turn does not wait for a late answer, and the answer that comes afterwards starts nothing", async () => {
  const answer = Promise.withResolvers<void>();
  const { w, ran, asked, verdicts } = worldThatAwaits(answer.promise);
  const stop = new AbortController();
  const running = w.run("go", stop.signal);
  await asked;
  stop.abort("enough");
  expect((await running).last).toMatchObject({ ending: "cancelled", detail: "enough" });
  answer.resolve();
  await answer.promise;
  expect([ran, verdicts()]).toEqual([[], []]);
});
