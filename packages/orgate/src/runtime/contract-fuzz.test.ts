import fc from "fast-check";
import { expect, test } from "vitest";
import { fuzzContracts } from "./fixtures/contract-fuzz.ts";

test("T-17 T-19 T-20 T-40 for any manifest and values: the fixed items as written, each placeholder one item, or refused; hosts, scopes, requests and texts alike", {
  timeout: 120_000,
}, () => {
  fc.assert(
    fc.property(fc.nat(2 ** 31), (seed) => {
      expect(fuzzContracts({ seed, cases: 200 }).violation).toBeNull();
    }),
    { numRuns: 60 },
  );
});

test("T-17 what is looked for turns up: built, refused for a dash and otherwise, in scope, requests, texts that load", {
  timeout: 120_000,
}, () => {
  const { tally, violation } = fuzzContracts({ seed: 20_261_115, cases: 6_000 });
  expect(violation).toBeNull();
  for (const name of ["built", "dash", "refused", "hosts", "inScope", "requests", "patterns", "fit", "texts", "loaded"] as const)
    expect([name, tally[name] > (name === "loaded" ? 0 : 10)]).toEqual([name, true]);
});

test("T-17 a value that became two items is found out within 1,000 cases, and so is a fixed item that changed", { timeout: 60_000 }, () => {
  const split = fuzzContracts({
    seed: 1,
    cases: 1_000,
    broken: (argv) => argv.flatMap((item) => (item.includes(" ") ? item.split(" ") : [item])),
  });
  const changed = fuzzContracts({ seed: 1, cases: 1_000, broken: (argv) => argv.map((item) => (item === "--flag" ? "--Flag" : item)) });
  expect([split.violation, changed.violation].map((v) => v?.includes("argv"))).toEqual([true, true]);
});
