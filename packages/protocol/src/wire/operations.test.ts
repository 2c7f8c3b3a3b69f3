import { expect, test } from "vitest";
import * as z from "zod";
import { as, defineOperations, type Operation } from "./operation.ts";
import { OPERATION_NAMES, OPERATIONS } from "./operations.ts";
import { OPERATION_WORDS } from "./words/index.ts";
import { get, post, tagged } from "./words/words.ts";

const all: readonly (readonly [string, Operation])[] = OPERATION_NAMES.map((name) => [name, OPERATIONS[name]]);

test("W-4 each route's path names exactly the parameters that its decoder takes, and no two routes are the same", () => {
  for (const [name, { path, params }] of all) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, key]) => key);
    const { properties = {} } = z.toJSONSchema(params, { io: "input" });
    expect(Object.keys(properties), name).toEqual(named);
  }
  const places = all.map(([, { method, path }]) => `${method} ${path.replace(/\{\w+\}/g, "{}")}`);
  expect(new Set(places).size).toBe(places.length);
});

test("W-4 what a route's decoders do not know is refused", () => {
  expect(OPERATIONS.say.body.safeParse({ text: "hi", more: 1 }).success).toBe(false);
  expect(OPERATIONS.session.params.safeParse({ session: "../etc" }).success).toBe(false);
  expect(OPERATIONS.sessions.query.parse({ limit: "5" })).toEqual({ limit: 5 });
  expect(OPERATIONS.sessions.query.safeParse({ limit: "501" }).success).toBe(false);
  expect(OPERATIONS.sessions.query.safeParse({ order: "asc" }).success).toBe(false);
  expect(OPERATIONS.follow.query.parse({ after: "now" })).toEqual({ after: "now" });
  expect(OPERATIONS.follow.query.parse({ after: "12" })).toEqual({ after: 12 });
});

test("W-5 what changes something needs an idempotency key; what only asks does not", () => {
  const asks = ["ticket", "uiChat", "checkPolicies", "evaluatePolicies"];
  for (const [name, { method, idempotencyKey }] of all) expect(idempotencyKey, name).toBe(method === "POST" && !asks.includes(name));
});

test("words and schemas are bound by name: one without the other does not compile", () => {
  const words = tagged("things", {
    things: get({ path: "/things", act: "self", summary: "List things." }),
    change: post({ path: "/things/{thing}/change", act: "self", summary: "Change a thing.", status: 202 }),
  });
  const answers = as(z.string());
  const change = { params: z.strictObject({ thing: z.string() }), answers };
  expect(defineOperations(words, { things: { answers }, change })).toMatchObject({
    things: { method: "GET", status: 200, tag: "things", idempotencyKey: false },
    change: { method: "POST", status: 202, params: change.params, idempotencyKey: true },
  });
  // @ts-expect-error `change` has words and no schemas
  defineOperations(words, { things: { answers } });
  // @ts-expect-error `other` has schemas and no words
  defineOperations(words, { things: { answers }, change, other: { answers } });
  // @ts-expect-error its path has a parameter
  defineOperations(words, { things: { answers }, change: { answers } });
});

test("every summary is a sentence that begins with a verb, and what only a connection can use says why", () => {
  for (const name of OPERATION_NAMES) {
    const { summary, onlyConnected } = OPERATION_WORDS[name];
    expect(summary, name).toMatch(/^[A-Z][a-z]+ .*[^.]\.$/);
    const isStream = ["events", "ui-stream"].includes(OPERATIONS[name].answers.kind);
    expect(onlyConnected !== undefined, name).toBe(isStream || name === "ticket");
  }
});
