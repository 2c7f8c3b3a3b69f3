// `npm run check`. R-6 every check runs, each with a line of its own; findings carry file and line; any finding fails; nothing is written.
import { join } from "node:path";
import { checkHouse } from "./check-house.ts";
import { checkLocks, checkLocksComplete, checkOneVersion, checkPins } from "./check-manifests.ts";
import { checkPageLengths, checkReadme, checkSpec } from "./check-pages.ts";
import { checkRooms } from "./check-rooms.ts";
import { checkText } from "./check-text.ts";
import { checkBiome, checkOutsideTypes, checkTypes } from "./check-tools.ts";
import type { Finding } from "./tree.ts";

export type Check = readonly [name: string, find: () => readonly Finding[]];

export function checksOf(root: string): readonly Check[] {
  return [
    ["types of core alone", () => checkTypes(root, "packages/core")],
    ["types of the protocol alone", () => checkTypes(root, "packages/protocol")],
    ["types of symbi alone", () => checkTypes(root, "packages/symbi")],
    ["types of the console", () => checkTypes(root, "packages/console")],
    ["types of the whole tree", () => checkTypes(root, ".")],
    ["types of the comparison with peers", () => checkOutsideTypes(root, "bench/peers")],
    ["types of the cluster's laboratory", () => checkOutsideTypes(root, "e2e/cluster")],
    ["lint and format", () => checkBiome(root)],
    ["imports between rooms", () => checkRooms(root)],
    ["sizes, names, cycles and directions", () => checkHouse(root)],
    ["no registry host, machine path, key or unfinished merge", () => checkText(root, process.env)],
    ["exact pins", () => checkPins(root)],
    ["one version", () => checkOneVersion(root)],
    ["lock files without hosts", () => checkLocks(root)],
    ["lock files complete", () => checkLocksComplete(root)],
    ["length of pages", () => checkPageLengths(root)],
    ["the two commands of README", () => checkReadme(root)],
    ["rules cited by tests", () => checkSpec(root)],
  ];
}

/** Prints as it goes; true when nothing was found. A check that throws is a finding, and the others still run. */
export function runChecks(checks: readonly Check[], print: (line: string) => void): boolean {
  const findings = checks.flatMap(([name, find]) => {
    const from = performance.now();
    const found = findOrFail(name, find);
    const took = `${((performance.now() - from) / 1000).toFixed(2)} s`;
    print(`${found.length === 0 ? "ok  " : "FAIL"} ${name} (${took})${found.length === 0 ? "" : `: ${found.length}`}`);
    return found;
  });
  for (const { file, line, message } of findings) print(`${file}:${line} ${message}`);
  return findings.length === 0;
}

function findOrFail(name: string, find: Check[1]): readonly Finding[] {
  try {
    return find();
  } catch (error) {
    return [{ file: "scripts/check.ts", line: 1, message: `${name}: ${error instanceof Error ? error.message : String(error)}` }];
  }
}

if (import.meta.main) {
  const clean = runChecks(checksOf(join(import.meta.dirname, "..")), (line) => console.log(line));
  process.exitCode = clean ? 0 : 1;
}
