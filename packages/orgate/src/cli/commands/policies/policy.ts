/** Policies for people: are they right, and what is in force. */

import type { Agent } from "@orgate/core";
import type { Screen } from "@orgate/shell/terminal";
import { type Cell, count, EXIT, type RunCommand, table, visible } from "@orgate/shell/terminal";
import type { Config } from "../../../config/config.ts";
import type { Env } from "../../../node/env.ts";
import { adviseDeclarations } from "../../../policies/declaration-advice.ts";
import { type PolicyProblem, policyFolderPath } from "../../../policies/policies.ts";
import { findPolicySurface } from "../../../policies/policy-cases.ts";
import { loadOrThrow, type PolicyOptions, tryLoadFolder } from "../../../policies/policy-load.ts";
import { problemLine } from "../../../policies/policy-record.ts";
import { loadProject } from "../../../project/load.ts";
import { openGivenProject } from "../project/project.ts";

export async function loadPolicyOptions(config: Config, env: Env): Promise<PolicyOptions> {
  const { agents } = await loadProject(config, { env });
  return toPolicyOptions(
    config,
    agents.map(({ agent }) => agent),
  );
}

export const toPolicyOptions = (config: Config, agents: readonly Agent[]): PolicyOptions => ({
  place: policyFolderPath(config),
  agents,
  groups: config.groups,
  surface: "cli",
});

/** G-18 `check` tells everything that is wrong at once, with its place, and exits 0 only when the set would be in force. */
export const checkFolder: RunCommand = async (given, screen) => {
  const config = openGivenProject(given);
  const { agents, brought } = await loadProject(config, { env: given.env });
  const listed = agents.map(({ agent }) => agent);
  const loading = tryLoadFolder(toPolicyOptions(config, listed));
  const { problems, warnings, cases, untyped } = loading.report;
  const failed = cases.filter((c) => !c.passed);
  const advice =
    loading.kind === "loaded"
      ? adviseDeclarations(
          loading.loaded.policies,
          loading.loaded.cast.tools.filter(({ name }) => !brought.has(name)),
        )
      : [];
  if (given.json) {
    const digest = loading.kind === "loaded" ? loading.loaded.digest : null;
    const policies = loading.kind === "loaded" ? loading.loaded.policies.length : null;
    screen.line(JSON.stringify({ ok: loading.kind === "loaded", digest, policies, problems, warnings, untyped, cases, advice }));
  } else {
    for (const problem of problems) printProblem(screen, "bad", problem);
    for (const warning of warnings) printProblem(screen, "warn", warning);
    for (const { tool, path, why } of untyped)
      screen.line(
        `${screen.paint("dim", "note:")} no policy can read ${visible(`${path} of ${tool}`)}, only ask whether it is given: ${visible(why)}`,
      );
    for (const { detail, hint } of advice) screen.line(`${screen.paint("dim", "advice:")} ${visible(detail)}; ${visible(hint)}`);
    if (loading.kind === "loaded")
      screen.line(
        `${screen.paint("good", "ok")} ${count(loading.loaded.policies.length, "policy", "policies")}, ${count(cases.length, "case")} as expected, digest ${loading.loaded.digest.slice(0, 12)}`,
      );
    else if (cases.length > 0) screen.line(`${count(cases.length - failed.length, "case")} as expected, ${failed.length} not`);
  }
  if (loading.kind === "none") loadOrThrow(loading);
  return loading.kind === "loaded" ? EXIT.success : EXIT.failure;
};

export function printProblem(screen: Screen, tone: "bad" | "warn", problem: PolicyProblem): void {
  screen.line(`${screen.paint(tone, tone === "bad" ? "error:" : "warning:")} ${visible(problemLine(problem))}`);
  if (problem.hint !== "") screen.line(`  ${screen.paint("dim", visible(problem.hint))}`);
}

export const listPolicies: RunCommand = async (given, screen) => {
  const { policies, digest } = loadOrThrow(tryLoadFolder(await loadPolicyOptions(openGivenProject(given), given.env)));
  const shown = policies.map((p) => ({
    id: p.id,
    file: p.file,
    line: p.line,
    effect: p.json.effect,
    surface: findPolicySurface(p),
    shadow: p.shadow,
    annotations: p.json.annotations ?? {},
  }));
  if (given.json) screen.line(JSON.stringify({ digest, policies: shown }));
  else {
    const rows = shown.map((p): readonly Cell[] => [
      p.id,
      { text: p.effect, tone: p.effect === "permit" ? "good" : "bad" },
      p.shadow ? "shadow" : "enforced",
      p.surface ?? "every",
      `${p.file}:${p.line}`,
      Object.entries(p.annotations)
        .filter(([name]) => name !== "id")
        .map(([name, value]) => `@${name}(${JSON.stringify(value ?? "")})`)
        .join(" "),
    ]);
    for (const line of table(["id", "effect", "state", "surface", "where", "annotations"], rows, screen.paint)) screen.line(line);
  }
  return EXIT.success;
};
