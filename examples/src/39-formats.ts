/** Formats of your own: a project whose agents are Markdown files and whose tools are files with one fact. Its `[ports]` module brings both formats. */
import { spawnSync } from "node:child_process";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "./temporary-folder.ts";

const folder = temporaryFolder();
cpSync(join(import.meta.dirname, "formats-39"), folder, { recursive: true });

/** The command line, in the project's folder. */
function orgate(...args: readonly string[]): string {
  const program = join(import.meta.dirname, "../../node_modules/.bin/orgate");
  const env = { ...process.env, ORGATE_HOME: join(folder, "home") };
  const { stdout, stderr } = spawnSync(process.execPath, [program, ...args], { cwd: folder, encoding: "utf8", env });
  return `${stdout}${stderr}`.trim();
}

const [guide] = JSON.parse(orgate("agents", "list", "--json"));
console.log(guide.name, guide.kind, guide.file, guide.tools.join(" "));
console.log(
  orgate("run", "guide", "--input", "When is it open?").includes("Open from ten to six.") ? "the guide has answered" : "no answer",
);

writeFileSync(join(folder, "agents/host.md"), "Welcome people.\n"); // no heading
console.log(orgate("agents", "validate").split("\n")[0]);
