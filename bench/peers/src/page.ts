/** docs/benchmarks: a page and its plots, made from the results. Nothing on it is written by hand but the method. */
import { OURS, VARIANTS, type Variant } from "./catalogue.ts";
import { aimsOf, winsOf } from "./compare.ts";
import type { CrashRow } from "./crash-row.ts";
import { MID_RUN, type WorkloadId } from "./plan.ts";
import { barPlot, type Line, linePlot } from "./plot.ts";
import { failureAt, growthOf, type Metric, midRunOf, type Results, ratioAt, spreadAt, type Where } from "./results.ts";
import { STARTS } from "./starts.ts";
import { amount, BYTES, digits, KILOBYTES, MICROSECONDS, type Scale, spreadText, table } from "./text.ts";

/** File name → text. */
export function pageOf(results: Results, crashes: readonly CrashRow[]): Readonly<Record<string, string>> {
  return { "README.md": readme(results, crashes), ...plots(results) };
}

const SIZES: Readonly<Record<"W1" | "W2", readonly number[]>> = { W1: [10, 100, 1_000], W2: [10, 100, 500, 1_000] };
const takingPart = (workload: WorkloadId): readonly Variant[] => VARIANTS.filter((v) => v.in.includes(workload));
const at = (workload: WorkloadId, variant: string, n: number): Where => ({ workload, variant, n });
const times = (ratio: number | null): string => (ratio === null ? "–" : `${digits(ratio)}×`);
const slope = (growth: number | null): string => (growth === null ? "–" : growth.toFixed(2));
const bold = (text: string, { peer }: Readonly<{ peer: string }>): string => (peer === "orgate" ? `**${text}**` : text);

/** A figure, or why there is none. */
function cell(results: Results, where: Where, metric: Metric, scale: Scale): string {
  const spread = spreadAt(results, where, metric);
  if (spread !== null) return spreadText(spread, scale);
  const { skip = {} } = VARIANTS.find(({ id }) => id === where.variant) ?? {};
  return skip[`${where.workload}:${where.n}`] === undefined ? (failureAt(results, where.workload, where.variant) ?? "–") : "not tried";
}

/** What to know of the variants in a table: cells that were not tried, and what a figure is of. */
function notesOn(variants: readonly Variant[], workload: WorkloadId): string {
  return variants
    .flatMap(({ title, note, skip = {} }) => [
      ...(note === undefined || workload !== "W2" ? [] : [`- ${title}: ${note}.`]),
      ...Object.entries(skip)
        .filter(([cell]) => cell.startsWith(`${workload}:`))
        .map(([cell, why]) => `- ${title}, N=${digits(Number(cell.slice(3)))}: ${why}.`),
    ])
    .join("\n");
}

/** Only what was measured, fastest first where it was measured longest. */
function ranked(results: Results, workload: "W1" | "W2" | "W3", metric: Metric): readonly Variant[] {
  const n = workload === "W3" ? 10 : 100;
  const value = ({ id }: Variant): number => spreadAt(results, at(workload, id, n), metric)?.median ?? Number.POSITIVE_INFINITY;
  return takingPart(workload)
    .filter(({ id }) => results.samples.some((s) => s.workload === workload && s.variant === id))
    .toSorted((a, b) => value(a) - value(b));
}

