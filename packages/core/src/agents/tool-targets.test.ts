import { expect, test } from "vitest";
import * as z from "zod";
import { toolFacts } from "../vocab/index.ts";
import { defineTool } from "./define-tool.ts";
import type { TargetsDefinition } from "./tool-targets.ts";

const input = z.strictObject({
  to: z.string(),
  body: z.string(),
  amount: z.number().optional(),
  rows: z.array(z.strictObject({ email: z.string(), tags: z.array(z.string()).optional() })).optional(),
  rows_tags: z.string().optional(),
  __odd: z.string().optional(),
});
const make = (aims: TargetsDefinition) => defineTool({ name: "send", description: "sends", input, ...aims, run: () => null });

test("T-4 a target names an argument, its kind, and where it may be known; a kind has sets of its own unless others are named", () => {
  expect(make({ targets: { to: "recipient" } }).targets).toEqual({ to: { kind: "recipient", known: ["people", "domains"], of: null } });
  expect(make({ targets: { to: { kind: "account", known: ["vendors"] } } }).targets).toEqual({
    to: { kind: "account", known: ["vendors"], of: null },
  });
  expect(make({ targets: { to: { kind: "id", of: "event" } } }).targets).toEqual({ to: { kind: "id", known: [], of: "event" } });
  const wrong: readonly [TargetsDefinition, string][] = [
    [{ targets: { cc: "recipient" } }, "`cc`, which is no argument"],
    [{ targets: { __odd: "recipient" } }, "two underscores"],
    [{ targets: { "rows[].emial": "recipient" } }, "`rows[].emial`, which is no argument"],
    [{ targets: { "rows.email": "recipient" } }, "`rows.email`, which is no argument"],
    [{ targets: { "rows[].tags[]": "text" } }, "is called `rows_tags` in policies, and so is another argument"],
    [{ targets: { amount: { kind: "number", per: "amount" } } }, "must name another target of it that is no number"],
    [{ targets: { amount: { kind: "number", per: "to" } } }, "must name another target"],
    [{ targets: { amount: { kind: "number", known: ["payees"] } } }, "a number is in no set"],
    [{ targets: { to: { kind: "account", per: "to" } } }, "only a number has totals"],
    [{ targets: { to: "person" as never } }, "must be one of recipient, host, path, account, id, text, number"],
    [{ targets: { to: { kind: "host", of: "event" } } }, "only an id"],
    [{ targets: { to: { kind: "host", known: ["My Set"] } } }, "is no name"],
    [{ outgoing: ["text"] }, "`text`, which is no argument"],
    [{ learns: [{ set: "people", from: "to" }] }, "no target of it"],
    [{ names: { of: "event", from: "id" as never } }, "must be a function"],
    [{ markup: "strip" as never }, "clean or keep"],
  ];
  for (const [given, detail] of wrong) expect(() => make(given)).toThrow(detail);
});

test("T-4 what a tool aims at is part of what it is: another target is another tool, and one that says nothing is as it was", () => {
  const plain = toolFacts(make({}));
  expect(Object.keys(plain).some((key) => ["targets", "outgoing", "learns", "names", "markup"].includes(key))).toBe(false);
  const aimed = make({ targets: { to: "recipient" }, outgoing: ["body"], learns: [{ set: "people", from: "to" }], markup: "keep" });
  expect(toolFacts(aimed)).toMatchObject({
    targets: { to: { kind: "recipient" } },
    outgoing: ["body"],
    learns: [{ set: "people", from: "to" }],
    markup: "keep",
  });
});

test("T-4 a target may lie inside an argument, and be text that leaves; a number names the target for which it is added up", () => {
  const tool = make({
    targets: { to: "recipient", "rows[].email": "recipient", amount: { kind: "number", per: "rows[].email" }, body: "text" },
    outgoing: ["body"],
    learns: [{ set: "people", from: "rows[].email" }],
  });
  expect(tool.targets).toMatchObject({
    rows_email: { kind: "recipient", path: [{ kind: "field", name: "rows" }, { kind: "each" }, { kind: "field", name: "email" }] },
    amount: { kind: "number", known: [], per: "rows_email" },
    body: { kind: "text", known: [] },
  });
  expect(tool).toMatchObject({ outgoing: ["body"], learns: [{ set: "people", from: "rows_email" }] });
});
