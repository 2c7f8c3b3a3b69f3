import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import { openApi } from "./openapi.ts";
import { OPERATION_NAMES, OPERATIONS } from "./operations.ts";

test("W-4 the description is valid OpenAPI 3.1", async () => {
  const validator = new Validator();
  const result = await validator.validate(JSON.parse(JSON.stringify(openApi("0.0.0"))));
  expect(result.errors ?? []).toEqual([]);
  expect(result.valid).toBe(true);
  expect(validator.version).toBe("3.1");
});

test("W-4 every route of the table is in it, with its sentence, its key where it needs one, and its problems", () => {
  const { paths } = openApi("0.0.0") as Readonly<{
    paths: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, unknown>>>>>>;
  }>;
  const told = Object.entries(paths).flatMap(([path, ops]) => Object.entries(ops).map(([method, op]) => ({ path, method, op })));
  expect(told).toHaveLength(OPERATION_NAMES.length);
  for (const name of OPERATION_NAMES) {
    const { path, method, summary, idempotencyKey, status, act } = OPERATIONS[name];
    const op = paths[path]?.[method.toLowerCase()];
    expect(op, name).toMatchObject({
      operationId: name,
      summary,
      responses: { [status]: {}, default: { $ref: "#/components/responses/Problem" } },
    });
    expect(JSON.stringify(op?.parameters ?? []).includes("idempotency-key"), name).toBe(idempotencyKey);
    expect("security" in (op ?? {}), name).toBe(act === "open");
  }
});

test("W-4 no schema in it points outside of itself", () => {
  const text = JSON.stringify(openApi("0.0.0"));
  expect([...new Set(text.match(/"\$ref":"[^"]+"/g))].toSorted()).toEqual([
    '"$ref":"#/components/responses/Problem"',
    '"$ref":"#/components/schemas/Problem"',
  ]);
});
