import { expect, test } from "vitest";
import { createCache } from "./cache.ts";

test("G-10 the memory is bounded, and keeps what is used", () => {
  const m = createCache<number>(10);
  for (let i = 0; i < 1_000; i += 1) {
    m.set(`k${i}`, i);
    m.get("k0");
  }
  const left = Array.from({ length: 1_000 }, (_, i) => m.get(`k${i}`)).filter((v) => v !== undefined);
  expect(left.length).toBeLessThanOrEqual(10);
  expect(left[0]).toBe(0);
});

test("G-10 a memory of size 0 remembers nothing", () => {
  const m = createCache<number>(0);
  m.set("k", 1);
  expect(m.get("k")).toBeUndefined();
});
