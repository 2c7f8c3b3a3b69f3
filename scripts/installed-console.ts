/**
 * `node scripts/installed-console.ts FOLDER`: starts the `orgate` that is installed in FOLDER on a new project, and asks its server for the console. Fails
 * unless `/` is the console's page and its script is served. A package whose compiled files look for the console in the wrong folder still starts; only a
 * request shows it.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("name the folder that orgate is installed in");
const command = join(folder, "node_modules", "orgate", "bin", "orgate.js");
const scratch = mkdtempSync(join(tmpdir(), "orgate-installed-"));
const project = join(scratch, "project");
const { ORGATE_USER: _, ...inherited } = process.env;
const env = { ...inherited, ORGATE_HOME: join(scratch, "home") };

const made = spawnSync(process.execPath, [command, "init", project, "--yes"], { env, encoding: "utf8" });
if (made.status !== 0) throw new Error(`orgate init: ${made.stderr}`);
const server = spawn(process.execPath, [command, "up", "--port", "0", "--json", "--project", project], {
  env,
  stdio: ["ignore", "pipe", "inherit"],
});
try {
  const ended = once(server, "exit").then(([code]) => Promise.reject(new Error(`orgate up ended with ${code}`)));
  const [line] = await Promise.race([once(createInterface(server.stdout), "line"), ended]);
  ended.catch(() => {});
  const url = String(JSON.parse(String(line)).url);
  const page = await fetch(url, { headers: { accept: "text/html" } });
  const [, script] = /<script [^>]*src="([^"]+)"/.exec(await page.text()) ?? [];
  if (page.status !== 200 || script === undefined) throw new Error(`${url} answered ${page.status}, and its page names no script`);
  const code = await fetch(new URL(script, url));
  if (code.status !== 200 || !/javascript/.test(code.headers.get("content-type") ?? ""))
    throw new Error(`${script} answered ${code.status}`);
  console.log(`the installed package serves its console: ${script}, ${(await code.text()).length} characters`);
} finally {
  const gone = server.exitCode === null && server.signalCode === null ? once(server, "exit") : null;
  server.kill();
  await gone;
  rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
}
