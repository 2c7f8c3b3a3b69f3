// R-10 what tests need beyond npm is installed where the test command may do so, and said; what stays missing is not run, and said; `ORGATE_REQUIRE` makes it a failure.
import { spawnSync } from "node:child_process";
import { accessSync, constants, mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

/** A need is a tag of tests. `packages` are Debian's, by the program that must be found. */
export const NEEDS = {
  sandbox: { bwrap: "bubblewrap", prlimit: "util-linux" },
  curl: { curl: "curl" },
  git: { git: "git" },
  mount: { mount: "mount", umount: "mount" },
  openssl: { openssl: "openssl" },
  perl: { perl: "perl-base" },
  python: { python3: "python3" },
  sqlite3: { sqlite3: "sqlite3" },
  tmux: { tmux: "tmux" },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;
export type Need = keyof typeof NEEDS;
export const NEED_NAMES = Object.keys(NEEDS).filter((name): name is Need => name in NEEDS);

export type Lack = Readonly<{ need: Need; reason: string }>;

/** Programs of the system only: a sandbox shows nothing but `/usr` to what runs in it, so a program in somebody's home does not help. */
export function missingPrograms(need: Need, path = process.env.PATH ?? ""): readonly string[] {
  const folders = path.split(delimiter).filter((folder) => /^\/(usr|bin|sbin)(\/|$)/.test(folder));
  return Object.keys(NEEDS[need]).filter((program) => !folders.some((folder) => isExecutable(join(folder, program))));
}

/** What this machine lacks. A sandbox that is installed and cannot be used is missing too: its own reason is told. */
export function lacksOf(path = process.env.PATH ?? ""): readonly Lack[] {
  const lacks: Lack[] = [];
  for (const need of NEED_NAMES) {
    const missing = missingPrograms(need, path);
    if (missing.length > 0) lacks.push({ need, reason: `${missing.join(" and ")} ${missing.length === 1 ? "is" : "are"} not installed` });
    else {
      const reason = need === "sandbox" ? whySandboxFails() : need === "mount" ? whyMountFails() : null;
      if (reason !== null) lacks.push({ need, reason });
    }
  }
  return lacks;
}

/** A machine may have bubblewrap and forbid the namespaces it needs. */
function whySandboxFails(): string | null {
  const { status, stderr } = spawnSync("bwrap", ["--unshare-all", "--ro-bind", "/", "/", "true"], { encoding: "utf8" });
  return status === 0 ? null : `bubblewrap cannot make a sandbox on this machine (${stderr.trim()})`;
}

/** Full and read-only disks are small file systems that the tests mount. */
function whyMountFails(): string | null {
  if (process.getuid?.() !== 0) return "only root can mount a file system of a test's own";
  const probe = mkdtempSync(join(tmpdir(), "orgate-mount-"));
  const { status, stderr } = spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", probe], { encoding: "utf8" });
  if (status === 0) spawnSync("umount", [probe]);
  rmdirSync(probe);
  return status === 0 ? null : `this machine does not let root mount a file system (${stderr.trim()})`;
}

/** Needs whose absence is a failure: `ORGATE_REQUIRE=sandbox,tmux`, or `all`. A misspelt need would require nothing, so it throws. */
export function requiredNeeds(text = process.env.ORGATE_REQUIRE ?? ""): ReadonlySet<Need> {
  const names = text.split(",").flatMap((name) => (name.trim() === "" ? [] : [name.trim()]));
  if (names.includes("all")) return new Set(NEED_NAMES);
  const unknown = names.filter((name) => !(name in NEEDS));
  if (unknown.length > 0)
    throw new Error(`ORGATE_REQUIRE names \`${unknown.join("`, `")}\`, which is none of ${NEED_NAMES.join(", ")}, all`);
  return new Set(NEED_NAMES.filter((need) => names.includes(need)));
}

/** Tags for the test runner: tests of a need that is missing are skipped, unless it is required. The description is the reason. */
export function tagsOfNeeds(): readonly { name: Need; skip?: true; description: string }[] {
  const required = requiredNeeds();
  const lacks = new Map(lacksOf().map(({ need, reason }) => [need, reason]));
  return NEED_NAMES.map((name) => ({
    name,
    ...(lacks.has(name) && !required.has(name) ? { skip: true } : {}), // `skip: false` would undo another tag's `true`
    description: lacks.get(name) ?? "",
  }));
}

/** Tests with this tag use a PostgreSQL that somebody started and named; `npm run cluster:contracts` does both, so it is no program to install. */
export function postgresTag(url = process.env.ORGATE_TEST_POSTGRES): Readonly<{ name: "postgres"; skip?: true; description: string }> {
  if (url !== undefined) return { name: "postgres", description: "" };
  return {
    name: "postgres",
    skip: true,
    description: "no PostgreSQL is named in ORGATE_TEST_POSTGRES; `npm run cluster:contracts` starts one",
  };
}

type Run = (program: string, args: readonly string[]) => Readonly<{ ok: boolean; said: string }>;
const runProgram: Run = (program, args) => {
  const { status, stderr, error } = spawnSync(program, args, { stdio: ["ignore", "ignore", "pipe"], encoding: "utf8" });
  return { ok: status === 0, said: (error?.message ?? stderr ?? "").trim() };
};

/** Installs what is missing as root or with a sudo that asks for no password, and says so; anywhere else it leaves the machine alone. */
export function installPrograms(
  say: (line: string) => void,
  { env = process.env, uid = process.getuid?.() ?? -1, run = runProgram }: { env?: NodeJS.ProcessEnv; uid?: number; run?: Run } = {},
): void {
  const path = env.PATH ?? "";
  const packages = NEED_NAMES.flatMap((need) => missingPrograms(need, path).map((program) => packageOf(need, program)));
  if (packages.length === 0 || env.ORGATE_INSTALL === "no") return;
  if (!path.split(delimiter).some((folder) => isExecutable(join(folder, "apt-get")))) return;
  if (uid !== 0 && !run("sudo", ["-n", "true"]).ok) return;
  const apt = (...args: readonly string[]): ReturnType<Run> => (uid === 0 ? run("apt-get", args) : run("sudo", ["-n", "apt-get", ...args]));
  say(`some tests need ${packages.join(", ")}: installing with apt-get (ORGATE_INSTALL=no leaves this machine as it is)`);
  const install = (): ReturnType<Run> => apt("install", "-y", "--no-install-recommends", ...packages);
  const first = install();
  const last = first.ok || !apt("update").ok ? first : install();
  if (!last.ok) say(`not installed: ${last.said.split("\n").at(-1) ?? "apt-get failed"}; the tests that need it are not run`);
}

function packageOf(need: Need, program: string): string {
  const packages: Readonly<Record<string, string>> = NEEDS[need];
  return packages[program] ?? program;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

if (import.meta.main) {
  // `--needs` prints the tests of every need as a filter of tags, for `.ci/run`.
  if (process.argv.includes("--needs")) console.log(NEED_NAMES.join(" or "));
  else installPrograms((line) => console.log(line));
}
