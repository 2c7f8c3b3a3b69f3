/** `orgate simulate`: how a set of policies does in domains of tools, tasks and attacks. */
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { FaultError } from "@orgate/core";
import { errorMessage } from "@orgate/core/vocab";
import { type Cell, EXIT, type Given, type RunCommand, type Screen, table, visible } from "@orgate/shell/terminal";
import { fileFault } from "../../../files/file-fault.ts";
import { readTextFile } from "../../../files/text-file.ts";
import { loadProject } from "../../../project/load.ts";
import { type Domain, readDomain } from "../../../simulation/domain.ts";
import type { PlayedCall, PlayedCase } from "../../../simulation/play.ts";
import { countQuestions, fateOf, isDone, type Score, toScore } from "../../../simulation/score.ts";
import { type SimulateOptions, simulate } from "../../../simulation/simulate.ts";
import { findStarterSet, listStarterSets, readSimulations } from "../../../starter/starter-files.ts";
import { openGivenProject } from "../project/project.ts";

const MAX_BYTES = 8 * 1024 * 1024;
/** Groups that starter sets let approve. */
const STARTER_GROUPS = ["operators", "developers"];

export const simulatePolicies: RunCommand = async (given, screen) => {
  const domains = chosenDomains(given.texts("domain"), given.cwd);
  const set = await findSet(given);
  const wanted = given.texts("case");
  const folder = withFiles(set.folder, given.texts("with"), given.cwd);
  const played = await simulate({
    domains,
    policies: folder.path,
    groups: set.groups,
    agent: given.text("agent") ?? "assistant",
    ...(set.project === null ? {} : { project: set.project }),
    chosen: (_, one) => wanted.length === 0 || wanted.some((part) => one.id.includes(part)),
    onPlayed: ({ domain, id }, { number, of }) => screen.progress(`${number} of ${of}: ${domain} ${id}`),
  }).finally(() => {
    screen.progress("");
    folder.remove();
  });
  if (played.length === 0)
    throw new FaultError({
      kind: "usage",
      detail: `no case has \`${wanted.join("`, `")}\` in its id`,
      hint: "`orgate simulate --json` lists all cases",
    });
  const scores = domains.map(({ domain }) => ({ domain, ...toScore(played.filter((one) => one.domain === domain)) }));
  const total = toScore(played);
  if (given.json) screen.line(JSON.stringify({ set: set.name, domains: scores, total, cases: played.map(toView) }));
  else {
    for (const line of scoreTable([...scores, { domain: "all", ...total }], screen)) screen.line(line);
    for (const one of wanted.length === 0 ? [] : played) printCase(one, screen);
  }
  return EXIT.success;
};

type PolicySet = Readonly<{
  name: string;
  folder: string;
  groups: readonly string[];
  project: NonNullable<SimulateOptions["project"]> | null;
}>;

async function findSet(given: Given): Promise<PolicySet> {
  const [name] = given.args;
  if (name === undefined) {
    const config = openGivenProject(given);
    const agents = (await loadProject(config, { env: given.env })).agents.map(({ agent }) => agent);
    const { policies, groups } = config;
    return { name: "project", folder: policies, groups: Object.keys(groups.users), project: { agents, groups } };
  }
  const starter = findStarterSet(name);
  if (starter !== null) return { name, folder: starter, groups: STARTER_GROUPS, project: null };
  const folder = resolve(given.cwd, name);
  if (existsSync(folder)) return { name: basename(folder), folder, groups: STARTER_GROUPS, project: null };
  throw new FaultError({
    kind: "usage",
    detail: `there is no starter set \`${name}\`, and no such folder`,
    hint: `the starter sets are ${listStarterSets().join(", ")}`,
  });
}

