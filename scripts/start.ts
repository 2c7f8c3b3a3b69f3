// `npm start`: the server on the example project, on the offline model, for its operator ana. Her key is made beside the project: nobody's own keys are touched.
// `npm start -- --port 8080`: what follows goes to `orgate up`.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const OPERATOR = "ana";
const root = join(import.meta.dirname, "..");
const orgate = join(root, "packages", "orgate", "bin", "orgate.js");
const desk = join(root, "examples", "ops-desk");
const home = join(desk, ".home");
process.env.ORGATE_HOME = home;
process.env.ORGATE_USER = OPERATOR;

if (!existsSync(join(home, "keys", `${OPERATOR}.key`))) {
  const made = spawnSync(process.execPath, [orgate, "keys", "create", OPERATOR, "--project", desk], { encoding: "utf8" });
  if (made.status !== 0) {
    console.error((made.stderr || made.stdout).trim());
    process.exit(made.status ?? 1);
  }
}
process.argv = [process.execPath, orgate, "up", "--link", "--project", desk, ...process.argv.slice(2)];
await import(pathToFileURL(orgate).href); // in this process: what a terminal or npm tells it, the server hears