function readme(results: Results, crashes: readonly CrashRow[]): string {
  const { machine, rounds, load, date, quick, complete, commit } = results;
  const flags = [
    quick ? "**A quick run: one round, small sizes, hardly warmed up. Not to be quoted.**" : "",
    complete ? "" : "**Not complete.**",
  ];
  return `${[
    "# The same work, side by side",
    "Made by `npm run bench:peers` from [results.json](results.json); nothing below but the method is written by hand. How to add a peer or dispute a figure: [bench/peers](../../bench/peers/README.md).",
    ...flags.filter((text) => text !== ""),
    `${date}, ${commit === undefined ? "" : `commit ${commit}, `}${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, ${machine.system}, Node ${machine.node}; load average ${digits(load.first)} at the beginning, ${digits(load.most)} at most (one process is measured at a time, so about 1 is its own). Figures are the median [least–most] of ${rounds} fresh processes.`,
    "## What was aimed at",
    table(
      ["aim", "wanted", "found", ""],
      aimsOf(results, crashes).map(({ what, want, got, met }) => [what, want, got, met === null ? "–" : met ? "met" : "**missed**"]),
    ),
    "## Where others win",
    winsText(results, crashes),
    ...loopSection(results),
    ...durableSection(results),
    ...concurrentSection(results),
    ...startSection(results),
    ...crashSection(crashes),
    ...governedSection(results),
    "## Versions",
    table(
      ["package", "version"],
      Object.entries(results.versions).map(([name, version]) => [`\`${name}\``, version]),
    ),
    METHOD,
  ].join("\n\n")}\n`;
}

function winsText(results: Results, crashes: readonly CrashRow[]): string {
  const wins = winsOf(results, crashes);
  const intro =
    "Every cell in which a peer's median is below Orgate's. `overlap` means that the ranges of the two overlap, so the order may be chance. Rows of one peer in one cell are told apart by what is measured.";
  if (wins.length === 0) return `${intro}\n\nNone in this run.`;
  const rows = wins.map((w) => [
    w.where,
    w.metric,
    w.peer,
    w.theirs,
    w.ours,
    times(w.times),
    [w.clear ? "" : "overlap", w.remark].filter((t) => t !== "").join("; "),
  ]);
  return `${intro}\n\n${table(["where", "what", "who", "theirs", "Orgate", "better by", ""], rows)}`;
}

function loopSection(results: Results): readonly string[] {
  const rows = ranked(results, "W1", "cpuUs").map((v) => [
    bold(v.title, v),
    ...SIZES.W1.map((n) => cell(results, at("W1", v.id, n), "cpuUs", MICROSECONDS)),
    cell(results, at("W1", v.id, 1_000), "wallUs", MICROSECONDS),
    slope(growthOf(results, at("W1", v.id, 10), 100, "cpuUs")),
    slope(growthOf(results, at("W1", v.id, 100), 1_000, "cpuUs")),
    ...[100, 1_000].map((n) => times(ratioAt(results, at("W1", v.id, n), at("W1", OURS.W1, n), "cpuUs"))),
  ]);
  if (rows.length === 0) return [];
  const head = ["", "CPU, N=10", "N=100", "N=1,000", "wall, N=1,000", "growth 10→100", "100→1,000", "to Orgate, 100", "1,000"];
  return [
    "## W1 The loop in memory",
    "CPU per iteration. Growth 0 is flat, 1 is a total that grows with the square of the iterations.",
    "![](w1-cpu.svg)",
    table(head, rows),
    notesOn(takingPart("W1"), "W1"),
  ];
}

function durableSection(results: Results): readonly string[] {
  const variants = ranked(results, "W2", "wallUs");
  if (variants.length === 0) return [];
  const wall = variants.map((v) => [
    bold(v.title, v),
    ...SIZES.W2.map((n) => cell(results, at("W2", v.id, n), "wallUs", MICROSECONDS)),
    slope(growthOf(results, at("W2", v.id, 100), 500, "wallUs")),
    ...[100, 500].map((n) => times(ratioAt(results, at("W2", v.id, n), at("W2", OURS.W2, n), "wallUs"))),
    midRunText(results, v),
  ]);
  const cpu = variants.map((v) => [
    bold(v.title, v),
    ...[10, 100, 500].map((n) => cell(results, at("W2", v.id, n), "cpuUs", MICROSECONDS)),
    ...[100, 500].map((n) => cell(results, at("W2", v.id, n), "written", BYTES)),
    ...[100, 500].map((n) => cell(results, at("W2", v.id, n), "disk", BYTES)),
    times(ratioAt(results, at("W2", v.id, 500), at("W2", OURS.W2, 500), "disk")),
  ]);
  return [
    "## W2 The loop on disk",
    `Not the same promise everywhere. The mid-run check says how many of ${MID_RUN / 2 - 1} finished results are in the store's files half-way through ${MID_RUN} iterations: where it is 0, a crash loses the run, and small figures beside it are those of a store that has not been written yet. Nor is it the same on losing power: Orgate and the floor flush every commit to the disk, before the effect it permits; the others were not seen to, see the notes.`,
    "![](w2-wall.svg)",
    table(["wall per iteration", "N=10", "N=100", "N=500", "N=1,000", "growth 100→500", "to Orgate, 100", "500", "mid-run"], wall),
    "![](w2-written.svg)",
    table(["per iteration", "CPU, N=10", "N=100", "N=500", "written, N=100", "N=500", "on disk, N=100", "N=500", "on disk to Orgate"], cpu),
    notesOn(variants, "W2"),
  ];
}

function midRunText(results: Results, { id }: Variant): string {
  const mid = midRunOf(results, id);
  if (mid === null) return "–";
  return mid.found === mid.finished ? `all ${mid.finished}` : `**${mid.found} of ${mid.finished}**`;
}

