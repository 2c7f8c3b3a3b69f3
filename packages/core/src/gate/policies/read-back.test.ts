import { expect, test } from "vitest";
import { restoreFacts } from "./read-back.ts";

test("G-20 a text that leaves, read as a whole, is read back as a text that leaves and as no target", () => {
  const note = { links: [], addresses: ["a@b.test"], vouched: true, inRequest: true, seenUnder: [] };
  const { targets, outgoing } = restoreFacts({ facts: { note } }).aims();
  expect([targets, outgoing]).toEqual([{}, { note }]);
});
