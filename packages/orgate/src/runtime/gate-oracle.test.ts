import type { CedarRecord, CedarValue, Engine, PolicyJson } from "@orgate/core/gate";
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

type Lie = (context: CedarRecord) => CedarRecord;
/** Each lies about one fact, where most conditions read it (they hold the text); where a record has no such fact, it says nothing. */
const LIES: Readonly<Record<string, readonly [reads: string, lie: Lie]>> = {
  "facts.X.inRequest": [".inRequest", (c) => onFacts(c, (one) => flipped(one, "inRequest"))],
  "facts.X.said": [".said", (c) => onFacts(c, (one) => saying(one, "said", { turnsAgo: 9, secondsAgo: 0 }))],
  "facts.X.value": [".value.", (c) => onFacts(c, (one) => saying(one, "value", decimalOf("-7.0")))],
  "facts.X.total": [".total.", (c) => onFacts(c, (one) => within(one, "total", (all) => allAs(all, "500.0")))],
  "facts.X.totalPerTarget": ["totalPerTarget", (c) => onFacts(c, (one) => within(one, "totalPerTarget", (all) => allAs(all, "55.0")))],
  "facts.X.links": ["links.isEmpty())", (c) => onFacts(c, (one) => saying(one, "links", ["c.d", "more"]))],
  "facts.X.record": [".record.status", (c) => onFacts(c, (one) => within(one, "record", (thing) => saying(thing, "status", "lost")))],
  "facts.X.recorded": [".recorded", (c) => onFacts(c, (one) => flipped(one, "recorded"))],
  "facts.X.owned": [".owned", (c) => onFacts(c, (one) => flipped(one, "owned"))],
  "values.inRequest": ["values.inRequest", (c) => within(c, "values", (one) => flipped(one, "inRequest"))],
  "values.count": ["values.count", (c) => within(c, "values", (one) => saying(one, "count", 0))],
  "targets.said": ["targets.said", (c) => within(c, "targets", (one) => saying(one, "said", { turnsAgo: 9, secondsAgo: 0 }))],
  "targets.recorded": ["targets.recorded", (c) => within(c, "targets", (one) => flipped(one, "recorded"))],
  "targets.owned": ["targets.owned", (c) => within(c, "targets", (one) => flipped(one, "owned"))],
  "targets.named": ["targets.named", (c) => within(c, "targets", (one) => flipped(one, "named"))],
  "amount.recorded": ["amount.recorded", (c) => within(c, "amount", (one) => flipped(one, "recorded"))],
  "amount.total": ["amount.total.", (c) => within(c, "amount", (one) => within(one, "total", (all) => allAs(all, "500.0")))],
  "outgoing.inRequest": ["outgoing.inRequest", (c) => within(c, "outgoing", (one) => flipped(one, "inRequest"))],
  "lists.X.size": ["context.lists.", (c) => onLists(c, (one) => saying(one, "size", 5))],
  "lists.X.values": ['contains("docs', (c) => onLists(c, (one) => saying(one, "values", ["docs/a"]))],
  "records.X, which is there": ["context.records has order", (c) => within(c, "records", () => ({}))],
  "records.X.status": ["context.records.order.status", (c) => onRecords(c, (one) => saying(one, "status", "lost"))],
  "records.X.owner": ["context.records.order.owner", (c) => onRecords(c, (one) => saying(one, "owner", "c9"))],
  "records.X.ageSeconds": ["context.records.order.ageSeconds", (c) => onRecords(c, (one) => saying(one, "ageSeconds", 60))],
  "records.X.total": ["context.records.order.total", (c) => onRecords(c, (one) => saying(one, "total", decimalOf("20.5")))],
  "records.X.tags": ["context.records.order.tags", (c) => onRecords(c, (one) => saying(one, "tags", ["c"]))],
  "allRecords.X, which is there": ["allRecords has order", (c) => within(c, "allRecords", () => ({}))],
  "allRecords.X.status.values": ["order.status.values", (c) => onColumns(c, "status", (one) => saying(one, "values", ["pending"]))],
  "allRecords.X.owner.values": ["order.owner.values", (c) => onColumns(c, "owner", (one) => saying(one, "values", ["c1", "c2", "c3"]))],
  "allRecords.X.total.sum": ["order.total.sum", (c) => onColumns(c, "total", (one) => saying(one, "sum", decimalOf("30.0")))],
  "allRecords.X.ageSeconds.max": ["ageSeconds.max", (c) => onColumns(c, "ageSeconds", (one) => saying(one, "max", 60))],
  "allRecords.X.id.size": ["id.size", (c) => onColumns(c, "id", (one) => saying(one, "size", 1))],
  "allRecords.X.tags.values": ["order.tags.values", (c) => onColumns(c, "tags", (one) => saying(one, "values", ["a"]))],
  "subject, who is there": ["has subject", ({ subject: _, ...rest }) => rest],
  "subject.id": ["subject.id", (c) => within(c, "subject", (one) => saying(one, "id", "c9"))],
  "subject.tier": ["subject.tier", (c) => within(c, "subject", (one) => saying(one, "tier", "lead"))],
  "now.epoch": ["now.epoch -", (c) => within(c, "now", (one) => saying(one, "epoch", 0))],
  "now.date": ["now.date", (c) => within(c, "now", (one) => saying(one, "date", "2026-03-29"))],
  "now.weekday": ["now.weekday", (c) => within(c, "now", (one) => saying(one, "weekday", 1))],
  "now.hour": ["now.hour", (c) => within(c, "now", (one) => saying(one, "hour", 5))],
  "now.minute": ["now.minute", (c) => within(c, "now", (one) => saying(one, "minute", 7))],
  "approval, which is there": ["has approval", ({ approval: _, ...rest }) => rest],
  "approval.ageSeconds": ["approval.ageSeconds >", (c) => within(c, "approval", (one) => saying(one, "ageSeconds", 900))],
};

