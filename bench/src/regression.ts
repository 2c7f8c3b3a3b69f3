/**
 * `npm run bench:counts`: a few seconds. What an iteration adds, counted, against what bench/counts.json says it added when that was written;
 * ratios to the floors are printed beside it. `-- --record` writes the file anew, `-- --counts FILE` takes another.
 *
 * It fails when a count is ten times what is recorded, and never because of time
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import { type CedarGate, cedarGate, type Engine, loadPolicies } from "@orgate/core/gate";
import { cedarEngine, createRuntime, sha256 } from "orgate";
import { bareTable, countStored } from "./floors.ts";
import { recordStatements, totalOf } from "./growth/statements.ts";
import { compare, ratio } from "./measure.ts";
import { checkRun, inFolder, USER } from "./places.ts";
import { digits } from "./report.ts";
import { agent, countingModel, lookup } from "./workload.ts";

/** Per iteration. */
export const NAMES = ["events", "appends", "bytes", "pages", "statements", "cedarCalls", "modelCalls"] as const;
export type Counts = Readonly<Record<(typeof NAMES)[number], number>>;
const countsBy = (count: (name: keyof Counts) => number): Counts => Object.fromEntries(NAMES.map((name) => [name, count(name)])) as Counts; // every name has a value

const COUNTED = 200; // long enough that forgetting decisions shows: remembered, the ten questions of this work are asked once
const ITERATIONS = 100;
const ORDER_OF_MAGNITUDE = 10;
const RECORDED = join(import.meta.dirname, "..", "counts.json");
const POLICIES = [
  'permit (principal, action in [Action::"model", Action::"respond"], resource);',
  'permit (principal, action == Action::"tool:lookup", resource) when { context.args.path like "docs/*" };',
  'forbid (principal, action == Action::"tool:lookup", resource) when { context.labels.contains("secret") };',
].join("\n");

type Loop = Readonly<{ run(iterations: number): Promise<void>; totals(): Omit<Counts, "statements">; close(): Promise<void> }>;

function gateOf(asked: () => void): CedarGate {
  const cedar = cedarEngine();
  const engine: Engine = {
    ...cedar,
    decide(kept, question) {
      asked();
      return cedar.decide(kept, question);
    },
  };
  const file = { path: "bench.cedar", name: "bench", text: POLICIES, shadow: false };
  const loaded = loadPolicies([file], { agents: [], users: [], tools: [lookup] }, engine);
  if (loaded.kind === "refused") throw new Error(JSON.stringify(loaded.problems[0]));
  return cedarGate(loaded.set, engine, sha256);
}

/** The loop as users run it, on SQLite, with a gate and a model that count. */
async function openLoop(directory: string, powerCut: "lose-nothing" | "lose-last-moments"): Promise<Loop> {
  let [due, cedarCalls, modelCalls] = [0, 0, 0];
  const gate = gateOf(() => {
    cedarCalls += 1;
  });
  const model = () => {
    const counting = countingModel(due);
    const ask: typeof counting.ask = (...request) => {
      modelCalls += 1;
      return counting.ask(...request);
    };
    return { ...counting, ask };
  };
  const runtime = await createRuntime({ directory, agents: [agent], gate, principal: USER, powerCut, model });
  return {
    async run(iterations) {
      due = iterations;
      checkRun(await runtime.run("bench", "go").result, iterations);
    },
    totals() {
      const { entries, appends, bytes } = countStored(directory);
      return { events: entries, appends, bytes, pages: pagesIn(directory), cedarCalls, modelCalls };
    },
    close: () => runtime.close(),
  };
}

function pagesIn(directory: string): number {
  const db = new DatabaseSync(join(directory, "journal.db"), { readOnly: true });
  const pages = Number(db.prepare("PRAGMA page_count").get()?.page_count);
  db.close();
  return pages;
}

/** What one iteration adds: a session of so many less one of none, which carries the opening and the ending. Seals come by the clock, and are not counted in bytes. */
export const countIteration = (iterations: number): Promise<Counts> =>
  inFolder(async (folder) => {
    const loop = await openLoop(folder, "lose-last-moments");
    let statements = 0;
    const run = async (n: number): Promise<Counts> => {
      statements += totalOf(await recordStatements(() => loop.run(n))).calls;
      return { ...loop.totals(), statements };
    };
    const [before, between, after] = [await run(0), await run(0), await run(iterations)];
    await loop.close();
    return countsBy((name) => (after[name] - between[name] - (between[name] - before[name])) / iterations);
  });

/** What is ten times what it was, in words; nothing when all is well. */
export function excessesOf(found: Counts, recorded: Counts): readonly string[] {
  return NAMES.filter((name) => !(found[name] <= recorded[name] * ORDER_OF_MAGNITUDE)).map(
    (name) => `${name} per iteration: ${digits(found[name])}, recorded ${digits(recorded[name])}`,
  );
}

export function decodeCounts(text: string): Counts {
  const found: Readonly<Record<string, unknown>> = JSON.parse(text);
  const read = (name: keyof Counts): number => {
    const value = found[name];
    if (typeof value !== "number" || !(value > 0)) throw new Error(`\`${name}\` is not a number above zero: run with --record`);
    return value;
  };
  return countsBy(read);
}

/** For the eye: no test asks for them. */
const printRatios = (bytesPerIteration: number): Promise<void> =>
  inFolder(async (folder) => {
    const half = "x".repeat(Math.round(bytesPerIteration / 2));
    for (const synchronous of ["off", "full"] as const) {
      const place = join(folder, synchronous);
      const loop = await openLoop(place, synchronous === "full" ? "lose-nothing" : "lose-last-moments");
      const bare = bareTable(place, synchronous);
      const inserts = () => {
        for (let i = 0; i < ITERATIONS * 2; i += 1) bare.insert(half);
      };
      const [ours, floor] = await compare(
        [
          { label: "loop", units: ITERATIONS, run: () => loop.run(ITERATIONS) },
          { label: "two bare inserts", units: ITERATIONS, run: inserts },
        ],
        { rounds: 3, warmUps: 2 },
      );
      bare.close();
      await loop.close();
      if (ours === undefined || floor === undefined) throw new Error("nothing was measured");
      const figures = `CPU ${digits(ours.cpu.median)} µs, wall ${digits(ours.wall.median)} µs per iteration`;
      const to = `CPU ${digits(ratio(ours, floor, "cpuUs"))}×, wall ${digits(ratio(ours, floor, "wallUs"))}×`;
      console.log(`loop, synchronous ${synchronous.toUpperCase()}: ${figures}; to two bare inserts of the same bytes: ${to}`);
    }
  });

if (import.meta.main) {
  const { values } = parseArgs({ options: { record: { type: "boolean", default: false }, counts: { type: "string", default: RECORDED } } });
  const found = await countIteration(COUNTED);
  if (values.record) writeFileSync(values.counts, `${JSON.stringify(found, null, 2)}\n`);
  const recorded = decodeCounts(readFileSync(values.counts, "utf8"));
  for (const name of NAMES)
    console.log(`${name.padEnd(11)} ${digits(found[name]).padStart(8)} per iteration, recorded ${digits(recorded[name])}`);
  const excesses = excessesOf(found, recorded);
  for (const excess of excesses) console.error(`ten times as much: ${excess}`);
  if (excesses.length > 0) process.exitCode = 1;
  else await printRatios(found.bytes);
}
