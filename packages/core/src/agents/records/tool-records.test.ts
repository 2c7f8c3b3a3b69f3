import { expect, test } from "vitest";
import * as z from "zod";
import { toolFacts } from "../../vocab/index.ts";
import { defineTool } from "../define-tool.ts";
import type { RecordDefinition } from "./tool-records.ts";

const input = z.strictObject({ order_id: z.string() });
const make = (...records: readonly RecordDefinition[]) =>
  defineTool({ name: "get_order", description: "reads", input, records, run: () => null });

test("T-4 a tool declares what its output says about things: type, key, fields by path, owner, who can read it, for how long", () => {
  expect(make({ type: "order", key: "id" }).records).toEqual([
    { type: "order", each: "", key: { path: "id" }, fields: {}, owner: null, set: "session", maxAgeSeconds: null, establishes: null },
  ]);
  const full: RecordDefinition = {
    type: "order",
    each: "$.orders[*]",
    key: "id",
    fields: {
      status: "status",
      total: { path: "sum.total", type: "number", optional: true },
      tags: { path: "tags[].name", type: "strings", of: "tag" },
    },
    owner: "customer.id",
    set: "project",
    maxAgeSeconds: 600,
  };
  const [rule] = make(full).records;
  expect(rule?.fields).toEqual({
    status: { path: "status", type: "string", optional: false },
    total: { path: "sum.total", type: "number", optional: true },
    tags: { path: "tags[].name", type: "strings", optional: false, of: "tag" },
  });
  expect(make({ type: "customer", key: { arg: "order_id" }, establishes: "subject" }).records[0]).toMatchObject({
    key: { arg: "order_id" },
    establishes: "subject",
  });
  expect(toolFacts(make(full))).toMatchObject({ records: [{ type: "order", owner: "customer.id" }] });
  expect(Object.keys(toolFacts(make()))).not.toContain("records");
});

test("T-4 a declaration of records that cannot be meant is refused, with the place and the form that works", () => {
  const order = { type: "order", key: "id" } as const;
  const wrong: readonly [readonly RecordDefinition[] | RecordDefinition, string][] = [
    [{ ...order, type: "My order" }, "is no name"],
    [{ ...order, path: "x" } as never, "there is no field `path`"],
    [{ type: "order" } as never, "is no path"],
    [{ ...order, key: "items[].id" }, "leads to one value"],
    [{ ...order, key: { arg: "id" } }, "`id`, which is no argument"],
    [{ ...order, each: "orders" }, "leads to a list"],
    [{ ...order, each: "orders[]", key: { arg: "order_id" } }, "the key of one item"],
    [{ ...order, fields: { "a b": "a" } }, "is no name of a field"],
    [{ ...order, fields: { owner: "owner" } }, "an attribute of every record"],
    [{ ...order, fields: { a: { path: "a", type: "date" as never } } }, "must be one of string, integer"],
    [{ ...order, fields: { a: { path: "a..b" } } }, "is no path"],
    [{ ...order, fields: { a: { path: "a", kind: "string" } as never } }, "has no field `kind`"],
    [{ ...order, set: "world" as never }, "session or project"],
    [{ ...order, set: "project" }, "need `maxAgeSeconds`"],
    [{ ...order, maxAgeSeconds: 0.5 }, "at least 1"],
    [{ ...order, establishes: "user" as never }, "must be subject"],
    [{ ...order, type: "subject" }, "name the kind of thing"],
    [{ ...order, fields: { cards: { path: "cards", type: "integer", of: "card" } } }, "only texts are keys of things"],
    [{ ...order, fields: { cards: { path: "cards", of: "My card" } } }, "is no name"],
    [{ ...order, each: "orders[]", establishes: "subject" }, "establishes no subject"],
    [[order, order], "declares `order` twice"],
    [
      [
        { ...order, establishes: "subject" },
        { ...order, type: "b", establishes: "subject" },
      ],
      "only one of them",
    ],
  ];
  for (const [given, detail] of wrong) expect(() => make(...[given].flat())).toThrow(detail);
});
