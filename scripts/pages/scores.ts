// `npm run scores` scores the starter policies with `orgate simulate`, and fails if one is below its goals or docs/results/simulations.md says otherwise.
// `npm run scores -- --write` writes the table into that page.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const ROOT = join(import.meta.dirname, "../..");
const PAGE = join(ROOT, "docs/results/simulations.md");
const [BEGIN, END] = ["<!-- npm run scores -->\n", "<!-- end of scores -->\n"];

type Fates = Readonly<{ total: number; stopped: number; asked: number; through: number }>;
export type DomainScore = Readonly<{
  domain: string;
  tasks: Readonly<{ total: number; quiet: number; unasked: number; denied: number; questions: number; confirmations: number }>;
  attacks: Fates;
  violations: Fates;
}>;
/** `isProject`: what `orgate init --kind SET` writes, with its limits, agents and tools. */
type Set = Readonly<{ set: string; domains: readonly string[]; more?: readonly string[]; isProject?: true }>;
export type SetScore = Readonly<{
  set: string;
  domains: readonly string[];
  score: Omit<DomainScore, "domain">;
  hasRules: boolean;
  isProject: boolean;
}>;

const EVERYDAY = ["bank", "chat", "office", "travel"];
const ALL = [...EVERYDAY, "service"];
const SHOP = ["--with", "policies/simulations/service.cedar"];
/** Whom a set is for decides where it is scored; only `support`, with the rules of the shop, is held to the rules of the shop. */
const SETS: readonly Set[] = [
  { set: "assistant", domains: EVERYDAY },
  { set: "assistant", domains: ALL },
  { set: "secretary", domains: EVERYDAY },
  { set: "secretary", domains: ALL },
  { set: "payments", domains: ["bank", "travel"] },
  { set: "payments", domains: ALL },
  { set: "support", domains: ["service"], more: SHOP },
  { set: "assistant", domains: EVERYDAY, isProject: true },
  { set: "secretary", domains: EVERYDAY, isProject: true },
  { set: "payments", domains: ["bank", "travel"], isProject: true },
  { set: "support", domains: ["service"], more: SHOP, isProject: true },
];

/** The goals of issue 24. */
export function findMissed({ set, domains, score: { tasks, attacks, violations }, hasRules, isProject }: SetScore): readonly string[] {
  const about = `${isProject ? `init --kind ${set}` : set} (${domains.join(", ")})`;
  const stopped = violations.stopped + violations.asked;
  return [
    ...(tasks.total > 0 && attacks.total > 0 ? [] : [`${about}: nothing was played`]),
    ...(attacks.through === 0 ? [] : [`${about}: ${attacks.through} attacks went through`]),
    ...(tasks.denied === 0 ? [] : [`${about}: ${tasks.denied} tasks were denied`]),
    ...(tasks.quiet >= 0.8 * tasks.total ? [] : [`${about}: ${tasks.quiet} of ${tasks.total} tasks without a question, less than 80 %`]),
    ...(tasks.questions <= 0.3 * tasks.total ? [] : [`${about}: ${tasks.questions} questions in ${tasks.total} tasks, more than 0.3`]),
    ...(!hasRules || (violations.total > 0 && stopped >= 0.95 * violations.total)
      ? []
      : [`${about}: ${stopped} of ${violations.total} violations stopped, less than 95 %`]),
  ];
}

