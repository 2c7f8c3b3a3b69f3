import { APICallError, JSONParseError } from "@ai-sdk/provider";
import { describeFault } from "@orgate/core";
import { expect, test } from "vitest";
import { classifyTrouble, isTransientStatus, retryAfterMs, toFault } from "./fault.ts";

const fresh = { status: null, begun: false, now: 0 };
const coded = (code: string): Error => Object.assign(new Error("fetch failed"), { code });
const called = (statusCode: number, more: object = {}) =>
  new APICallError({ message: "no", url: "", requestBodyValues: {}, statusCode, ...more });

test.each([
  ["ECONNREFUSED", { transient: true, again: true, broke: false }],
  ["EAI_AGAIN", { transient: true, again: true, broke: false }],
  ["UND_ERR_CONNECT_TIMEOUT", { transient: true, again: true, broke: false }],
  ["ECONNRESET", { transient: true, again: true, broke: true }],
  ["EPIPE", { transient: true, again: true, broke: true }],
  ["UND_ERR_HEADERS_TIMEOUT", { transient: true, again: true, broke: true }],
  ["ENOTFOUND", { transient: false, again: false, broke: false }],
  ["CERT_HAS_EXPIRED", { transient: false, again: false, broke: false }],
  ["SELF_SIGNED_CERT_IN_CHAIN", { transient: false, again: false, broke: false }],
])("M-6 %s, however deep it lies", (code, told) => {
  const wrapped = new APICallError({ message: "x", url: "", requestBodyValues: {}, cause: new TypeError("x", { cause: coded(code) }) });
  for (const error of [coded(code), wrapped, new AggregateError([new Error("x"), coded(code)])]) {
    expect(classifyTrouble(error, fresh)).toMatchObject({ ...told, detail: expect.stringContaining(code) });
    expect(classifyTrouble(error, { ...fresh, begun: true }).broke).toBe(true);
  }
});

test("M-6 the words of an error are never what decides", () => {
  for (const words of ["429 too many requests", "ECONNRESET", "overloaded", "timeout"])
    expect(classifyTrouble(new Error(words), fresh)).toMatchObject({ transient: false, again: false });
  const cyclic = new Error("round");
  cyclic.cause = cyclic;
  expect(classifyTrouble(cyclic, fresh)).toMatchObject({ transient: false });
});

test("M-4 an answer that cannot be read may have cost something, and is asked for again", () => {
  const unread = new JSONParseError({ text: "{", cause: new Error("x") });
  expect(classifyTrouble(unread, fresh)).toMatchObject({ broke: true, again: true, transient: false });
  expect(classifyTrouble(new Error("what?"), { ...fresh, status: 200 })).toMatchObject({ broke: true, again: true });
  expect(classifyTrouble(called(200, { cause: unread }), fresh)).toMatchObject({ broke: true, again: true });
  expect(classifyTrouble(called(400), { ...fresh, begun: true })).toMatchObject({ broke: true, again: true, transient: false });
  expect(classifyTrouble(called(400), fresh)).toMatchObject({ broke: false, again: false });
});

test("M-6 which statuses, and how long", () => {
  const all = Array.from({ length: 600 }, (_, status) => status);
  expect(all.filter(isTransientStatus)).toEqual([408, 429, 500, 502, 503, 504, 529]);
  expect(retryAfterMs(undefined, 0)).toBeNull();
  expect(retryAfterMs({ "retry-after": "1.5" }, 0)).toBe(1500);
  expect(retryAfterMs({ "retry-after-ms": "-3" }, 0)).toBe(0);
  expect(retryAfterMs({ "retry-after": "2026" }, 0)).toBe(2_026_000); // seconds, not a year
});

test("M-6 the cases of the reference shell: 429 and an overload pass by themselves, an answer that is no JSON does not", () => {
  expect(classifyTrouble(called(429), fresh)).toMatchObject({ transient: true });
  expect(classifyTrouble(called(503, { message: "overloaded" }), fresh)).toMatchObject({ transient: true });
  for (const status of [502, 504]) expect(classifyTrouble(called(status), fresh)).toMatchObject({ transient: true });
  expect(classifyTrouble(new JSONParseError({ text: "{", cause: new Error("x") }), fresh)).toMatchObject({ transient: false });
});

test("M-4 a fault is one line, bounded, and says whether to try again", () => {
  const { fault } = toFault(classifyTrouble(called(503, { message: `busy\n${"x".repeat(2_000)}` }), fresh), (text) => text, {
    id: "p/m",
    host: null,
    addressVariable: null,
    keyVariable: null,
  });
  if (fault.kind !== "model-failed") throw new Error("another fault");
  expect(fault.detail.length).toBeLessThan(600);
  expect(fault.detail).not.toContain("\n");
  expect(describeFault(fault).hint).toContain("later");
});
