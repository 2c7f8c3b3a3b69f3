/** `orgate agents diff`: this project against another version of it. */
import { relative, resolve } from "node:path";
import { FaultError } from "@orgate/core";
import { shorten } from "@orgate/protocol/view";
import type { Screen } from "@orgate/shell/terminal";
import { type Cell, count, EXIT, type Given, type RunCommand, table, visible } from "@orgate/shell/terminal";
import type { Config } from "../../../config/config.ts";
import { openProject } from "../../../config/project-toml.ts";
import {
  type AgentDifferences,
  compareSides,
  type DecisionChange,
  type DiffSide,
  type RewrittenPolicy,
  readPastRequests,
} from "../../../policies/agents-diff.ts";
import { readCases } from "../../../policies/policy-cases.ts";
import { loadOrThrow, tryLoadFolder } from "../../../policies/policy-load.ts";
import { loadProject } from "../../../project/load.ts";
import { openReadOnlyStore } from "../../../store/open-read-only.ts";
import { toPolicyOptions } from "../policies/policy.ts";
import { hasRun, openGivenProject } from "../project/project.ts";

export const diffAgents: RunCommand = async (given, screen) => {
  const [other = "", agent = null] = given.args;
  const config = openGivenProject(given);
  const before = await sideOf(openProject(resolve(given.cwd, other), given.cwd), given);
  const after = await sideOf(config, given);
  const names = [...new Set([...before.agents, ...after.agents].map((one) => one.name))].sort();
  if (agent !== null && !names.includes(agent)) throw new FaultError({ kind: "agent-missing", agent, known: names }); // of nobody nothing differs
  const found = compareSides(before, after, await readProjectPast(config), agent);
  const isSame = found.permits.length + found.forbids.length + found.asks.length + found.rewritten.length === 0;
  if (given.json) screen.line(JSON.stringify({ same: isSame, ...found }));
  else tellDifferences(screen, found, `against ${relative(given.cwd, resolve(given.cwd, other)) || "."}`);
  return isSame ? EXIT.success : EXIT.failure;
};

/** Prints changed decisions, changed texts, and the probes that were tried. */
export function tellDifferences(screen: Screen, found: AgentDifferences, between: string): void {
  show(screen, "newly permits", "good", found.permits);
  show(screen, "newly forbids", "bad", found.forbids);
  show(screen, "newly asks", "warn", found.asks);
  tellRewritten(screen, found.rewritten);
  const { table: tables, boundary, history } = found.tried;
  const what = `${count(tables, "case")} of tables, ${count(boundary, "request")} at turning points, ${count(history, "decision")} of the journal`;
  const decides = found.permits.length + found.forbids.length + found.asks.length;
  const result =
    decides > 0
      ? ""
      : found.rewritten.length === 0
        ? "nothing is written or decided otherwise: "
        : "nothing that was tried is decided otherwise: ";
  screen.line(`${result}${what}, ${between}`);
  for (const one of found.cut) screen.line(screen.paint("warn", `there was more to try for ${visible(one)}: look at its rules`));
}

async function sideOf(config: Config, given: Given): Promise<DiffSide> {
  const agents = (await loadProject(config, { env: given.env })).agents.map(({ agent }) => agent);
  const options = toPolicyOptions(config, agents);
  return { agents, loaded: loadOrThrow(tryLoadFolder(options)), cases: readCases(options.place) };
}

export async function readProjectPast(config: Config): ReturnType<typeof readPastRequests> {
  if (!hasRun(config.journal)) return [];
  const look = await openReadOnlyStore(config.journal);
  try {
    return await readPastRequests(look.journal);
  } finally {
    await look.close();
  }
}

/** Y-14 a limit, a label or a rule is printed as it is written: its effect may show in no request that was tried. */
function tellRewritten(screen: Screen, rewritten: readonly RewrittenPolicy[]): void {
  if (rewritten.length === 0) return;
  screen.line(screen.paint("strong", "reads otherwise"));
  const short = (text: string | null): string => (text === null ? "–" : text.length > 200 ? `${text.slice(0, 199)}…` : text);
  for (const { agent, what, before, after } of rewritten.slice(0, MOST))
    screen.line(`  ${visible(`${agent ?? "all"}  ${what}: ${short(before)} → ${short(after)}`)}`);
  if (rewritten.length > MOST) screen.line(`  … ${rewritten.length - MOST} more: --json has all`);
}

const MOST = 40;
/** Of one request: a long argument would push all else off the screen, and --json has it whole. */
const MOST_WITH = 80;
function show(screen: Screen, title: string, tone: "good" | "bad" | "warn", changes: readonly DecisionChange[]): void {
  if (changes.length === 0) return;
  screen.line(screen.paint("strong", title));
  const rows = changes
    .slice(0, MOST)
    .map((c): readonly Cell[] => [
      c.agent,
      c.action,
      shorten(
        [
          c.args === null ? "" : JSON.stringify(c.args),
          ...c.labels.map((l) => `[${l}]`),
          c.surfaces.includes("cli") ? "" : `at ${c.surfaces.join(", ")}`,
        ]
          .filter((t) => t !== "")
          .join(" "),
        MOST_WITH,
      ),
      { text: `${c.before.verdict} → ${c.after.verdict}`, tone },
      c.after.because.join(", ") || (c.after.reason ?? ""),
      c.alike === 1 ? c.source : `${c.source}, ${c.alike} alike`,
    ]);
  for (const line of table(["agent", "action", "with", "", "by", "found in"], rows, screen.paint)) screen.line(`  ${line}`);
  if (changes.length > MOST) screen.line(`  … ${changes.length - MOST} more: --json has all`);
}
