/** Where the demo plays: a copy of the example, real processes, and a screen that is paced for reading where somebody reads. */
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Given } from "../cli/command.ts";
import type { Tone } from "../cli/paint.ts";
import type { Screen } from "../cli/screen.ts";

export type Child = Readonly<{ pid: number; ended: Promise<Ended>; kill(): void }>;
export type Ended = Readonly<{ code: number | null; signal: string | null; stdout: string; stderr: string }>;

export type Stage = Readonly<{
  folder: string;
  project: string;
  /** A heading, or a sentence of the teller. Nothing is printed with --json. */
  say(tone: Tone, text: string): Promise<void>;
  /** Starts `orgate …` in a process of its own; `shown` passes on what it prints. */
  orgate(args: readonly string[], shown: boolean): Child;
  /** The lines of a file of JSON lines in the project; none when there is no such file. */
  lines(file: string): readonly Readonly<Record<string, unknown>>[];
}>;

const BEAT_MS = 700;

export function stageOf(folder: string, screen: Screen, given: Given): Stage {
  const project = join(folder, "ops-desk");
  const paced = screen.isTerminal && !given.json;
  const env = {
    ...given.env,
    ORGATE_HOME: join(folder, "home"), // nobody's own keys are touched
    ORGATE_USER: undefined,
    ...(screen.paint("good", "x") === "x" ? {} : { FORCE_COLOR: "1" }),
  };
  return {
    folder,
    project,
    async say(tone, text) {
      if (given.json) return;
      screen.line(`\n${screen.paint(tone, text)}`);
      if (paced) await pause(BEAT_MS);
    },
    orgate(args, shown) {
      if (shown && !given.json) screen.line(screen.paint("dim", `$ orgate ${args.map(quoted).join(" ")}`));
      const where = args.includes("--project") ? [] : ["--project", project];
      return start([...args, ...where], env, shown && !given.json ? screen : null);
    },
    lines(file) {
      const path = join(project, file);
      const text = existsSync(path) ? readFileSync(path, "utf8") : "";
      return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
    },
  };
}

const quoted = (word: string): string => (/^[\w.:/-]+$/.test(word) ? word : `"${word}"`);

const entry = fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "../../bin/orgate.js" : "../bin/orgate.js", import.meta.url));

function start(args: readonly string[], env: NodeJS.ProcessEnv, screen: Screen | null): Child {
  const child = spawn(process.execPath, [entry, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    screen?.write(text);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  return { pid: child.pid ?? 0, ended, kill: () => void child.kill("SIGKILL") };
}
