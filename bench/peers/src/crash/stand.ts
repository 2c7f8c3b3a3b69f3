/** The runner's side: the counter, victims in process groups of their own with a bound on their lives, folders that are gone afterwards. */
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Case, Move } from "./cases.ts";
import { type Line, MARK, type Order, type Orders, type Outcome, READY, type Report } from "./wire.ts";

/** Nothing here takes this long on a busy machine; what does has not come back. */
const BOUND_MS = 30_000;
const here = (name: string): string => join(import.meta.dirname, name);

export type Victim = Readonly<{
  outcomes: readonly Outcome[];
  /** Settles with the first outcome that fits; rejects once the victim is gone, or its time is over. */
  until(fits: (outcome: Outcome) => boolean): Promise<Outcome>;
  /** The whole process group, as when a machine goes away. */
  kill(): Promise<void>;
  /** How it ended: its exit code, a signal, or `late`. */
  gone: Promise<string>;
  /** Whether its framework could be loaded at all. */
  isLoaded(): boolean;
  complaint(): string;
}>;

export type Run = Readonly<{
  lines: readonly Line[];
  until(fits: (line: Line) => boolean): Promise<void>;
  start(moves: readonly Move[], stay: boolean): Victim;
  /** From here on, whatever the counter sees was done after the kill. */
  markKilled(): Promise<void>;
  close(): void;
}>;

export type Stand = Readonly<{
  /** Gone when the stand closes. */
  scratch: string;
  /** For victims that are started from now on. */
  addEnv(env: Readonly<Record<string, string>>): void;
  open(peer: string, crashed: Case, hold: boolean): Run;
  close(): Promise<void>;
}>;

export async function openStand(): Promise<Stand> {
  const scratch = mkdtempSync(join(tmpdir(), "orgate-crash-"));
  const counter = fork(here("counter.ts"), [], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const groups = new Set<number>();
  const runs = new Map<string, (line: Line) => void>();
  const endAll = (): void => {
    for (const group of groups) killGroup(group);
    counter.kill("SIGKILL");
    rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
  };
  process.once("exit", endAll);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
  counter.once("exit", () => {
    console.error("the counter ended: nothing can be said without it");
    process.exit(1);
  });
  const url = await new Promise<string>((resolve) => {
    counter.on("message", (report: Report) => {
      if (report.kind === "listening") resolve(report.url);
      else runs.get(report.run)?.(report.line);
    });
  });
  const send = (order: Order): void => void counter.send(order);
  let count = 0;
  let extra: Readonly<Record<string, string>> = {};

  function open(peer: string, crashed: Case, hold: boolean): Run {
    const name = `r${++count}`;
    const folder = join(scratch, name);
    mkdirSync(folder);
    const lines: Line[] = [];
    const waiting = new Set<(line: Line) => void>();
    runs.set(name, (line) => {
      lines.push(line);
      for (const see of [...waiting]) see(line);
    });
    send({ kind: "open", run: name, case: crashed, hold });
    const until = (fits: (line: Line) => boolean): Promise<void> =>
      new Promise((resolve) => {
        const see = (line: Line): void => {
          if (!fits(line)) return;
          waiting.delete(see);
          resolve();
        };
        waiting.add(see);
        for (const line of [...lines]) if (waiting.has(see)) see(line);
      });
    return {
      lines,
      until,
      start: (moves, stay) => startVictim({ peer, counter: `${url}/${name}`, folder, moves, stay }, groups, extra),
      async markKilled() {
        const marked = until(({ kind }) => kind === "killed");
        send({ kind: "killed", run: name });
        await marked;
      },
      close: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
    };
  }

  return {
    scratch,
    addEnv: (env) => {
      extra = { ...extra, ...env };
    },
    open,
    async close() {
      counter.removeAllListeners("exit");
      counter.disconnect();
      await once(counter, "exit");
      process.removeListener("exit", endAll);
      endAll();
    },
  };
}

function startVictim(orders: Orders, groups: Set<number>, extra: Readonly<Record<string, string>>): Victim {
  const env = { ...process.env, NODE_ENV: "production", NODE_NO_WARNINGS: "1", ...QUIET, ...extra };
  const child = spawn(process.execPath, [here("victim.ts"), JSON.stringify(orders)], {
    stdio: ["ignore", "pipe", "pipe"],
    detached: true, // a group of its own, so that what it starts dies with it
    cwd: orders.folder,
    env,
  });
  const group = child.pid;
  if (group === undefined) throw new Error("the victim could not be started");
  groups.add(group);
  const outcomes: Outcome[] = [];
  const waiting = new Set<() => void>();
  let [rest, complaint, late, loaded] = ["", "", false, false];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const texts = (rest + text).split("\n");
    rest = texts.pop() ?? "";
    loaded ||= texts.includes(READY);
    for (const line of texts) if (line.startsWith(MARK)) outcomes.push(JSON.parse(line.slice(MARK.length)));
    for (const look of [...waiting]) look();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(-4_000);
  });
  const bound = setTimeout(() => {
    late = true;
    killGroup(group);
  }, BOUND_MS);
  const gone = once(child, "exit").then(([code, signal]) => {
    clearTimeout(bound);
    killGroup(group); // what it started goes with it, however it ended
    groups.delete(group);
    return late ? "late" : String(signal ?? code);
  });
  return {
    outcomes,
    gone,
    isLoaded: () => loaded,
    complaint: () => complaint.trim(),
    until: (fits) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = outcomes.find(fits);
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
        void gone.then((how) => reject(new Error(`the victim ended first (${how}): ${complaint.trim().slice(-600)}`)));
      }),
    async kill() {
      killGroup(group);
      await gone;
    },
  };
}

function killGroup(group: number): void {
  try {
    process.kill(-group, "SIGKILL");
  } catch {} // gone already
}

/** No framework may look for the network or keep itself busy with its own telemetry. */
const QUIET = {
  MASTRA_TELEMETRY_DISABLED: "1",
  OPENAI_AGENTS_DISABLE_TRACING: "1",
  LANGSMITH_TRACING: "false",
  LANGCHAIN_TRACING_V2: "false",
  VOLTAGENT_TELEMETRY_DISABLED: "1",
  EVE_TELEMETRY_DISABLED: "1",
  DO_NOT_TRACK: "1",
} as const;