function concurrentSection(results: Results): readonly string[] {
  const rows = ranked(results, "W3", "rssPerSession").map((v) => [
    bold(v.title, v),
    cell(results, at("W3", v.id, 10), "rssPerSession", BYTES),
    cell(results, at("W3", v.id, 10), "cpuUs", MICROSECONDS),
    cell(results, at("W3", v.id, 10), "wallUs", MICROSECONDS),
    times(ratioAt(results, at("W3", v.id, 10), at("W3", OURS.W3, 10), "cpuUs")),
    times(ratioAt(results, at("W3", v.id, 10), at("W3", OURS.W3, 10), "rssPerSession")),
  ]);
  if (rows.length === 0) return [];
  return [
    "## W3 A thousand sessions at once, ten iterations each, in memory",
    "Memory is the peak while they run less what was resident before, divided by the sessions.",
    "![](w3-memory.svg)",
    table(["", "memory added per session", "CPU per iteration", "wall per iteration", "CPU to Orgate", "memory to Orgate"], rows),
  ];
}

function startSection(results: Results): readonly string[] {
  const where = (variant: string): Where => ({ workload: "W4", variant, n: 1, what: "start" });
  const measured = STARTS.filter(({ id }) => spreadAt(results, where(id), "wallUs") !== null || failureAt(results, "W4", id) !== null);
  if (measured.length === 0) return [];
  const rows = measured.map((start) => {
    const size = results.sizes.find(({ id }) => id === start.id);
    return [
      bold(start.title, start),
      cell(results, where(start.id), "wallUs", MICROSECONDS),
      cell(results, where(start.id), "cpuUs", MICROSECONDS),
      cell(results, where(start.id), "rssPeak", KILOBYTES),
      times(ratioAt(results, where(start.id), where("node"), "wallUs")),
      size === undefined ? "–" : amount(size.bytes, BYTES),
      size === undefined ? "–" : digits(size.packages),
    ];
  });
  return [
    "## W4 Start and size",
    "![](w4-start.svg)",
    table(["", "wall", "CPU", "peak memory", "wall to `node -e 0`", "installed", "packages"], rows),
  ];
}

const CASES: Readonly<Record<CrashRow["case"], string>> = {
  model: "during a model call",
  tool: "inside a tool, after its effect",
  parallel: "two tools at once, one done",
  parked: "while parked on an approval",
  approved: "inside an approved tool, after its effect",
};

function crashSection(crashes: readonly CrashRow[]): readonly string[] {
  const head = ["peer", "killed", "run lost", "effects doubled", "model calls repeated", "runs", "notes"];
  const rowOf = (row: CrashRow): readonly string[] => {
    const clean = !row.lost && row.effectsDoubled === 0 && row.callsRepeated === 0;
    const peer = `${row.peer} ${row.version}`;
    const mark = (n: number): string => (n === 0 ? "0" : `**${digits(n)}**`);
    return [
      clean ? `**${peer}**` : peer,
      CASES[row.case],
      row.lost ? "**yes**" : "no",
      mark(row.effectsDoubled),
      mark(row.callsRepeated),
      digits(row.runs),
      row.note,
    ];
  };
  const of = (workload: CrashRow["workload"]) => crashes.filter((row) => row.workload === workload).map(rowOf);
  if (crashes.length === 0) return [];
  return [
    "## W5 Killed and started again",
    "SIGKILL at the point named, then a new process on the same store goes on by the documented way. Effects and model calls are counted by a process that outlives the kill. Figures are the worst of the runs; the call that was in flight at the kill may be asked again and does not count as repeated. From [crash.json](crash.json).",
    table(head, of("W5")),
    "## W6 Parked on an approval, killed, answered by another process",
    table(head, of("W6")),
  ];
}

function governedSection(results: Results): readonly string[] {
  const counts = [1, 10, 100];
  const variants = takingPart("W7").filter(({ id }) => results.samples.some((s) => s.workload === "W7" && s.variant === id));
  if (variants.length === 0) return [];
  const where = (variant: string, policies: number, what: "loop" | "decision"): Where =>
    what === "loop" ? { workload: "W7", variant, n: 100, policies, what } : { workload: "W7", variant, n: 1, policies, what };
  const rows = variants.map((v) => [
    bold(v.title, v),
    ...counts.map((n) => spreadText(spreadAt(results, where(v.id, n, "decision"), "cpuUs"), MICROSECONDS)),
    ...counts.map((n) => spreadText(spreadAt(results, where(v.id, n, "loop"), "cpuUs"), MICROSECONDS)),
    shareText(results, v.id, where),
  ]);
  const head = ["CPU", "decision alone, 1 policy", "10", "100", "iteration, 1 policy", "10", "100", "share of the gate, 10 policies"];
  return [
    "## W7 A governed tool call",
    "The same policies in each dialect: three can decide the call, the others are about other people. Orgate decides three times per iteration (the call, the model call, the answer) and has no ungated mode, so its share is one decision of the call alone against the iteration; it remembers answers to equal questions, and `no decision remembered` is the same with that switched off. Strands passes the text of all policies at each call.",
    table(head, rows),
  ];
}

