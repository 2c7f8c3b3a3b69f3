import { expect, test } from "vitest";
import { callId, type JsonObject } from "../../vocab/index.ts";
import { type Need, toArgTypes, Unrepresentable } from "./arg-types.ts";
import { projectLists, toListSchema, toListTypes } from "./lists.ts";

const WHOLE: Need = { whole: true, fields: new Map() };
const needs = (list: string, field: string): Need => ({
  whole: false,
  fields: new Map([[list, { whole: false, fields: new Map([[field, WHOLE]]) }]]),
});
const schema = {
  type: "object",
  required: ["flights"],
  properties: {
    flights: {
      type: "array",
      items: {
        type: "object",
        required: ["cabin"],
        properties: {
          cabin: { type: "string" },
          price: { type: "number" },
          stops: { type: "array", items: { type: "string" } },
        },
      },
    },
    counts: { type: "array", items: { type: ["integer", "null"] } },
    any: { type: "array", items: { type: "object", properties: { free: { type: "object" } } } },
    a_b: { type: "array", items: { type: "string" } },
    a: {
      type: "object",
      properties: { b: { type: "array", items: { type: "string" } }, tags: { type: "array", items: { type: "string" } } },
    },
  },
};
const { type } = toArgTypes(schema);
const call = (args: JsonObject, inexact: readonly string[] = []) =>
  ({
    kind: "call",
    call: callId("1.1"),
    tool: "t",
    toolDigest: null,
    effects: [],
    args,
    inexact,
    resource: { type: "Tool", id: "t" },
  }) as const;
const lists = (args: JsonObject, need: Need = WHOLE) => projectLists(call(args), type, need);
const decimal = (arg: string) => ({ __extn: { fn: "decimal", arg } });

test("G-42 every list is there with its size, and each field of its elements as a list of its own; two of one name are not", () => {
  expect([...toListTypes(type)].map(([name, { required }]) => (required ? name : `${name}?`))).toEqual([
    "flights",
    "flights_cabin",
    "flights_price",
    "flights_stops",
    "counts?",
    "any?",
    "any_free?",
    "a_tags?",
  ]);
  const attributes = (name: string) => {
    const list = toListTypes(type).get(name);
    return list === undefined ? null : Object.keys(toListSchema(list.of)["attributes"] as object);
  };
  expect(attributes("flights")).toEqual(["size"]);
  expect(attributes("flights_cabin")).toEqual(["size", "values"]);
  expect(attributes("flights_price")).toEqual(["size", "values", "min", "max", "sum"]);
});

test("G-42 values, least, most and sum are exact, and an element that lacks a field is not among its values", () => {
  const flights = [
    { cabin: "economy", price: 0.1, stops: ["fra", "cdg"] },
    { cabin: "business", price: 0.2, stops: [] },
    { cabin: "economy" },
  ];
  expect(lists({ flights, counts: [3, -1] })).toEqual({
    flights: { size: 3 },
    flights_cabin: { size: 3, values: ["economy", "business", "economy"] },
    flights_price: {
      size: 2,
      values: [decimal("0.1"), decimal("0.2")],
      min: decimal("0.1000"),
      max: decimal("0.2000"),
      sum: decimal("0.3000"),
    },
    flights_stops: { size: 2, values: ["fra", "cdg"] },
    counts: { size: 2, values: [3, -1], min: -1, max: 3, sum: 2 },
  });
  expect(lists({ flights: [] })).toMatchObject({ flights: { size: 0 }, flights_price: { size: 0, values: [], sum: decimal("0.0000") } });
  expect(lists({ flights: [] })["flights_price"]).not.toHaveProperty("min");
  expect(lists({ flights, counts: null })).not.toHaveProperty("counts");
});

test("G-42 a list that holds what Cedar cannot is refused where that is read, and its size is told all the same", () => {
  expect(lists({ flights: [], counts: [1, null] }, needs("counts", "size"))).toEqual({ counts: { size: 2 } });
  for (const field of ["values", "min", "max", "sum"])
    expect(() => lists({ flights: [], counts: [1, null] }, needs("counts", field))).toThrow(Unrepresentable);
  expect(() => lists({ flights: "none" }, needs("flights", "size"))).toThrow("args/flights is no list");
  expect(() => lists({ flights: [{ cabin: "x", price: 0.00001 }] }, needs("flights_price", "sum"))).toThrow(Unrepresentable);
  const sum = Number.MAX_SAFE_INTEGER;
  expect(() => lists({ flights: [], counts: [sum, sum] }, needs("counts", "sum"))).toThrow("out of range");
  expect(() =>
    projectLists(call({ flights: [{ cabin: "x", price: 1 }] }, ["/flights/0/price"]), type, needs("flights_price", "max")),
  ).toThrow("says more than a number can hold");
});
