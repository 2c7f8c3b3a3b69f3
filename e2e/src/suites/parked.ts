/** Rule 10 in numbers: what a fresh process needs does not depend on how many sessions wait for people. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Violation, verifyJournal, withOpenProject } from "../checks.ts";
import { APPROVER, approveArgs, type Desk, makeDesk, type OpenQuestion, parked } from "../stand/desk.ts";
import { PERSON } from "../stand/script.ts";
import type { Victim } from "../stand/stand.ts";
import type { Query } from "../stand/wire.ts";
import type { Bench, Suite } from "../suite.ts";
import { ended } from "./answers.ts";

const FEW = 10;
const MANY = 10_000;
const RUNS = { short: 5, long: 11 } as const;
const MOST_MORE_BYTES = 5_000_000;

/** Reads that do not grow with waiting sessions: one row, one for each halted scope, one for each open unknown outcome, whose sum is checked (J-24). */
const SMALL = new Set(["format", "indexed", "halts", "sqlite_schema", "sqlite_master", "pragma_table_info", "unknowns", "count_slots"]);

async function deskWith(bench: Bench, count: number): Promise<Desk> {
  const desk = await makeDesk(bench.stand);
  const [{ session } = { session: "" }] = await parked(desk, "one");
  await ended(await desk.program("many.ts", [session, String(count - 1)]), 0);
  const rows = await desk.json<readonly OpenQuestion[]>(["approvals", "list", "--limit", String(count + 1)]);
  if (rows.length !== count) throw new Error(`${rows.length} questions wait, not ${count}`);
  return desk;
}

// memory

/** Without the garbage collector's and the compiler's own threads, whose timing would be measured instead. */
const CALM = ["--single-threaded", "--min-semi-space-size=1", "--max-semi-space-size=1"];

async function rssOf(desk: Desk): Promise<number> {
  const process = await ended(await desk.program("opener.ts", [], {}, CALM), 0);
  return (await process.until("memory")).rss;
}

const median = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

async function sameMemory({ long, say }: Bench, few: Desk, many: Desk): Promise<readonly Violation[]> {
  const [a, b]: [number[], number[]] = [[], []];
  for (let i = 0; i < (long ? RUNS.long : RUNS.short); i += 1) {
    a.push(await rssOf(few));
    b.push(await rssOf(many));
  }
  const more = median(b) - median(a);
  const spread = (n: readonly number[]): string => `${mb(Math.min(...n))} to ${mb(Math.max(...n))}`;
  say(
    `RSS, median of ${a.length}: ${mb(median(a))} with ${FEW} parked sessions (${spread(a)}), ${mb(median(b))} with ${MANY} (${spread(b)})`,
  );
  return more <= MOST_MORE_BYTES ? [] : [`Q-2 ${MANY} parked sessions take ${mb(more)} more than ${FEW}`];
}

// queries

/** While something is waited for the database is looked at now and then: so many looks more or less say nothing, and hide nothing of ten thousand. */
const LOOKS = 20;
/** Opening a journal looks at its newest seals and at the entries they name: windows of a fixed size, which ten sessions do not fill (J-22). */
const WINDOW = 256;
const isWindow = (sql: string): boolean =>
  /FROM seals WHERE writer = \?.* LIMIT (?:32|256)$/.test(sql) ||
  sql.startsWith("SELECT a.hash, a.first + a.count - 1 AS last FROM streams");

/** One row by the table's own order, or any: SQLite calls it a scan. */
const isOneRow = (sql: string, table: string): boolean =>
  (table === "appends" && sql.includes("FROM appends ORDER BY id DESC LIMIT 1")) ||
  (table === "seals" && sql === "SELECT 1 FROM seals LIMIT 1");

const queriesOf = async (process: Victim): Promise<readonly Query[]> => (await process.until("queries")).queries;
const sum = (queries: readonly Query[], of: (q: Query) => number): number => queries.reduce((n, q) => n + of(q), 0);

