// R-5 core type-checks by itself, without the types of Node or a browser, so that it cannot name `process`; then the whole tree does.
// R-6 what a tool reports becomes findings, and a tool that fails without saying where is a finding too.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { Finding } from "./tree.ts";

const MODULES = join(import.meta.dirname, "..", "node_modules");
const TSC = join(MODULES, "typescript", "bin", "tsc");
const BIOME = join(MODULES, "@biomejs", "biome", "bin", "biome");

/** `project` is the folder of a tsconfig.json, relative to `root`. */
export function checkTypes(root: string, project: string): readonly Finding[] {
  const config = project === "." ? "tsconfig.json" : `${project}/tsconfig.json`;
  const { output, failed } = run(root, TSC, ["-p", project, "--noEmit", "--pretty", "false"]);
  const findings = [...output.matchAll(/^(\S.*?)\((\d+),\d+\): error (TS\d+: .*)$/gm)].map(([, file = "", line, message = ""]) => ({
    file,
    line: Number(line),
    message,
  }));
  return failed && findings.length === 0 ? [{ file: config, line: 1, message: lastLine(output) }] : findings;
}

/**
 * A folder outside the workspaces (the comparison with peers, the cluster's laboratory) type-checks as far as it can without what it installs: that is
 * hundreds of megabytes that `npm ci` does not bring, so a file that imports a package which is not installed is left out. Files of ours outside the
 * folder are checked with the whole tree, by stricter rules.
 */
export function checkOutsideTypes(root: string, folder: string): readonly Finding[] {
  const findings = checkTypes(root, folder);
  const waiting = new Set(findings.filter(({ message }) => /^TS2307: Cannot find module '[^.]/.test(message)).map(({ file }) => file));
  return findings.filter(({ file }) => file.startsWith(`${folder}/`) && !waiting.has(file));
}

/** Lint and format, without writing. A warning is a finding like any other: nobody reads those that do not fail. */
export function checkBiome(root: string): readonly Finding[] {
  const { output, failed } = run(root, BIOME, ["check", "--reporter=github", "--max-diagnostics=none", "."]);
  const reported = /^::(?:error|warning) title=([^,]*),file=([^,]*),line=(\d+)[^:]*::(.*)$/gm;
  const findings = [...output.matchAll(reported)].map(([, rule, file = "", line, message]) => ({
    file: relative(root, resolve(root, file)),
    line: Number(line),
    message: rule === "format" ? "is not formatted: run `npm run fix`" : `${rule}: ${message}`,
  }));
  return failed && findings.length === 0 ? [{ file: "biome.json", line: 1, message: lastLine(output) }] : findings;
}

function run(root: string, script: string, args: readonly string[]): { output: string; failed: boolean } {
  if (!existsSync(script)) return { output: `${relative(MODULES, script)} is not installed: run \`npm ci\``, failed: true };
  const { status, stdout, stderr, error } = spawnSync(process.execPath, [script, ...args], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  return { output: `${stdout}\n${stderr}\n${error?.message ?? ""}`, failed: status !== 0 };
}

function lastLine(output: string): string {
  return output.trim().split("\n").at(-1)?.trim() || "failed without a word";
}
