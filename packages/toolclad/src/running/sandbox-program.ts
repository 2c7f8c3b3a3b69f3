/** Which file a program's name stands for, as the sandbox will see it; told before anything is started. */
import { realpathSync } from "node:fs";
import { findProgram, PROGRAM_PATH } from "./program-path.ts";
import { isAtOrBelow, isOfSystem, type Mount, type Objection } from "./sandbox-bubblewrap.ts";

export type Program = Readonly<{ kind: "program"; path: string } | ({ kind: "none" } & Objection)>;

export function findSandboxProgram(name: string, cwd: string, mounts: readonly Mount[]): Program {
  const none = (reason: string, hint: string): Program => ({ kind: "none", reason, hint });
  if (name === "" || name.includes("\0")) return none("there is no program to run", "name one in the tool's command");
  const path = findProgram(name, cwd, PROGRAM_PATH);
  if (!name.includes("/"))
    return path === null
      ? none(
          `\`${name}\` is not installed where a sandbox looks (${PROGRAM_PATH})`,
          "install it, or name it by its whole path and grant that",
        )
      : { kind: "program", path };
  if (path === null) return none(`\`${name}\` is no program`, "see that it is there and may be executed");
  const real = realpathSync(path);
  const isSeen = (one: string): boolean =>
    isOfSystem(one) || mounts.some((m) => m.access !== "hidden" && (isAtOrBelow(one, m.at) || isAtOrBelow(one, m.real)));
  if (!isSeen(path) || !isSeen(real))
    return none(`\`${name}\` lies where the sandbox does not look`, "grant the folder that it lies in for reading");
  return { kind: "program", path };
}
