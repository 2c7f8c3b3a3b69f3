/** The example project with an agent for the tests, served by the real command in its own process: it can be killed and restarted. */
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import * as z from "zod";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const ORGATE = join(ROOT, "packages", "orgate", "bin", "orgate.js");
const LEFT = new Set([".orgate", ".home", "effects.jsonl", "model-calls.jsonl", "reports"]);
export const OPERATORS = ["ana", "bo"] as const;
export type Operator = (typeof OPERATORS)[number];

export const WEBHOOK_SECRET = "what the build server signs with";
const WEBHOOK = `
[webhooks.builds]
path = "/hooks/builds"
provider = "github"
secret = "$CI_SECRET"
agent = "reporter"
filter = { json_path = "state", equals = "failed" }
`;

export type ConsoleServer = Readonly<{
  root: string;
  url(): string;
  /** A one-time sign-in link; `actions`: restricted to these. */
  link(person: Operator, actions?: string): Promise<string>;
  /** Runs the command line and returns its output; throws if it fails. */
  orgate(args: readonly string[], as?: Operator): string;
  kill(): Promise<void>;
  /** Starts on the same port; `more`: additional environment variables. */
  start(more?: NodeJS.ProcessEnv): Promise<void>;
  close(): Promise<void>;
}>;

const started = z.object({ url: z.string(), signIn: z.string().nullable() });
const linked = z.object({ link: z.string() });

export async function startConsoleServer(): Promise<ConsoleServer> {
  const built = spawnSync(process.execPath, [join(ROOT, "scripts", "build-console.ts"), "--if-needed"], { encoding: "utf8" });
  if (built.status !== 0) throw new Error(built.stderr);
  const folder = mkdtempSync(join(tmpdir(), "orgate-console-"));
  const root = join(folder, "ops-desk");
  cpSync(join(ROOT, "examples", "ops-desk"), root, { recursive: true, filter: (path) => !LEFT.has(basename(path)) });
  cpSync(join(import.meta.dirname, "project"), root, { recursive: true });
  mkdirSync(join(root, "notes"));
  writeFileSync(join(root, "notes", "today.txt"), "one\ntwo\nthree\n");
  const toml = join(root, "orgate.toml");
  writeFileSync(toml, readFileSync(toml, "utf8").replace('operators = ["ana"]', 'operators = ["ana", "bo", "cy"]') + WEBHOOK);
  const envOf = (person: Operator): NodeJS.ProcessEnv => ({
    ...process.env,
    ORGATE_HOME: join(folder, `home-${person}`),
    ORGATE_USER: person,
    CI_SECRET: WEBHOOK_SECRET,
  });

  const orgate = (args: readonly string[], as: Operator = "ana"): string => {
    const ran = spawnSync(process.execPath, [ORGATE, ...args, "--project", root], { env: envOf(as), encoding: "utf8" });
    if (ran.status !== 0) throw new Error(`orgate ${args.join(" ")}: ${ran.stderr}`);
    return ran.stdout;
  };
  const running = promisify(execFile);
  const inBackground = async (args: readonly string[], as: Operator): Promise<string> =>
    (await running(process.execPath, [ORGATE, ...args, "--project", root], { env: envOf(as) })).stdout;
  await Promise.all(OPERATORS.map((person) => inBackground(["keys", "create", person], person)));
  const linkFor = async (person: Operator, actions: string | null): Promise<string> => {
    const limits = actions === null ? [] : ["--actions", actions];
    return linked.parse(JSON.parse(await inBackground(["keys", "create", person, "--link", "--json", ...limits], "ana"))).link;
  };

  let child: ChildProcess | null = null;
  let at = "";
  let first: string | null = null; // the link that it prints for ana
  const start = async (more: NodeJS.ProcessEnv = {}): Promise<void> => {
    const port = at === "" ? "0" : new URL(at).port;
    const made = spawn(process.execPath, [ORGATE, "up", "--port", port, "--json", "--project", root], {
      env: { ...envOf("ana"), ...more },
      stdio: ["ignore", "pipe", "pipe"],
    });
    child = made;
    let said = "";
    made.stderr.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-4_000);
    });
    const ended = once(made, "exit").then(() => Promise.reject(new Error(`the server went: ${said}`)));
    const [line] = await Promise.race([once(createInterface(made.stdout), "line"), ended]);
    ended.catch(() => {});
    const { url, signIn } = started.parse(JSON.parse(String(line)));
    [at, first] = [url, signIn];
  };
  const kill = async (): Promise<void> => {
    if (child === null) return;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
    child = null;
  };
  const close = async (): Promise<void> => {
    await kill();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  await start();
  return {
    root,
    url: () => at,
    async link(person, actions) {
      const link = person === "ana" && actions === undefined && first !== null ? first : await linkFor(person, actions ?? null);
      if (link === first) first = null;
      return `${at}/sign-in#${link.split("#")[1] ?? ""}`;
    },
    orgate,
    kill,
    start,
    close,
  };
}