function shareText(
  results: Results,
  variant: string,
  where: (variant: string, policies: number, what: "loop" | "decision") => Where,
): string {
  const [decision, loop] = [
    spreadAt(results, where(variant, 10, "decision"), "cpuUs"),
    spreadAt(results, where(variant, 10, "loop"), "cpuUs"),
  ];
  return decision === null || loop === null ? "–" : `${digits((100 * decision.median) / loop.median)} %`;
}

const time = (us: number): string => amount(us, MICROSECONDS);
const bytes = (count: number): string => amount(count, BYTES);

function plots(results: Results): Readonly<Record<string, string>> {
  const lines = (workload: "W1" | "W2", metric: Metric): readonly Line[] =>
    takingPart(workload).map(({ id, title, peer }) => ({
      name: title,
      ours: id === OURS[workload],
      floor: peer === "floor",
      points: SIZES[workload].flatMap((n) => {
        const spread = spreadAt(results, at(workload, id, n), metric);
        return spread === null || spread.median <= 0 ? [] : [[n, spread.median] as const];
      }),
    }));
  const memory = takingPart("W3").map(({ id, title, peer }) => {
    const value = spreadAt(results, at("W3", id, 10), "rssPerSession")?.median ?? 0;
    return { name: title, ours: id === OURS.W3, floor: peer === "floor", value, label: amount(value, BYTES) };
  });
  const starts = STARTS.map(({ id, title, peer }) => {
    const value = spreadAt(results, { workload: "W4", variant: id, n: 1, what: "start" }, "wallUs")?.median ?? 0;
    return { name: title.replaceAll("`", ""), ours: peer === "orgate", floor: peer === "floor", value, label: amount(value, MICROSECONDS) };
  });
  return {
    "w1-cpu.svg": linePlot(
      "W1: CPU per iteration, in memory",
      { x: "iterations", y: "CPU per iteration", yText: time },
      lines("W1", "cpuUs"),
    ),
    "w2-wall.svg": linePlot(
      "W2: wall per iteration, on disk",
      { x: "iterations", y: "wall per iteration", yText: time },
      lines("W2", "wallUs"),
    ),
    "w2-written.svg": linePlot(
      "W2: bytes written per iteration",
      { x: "iterations", y: "bytes per iteration", yText: bytes },
      lines("W2", "written"),
    ),
    "w3-memory.svg": barPlot("W3: memory added per session, 1,000 at once", memory),
    "w4-start.svg": barPlot("W4: wall to start", starts),
  };
}

const METHOD = `## Method, and what to keep in mind

- **The work.** A user's message, then N times one tool call (about 200 bytes of arguments, checked against a schema; 1,024 characters back), then a text. The model answers at once and costs the same whatever the history holds; it reads its counter from the newest message, so a run that ends has shown every result to the model. Words are pseudo-random: a store that packs repeated characters gains nothing. Every run is checked: N + 1 model calls, N effects, the same final text; one that is not the whole work is an error and the cell says so.
- **The processes.** Each sample is a process of its own that imports one framework, warms up (the same number of iterations for everybody: 2,000 for W1, 300 for W2, 500 for W3, 1,000 for W7) and then measures the sizes one after the other, the garbage collected before each. In a round all take their turn, and the order turns with the round. CPU is \`process.cpuUsage\`, all threads; bytes written are \`wchar\` of the process, log and checkpoint copies included; bytes on disk are those of the files after closing, less those of a store that has seen one iteration. Ratios are taken round by round.
- **Orgate** is measured as its users get it: compiled by \`npm run release\`. Every figure of it includes real Cedar decisions for the tool call, the model call and the answer, and a journal of hashed and chained entries. In W1, W3 and W7 the journal is in memory and a hash stands for the signature; in W2 it is SQLite with synchronous FULL, signed. It cuts requests to its context budget (32,000 tokens), as Strands cuts them to its window; the variant *whole history* does not.
- **Peers** follow their own documentation; each adapter in [bench/peers/src/adapters](../../bench/peers/src/adapters) cites the page. Nobody is tuned. What a peer does not offer (a store, a gate) it is not charged for, and not credited with: W1 and W3 compare Orgate with loops that decide and record nothing.
- **Durable** means different things. What a killed process leaves behind is the mid-run column and W5. What a machine without power leaves behind was not tried; as their code says, SqliteSaver (better-sqlite3 in WAL mode) and Mastra's LibSQL (synchronous NORMAL) do not flush each commit, eve's local world, Strands' files and pi's JSONL sessions flush nothing, and Orgate and the floor flush every commit.
- **Not measured:** anything over a network, Postgres, real models, other machines. One machine, one file system; differences below the spread are not real.`;