/** Plans of what was really run, by the database that it was run on. */
function scansIn(desk: Desk, queries: readonly Query[]): readonly string[] {
  const db = new DatabaseSync(join(desk.directory, "journal.db"), { readOnly: true });
  try {
    return queries
      .filter(({ sql }) => /^\s*(SELECT|INSERT|UPDATE|DELETE)/.test(sql))
      .flatMap(({ sql }) => {
        const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
        const tables = plan.flatMap((step) => /^SCAN (\w+)/.exec(String(step.detail))?.[1] ?? []);
        const given = new Set([...sql.matchAll(/json_each\(\?\) AS (\w+)/g)].map(([, name]) => name)); // a list that the statement was handed: no table
        return tables
          .filter((table) => !SMALL.has(table) && !given.has(table) && !isOneRow(sql, table))
          .map((table) => `it scans ${table}: ${sql}`);
      });
  } finally {
    db.close();
  }
}

/** `grows`: known to look at all that is parked; told, not judged. */
type Counted = Readonly<{ name: string; start(desk: Desk): Promise<Victim>; grows?: boolean }>;
const plan = { counted: true } as const;
const question = async (desk: Desk): Promise<string> =>
  (await desk.json<readonly OpenQuestion[]>(["approvals", "list", "--limit", "1"]))[0]?.approval ?? "";

const COUNTED: readonly Counted[] = [
  { name: "a process that opens the project", start: (desk) => desk.program("opener.ts", [], plan) },
  { name: "approvals list", start: (desk) => desk.cli(["approvals", "list", "--limit", String(FEW - 1), "--json"], plan) },
  { name: "sessions list", start: (desk) => desk.cli(["sessions", "list", "--limit", String(FEW), "--json"], plan) },
  { name: "approvals show", start: async (desk) => desk.cli(["approvals", "show", await question(desk), "--json"], plan) },
  {
    name: "approvals approve",
    start: async (desk) => desk.cli([...approveArgs(await question(desk), APPROVER), "--json"], plan),
  },
  { name: "halt", start: (desk) => desk.cli(["halt", "all", "--reason", "drill", "--as", PERSON, "--json"], plan), grows: true },
  {
    name: "resume-work",
    start: (desk) => desk.cli(["resume-work", "all", "--reason", "over", "--as", PERSON, "--json"], plan),
  },
];

async function sameQueries({ say }: Bench, few: Desk, many: Desk, { name, start, grows = false }: Counted): Promise<readonly Violation[]> {
  const [a, b] = [await queriesOf(await ended(await start(few), 0)), await queriesOf(await ended(await start(many), 0))];
  const [times, rows] = [(q: readonly Query[]) => sum(q, (x) => x.times), (q: readonly Query[]) => sum(q, (x) => x.rows)];
  say(`${name}: ${times(b)} queries, ${rows(b)} rows; with ${FEW}: ${times(a)}, ${rows(a)}`);
  const grown = b.filter(({ sql, times: n, rows: r }) => {
    const before = a.find((q) => q.sql === sql) ?? { times: 0, rows: 0 };
    const more = isWindow(sql) ? WINDOW + LOOKS : LOOKS;
    return !grows && (n > before.times + more || r > before.rows + more);
  });
  return [
    ...grown.map((q) => `Q-2 ${name} grows with what is parked: ${q.times} times, ${q.rows} rows: ${q.sql}`),
    ...scansIn(many, b).map((scan) => `Q-2 ${name}: ${scan}`),
  ];
}

export const parkedSessions: Suite = {
  name: "ten thousand parked sessions",
  async run(bench) {
    const { judge } = bench;
    const few = await deskWith(bench, FEW);
    const many = await deskWith(bench, MANY);
    await judge(`Q-2 a fresh process with ${MANY} parked sessions has the memory of one with ${FEW}`, () => sameMemory(bench, few, many));
    for (const counted of COUNTED)
      await judge(`Q-2 ${counted.name} asks no more of the database, and scans no table, with ${MANY} parked sessions`, () =>
        sameQueries(bench, few, many, counted),
      );
    await judge("Q-2 a statement that scans is found out", async () =>
      scansIn(many, [{ sql: "SELECT id FROM appends WHERE hash = ?", times: 1, rows: 0 }]).length === 1 ? [] : ["it was not"],
    );
    await judge("J-11 the journal of all of them verifies", () =>
      withOpenProject(many.directory, async (store) => verifyJournal(store, many.directory)),
    );
  },
};
