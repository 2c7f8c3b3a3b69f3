/** T520 where programs of tools cannot be run, people are told when they set a project up, not when the first tool is refused. */
import type { Screen } from "../cli/screen.ts";
import { hostRunning } from "../compose.ts";

/** Null where a sandbox works; otherwise what is missing and what to do. */
export async function whyProgramsFail(): Promise<string | null> {
  const standing = await hostRunning().standing();
  return standing.kind === "usable" ? null : `tools cannot run programs on this machine: ${standing.reason}; ${standing.hint}`;
}

export async function notePrograms(screen: Screen): Promise<void> {
  const why = await whyProgramsFail();
  if (why !== null) screen.line(`${screen.paint("warn", "!")} ${why}`);
}
