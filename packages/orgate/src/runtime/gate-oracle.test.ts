import type { CedarRecord, Engine, PolicyJson } from "@orgate/core/gate";
import { expect, test } from "vitest";
import { sha256 } from "../node/crypto.ts";
import { cedarEngine } from "../policies/cedar-engine.ts";
import { runOracle } from "./fixtures/gate-oracle.ts";

const SEED = 20_261_115;
const CASES = 10_000;

test("G-10 every decision is what the official engine says of the whole set, with everything there is to read", {
  timeout: 120_000,
}, () => {
  const { tally, mismatch } = runOracle({ seed: SEED, cases: CASES, engine: cedarEngine(), hash: sha256 });
  expect(mismatch).toBeNull();
  expect(tally.cases).toBe(CASES);
  for (const ending of ["allow", "forbid", "ask", "error"] as const) expect([ending, tally[ending] / CASES]).toSatisfy(atLeast(0.15));
  expect(["nested", tally.nested / CASES]).toSatisfy(atLeast(0.3));
  expect(["hits", tally.hits / CASES]).toSatisfy(atLeast(0.1));
  expect(tally.modify).toBeGreaterThan(0);
});

test("G-10 a slicer that drops one forbid is found out within 1,000 cases", { timeout: 60_000 }, () => {
  const engine = cedarEngine();
  const careless: Engine = { ...engine, keep: (policies) => engine.keep(withoutOneForbid(policies)) };
  expect(runOracle({ seed: SEED, cases: 1_000, engine: careless, hash: sha256 }).mismatch).not.toBeNull();
});

test("G-10 a projector that drops one path is found out within 1,000 cases", { timeout: 60_000 }, () => {
  const engine = cedarEngine();
  const careless: Engine = { ...engine, decide: (kept, q) => engine.decide(kept, { ...q, context: withoutOnePath(q.context) }) };
  expect(runOracle({ seed: SEED, cases: 1_000, engine: careless, hash: sha256 }).mismatch).not.toBeNull();
});

test("G-10 an entity that is not sent is found out within 1,000 cases", { timeout: 60_000 }, () => {
  const engine = cedarEngine();
  const careless: Engine = { ...engine, decide: (kept, q) => engine.decide(kept, { ...q, entities: q.entities.slice(0, -1) }) };
  expect(runOracle({ seed: SEED, cases: 1_000, engine: careless, hash: sha256 }).mismatch).not.toBeNull();
});

const atLeast =
  (share: number) =>
  (found: unknown): boolean =>
    Array.isArray(found) && found[1] >= share;

function withoutOneForbid(policies: Readonly<Record<string, PolicyJson>>): Readonly<Record<string, PolicyJson>> {
  const dropped = Object.entries(policies).find(([, p]) => p.effect === "forbid")?.[0];
  return Object.fromEntries(Object.entries(policies).filter(([id]) => id !== dropped));
}

/** The first that lies inside a record. */
function withoutOnePath(context: CedarRecord): CedarRecord {
  const found = Object.entries(context).find(([, v]) => typeof v === "object" && !Array.isArray(v) && !("__entity" in v));
  if (found === undefined) return context;
  const [name, inner] = found;
  return { ...context, [name]: Object.fromEntries(Object.entries(inner).slice(1)) };
}
