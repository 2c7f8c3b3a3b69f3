import { hash as nodeHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineMiddleware } from "../agents/define-middleware.ts";
import { defineTool } from "../agents/define-tool.ts";
import { denyForFault } from "../gate/fail-closed.ts";
import { AwaitsGate } from "../gate/late.ts";
import { reply, scriptedModel, world } from "../testing/index.ts";
import { digest } from "../vocab/index.ts";

const hash = (text: string) => digest(nodeHash("sha256", text, "hex"));

/** A world whose gate throws `AwaitsGate` about every call, as a developer's gate may, and never decides one. */
function worldThatAwaits(answered: Promise<void>, timeoutMs?: number) {
  const ran: string[] = [];
  const asked = Promise.withResolvers<void>();
  const model = scriptedModel([reply.calls([{ tool: "pay", args: {}, id: "c1" }]), reply.text("done")]);
  const w = world({
    hash,
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

test("G-38 a gate that never decides denies the call after a hundred waits, and timers run meanwhile", async () => {
  const { w, ran, asked, verdicts } = worldThatAwaits(Promise.resolve());
  const running = w.run("go");
  await asked;
  for (let waits = 0; waits < 1_000 && verdicts().length === 0; waits += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    w.clock.advance(1);
  }
  expect([(await running).last?.ending, ran]).toEqual(["completed", []]);
  expect(verdicts()).toMatchObject([{ kind: "deny", faults: [{ message: "the gate was waited for 100 times and has not decided" }] }]);
});

test.each([Number.NaN, Number.POSITIVE_INFINITY, -1])(
  "G-38 a time limit of %s is no wait: the gate has failed, and the call is denied",
  async (ms) => {
    const { w, ran, verdicts } = worldThatAwaits(new Promise(() => {}), ms);
    expect([(await w.run("go")).last?.ending, ran]).toEqual(["completed", []]);
    expect(verdicts()).toMatchObject([
      { kind: "deny", faults: [{ message: `\`timeoutMs\` is ${ms}: use milliseconds, up to 2147483647` }] },
    ]);
  },
);

describe("the model is asked only under a decision that still holds", () => {
  async function askUnderNewPolicies(how: "a late decision" | "a slow hook") {
    const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let isChanged = false;
    const model = scriptedModel([reply.text("done")]);
    const slow = defineMiddleware({
      name: "slow",
      beforeModel: async () => {
        asked.resolve();
        await go.promise;
      },
    });
    const w = world({
      hash,
      model,
      middleware: how === "a slow hook" ? [slow] : [],
      spoil: (ports) => ({
        ...ports,
        gate: {
          ...ports.gate,
          get digest() {
            return isChanged ? hash("new") : ports.gate.digest;
          },
          decide(action, facts) {
            if (how === "a late decision" && action.kind === "respond" && !isChanged) {
              asked.resolve();
              throw new AwaitsGate("respond", go.promise);
            }
            return action.kind === "model" && isChanged ? denyForFault("not any more") : ports.gate.decide(action, facts);
          },
        },
      }),
    });
    const running = w.run("go");
    await asked.promise;
    isChanged = true;
    go.resolve();
    return { ending: (await running).last?.ending, asked: model.asked.length };
  }

  test.each(["a late decision", "a slow hook"] as const)("G-38 %s leaves no gap in which policies change unseen", async (how) => {
    expect(await askUnderNewPolicies(how)).toEqual({ ending: "denied", asked: 0 });
  });
});
