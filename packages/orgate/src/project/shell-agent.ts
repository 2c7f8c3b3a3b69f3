/** The agent of the shell, by its name and where its file lies: what every command may have to know of it. Its tools and constraints are in `authoring/`. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config/config.ts";

export const SHELL = "shell";
/** In whichever form. */
export const SHELL_FILES: readonly string[] = ["symbi", "dsl", "toml", "ts"].map((ending) => `agents/${SHELL}.${ending}`);
export const hasShellAgent = ({ root, drafts = [] }: Pick<Config, "root" | "drafts">): boolean =>
  SHELL_FILES.some((file) => drafts.some(({ path }) => path === file) || existsSync(join(root, file)));
