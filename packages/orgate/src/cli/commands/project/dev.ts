/**
 * `orgate dev`: the server in a process of its own.
 * W-33 it is started again when the project changes: orgate.toml, `.mcp.json`, `AGENTS.md`, agents, tools, skills, modules beside them. Policies are reloaded in
 *     place. What has changed is loaded first, in a process of its own: where that fails, what is wrong and where is said, and the server goes on as it was.
 *     Turns in progress finish or are parked, and go on in the new process, as at any restart.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { join, matchesGlob, posix } from "node:path";
import { EXIT, type Given, type RunCommand } from "@orgate/shell/terminal";
import type { Config } from "../../../config/config.ts";
import { type FolderWatch, watchFolder } from "../../../files/folder-watch.ts";
import { MCP_FILE } from "../../../mcp/mcp-file.ts";
import { INSTRUCTIONS, listSkillPlaces } from "../../../project/trust.ts";
import { openGivenProject, tell } from "./project.ts";

export const dev: RunCommand = async (given, screen) => {
  const { root } = openGivenProject(given);
  const say = (text: string): void => tell(given, screen, text);
  const { promise, resolve } = Promise.withResolvers<number>();
  let server: ChildProcess | null = null;
  let checking: ChildProcess | null = null;
  let [isEnding, isBusy, isStale] = [false, false, false];
  let watching: readonly FolderWatch[] = [];

  function begin(more: readonly string[], isFirst = false): void {
    const mine = start(given, root, ["--watch", ...more], "inherit");
    server = mine;
    mine.once("exit", (code) => {
      server = null;
      if (isEnding) resolve(code ?? EXIT.success);
      else if (isFirst && code === EXIT.usage)
        resolve(code); // no change of a file mends an option
      else if (!isBusy) say("the server has ended: it is started again when a file changes");
    });
  }

  async function changed(): Promise<void> {
    isStale = true;
    if (isBusy) return;
    isBusy = true;
    while (isStale && !isEnding) {
      isStale = false;
      const loads = await check();
      if (isStale || isEnding) continue;
      if (!loads) {
        say(server === null ? "this does not load: the next change is tried" : "this does not load: the server goes on as it was");
        continue;
      }
      say("the project has changed: starting again");
      if (server !== null) await ended(server, () => server?.kill("SIGTERM"));
      if (isEnding) return resolve(EXIT.success);
      watch();
      begin([]);
    }
    isBusy = false;
    if (isEnding && server === null) resolve(EXIT.success);
  }

  async function check(): Promise<boolean> {
    checking = start(given, root, ["--check"], "ignore");
    const code = await ended(checking);
    checking = null;
    return code === 0;
  }

  /** Which places there are to watch is itself a setting. */
  function watch(): void {
    for (const one of watching) one.close();
    watching = watchedPlaces(openGivenProject(given)).map(({ place, only }) => watchFolder(place, () => void changed(), only));
  }

  function end(): void {
    isEnding = true;
    checking?.kill("SIGTERM");
    if (server !== null) server.kill("SIGTERM");
    else if (!isBusy) resolve(EXIT.success);
  }

  watch();
  begin(given.flag("link") ? ["--link"] : [], true);
  const alive = setInterval(() => {}, 2 ** 30); // also while no server runs: the next change starts it
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, end);
  try {
    return await promise;
  } finally {
    clearInterval(alive);
    for (const one of watching) one.close();
  }
};

const ended = (child: ChildProcess, then: () => void = () => {}): Promise<number | null> =>
  new Promise((resolve) => {
    child.once("exit", resolve);
    then();
  });

type Watched = Readonly<{ place: string; only: ((name: string) => boolean) | null }>;

/** A folder with all that is below it, except the project's own: there it is known files and modules, and not what a tool writes. */
export function watchedPlaces(config: Config): readonly Watched[] {
  const { root } = config;
  const patterns = [...config.agents, ...config.tools, ...(config.ports === null ? [] : [config.ports])];
  const own = (name: string): boolean => OWN.has(name) || MODULE.test(name) || patterns.some((pattern) => matchesGlob(name, pattern));
  const folders = patterns.map(folderOf).filter((folder) => folder !== "");
  const whole = new Set([...folders.map((folder) => join(root, folder)), ...listSkillPlaces(config)]);
  return [{ place: root, only: own }, ...[...whole].map((place) => ({ place, only: null }))];
}
const OWN: ReadonlySet<string> = new Set(["orgate.toml", MCP_FILE, INSTRUCTIONS]);
const MODULE = /\.(?:[cm]?[jt]s|toml|symbi|dsl)$/;

/** The folder that a path or glob certainly starts with; a path without one is a file in the project's own folder. */
function folderOf(pattern: string): string {
  const parts = pattern.replaceAll("\\", "/").split("/").slice(0, -1);
  const glob = parts.findIndex((part) => /[*?[\]{}!]/.test(part));
  return posix.join(...(glob === -1 ? parts : parts.slice(0, glob))).replace(/^\.$/, "");
}

/** The same words, to `up`. */
function start(given: Given, root: string, more: readonly string[], out: "inherit" | "ignore"): ChildProcess {
  const program = process.argv[1] ?? "";
  const words = ["host", "port", "as", "log"].flatMap((name) => {
    const value = given.text(name);
    return value === null ? [] : [`--${name}=${value}`];
  });
  const args = [program, "up", "--project", root, ...words, ...more, ...(given.json ? ["--json"] : [])];
  // in a group of its own, so that Ctrl-C reaches it through us, once; the channel tells it when we have gone
  const detached = process.platform !== "win32";
  return spawn(process.execPath, args, {
    stdio: ["inherit", out, "inherit", "ipc"],
    env: { ...process.env, ...given.env },
    detached,
  });
}
