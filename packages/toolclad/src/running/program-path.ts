/** Where programs of tools are looked for. */
import { accessSync, constants, statSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";

export const PROGRAM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/** The file that a program's name stands for; null where there is none that may be executed. */
export function findProgram(name: string, cwd: string, path: string): string | null {
  if (name === "" || name.includes("\0")) return null;
  const tried = name.includes("/") ? [isAbsolute(name) ? name : resolve(cwd, name)] : path.split(":").map((folder) => join(folder, name));
  return tried.find(isProgram) ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
