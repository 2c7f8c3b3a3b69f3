import { expect, test } from "vitest";
import { isKnown } from "./target-facts.ts";

const journal = { isKnown: (set: string, values: readonly string[]) => set === "domains" && values.includes("own.example") };
const ownDomain = (value: string): boolean => isKnown({ journal }, { kind: "recipient", known: ["people", "domains"] }, value);

test.each([
  ["name@own.example", true],
  ["name+tag@own.example", true],
  ["Name@OWN.example", true],
  ["mailto:name@own.example", true],
  ["https://own.example/x", true],
  ["https://user@own.example/x", true],
  ["own.example", true],
  ["name%evil.test@own.example", false],
  ["name%evil.test%x@own.example", false],
  ["evil.test!name@own.example", false],
  ["own.example!name@evil.test", false],
  ['"name@evil.test"@own.example', false],
  ['"name"@own.example', false],
  ["name(evil.test)@own.example", false],
  ["name@(evil.test)own.example", false],
  ["@evil.test:name@own.example", false],
  ["mailto:name%40evil.test@own.example", false],
  ["mailto:name%evil.test@own.example", false],
  ["name@own.example%evil.test", false],
  ["name@evil.test@own.example", false],
  ["user:name@own.example", false],
  ["evil.test/@own.example", false],
  ["https://evil.test/@own.example", false],
  ["https://own.example@evil.test/", false],
  ["https://evil.test\\@own.example/", false],
  ["203.0.113.7", false],
])("G-31 %s is of the own domain: %s", (value, is) => {
  expect(ownDomain(value)).toBe(is);
});
