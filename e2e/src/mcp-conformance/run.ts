// The client part of the official conformance suite, scenario by scenario: some of them measure time, and do not share the machine. `--check` writes no page.
import { execFile, execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NOT_DONE, pageOf, type Result, revisionsOf, surprises } from "./page.ts";

const root = join(import.meta.dirname, "../../..");
const suite = join(root, "e2e/mcp-conformance");
const entry = join(suite, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
if (!existsSync(entry)) execFileSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: suite, stdio: "inherit" });

const plain = (text: string): string => text.replaceAll(/\u001b\[[0-9;]*m/g, "");
const out = (args: readonly string[]): Promise<string> =>
  new Promise((resolve) => {
    execFile(process.execPath, ["--no-deprecation", entry, ...args], { maxBuffer: 64 * 1024 * 1024 }, (_, stdout, stderr) =>
      resolve(plain(stdout + stderr)),
    );
  });

const listed = await out(["list"]);
const clients = listed.slice(listed.indexOf("Client scenarios")).split("\n\n")[0] ?? "";
const scenarios = [...clients.matchAll(/^ {2}- (\S+) \[([^\]]*)\]/gm)].flatMap(([, name = "", versions = ""]) =>
  revisionsOf(versions.split(",")).map((revision) => ({ name, revision })),
);
if (scenarios.length === 0) throw new Error(`the suite lists no scenario for clients:\n${listed}`);

/** The scenarios that a revision requires of a client, from the suite's own list. */
const requiredBy = (revision: string): readonly string[] => {
  const file = join(suite, `node_modules/@modelcontextprotocol/conformance/requirements/${revision}.yaml`);
  if (!existsSync(file)) return [];
  const [, section = ""] = /^client:\n((?: {2}- .*\n)*)/m.exec(readFileSync(file, "utf8")) ?? [];
  return section.split("\n").map((line) => line.replace(/^ {2}- /, ""));
};

async function tried(scenario: string, revision: string): Promise<Result> {
  const client = `${process.execPath} ${join(import.meta.dirname, "client.ts")}`;
  const spec = /^\d/.test(revision) ? ["--spec-version", revision] : [];
  const said = await out(["client", "--command", client, "--scenario", scenario, ...spec]);
  const [, passed = "0", failed = "0"] = /Passed: (\d+)\/\d+, (\d+) failed/.exec(said) ?? [];
  const overall = said.includes("OVERALL: PASSED") && passed !== "0" ? "passed" : "failed"; // nothing that was checked is nothing that passes
  const required = requiredBy(revision).includes(scenario);
  return { scenario, revision, required, passed: Number(passed), failed: Number(failed), overall };
}

const results: Result[] = [];
for (const { name, revision } of scenarios) {
  const first = await tried(name, revision);
  // one of them measures milliseconds, and a busy machine is no client's fault
  const result = first.overall === "failed" && !(name in NOT_DONE) ? await tried(name, revision) : first;
  results.push(result);
  console.log(`${result.overall === "passed" ? "ok  " : "FAIL"} ${name} (${revision}): ${result.passed} passed, ${result.failed} failed`);
}

const manifest: { dependencies: Record<string, string> } = JSON.parse(readFileSync(join(suite, "package.json"), "utf8"));
const [[name = "", version = ""] = []] = Object.entries(manifest.dependencies);
const odd = surprises(results);
if (odd.length === 0 && !process.argv.includes("--check"))
  writeFileSync(
    join(root, "docs/results/mcp-conformance.md"),
    pageOf(results, `${name}@${version}`, new Date().toISOString().slice(0, 10)),
  );
for (const line of odd) console.error(line);
process.exitCode = odd.length === 0 ? 0 : 1;