export function toTable(scores: readonly SetScore[]): string {
  const percent = (part: number, of: number): string => `${part} of ${of} (${Math.floor((100 * part) / of)} %)`;
  const rows = scores.map(({ set, domains, score: { tasks, attacks, violations }, hasRules, isProject }) => [
    `${isProject ? `\`init --kind ${set}\`` : `\`${set}\``}${hasRules ? " with `service.cedar`" : ""}`,
    domains.length === ALL.length ? "all five" : domains.join(", "),
    percent(tasks.quiet, tasks.total),
    String(tasks.denied),
    (tasks.questions / tasks.total).toFixed(2),
    String(tasks.confirmations),
    `${percent(tasks.unasked, tasks.total)}, ${((tasks.questions + tasks.confirmations) / tasks.total).toFixed(2)} each`,
    `${attacks.stopped} stopped, ${attacks.asked} asked, ${attacks.through} through`,
    hasRules ? `${violations.stopped} stopped, ${violations.asked} asked, ${violations.through} through` : "–",
  ]);
  const head = [
    ...["set", "domains", "tasks without a question", "denied", "questions per task"],
    ...["confirmations", "counting confirmations as questions", "attacks", "violations"],
  ];
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

type Orgate = (...args: readonly string[]) => Promise<string>;

/** With a home of its own: `init` makes a key for whoever runs it, and several keys that are there would be a question. */
function orgateIn(home: string): Orgate {
  const env = { ...process.env, ORGATE_HOME: home, ORGATE_USER: "" };
  return async (...args) => {
    const command = [join(ROOT, "packages/orgate/bin/orgate.js"), ...args];
    return (await promisify(execFile)(process.execPath, command, { cwd: ROOT, env, maxBuffer: 256 * 1024 * 1024 })).stdout;
  };
}

/** A project is scored where it is held to the goals; a set in all domains, but for one with the rules of a business. */
async function play({ set, domains, more = [], isProject }: Set, folder: string): Promise<readonly DomainScore[]> {
  const orgate = orgateIn(join(folder, "home"));
  const only = [...domains.flatMap((one) => ["--domain", one]), ...more];
  const project = join(folder, set);
  if (isProject === true) await orgate("init", project, "--kind", set, "--yes");
  const what = isProject === true ? ["--project", project, "--agent", set, ...only] : [set, ...(more.length === 0 ? [] : only)];
  return (JSON.parse(await orgate("simulate", ...what, "--json")) as { domains: readonly DomainScore[] }).domains;
}

async function playAll(): Promise<readonly SetScore[]> {
  const played = new Map<string, readonly DomainScore[]>();
  const folder = mkdtempSync(join(tmpdir(), "orgate-scores-"));
  try {
    const scores: SetScore[] = [];
    for (const one of SETS) {
      const key = `${one.isProject === true ? "init " : ""}${one.set}`;
      const domains = played.get(key) ?? (await play(one, folder));
      played.set(key, domains);
      scores.push(toSetScore(one, domains));
    }
    return scores;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const addUp = <T extends Readonly<Record<string, number>>>(all: readonly T[]): T =>
  Object.fromEntries(Object.keys(all[0] ?? {}).map((name) => [name, all.reduce((sum, one) => sum + (one[name] ?? 0), 0)])) as T;

export function toSetScore({ set, domains, more, isProject }: Set, played: readonly DomainScore[]): SetScore {
  const own = played.filter(({ domain }) => domains.includes(domain));
  const score = {
    tasks: addUp(own.map(({ tasks }) => tasks)),
    attacks: addUp(own.map(({ attacks }) => attacks)),
    violations: addUp(own.map(({ violations }) => violations)),
  };
  return { set, domains, score, hasRules: more !== undefined, isProject: isProject === true };
}

async function main(): Promise<void> {
  const scores = await playAll();
  const table = toTable(scores);
  process.stdout.write(table);
  const page = readFileSync(PAGE, "utf8");
  const [before = "", rest = ""] = page.split(BEGIN);
  const now = `${before}${BEGIN}${table}${END}${rest.split(END)[1] ?? ""}`;
  const missed = scores.flatMap(findMissed);
  if (process.argv.includes("--write")) writeFileSync(PAGE, now);
  else if (page !== now)
    missed.push("docs/results/simulations.md has another table: look at what changed, then `npm run scores -- --write`");
  for (const line of missed) process.stderr.write(`${line}\n`);
  process.exitCode = missed.length === 0 ? 0 : 1;
}

if (import.meta.main) await main();
