/** Reads settings from the environment: the process's own, then the project's `.env` by Node's parser. Never stored, never changed. */

import { join } from "node:path";
import { parseEnv } from "node:util";
import { fileFault } from "../files/file-fault.ts";
import { readTextFile } from "../files/text-file.ts";
import type { Env } from "../node/env.ts";

export type Setting = Readonly<{ value: string; from: "environment" | ".env" }>;
/** Null where it is not set, or empty. */
export type ModelSettings = (name: string) => Setting | null;

const MAX_BYTES = 256 * 1024;

/** M-9 the process's environment wins over the project's `.env`; an unreadable `.env` is reported, a missing one is fine. */
export function readModelSettings(env: Env, folder: string | null): ModelSettings {
  const file = folder === null ? {} : readDotEnv(folder);
  return (name) => {
    const own = env[name]?.trim() ?? "";
    if (own !== "") return { value: own, from: "environment" };
    const read = file[name]?.trim() ?? "";
    return read === "" ? null : { value: read, from: ".env" };
  };
}

function readDotEnv(folder: string): Env {
  const file = join(folder, ".env");
  try {
    return parseEnv(readTextFile(file, MAX_BYTES));
  } catch (error) {
    const [why, cause] = error instanceof Error ? [error.message, error.cause] : ["cannot be read", null];
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return {};
    throw fileFault({ file, detail: why, hint: "it holds a NAME=VALUE line for each setting" }, error);
  }
}
