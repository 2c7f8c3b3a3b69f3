/**
 * `orgate dev`: the server in a process of its own.
 * W87 it is started again when a file of an agent, a tool or a skill changes, and policies are reloaded in place. Turns in progress finish or are parked, and
 *     go on in the new process, as at any restart; a server that does not start is started again by the next change.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { EXIT, type Given, type Run } from "../cli/command.ts";
import { watchFolder } from "../compose.ts";
import { projectOf, tell } from "./project.ts";

export const dev: Run = async (given, screen) => {
  const config = projectOf(given);
  const { promise, resolve } = Promise.withResolvers<number>();
  let [isEnding, isChanging] = [false, false];
  let child: ChildProcess | null = null;

  function begin(): void {
    const mine = start(given, config.root);
    child = mine;
    mine.once("exit", (code) => {
      child = null;
      if (isEnding) return resolve(code ?? EXIT.success);
      if (isChanging) {
        isChanging = false;
        return begin();
      }
      tell(given, screen, "the server has ended: it is started again when a file changes");
    });
  }
  const changed = (): void => {
    if (isEnding || isChanging) return;
    tell(given, screen, "something has changed: starting again");
    if (child === null) begin();
    else {
      isChanging = true;
      child.kill("SIGTERM");
    }
  };
  const end = (): void => {
    isEnding = true;
    if (child === null) resolve(EXIT.success);
    else child.kill("SIGTERM");
  };
  begin();
  const alive = setInterval(() => {}, 2 ** 30); // also while no server runs: the next change starts it
  const watching = ["agents", "tools", "skills"].map((name) => watchFolder(join(config.root, name), changed));
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, end);
  try {
    return await promise;
  } finally {
    clearInterval(alive);
    for (const one of watching) one.close();
  }
};

/** The same words, to `up`. */
function start(given: Given, root: string): ChildProcess {
  const program = process.argv[1] ?? "";
  const words = ["host", "port", "as", "log"].flatMap((name) => {
    const value = given.text(name);
    return value === null ? [] : [`--${name}=${value}`];
  });
  const args = [program, "up", "--watch", "--project", root, ...words, ...(given.json ? ["--json"] : [])];
  // in a group of its own, so that Ctrl-C reaches it through us, once; the channel tells it when we have gone
  const detached = process.platform !== "win32";
  return spawn(process.execPath, args, {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
    env: { ...process.env, ...given.env },
    detached,
  });
}
