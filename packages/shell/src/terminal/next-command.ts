/** Commands that a reader should run next, written so that they work where they are read. */
import type { Given } from "./command.ts";
import { visible } from "./visible.ts";

type Environment = Given["env"];

/** A-15 how orgate was started this time: by a script of npm's, by npx, or by its own name. */
export function commandName(env: Environment): string {
  if (env.npm_lifecycle_event === "orgate") return "npm run -s orgate --";
  if (env.npm_lifecycle_event === "npx" && /^['"]?orgate\b/.test(env.npm_lifecycle_script ?? "")) return "npx orgate";
  return "orgate";
}

/** The command with the project that this one was given. */
export function nextCommand({ env, project }: Pick<Given, "env" | "project">, words: string): string {
  return `${commandName(env)} ${words}${project === null ? "" : ` --project ${shellWord(project)}`}`;
}

/** Commands inside a hint, which stand in backticks there. */
export function hintAsTyped(hint: string, env: Environment): string {
  return hint.replaceAll("`orgate ", `\`${commandName(env)} `);
}

/** One word of a shell, whatever is in it. */
export function shellWord(path: string): string {
  const plain = path.startsWith("-") ? `./${path}` : path;
  return /^[\w@%+=:,./-]+$/.test(plain) ? plain : `'${visible(plain).replaceAll("'", "'\\''")}'`;
}
