import { describeFault } from "@orgate/core";
import { wireProblem } from "@orgate/protocol";
import { expect, test } from "vitest";
import { toOperationFault } from "./input.ts";

const describe = (...[problem, name]: Parameters<typeof toOperationFault>) => describeFault(toOperationFault(problem, name).fault);

test("a server that does not know the key, or whose policies refuse it, is told with the variable that holds the key", () => {
  expect(describe(wireProblem("unauthenticated", "nobody is known by this key", "issue another"), "schedules")).toEqual({
    message: "key `$ORGATE_API_KEY`: nobody is known by this key",
    hint: "issue another",
  });
  expect(describe(wireProblem("forbidden", "`ada` may not pause `nightly`", ""), "pauseSchedule").message).toBe(
    "`$ORGATE_API_KEY` may not call `pauseSchedule`: `ada` may not pause `nightly`",
  );
});

test("each problem of an input is named once", () => {
  const issues = [
    { path: "query.x", message: "must be a number" },
    { path: "query.y", message: "must be a text" },
  ];
  expect(describe({ ...wireProblem("bad-request", "`query.x` must be a number", ""), issues }, "schedules")).toEqual({
    message: "`query.x` must be a number; `query.y` must be a text",
    hint: "`orgate call describe` prints the schema of every operation",
  });
});
