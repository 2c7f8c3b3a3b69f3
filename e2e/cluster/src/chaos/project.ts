/** The project that a chaos run works on, made with the command line alone, so that it is the same whatever the store is. */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ORGATE = join(import.meta.dirname, "..", "..", "..", "..", "packages", "orgate", "bin", "orgate.js");
const AGENTS = join(import.meta.dirname, "agents.ts");
const BREAKS = join(import.meta.dirname, "broken-build.ts");
export const PERSON = "ana";

/** A command that never ends is ended. */
const MOST_MS = 120_000;

const POLICIES = `@id("think")
permit(principal is Agent, action in [Action::"model", Action::"respond", Action::"delegate"], resource);
@id("work")
permit(principal is Agent, action in [Action::"tool:look", Action::"tool:put", Action::"tool:send", Action::"tool:fire"], resource);
@id("wiring")
@ask("wire it?")
permit(principal is Agent, action == Action::"tool:wire", resource);
@id("people")
permit(principal is User, action, resource);
`;
export const SCHEDULE = "ticking";
export const SCHEDULE_SECONDS = 2;
const SETTINGS = `[project]
name = "chaos"
[schedules.${SCHEDULE}]
agent = "clerk"
cron = "*/${SCHEDULE_SECONDS} * * * * *"
input = "job tick"
missed = "all"
most_missed = 60
overlap = "parallel"
at_once = 60
owner = "${PERSON}"
`;

/** `code` is null where a signal ended it. */
export type Ran = Readonly<{ code: number | null; stdout: string; stderr: string }>;

export type ChaosProject = Readonly<{
  root: string;
  env: Readonly<Record<string, string>>;
  /** Arguments of Node that run the command line, on this build. */
  argv(args: readonly string[]): readonly string[];
  /** Runs a command to its end. This process goes on meanwhile: the outside, proxies and clients of a run live in it. `env`: beyond the project's. */
  run(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ran>;
  /** The same, and returns what it prints; rejects if it fails. */
  orgate(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<string>;
}>;

/** `settings`: more of `orgate.toml`. `broken`: the name of a deliberately broken build, or null. */
export type ChaosProjectOptions = Readonly<{
  folder: string;
  outside: string;
  settings: string;
  broken: string | null;
  env: Readonly<Record<string, string>>;
}>;

export function makeProject({ folder, outside, settings, broken, env: more }: ChaosProjectOptions): ChaosProject {
  const root = join(folder, "project");
  const write = (file: string, text: string): void => {
    mkdirSync(join(root, file, ".."), { recursive: true });
    writeFileSync(join(root, file), text);
  };
  write("orgate.toml", `${SETTINGS}${settings}`);
  write("policies/chaos.cedar", POLICIES);
  for (const name of ["boss", "hand", "clerk"])
    write(`agents/${name}.ts`, `export { ${name} as default } from ${JSON.stringify(AGENTS)};\n`);
  const env = {
    ORGATE_HOME: join(folder, "home"),
    ORGATE_USER: PERSON,
    ORGATE_LAB_OUTSIDE: outside,
    OPENAI_COMPATIBLE_BASE_URL: `${outside}/v1`,
    NODE_COMPILE_CACHE: join(folder, "compiled"),
    ...(broken === null ? {} : { ORGATE_LAB_BROKEN: broken }),
    ...more,
  };
  const argv = (args: readonly string[]): readonly string[] => [
    ...(broken === null ? [] : ["--import", BREAKS]),
    ORGATE,
    ...args,
    "--project",
    root,
  ];
  const run: ChaosProject["run"] = (args, own = {}) =>
    new Promise((resolve) => {
      const options = { env: { ...process.env, ...env, ...own }, maxBuffer: 2 ** 30, timeout: MOST_MS };
      const child = execFile(process.execPath, [...argv(args)], options, (_error, stdout, stderr) =>
        resolve({ code: child.exitCode, stdout, stderr }),
      );
    });
  return {
    ...{ root, env, argv, run },
    async orgate(args, own) {
      const { code, stdout, stderr } = await run(args, own);
      if (code !== 0) throw new Error(`orgate ${args.join(" ")} ended (${code}): ${stderr} ${stdout.slice(-2_000)}`);
      return stdout;
    },
  };
}
