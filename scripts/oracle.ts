/**
 * The long form of the gate's oracle: node scripts/oracle.ts [--cases 100000] [--seed N] [--write]
 * Every decision is made twice, by the gate and by the official engine on the whole set. `--write` records the result in docs/gate-oracle.md.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { cedarEngine } from "../packages/host/src/adapters/cedar-engine.ts";
import { sha256 } from "../packages/host/src/adapters/crypto-node.ts";
import { runOracle, type Tally } from "../packages/host/src/fixtures/gate-oracle.ts";

const { values } = parseArgs({
  options: { cases: { type: "string", default: "100000" }, seed: { type: "string" }, write: { type: "boolean", default: false } },
});
const cases = Number(values.cases);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const began = performance.now();
const engine = cedarEngine();
const { tally, mismatch } = runOracle({ seed, cases, engine, hash: sha256 });
const seconds = (performance.now() - began) / 1_000;

const share = (n: number): string => `${((100 * n) / tally.cases).toFixed(1)} %`;
const KINDS: readonly (readonly [keyof Tally, string])[] = [
  ["allow", "allowed"],
  ["ask", "asked"],
  ["modify", "modified"],
  ["forbid", "denied by a forbid"],
  ["error", "denied because a policy erred"],
  ["nested", "read inside a record of the context"],
  ["hits", "answered from memory"],
];
const rows = KINDS.map(([kind, name]) => `| ${name} | ${tally[kind].toLocaleString("en-US")} | ${share(tally[kind])} |`);
const page = [
  "# The gate's oracle",
  "",
  "Random tools, policies and requests. Each request is decided by the gate (sliced, projected, remembered) and by the official engine on the",
  "whole set with the full context and every entity; verdict, deciding policies and policies that erred must be the same.",
  "`npm test` does 10,000 of them, `node scripts/oracle.ts --write` does 100,000 and writes this page.",
  "",
  `Last run: ${new Date().toISOString().slice(0, 10)}, seed ${seed}, ${tally.cases.toLocaleString("en-US")} cases in ${seconds.toFixed(0)} s, ` +
    `${mismatch === null ? "no difference" : `a difference at case ${mismatch.nth}`}; the engine was replaced ${engine.renewals()} times.`,
  "",
  "| outcome | cases | share |",
  "|---|---|---|",
  ...rows,
  "",
  "The rest is denied because nothing permits it.",
  "",
].join("\n");

console.log(page);
if (mismatch !== null) {
  console.error(JSON.stringify(mismatch, null, 2));
  process.exitCode = 1;
}
if (values.write) writeFileSync(join(import.meta.dirname, "..", "docs", "gate-oracle.md"), page);
