/** Testing policies: the same world, decided by Cedar. What the policies do not permit does not happen, and the test sees which of them said so. */

import { reply, scriptedModel, world } from "@orgate/core/testing";
import { cedarEngine, defineTool, sha256 } from "orgate";
import * as z from "zod";

const paid: string[] = [];
const pay = defineTool({
  name: "pay",
  description: "Pays.",
  input: z.strictObject({ to: z.string(), amount: z.number(), note: z.string().optional() }),
  effects: ["spend"],
  run: ({ to }) => paid.push(to),
});

const text = `
permit(principal, action in [Action::"model", Action::"respond"], resource);

@id("small")
permit(principal, action == Action::"tool:pay", resource)
when { context.args.amount.lessThanOrEqual(decimal("20.00")) };

@id("no-notes")
forbid(principal, action == Action::"tool:pay", resource)
when { context.args has note };
`;
const calls = [
  { tool: "pay", args: { to: "ann", amount: 19.5 } },
  { tool: "pay", args: { to: "bob", amount: 20.01 } },
  { tool: "pay", args: { to: "eve", amount: 1, note: "hush" } },
];
const model = scriptedModel([reply.calls(calls), reply.text("done")]);
const w = world({ hash: sha256, model, tools: [pay], policies: { text, engine: cedarEngine() } });

await w.run("pay them");
const verdicts = w
  .events("gate.decided")
  .flatMap((e) => (e.action.kind === "call" ? [`${e.verdict.kind} ${e.verdict.because.join()}`] : []));
console.log("paid:", paid.join(), "|", verdicts.join(" | "));
