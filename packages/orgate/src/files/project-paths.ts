/**
 * Where paths of arguments lead. Links are followed; what counts is where a path ends, and that is what is passed on, never the text that was given.
 *
 * T-18 it stays below the project's folder, and out of what holds keys: `.orgate`, the journal's folder, `.env`.
 */
import { accessSync, constants, lstatSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, relative, sep } from "node:path";
import type { ProjectPaths } from "@orgate/toolclad";
import { isBelow, realPath } from "./text-file.ts";

/** `hidden` are folders and files that no argument may lead to, there or not. */
export function openProjectPaths(folder: string, hidden: readonly string[]): ProjectPaths {
  const root = realpathSync(folder);
  return {
    resolve(path, must) {
      const refused = (why: string) => ({ kind: "refused", why }) as const;
      if (path === "" || path.includes("\0")) return refused("is no path");
      if (isAbsolute(path) && path !== root && !isBelow(path, root)) return refused("lies outside the project");
      const end = ending(isAbsolute(path) ? path : `${root}${sep}${path}`, must);
      if (end === null) return refused(must === "lead-somewhere" ? "leads nowhere" : "is not there");
      if (end !== root && !isBelow(end, root)) return refused("lies outside the project");
      const places = [...hidden, ...hidden.flatMap((one) => realPath(one) ?? [])];
      if (places.some((one) => end === one || isBelow(end, one))) return refused("is not for tools");
      const real = relative(root, end).split(sep).join("/") || ".";
      if (real.split("/").some((step) => /^(?:\.orgate|\.env(?:\..*)?)$/i.test(step))) return refused("is not for tools");
      const wrong = must === "be-a-file" ? unreadable(end) : null;
      return wrong === null ? { kind: "place", real, absolute: end } : refused(wrong);
    },
  };
}

/** A folder, a pipe or a device is no file, whatever the link to it is called. */
function unreadable(path: string): string | null {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return "is no file";
  try {
    accessSync(path, constants.R_OK);
    return null;
  } catch {
    return "cannot be read";
  }
}

/** A path that does not exist yet must be a plain name in a folder that does. */
function ending(path: string, must: "exist" | "be-a-file" | "lead-somewhere"): string | null {
  const real = realPath(path);
  if (real !== null || must !== "lead-somewhere") return real;
  const [name, parent] = [basename(path), dirname(path)];
  if (name === ".." || name === "." || name === "" || parent === path) return null;
  const folder = ending(parent, must);
  if (folder === null) return null;
  const own = `${folder === sep ? "" : folder}${sep}${name}`;
  return lstatSync(own, { throwIfNoEntry: false }) === undefined ? own : null; // a link that leads nowhere may lead anywhere tomorrow
}
