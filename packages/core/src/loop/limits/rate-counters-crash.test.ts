/** Counters through crashes: whatever dies wherever, no more happens than was permitted, and what has happened is counted. */
import { expect, test } from "vitest";
import { type CrashPoint, reply } from "../../testing/index.ts";
import type { Action, Decision, Facts } from "../../vocab/index.ts";
import { call, REST, stage, toolOf } from "../fixtures/stage.ts";
import type { Ports } from "../ports.ts";

const MOST = 2;

/** Three calls of a reply, of which two may be in an hour. */
const limited = (p: Ports): Ports => ({
  ...p,
  gate: {
    ...p.gate,
    lately: ["calls:send"],
    decide(action: Action, facts: Facts): Decision {
      const decision = p.gate.decide(action, facts);
      if (action.kind !== "call" || action.tool !== "send") return decision;
      const { hour } = facts.lately({ name: "calls:send", value: "" });
      if (hour < MOST) return { ...decision, read: { hour } };
      return { ...decision, verdict: { kind: "deny", by: "policy", because: [], faults: [], reason: "enough" }, read: { hour } };
    },
  },
});

const points = (["append", "effect", "model"] as const).flatMap((of) =>
  (["before", "after"] as const).flatMap((when) => [0, 1, 2, 3, 4].map((nth): CrashPoint => ({ of, when, nth }))),
);

test.each(points)("G-25 a crash $when $of $nth lets no more be done than is permitted, and what was done stays counted", async (point) => {
  let sent = 0;
  const send = toolOf(
    "send",
    () => {
      sent += 1;
      return "sent";
    },
    { repeat: "once", resource: (input: unknown) => ({ type: "Account", id: (input as { x: string }).x }) },
  );
  const calls = ["a", "b", "c"].map((x) => call("send", x));
  const steps = [reply.calls(calls), reply.text("done"), reply.text("done"), reply.text("done")];
  const { w } = stage(steps, REST, { tools: [send], crashes: [point], spoil: limited, limits: { toolsAtOnce: 1 } });
  await w.run("go");
  const starts = w.events("act.started").filter((e) => e.start === 1).length;
  expect(sent).toBeLessThanOrEqual(MOST);
  const isReplyLost = w.events("model.replied").every(({ finish }) => finish !== "calls"); // then nothing was asked for
  expect(starts).toBe(isReplyLost ? 0 : MOST);
  expect(w.disk.counts.filter(({ count }) => count.name === "calls:send").reduce((n, { count }) => n + count.by, 0)).toBe(starts);
  const again = await w.run("go"); // another session, in another process: there is none left
  expect(sent).toBeLessThanOrEqual(MOST);
  expect(again.last?.ending).toBe("completed");
});
