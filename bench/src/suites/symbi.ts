/** The `.symbi` language: what it costs to read and compile many agents, and how long `orgate run` takes in a project that has a hundred of them. */
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { compilePolicies, parseSymbi, readSymbi, type ToolShape } from "@orgate/symbi";
import { type Contender, compare, type Effort, ratio, spread } from "../measure.ts";
import { inFolder } from "../places.ts";
import { digits, type Report } from "../report.ts";
import { run } from "./start.ts";

const text = (i: number): string => `metadata { description = "You are worker ${i}." }

agent worker${i} {
  capabilities = [read_inbox, pay, send_mail]

  policy work {
    allow: read_inbox
    allow: pay if args.euros < ${i + 10} && facts.account.known
    require: approval(pay, { question: "Pay it?", expires: 15m }) if args.euros >= ${i + 10}
    deny: send_mail if "private" in labels
    audit: pay
  }

  with timeout = 30s, iterations = 5, model = "offline/worker${i}" {}
}
`;

const record = (fields: Readonly<Record<string, "string" | "long">>): ToolShape["args"] => ({
  kind: "record",
  fields: new Map(Object.entries(fields).map(([name, kind]) => [name, { type: { kind }, required: true }])),
});
const TOOLS: readonly ToolShape[] = [
  {
    name: "read_inbox",
    effects: ["read"],
    args: record({}),
    targets: [],
    lists: [],
    records: { kind: "record", fields: new Map() },
    outgoing: [],
    resourceTypes: ["Tool"],
  },
  {
    name: "pay",
    effects: ["spend"],
    args: record({ account: "string", euros: "long" }),
    targets: [{ arg: "account", kind: "target", required: true, record: null }],
    lists: [],
    records: { kind: "record", fields: new Map() },
    outgoing: [],
    resourceTypes: ["Tool"],
  },
  {
    name: "send_mail",
    effects: ["network"],
    args: record({ to: "string", text: "string" }),
    targets: [],
    lists: [],
    records: { kind: "record", fields: new Map() },
    outgoing: [],
    resourceTypes: ["Host"],
  },
];

function compiled(source: string): boolean {
  const read = readSymbi(source, "agents/worker.symbi");
  const [draft] = read.kind === "file" ? read.symbi.agents : [];
  const world = { tools: TOOLS, subject: record({}), userGroups: {} };
  return read.kind === "file" && draft !== undefined && compilePolicies(read.symbi, draft, world).kind === "compiled";
}

export async function symbiAgents({ effort, agents }: { readonly effort: Effort; readonly agents: number }): Promise<Report> {
  const sources = Array.from({ length: agents }, (_, i) => text(i));
  const trees = sources.map((source) => JSON.stringify(parseSymbi(source, "x")));
  const each = (label: string, once: (i: number) => boolean): Contender => ({
    label,
    units: agents,
    run() {
      for (let i = 0; i < agents; i += 1) if (!once(i)) throw new Error(`${label}: refused`);
    },
  });
  const measured = await compare(
    [
      each("JSON.parse of the tree (floor)", (i) => JSON.parse(trees[i] ?? "") !== null),
      each("parse", (i) => parseSymbi(sources[i] ?? "", "x").kind === "tree"),
      each("parse, check", (i) => readSymbi(sources[i] ?? "", "x").kind === "file"),
      each("parse, check, compile to Cedar", (i) => compiled(sources[i] ?? "")),
    ],
    effort,
  );
  const [floor] = measured;
  if (floor === undefined) throw new Error("nothing was measured");
  return {
    name: "symbi",
    title: `Agents as files, ${agents} of them`,
    unit: "µs per agent",
    by: "cpu",
    lines: measured.map((m) => ({ ...m, ratio: m === floor ? null : ratio(m, floor, "cpuUs"), more: "" })),
    aims: [],
    notes: ["five rules each; Cedar's own check of what was compiled is not in here"],
  };
}

const ORGATE = fileURLToPath(new URL("../../../packages/orgate/bin/orgate.js", import.meta.url));
const AIM_MS = 250;

/** Whole processes: an upper bound of the time to the first model call, which the offline model answers at once. */
export async function symbiStart({ rounds }: { readonly rounds: number }): Promise<Report> {
  const lines = [];
  for (const agents of [1, 100]) lines.push({ agents, ...(await inFolder(async (folder) => started(folder, agents, rounds))) });
  const [, many] = lines;
  const got = many?.wall.median ?? Number.NaN;
  return {
    name: "symbi-start",
    title: "orgate run, in a project of so many .symbi agents",
    unit: "ms",
    by: "wall",
    lines: lines.flatMap(({ agents, first, ...next }) => [
      { label: `${agents} agents, nothing remembered`, cpu: first.cpu, wall: first.wall, ratio: null, more: rss(first.rssMb) },
      { label: `${agents} agents`, cpu: next.cpu, wall: next.wall, ratio: null, more: rss(next.rssMb) },
    ]),
    aims: [
      {
        what: "from `orgate run` to the first model call, 100 agents",
        want: `≤ ${AIM_MS} ms`,
        got: `${digits(got)} ms for all of the run`,
        met: got <= AIM_MS,
      },
    ],
    notes: ["from source; what Node compiled before is kept"],
  };
}

const rss = (mb: number): string => `peak RSS ${digits(mb)} MB`;

function started(folder: string, agents: number, rounds: number) {
  const env = { PATH: process.env["PATH"], ORGATE_HOME: join(folder, "home"), NODE_COMPILE_CACHE: join(folder, "cache") };
  const orgate = (cwd: string, ...args: readonly string[]) =>
    spawnSync(process.execPath, [ORGATE, ...args], { cwd, env, encoding: "utf8" });
  mkdirSync(folder, { recursive: true });
  const made = orgate(folder, "init", "p", "--kind", "secretary", "--yes");
  if (made.status !== 0) throw new Error(made.stderr);
  const project = join(folder, "p");
  for (let i = 0; i < agents; i += 1) writeFileSync(join(project, "agents", `worker${i}.symbi`), text(i));
  /** What was checked, and what was made of files; not what Node compiled. */
  const forget = () => {
    for (const path of [join(project, ".orgate", "checked.json"), join(env.ORGATE_HOME, "cache")])
      rmSync(path, { recursive: true, force: true });
  };
  const measured = (isFirst: boolean) => {
    const samples: Exclude<ReturnType<typeof run>, string>[] = [];
    for (let round = -1; round < rounds; round += 1) {
      if (isFirst) forget();
      const used = run([ORGATE, "run", "worker0", "--input", "hello", "--json"], { cwd: project, env });
      if (typeof used === "string") throw new Error(used);
      if (round >= 0) samples.push(used); // the first fills caches
    }
    const ms = (pick: (one: (typeof samples)[number]) => number) => spread(samples.map((one) => pick(one) / 1_000));
    return { cpu: ms((one) => one.cpuUs), wall: ms((one) => one.wallUs), rssMb: spread(samples.map((one) => one.rssMb)).median };
  };
  return { first: measured(true), ...measured(false) };
}
