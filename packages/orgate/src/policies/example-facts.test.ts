import { defineTool } from "@orgate/core";
import { caseSchema, cedarGate, decideCase, loadPolicies, refuseCase } from "@orgate/core/gate";
import { expect, test } from "vitest";
import * as z from "zod";
import { sha256 } from "../node/crypto.ts";
import { cedarEngine } from "./cedar-engine.ts";
import { exampleFacts } from "./example-facts.ts";

const base = { description: "d", run: () => null };
const input = z.strictObject({ order: z.string(), to: z.string(), sum: z.number(), text: z.string() });
const act = defineTool({
  ...{ ...base, name: "act", input, effects: ["write"], outgoing: ["text"] },
  targets: { order: { kind: "id", of: "order" }, to: "recipient", sum: { kind: "number", per: "order" } },
});
type Fields = NonNullable<NonNullable<Parameters<typeof defineTool>[0]["records"]>[number]["fields"]>;
const order = (fields: Fields, owner: object) =>
  defineTool({
    ...{ ...base, name: `get_${Object.keys(fields).length}`, input: z.strictObject({}), effects: ["read"], labels: [] },
    records: [{ type: "order", key: "id", fields, ...owner }],
  });
const one = order({ status: "status", at: { path: "at", type: "time" }, odd: "odd" }, { owner: "customer" });
const two = order({ total: { path: "total", type: "number" }, odd: { path: "odd", type: "boolean" } }, {});
const tools = [act, one, two];

test("the example of a tool's facts names what its declarations give policies, and a question that states it is taken", () => {
  const example = exampleFacts(act, tools);
  expect(example).toEqual({
    records: { order: { status: "x", at: 1_767_225_600, owner: "C-7", total: 1.5 } },
    subject: { id: "C-7" },
    facts: {
      order: { inRequest: true, known: false, seenUnder: [] },
      to: { inRequest: true, known: false, seenUnder: [] },
      sum: { inRequest: true, total: { day: "100.00" } },
      text: { links: [] },
    },
  });
  const asked = { name: "asked", agent: "clerk", action: "tool:act", args: { order: "1", to: "a", sum: 1, text: "t" }, verdict: "allow" };
  const cast = { agents: [{ name: "clerk", groups: [] }], users: [], tools };
  expect(refuseCase(caseSchema.parse({ ...asked, ...example }), cast)).toBeNull();
  const text = `permit (principal, action == Action::"tool:act", resource) when { context.targets.owned && context.facts.sum.inRequest };`;
  const engine = cedarEngine();
  const loaded = loadPolicies([{ path: "p.cedar", name: "p", text, shadow: false }], cast, engine);
  if (loaded.kind === "refused") throw new Error(JSON.stringify(loaded.problems));
  const decide = (given: object) =>
    decideCase(caseSchema.parse({ ...asked, ...given }), cedarGate(loaded.set, engine, sha256), tools).verdict.kind;
  expect([decide({}), decide({ ...example, facts: { ...(example["facts"] as object), to: { owned: true } } })]).toEqual(["deny", "allow"]);
});

test("a tool that declares nothing has no facts to state", () => {
  expect(exampleFacts(defineTool({ ...base, name: "wait", input: z.strictObject({}) }), [])).toEqual({});
});
