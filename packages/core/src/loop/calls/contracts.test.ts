import { hash as nodeHash } from "node:crypto";
import { expect, test } from "vitest";
import * as z from "zod";
import { defineTool } from "../../agents/define-tool.ts";
import { reply, scriptedModel, world } from "../../testing/index.ts";
import { digest, type JsonObject, type ToolContext } from "../../vocab/index.ts";

const hash = (text: string) => digest(nodeHash("sha256", text, "hex"));
const talk = [
  { id: "talk", action: "model", verdict: "allow" },
  { id: "answer", action: "respond", verdict: "allow" },
] as const;

const tool = (run: (context: ToolContext) => string, humanApproval = false) =>
  defineTool({
    name: "wipe",
    description: "wipe",
    input: z.strictObject({}),
    riskTier: "low",
    humanApproval,
    run: (_, context) => run(context),
  });

function worldOf(run: (context: ToolContext) => string, verdict: "allow" | "deny", humanApproval = false) {
  const model = scriptedModel([reply.calls([{ tool: "wipe", args: {}, id: "c1" }]), reply.text("done")]);
  return world({ hash, model, tools: [tool(run, humanApproval)], rows: [{ id: "own", action: "tool:wipe", verdict }, ...talk] });
}

test("T-8 what its definition wants a person asked about is asked, though the policies permit it", async () => {
  let runs = 0;
  const w = worldOf(
    () => {
      runs += 1;
      return "wiped";
    },
    "allow",
    true,
  );
  const s = await w.run("go");
  expect(runs).toBe(0);
  expect(s.turn?.questions.size).toBe(1);
  expect(w.events("approval.asked")).toMatchObject([{ asks: [{ policy: "orgate:human-approval/wipe" }] }]);
});

test("T-8 a policy that denies is not asked around", async () => {
  const w = worldOf(() => "wiped", "deny", true);
  await w.run("go");
  expect(w.events("approval.asked")).toEqual([]);
  expect(w.events("act.started")).toEqual([]);
});

const proofOf = async (run: (context: ToolContext) => string): Promise<unknown> => {
  const w = worldOf(run, "allow");
  await w.run("go");
  return w.events("act.ended").map((e) => [e.outcome.kind, e.evidence.proof]);
};

test("T-9 proof is journalled with the outcome, a failure's too", async () => {
  const shown = (context: ToolContext) => {
    context.evidence({ version: "1.0.0" });
    context.evidence({ status: 3 });
    return "wiped";
  };
  expect(await proofOf(shown)).toEqual([["done", { version: "1.0.0", status: 3 }]]);
  const failing = (context: ToolContext) => {
    shown(context);
    throw new Error("exit 3");
  };
  expect(await proofOf(failing)).toEqual([["failed", { version: "1.0.0", status: 3 }]]);
  expect(await proofOf(() => "wiped")).toEqual([["done", null]]);
});

test("T-9 proof that is too long or no JSON is left out with a word, and the call is what it was", async () => {
  const long = (context: ToolContext) => {
    context.evidence({ kept: true });
    context.evidence({ text: "x".repeat(70_000) });
    return "wiped";
  };
  expect(await proofOf(long)).toEqual([["done", { kept: true, leftOut: "proof holds at most 65536 characters" }]]);
  const odd = (context: ToolContext) => {
    context.evidence({ odd: Number.NaN } as JsonObject);
    return "wiped";
  };
  expect(await proofOf(odd)).toEqual([["done", { leftOut: "proof is JSON" }]]);
});
