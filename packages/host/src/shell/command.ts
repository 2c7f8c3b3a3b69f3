/** What a command of the shell is. */
import type { Shell } from "./shell.ts";

export type ShellCommand = Readonly<{
  /** Without the slash. */
  name: string;
  usage: string;
  summary: string;
  /** What help says beyond that. */
  more: readonly string[];
  run(rest: string, shell: Shell): Promise<void>;
}>;
