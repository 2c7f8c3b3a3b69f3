/** What a command of the shell is. */
import type { Shell } from "../shell.ts";

export type ShellCommand = Readonly<{
  /** Without the slash. */
  name: string;
  usage: string;
  summary: string;
  /** What help says beyond that. */
  more: readonly string[];
  /** What its words are, for completion: the last one stands for those after it too. */
  takes?: readonly ArgumentKind[];
  run(rest: string, shell: Shell): Promise<void>;
}>;

/** Of what a word is: one of a list that the server knows, or one of these. */
export type ArgumentKind = "agent" | "session" | "approval" | "model" | "schedule" | "command" | "file" | "anything" | readonly string[];
