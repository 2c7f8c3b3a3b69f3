/**
 * `orgate dev`: the server, started again whenever agents, tools or settings change; policies are reloaded in place. The turns in progress are parked
 * and go on in the new process, as at any restart.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { EXIT, type Given, type Run } from "../cli/command.ts";
import { watchFolder } from "../compose.ts";
import { projectOf, tell } from "./project.ts";

export const dev: Run = async (given, screen) => {
  const config = projectOf(given);
  let child = start(given, config.root);
  let [isEnding, isChanging] = [false, false];
  const { promise, resolve } = Promise.withResolvers<number>();

  const follow = (one: ChildProcess): void => {
    one.once("exit", (code) => {
      if (isEnding) return resolve(code ?? EXIT.success);
      if (!isChanging && code !== 0) tell(given, screen, "the server has ended: it is started again when a file changes");
      if (!isChanging) return;
      isChanging = false;
      child = start(given, config.root);
      follow(child);
    });
  };
  follow(child);

  const changed = (): void => {
    if (isEnding || isChanging) return;
    tell(given, screen, "something has changed: starting again");
    isChanging = true;
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
    else child.emit("exit", 0, null);
  };
  const watching = ["agents", "tools", "skills"].map((name) => watchFolder(join(config.root, name), changed));
  const end = (): void => {
    isEnding = true;
    if (child.exitCode !== null) resolve(EXIT.success);
    else child.kill("SIGTERM");
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, end);
  try {
    return await promise;
  } finally {
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
  return spawn(process.execPath, args, { stdio: "inherit", env: { ...process.env, ...given.env }, detached: process.platform !== "win32" });
}
