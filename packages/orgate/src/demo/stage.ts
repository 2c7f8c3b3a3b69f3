/** Where the demo plays: a copy of the example, real processes, and a screen that is paced for reading where somebody reads. */
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Given, Screen, Tone } from "@orgate/shell/terminal";
import { openPersons } from "../store/open-read-only.ts";
import { wrapLine } from "./wrap.ts";

/** `ended` comes once all that it printed is on the screen. */
export type Child = Readonly<{ pid: number; ended: Promise<Ended>; kill(): void }>;
export type Ended = Readonly<{ code: number | null; signal: string | null; stdout: string; stderr: string }>;

export type Stage = Readonly<{
  folder: string;
  project: string;
  /** A heading, below an empty line. Nothing is printed with --json. */
  scene(title: string): Promise<void>;
  /** A sentence of the teller. */
  say(tone: Tone, text: string): Promise<void>;
  /** Starts `orgate …` in a process of its own; `shown` passes on what it prints. */
  orgate(args: readonly string[], shown: boolean): Child;
  /** The lines of a file of JSON lines in the project; none when there is no such file. */
  lines(file: string): readonly Readonly<Record<string, unknown>>[];
  /** Makes a key for somebody of the story. */
  enter(person: string): void;
  /** Ends what still runs. */
  clear(): void;
}>;

const SCENE_MS = 900;
const LINE_MS = 170;
/** From here on nothing waits for its reader: a slow machine finishes the story in time, too. */
const UNHURRIED_MS = 10_000;

export function setStage(folder: string, screen: Screen, given: Given): Stage {
  const project = join(folder, "ops-desk");
  const env = {
    ...given.env,
    ORGATE_HOME: join(folder, "home"), // nobody's own keys are touched
    ORGATE_USER: undefined,
    ...(screen.paint("good", "x") === "x" ? {} : { FORCE_COLOR: "1" }),
  };
  const show = given.json ? silent : printer(screen);
  const running = new Set<Child>();
  return {
    folder,
    project,
    async scene(title) {
      void show("", 0);
      await show(screen.paint("strong", title), SCENE_MS);
    },
    say: (tone, text) => show(screen.paint(tone, text), LINE_MS),
    orgate(args, shown) {
      if (shown) void show(screen.paint("dim", `$ orgate ${args.map((word) => quoted(word, folder)).join(" ")}`), LINE_MS);
      const where = args.includes("--project") ? [] : ["--project", project];
      const child = start([...args, ...where], env, async (line) => {
        if (shown) await show(line, line === "" ? 0 : LINE_MS);
      });
      running.add(child);
      void child.ended.catch(() => {}).finally(() => running.delete(child));
      return child;
    },
    lines(file) {
      const path = join(project, file);
      const text = existsSync(path) ? readFileSync(path, "utf8") : "";
      return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
    },
    enter: (person) => void openPersons(env).create(person),
    clear() {
      for (const child of running) child.kill();
    },
  };
}

type Show = (line: string, restMs: number) => Promise<void>;
const silent: Show = async () => {};

/** One line after the other, each with time to be read; wrapped, and waited for, on a terminal alone. */
function printer(screen: Screen): Show {
  const began = performance.now();
  let shown = Promise.resolve();
  return (line, restMs) => {
    shown = shown.then(async () => {
      for (const text of screen.isTerminal ? wrapLine(line, screen.columns) : [line]) screen.line(text);
      if (screen.isTerminal && restMs > 0 && performance.now() - began < UNHURRIED_MS) await pause(restMs);
    });
    return shown;
  };
}

/** As somebody would type it; a folder of the demo by its name. */
function quoted(word: string, folder: string): string {
  const short = word.startsWith(folder) ? relative(folder, word) : word;
  return /^[\w.:/-]+$/.test(short) ? short : `"${short}"`;
}

const entry = fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "../../bin/orgate.js" : "../bin/orgate.js", import.meta.url));

function start(args: readonly string[], env: NodeJS.ProcessEnv, onLine: (line: string) => Promise<void>): Child {
  const child = spawn(process.execPath, [entry, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  let [stdout, stderr, rest] = ["", "", ""];
  let shown = Promise.resolve();
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) shown = onLine(line);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      if (rest !== "") shown = onLine(rest);
      shown.then(() => resolve({ code, signal, stdout, stderr }), reject);
    });
  });
  return { pid: child.pid ?? 0, ended, kill: () => void child.kill("SIGKILL") };
}
