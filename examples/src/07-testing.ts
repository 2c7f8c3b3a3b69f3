/** Testing an agent without a model or a disk: a strict script, a memory journal, and a crash at any point. */

import { reply, scriptedModel, world } from "@orgate/core/testing";
import { defineTool, sha256 } from "orgate";
import * as z from "zod";

const paid: string[] = [];
const pay = defineTool({
  name: "pay",
  description: "Pays.",
  input: z.strictObject({ to: z.string() }),
  effects: ["spend"],
  run: ({ to }) => paid.push(to),
});

const model = scriptedModel([reply.calls([{ tool: "pay", args: { to: "bob" } }]), reply.text("I cannot tell whether bob was paid.")]);
const w = world({ hash: sha256, model, tools: [pay], crashes: [{ of: "effect", when: "after", nth: 0 }] });

const state = await w.run("pay bob");
model.done(); // every step of the script was used, and no other call was made
console.log(state.last?.ending, "processes:", w.processes(), "paid:", paid.length, "unknown:", state.unknowns.size);
