import { hash as nodeHash } from "node:crypto";
import { expect, test } from "vitest";
import * as z from "zod";
import { defineTool } from "../agents/define-tool.ts";
import { reply, scriptedModel, world } from "../testing/index.ts";
import { digest } from "../vocab/index.ts";

test("L-24 a call that was lost is not counted against itself when it is decided again", async () => {
  const once = defineTool({
    name: "restart",
    description: "restart",
    input: z.strictObject({}),
    repeat: "reconcile",
    run: async () => "restarted",
    reconcile: async () => ({ kind: "happened", output: "restarted" }),
  });
  const model = scriptedModel([reply.calls([{ tool: "restart", args: {}, id: "c1" }]), reply.text("done")]);
  const w = world({
    hash: (text) => digest(nodeHash("sha256", text, "hex")),
    model,
    tools: [once],
    rows: [
      { id: "one-a-turn", action: "tool:restart", callsBelow: 1, verdict: "allow" },
      { id: "talk", action: "model", verdict: "allow" },
      { id: "answer", action: "respond", verdict: "allow" },
    ],
    crashes: [{ of: "effect", nth: 0, when: "after" }],
  });
  const s = await w.run("go");
  expect(w.processes()).toBe(2);
  expect(w.events("recovery.applied")).toMatchObject([{ found: "happened" }]);
  expect(s.last).toMatchObject({ ending: "completed", output: "done" });
  expect(s.unknowns.size).toBe(0);
  model.done();
});