test.each(Object.entries(LIES))(
  "G-10 where most conditions read %s, every decision is what the official engine says, and a lie is found out",
  {
    timeout: 120_000,
  },
  (_, [focus, lie]) => {
    const engine = cedarEngine();
    const lying: Engine = { ...engine, decide: (kept, q) => engine.decide(kept, { ...q, context: lie(q.context) }) };
    const found = runOracle({ seed: SEED, cases: 2_000, engine: lying, hash: sha256, focus }).mismatch;
    expect(found).not.toBeNull();
    const cases = 200 + (found?.nth ?? 0);
    const { tally, mismatch } = runOracle({ seed: SEED, cases, engine, hash: sha256, focus });
    expect([mismatch, tally.cases]).toEqual([null, cases]);
  },
);

const saying = (one: CedarRecord, name: string, value: CedarValue): CedarRecord => (name in one ? { ...one, [name]: value } : one);
const decimalOf = (arg: string) => ({ __extn: { fn: "decimal", arg } });
const allAs = (all: CedarRecord, amount: string): CedarRecord =>
  Object.fromEntries(Object.keys(all).map((name) => [name, decimalOf(amount)]));
const isFields = (value: unknown): value is CedarRecord => typeof value === "object" && value !== null && !Array.isArray(value);
const flipped = (one: CedarRecord, name: string): CedarRecord => (name in one ? { ...one, [name]: one[name] !== true } : one);
function within(one: CedarRecord, name: string, change: (inner: CedarRecord) => CedarRecord): CedarRecord {
  const inner = one[name];
  return isFields(inner) ? { ...one, [name]: change(inner) } : one;
}
const each =
  (name: string) =>
  (context: CedarRecord, change: (one: CedarRecord) => CedarRecord): CedarRecord =>
    within(context, name, (all) => Object.fromEntries(Object.entries(all).map(([key, one]) => [key, isFields(one) ? change(one) : one])));
const onFacts = each("facts");
const onLists = each("lists");
const onRecords = each("records");
const onColumns = (context: CedarRecord, name: string, change: Lie): CedarRecord =>
  each("allRecords")(context, (thing) => within(thing, name, change));

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
