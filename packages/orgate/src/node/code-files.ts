/** Stamps of the running code, for caches of its results: in a checkout it changes while its version stays. */
import { readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** The folder of a package's front door. */
export const codeFolder = (name: string): string => dirname(createRequire(import.meta.url).resolve(name));

/** Rooms of core, by name, and other folders: names, sizes and times of the files below them. A published package has pieces in place of most. */
export function codeFiles(rooms: readonly string[], folders: readonly string[] = []): string {
  const core = codeFolder("@orgate/core");
  return [...[...rooms, "chunks"].map((room) => join(core, room)), ...folders].map(listing).join("\n");
}

function listing(folder: string): string {
  try {
    return readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => /\.[jt]s$/.test(name) && !/\.test\.ts$|(?:^|\/)fixtures\//.test(name))
      .sort()
      .map((name) => {
        const { size, mtimeMs } = statSync(join(folder, name));
        return `${name} ${size} ${mtimeMs}`;
      })
      .join("\n");
  } catch {
    return ""; // not every form of the package has every folder
  }
}
