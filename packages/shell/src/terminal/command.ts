/** A command: data for parsing, help and completion, and code that is loaded only when it runs. */
import type { Screen } from "./screen.ts";

export type OptionSpec =
  /** `many`: it may be given more than once. `required`: the command refuses to run without it. */
  | (Readonly<{ type: "string"; value: string; help: string; many?: boolean; required?: true }> & KnownWords)
  | Readonly<{ type: "boolean"; help: string }>;
/** `choices`: nothing else is taken. `words`: completion offers them, and others are taken too. */
type KnownWords = Readonly<{ choices?: readonly string[]; words?: readonly string[] }>;
/** `many`: the last one may be given more than once. */
export type ArgSpec = Readonly<{ name: string; required: boolean; help: string; many?: boolean }> & KnownWords;

export type CommandSpec = Readonly<{
  /** `sessions show`. */
  name: string;
  summary: string;
  args: readonly ArgSpec[];
  options: Readonly<Record<string, OptionSpec>>;
  /** Notes in the help, after arguments and options. */
  notes: readonly string[];
  examples: readonly string[];
  load(): Promise<RunCommand>;
}>;

/** Runs the command with the given words and a screen to write to. The number is the exit code. */
export type RunCommand = (given: Given, screen: Screen) => Promise<number>;

export type Given = Readonly<{
  /** In order; as many as the specification allows. */
  args: readonly string[];
  text(option: string): string | null;
  /** Of an option that may be given more than once, in order. */
  texts(option: string): readonly string[];
  flag(option: string): boolean;
  json: boolean;
  project: string | null;
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
}>;

/** A-7 exit codes are part of the interface. */
/** A-13 of a fault: somebody left a question with Ctrl-C, and nothing was done. */
export const INTERRUPTED = Symbol("left");
export const EXIT = Object.freeze({ success: 0, failure: 1, usage: 2, waiting: 3, interrupted: 130 });
