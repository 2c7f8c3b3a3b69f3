/**
 * Brings in what is measured: the peers from their lock files, and Orgate as its users get it, compiled by scripts/release.ts.
 * Three peers lie in folders of their own, because their peer dependencies contradict those of the others; links make them importable here.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";

const HERE = join(import.meta.dirname, "..");
const ROOT = join(HERE, "..", "..");
const MODULES = join(HERE, "node_modules");

/** Each with a lock file of its own. */
const FOLDERS: readonly string[] = [".", "voltagent", "strands", "eve"];
/** Packages of those folders that the sources here import by name. */
const LINKS: Readonly<Record<string, string>> = {
  "@voltagent/core": "voltagent",
  "@voltagent/libsql": "voltagent",
  "@strands-agents/sdk": "strands",
};

/** Orgate and the floors need none of the others. */
const OWN: readonly string[] = ["orgate", "floor"];

export function install(say: (line: string) => void, peers: readonly string[] | null = null): void {
  if (peers === null || !peers.every((peer) => OWN.includes(peer))) {
    for (const folder of FOLDERS) installFolder(folder, say);
    for (const [name, folder] of Object.entries(LINKS)) link(name, folder);
  }
  compileOrgate(say);
}

function installFolder(folder: string, say: (line: string) => void): void {
  const place = join(HERE, folder);
  const stamp = join(place, "node_modules", ".bench-stamp");
  const wanted = digestOf([join(place, "package-lock.json"), join(place, "package.json")]);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  say(`npm ci in bench/peers/${folder}`);
  // No install script runs: none of them is needed for what is measured, and what a package does on installing it is no part of it.
  run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], place);
  writeFileSync(stamp, wanted);
}

function link(name: string, folder: string): void {
  const from = join(MODULES, name);
  if (existsSync(from)) return;
  rmSync(from, { force: true });
  mkdirSync(dirname(from), { recursive: true });
  symlinkSync(relative(dirname(from), join(HERE, folder, "node_modules", name)), from, "junction");
}

/** Into node_modules, like any other package: the same compiled files that `npm run release` packs. Again whenever a source has changed. */
function compileOrgate(say: (line: string) => void): void {
  // every package of ours: one that is missing here would be found in the repository, as sources
  const names = readdirSync(join(ROOT, "packages")).filter((name) => name !== "console");
  const sources = names.flatMap((name) => [
    join(ROOT, "packages", name, "package.json"),
    ...filesUnder(join(ROOT, "packages", name, "src")),
    ...filesUnder(join(ROOT, "packages", name, "bin")),
  ]);
  const stamp = join(MODULES, "orgate", ".bench-stamp");
  const wanted = digestOf(sources);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  say("compiling Orgate as for a release");
  const out = mkdtempSync(join(tmpdir(), "orgate-bench-"));
  try {
    run(process.execPath, [join(ROOT, "scripts", "release.ts"), "--out", out], ROOT);
    for (const folder of names) {
      const name = folder === "orgate" ? folder : `@orgate/${folder}`;
      rmSync(join(MODULES, name), { recursive: true, force: true });
      cpSync(join(out, folder), join(MODULES, name), { recursive: true });
    }
    writeFileSync(stamp, wanted);
  } finally {
    rmSync(out, { recursive: true });
  }
}

function filesUnder(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((path) => join(folder, path));
  return paths.filter((path) => statSync(path).isFile()).sort();
}

function digestOf(files: readonly string[]): string {
  const hash = createHash("sha256");
  for (const file of files) hash.update(`${relative(ROOT, file)}\n`).update(readFileSync(file));
  return hash.digest("hex");
}

function run(command: string, args: readonly string[], cwd: string): void {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8", shell: process.platform === "win32" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed\n${stdout ?? ""}${stderr ?? ""}${error?.message ?? ""}`);
}

if (import.meta.main) install((line) => console.error(line));
