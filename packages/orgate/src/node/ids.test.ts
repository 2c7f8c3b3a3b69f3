import { isSessionId } from "@orgate/core/vocab";
import { afterEach, expect, test, vi } from "vitest";
import { randomIds } from "./ids.ts";

afterEach(() => void vi.useRealTimers());

test("L-27 session ids are valid, never the same twice, and in order of time", () => {
  vi.useFakeTimers();
  const ids = [0, 1, 1_000, 1_700_000_000_000, 1_700_000_000_001, 4_000_000_000_000].map((now) => {
    vi.setSystemTime(now);
    return randomIds.session();
  });
  expect(ids.every(isSessionId)).toBe(true);
  expect([...ids].sort()).toEqual(ids);
  const many = Array.from({ length: 10_000 }, () => randomIds.session());
  expect(new Set(many).size).toBe(many.length);
  expect(new Set(Array.from({ length: 1_000 }, () => randomIds.intent())).size).toBe(1_000);
  expect(randomIds.approval()).toMatch(/^a_[0-9a-v]{16}$/);
});
