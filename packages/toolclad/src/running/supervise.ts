/**
 * One child process from its start to its end: what it says, how long it may take, and that nothing of it is left.
 * T-23 output beyond its limit is thrown away and the result says so; a program that floods, with more than ten times as much, is ended.
 * T-28 at the end, whichever way it comes, everything that the program started is gone.
 */

import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { devNull } from "node:os";
import { StringDecoder } from "node:string_decoder";
import { errorMessage, onAbort } from "@orgate/core/vocab";

export type Start = Readonly<{
  file: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string;
  /** Beside stdin, stdout and stderr: open files that are handed on, or a pipe. */
  more: readonly ("pipe" | number)[];
  /** A process group of its own. */
  detached: boolean;
}>;

export type ProcessWatch = Readonly<{
  stdin: string | null;
  timeMs: number;
  outputBytes: number;
  signal: AbortSignal;
  onOutput(piece: string): void;
  /** Right after the start: what is written to pipes, or read from them. */
  started(child: ChildProcess): void;
  /** Ends it and all that it started. Called once when it must end, and once when it has. */
  end(child: ChildProcess): void;
  /** A look now and then, for limits that nobody else watches; a word ends it. */
  look: Readonly<{ everyMs: number; at(): "memory" | null }> | null;
}>;

export type EndedBy = "time" | "memory" | "output" | "signal";
export type Watched = Readonly<
  | { kind: "not-started"; reason: string }
  | {
      kind: "over";
      code: number | null;
      signal: string | null;
      stdout: string;
      stderr: string;
      truncated: boolean;
      durationMs: number;
      endedBy: EndedBy | null;
    }
>;

const FLOOD = 10;
/** How long pipes may stay open once the program is gone: somebody who escaped its group may hold them. */
const LINGER_MS = 500;

export function supervise(start: Start, watching: ProcessWatch): Promise<Watched> {
  const { timeMs, outputBytes, signal } = watching;
  const began = performance.now();
  const nothing = openSync(devNull, "r");
  const stdio: StdioOptions = withoutInherited(["pipe", "pipe", "pipe", ...start.more], nothing);
  let child: ChildProcess;
  try {
    child = spawn(start.file, start.args, { env: { ...start.env }, cwd: start.cwd, stdio, detached: start.detached });
  } catch (error) {
    return Promise.resolve({ kind: "not-started", reason: errorMessage(error) });
  } finally {
    closeSync(nothing);
  }
  return new Promise((done) => {
    let endedBy: EndedBy | null = null;
    let [seen, kept] = [0, 0];
    const stop = (by: EndedBy): void => {
      if (endedBy !== null || child.exitCode !== null || child.signalCode !== null) return;
      endedBy = by;
      watching.end(child);
    };
    let stopListening = (): void => {};
    const timer = setTimeout(() => stop("time"), timeMs);
    const { look } = watching;
    const looking = look === null ? undefined : setInterval(() => look.at() !== null && stop("memory"), look.everyMs);
    const finish = (watched: Watched): void => {
      clearTimeout(timer);
      clearInterval(looking);
      stopListening();
      done(watched);
    };

    const texts = [child.stdout, child.stderr].map((stream) => {
      const decoder = new StringDecoder("utf8");
      const told = { text: "", end: () => decoder.end() };
      stream?.on("data", (chunk: Buffer) => {
        seen += chunk.length;
        const fitting = chunk.subarray(0, Math.max(0, outputBytes - kept));
        kept += fitting.length;
        const piece = decoder.write(fitting);
        told.text += piece;
        if (piece !== "") watching.onOutput(piece);
        if (seen > outputBytes * FLOOD) stop("output");
      });
      return told;
    });

    child.once("error", (error) => {
      if (child.pid === undefined) finish({ kind: "not-started", reason: errorMessage(error) });
    });
    child.once("exit", (code, by) => {
      const durationMs = Math.round(performance.now() - began);
      watching.end(child); // what it left behind
      const over = (): void => {
        const truncated = seen > kept;
        const [stdout = "", stderr = ""] = texts.map(({ text, end }) => text + (truncated ? "" : end()));
        finish({ kind: "over", code, signal: by, stdout, stderr, truncated, durationMs, endedBy });
      };
      const lingering = setTimeout(() => {
        for (const stream of child.stdio) stream?.destroy();
      }, LINGER_MS);
      child.once("close", () => {
        clearTimeout(lingering);
        over();
      });
    });
    if (child.pid === undefined) return;
    child.stdin?.on("error", () => {}); // it need not read what it is given
    child.stdin?.end(watching.stdin ?? "");
    watching.started(child);
    stopListening = onAbort(signal, () => stop("signal"));
  });
}

/**
 * Open files that this process inherited would go on to every child: an open folder is a way out of any sandbox.
 * Each such file is replaced by one that holds nothing.
 */
function withoutInherited(stdio: readonly ("pipe" | number)[], nothing: number): StdioOptions {
  const full: ("pipe" | "ignore" | number)[] = [...stdio];
  for (const fd of inheritable()) {
    if (fd < stdio.length) continue;
    while (full.length < fd) full.push("ignore"); // beyond the third, that is a gap
    full[fd] = nothing;
  }
  return full;
}

const CLOSE_ON_EXEC = 0o2000000;

function inheritable(): readonly number[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc/self/fdinfo")
    .map(Number)
    .filter((fd) => fd > 2 && !closesOnExec(fd));
}

function closesOnExec(fd: number): boolean {
  try {
    const flags = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1] ?? "0";
    return (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) !== 0;
  } catch {
    return true; // closed meanwhile
  }
}
