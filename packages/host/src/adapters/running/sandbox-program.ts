/** Which file a program's name stands for, as the sandbox will see it; told before anything is started. */
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { isAtOrBelow, isOfSystem, type Mount, type Objection } from "./sandbox-bubblewrap.ts";

export const PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

export type Program = Readonly<{ kind: "program"; path: string } | ({ kind: "none" } & Objection)>;

export function findProgram(name: string, cwd: string, mounts: readonly Mount[]): Program {
  const none = (reason: string, hint: string): Program => ({ kind: "none", reason, hint });
  if (name === "" || name.includes("\0")) return none("there is no program to run", "name one in the tool's command");
  if (!name.includes("/")) {
    const path = PATH.split(":")
      .map((folder) => join(folder, name))
      .find(isProgram);
    return path === undefined
      ? none(`\`${name}\` is not installed where a sandbox looks (${PATH})`, "install it, or name it by its whole path and grant that")
      : { kind: "program", path };
  }
  const path = isAbsolute(name) ? name : resolve(cwd, name);
  if (!isProgram(path)) return none(`\`${name}\` is no program`, "see that it is there and may be executed");
  const real = realpathSync(path);
  const isSeen = (one: string): boolean =>
    isOfSystem(one) || mounts.some((m) => m.access !== "hidden" && (isAtOrBelow(one, m.at) || isAtOrBelow(one, m.real)));
  if (!isSeen(path) || !isSeen(real))
    return none(`\`${name}\` lies where the sandbox does not look`, "grant the folder that it lies in for reading");
  return { kind: "program", path };
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
