/** A slash command: its words, its help, its work. */
import type { OperationName } from "@orgate/protocol";
import type { Shell } from "../contract.ts";
import type { ArgumentKind } from "../ui/input/complete.ts";

export type ShellCommand = Readonly<{
  /** Without the slash. */
  name: string;
  usage: string;
  summary: string;
  /** Further lines of its help. */
  more: readonly string[];
  /** Completions of its words; the last kind also counts for the words after it. */
  takes?: readonly ArgumentKind[];
  run(rest: string, shell: Shell): Promise<void>;
}> &
  CommandOrigin;

/** A command is derived from the table of operations, or written by hand for a reason. */
export type CommandOrigin = Readonly<{ byHand: string } | { byHand: null; operations: readonly OperationName[] }>;
