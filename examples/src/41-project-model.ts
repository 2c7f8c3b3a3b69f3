/** A model by factory in a project: the `[ports]` module of `orgate.toml` makes it, and the command line runs with it. */
import { spawnSync } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "./temporary-folder.ts";

const folder = temporaryFolder();
cpSync(join(import.meta.dirname, "model-41"), folder, { recursive: true });
const program = join(import.meta.dirname, "../../node_modules/.bin/orgate");
const env = { ...process.env, ORGATE_HOME: join(folder, "home") };
const { stdout } = spawnSync(process.execPath, [program, "run", "herald", "--input", "dinner", "--json"], {
  cwd: folder,
  encoding: "utf8",
  env,
});
const { output, ending } = JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
console.log(output, ending);