/** The set and the files beside it lie together in a folder of their own: a set is loaded from one. */
function withFiles(folder: string, files: readonly string[], cwd: string): Readonly<{ path: string; remove(): void }> {
  if (files.length === 0) return { path: folder, remove: () => {} };
  const path = mkdtempSync(join(tmpdir(), "orgate-simulation-set-"));
  const remove = (): void => rmSync(path, { recursive: true, force: true });
  try {
    cpSync(folder, path, { recursive: true });
    for (const file of files) writeFileSync(join(path, basename(file)), readTextFile(resolve(cwd, file), MAX_BYTES), { flag: "wx" });
    return { path, remove };
  } catch (error) {
    remove();
    throw fileFault(
      { file: files.join(", "), detail: errorMessage(error), hint: "name policy files that the set does not have yet" },
      error,
    );
  }
}

function chosenDomains(names: readonly string[], cwd: string): readonly Domain[] {
  const shipped = new Map(
    readSimulations().flatMap(({ path, text }) => (path.endsWith(".json") ? [[path.slice(0, -".json".length), { path, text }]] : [])),
  );
  return [...new Set(names.length === 0 ? shipped.keys() : names)].map((name) => {
    const found = shipped.get(name);
    if (found !== undefined) return readDomain(found.text, found.path);
    try {
      return readDomain(readTextFile(resolve(cwd, name), MAX_BYTES), name);
    } catch (error) {
      if (error instanceof FaultError) throw error;
      const hint = `the domains are ${[...shipped.keys()].join(", ")}; a file has its path`;
      throw fileFault({ file: name, detail: errorMessage(error), hint }, error);
    }
  });
}

const share = (part: number, of: number): string => (of === 0 ? "–" : `${part} (${Math.round((100 * part) / of)} %)`);

function scoreTable(scores: readonly (Score & { readonly domain: string })[], { paint }: Screen): readonly string[] {
  const head = ["domain", "tasks", "no question", "denied", "questions/task", "attacks", "stopped", "asked", "through"];
  const rows = scores.map(({ domain, tasks, attacks }): readonly Cell[] => [
    domain,
    String(tasks.total),
    share(tasks.quiet, tasks.total),
    toned(tasks.denied),
    tasks.total === 0 ? "–" : (tasks.questions / tasks.total).toFixed(2),
    String(attacks.total),
    share(attacks.stopped, attacks.total),
    share(attacks.asked, attacks.total),
    toned(attacks.through),
  ]);
  const broken = scores.filter(({ violations }) => violations.total > 0);
  return [...table(head, rows, paint), ...(broken.length === 0 ? [] : ["", ...violationTable(broken, paint)])];
}

function violationTable(scores: readonly (Score & { readonly domain: string })[], paint: Screen["paint"]): readonly string[] {
  const rows = scores.map(({ domain, tasks, violations: { total, stopped, asked, through } }): readonly Cell[] => [
    domain,
    String(total),
    share(stopped, total),
    share(asked, total),
    toned(through),
    String(tasks.confirmations),
  ]);
  return table(["domain", "violations", "stopped", "asked", "through", "confirmed by the user"], rows, paint);
}
const toned = (number: number): Cell => ({ text: String(number), tone: number === 0 ? "good" : "bad" });

const outcomeOf = (one: PlayedCase): string => {
  if (one.kind !== "task") return fateOf(one);
  return isDone(one) ? (countQuestions(one) === 0 ? "done" : "asked") : "denied";
};

function printCase(one: PlayedCase, screen: Screen): void {
  screen.line();
  screen.line(`${screen.paint("strong", `${one.domain} ${visible(one.id)}`)} ${one.kind}: ${outcomeOf(one)}`);
  for (const call of one.calls) screen.line(`  ${callLine(call)}`);
}

function callLine({ tool, args, by, wanted, verdict, policies, reason, askedOf, done }: PlayedCall): string {
  const who = by === "attacker" ? "attack " : wanted ? "breaks " : "";
  const answer = askedOf === null ? "" : `, ${askedOf === "user" ? "the user" : "staff"} ${done ? "approved" : "denied"}`;
  const why = reason === null ? "" : `: ${visible(reason)}`;
  return `${who}${tool} ${visible(JSON.stringify(args))}\n    ${verdict} by ${policies.join(", ") || "no policy"}${why}${answer}`;
}

const toView = (one: PlayedCase) => ({ ...one, outcome: outcomeOf(one) });
