/** Messages between the shell's thread and its local server's thread. Plain data. */
import type { Fault } from "@orgate/core/vocab";
import type { Given } from "@orgate/shell/terminal";

/** A command line as data: functions do not cross. */
export type GivenText = Readonly<{
  texts: Readonly<Record<string, string>>;
  flags: readonly string[];
  project: string | null;
  cwd: string;
  env: Given["env"];
}>;
export type LocalServerSetup = Readonly<{ given: GivenText; columns: number; isColoured: boolean }>;

export type ToServer =
  | Readonly<{ kind: "close" }>
  /** The answer to a hidden question; null: none was given. */
  | Readonly<{ kind: "said"; id: number; text: string | null }>
  /** A command of the command line, in this thread. */
  | Readonly<{ kind: "run"; id: number; argv: readonly string[]; columns: number }>;
export type FromServer =
  | Readonly<{ kind: "open"; url: string; token: string; name: string }>
  | Readonly<{ kind: "failed"; fault: Fault | null; message: string }>
  | Readonly<{ kind: "aside"; text: string }>
  | Readonly<{ kind: "ask"; id: number; question: string }>
  | Readonly<{ kind: "ran"; id: number; code: number; text: string }>
  | Readonly<{ kind: "closed" }>;

/** The shell's options that its local server reads. */
const TEXTS = ["as"] as const;
const FLAGS = ["yes", "allow-shell"] as const;

export const toGivenText = (given: Given): GivenText => ({
  texts: Object.fromEntries(
    TEXTS.flatMap((name) => {
      const text = given.text(name);
      return text === null ? [] : [[name, text] as const];
    }),
  ),
  flags: FLAGS.filter((name) => given.flag(name)),
  project: given.project,
  cwd: given.cwd,
  env: { ...given.env },
});
export const fromGivenText = ({ texts, flags, project, cwd, env }: GivenText): Given => ({
  args: [],
  text: (name) => texts[name] ?? null,
  texts: (name) => (texts[name] === undefined ? [] : [texts[name]]),
  flag: (name) => flags.includes(name),
  json: false,
  project,
  cwd,
  env,
});
