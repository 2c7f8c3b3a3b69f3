/** The walks of docs/walks.md are data: a real run enters the functions that a walk lists, in the order of the list. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const scratch = mkdtempSync(join(tmpdir(), "orgate-walks-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const [, ...walks] = readFileSync(join(root, "docs/walks.md"), "utf8").split(/^## /m);
const STEP = /^\d+\. .*$/gm;
const FUNCTION = /`((?:core|protocol|shell|orgate)\/[\w./-]+\.ts):(#?\w+)`/g;

/** File and function, each once, as its numbered lines name them. What runs in a browser is left to the console's own tests. */
function stepsOf(walk: number): readonly (readonly [file: string, name: string])[] {
  const lines = (walks[walk - 1] ?? "").match(STEP) ?? [];
  const named = lines.flatMap((line) =>
    [...line.matchAll(FUNCTION)].map(([, file = "", name = ""]) => `${file.replace("/", "/src/")} ${name}`),
  );
  return [...new Set(named)].map((step) => {
    const [file = "", name = ""] = step.split(" ");
    return [`packages/${file}`, name];
  });
}

const orgate = join(root, "packages/orgate/bin/orgate.js");
const env = { ...process.env, ORGATE_HOME: join(scratch, "home"), NO_COLOR: "1" };

function node(args: readonly string[], more: Readonly<Record<string, string>> = {}): void {
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: scratch, env: { ...env, ...more }, encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}

function traced(walk: number, program: readonly string[]): readonly string[] {
  const out = join(scratch, `walk-${walk}`);
  const list = join(scratch, `walk-${walk}.json`);
  writeFileSync(list, JSON.stringify({ out, functions: stepsOf(walk) }));
  node(["--import", join(root, "scripts/fixtures/trace-functions.ts"), ...program], { ORGATE_TRACE: list });
  return readFileSync(out, "utf8").trim().split("\n");
}

const listed = (walk: number): readonly string[] => stepsOf(walk).map((step) => step.join(" "));

test("`orgate run` enters what the first walk lists, in its order, in at most 35 functions of 18 files", { timeout: 120_000 }, () => {
  node([orgate, "init", "project", "--yes"]);
  expect(traced(1, [orgate, "run", "assistant", "--input", 'read_note "a"', "--project", "project"])).toEqual(listed(1));
  expect(listed(1).length).toBeLessThanOrEqual(35);
  expect(new Set(stepsOf(1).map(([file]) => file)).size).toBeLessThanOrEqual(18);
});

test("an approval over `/ws/v1` enters what the second walk lists, in its order", { timeout: 120_000 }, () => {
  expect(traced(2, [join(root, "scripts/fixtures/walk-approval.ts")])).toEqual(listed(2));
});

test("a delivery enters what the third walk lists, in its order", { timeout: 120_000 }, () => {
  expect(traced(3, [join(root, "scripts/fixtures/walk-webhook.ts")])).toEqual(listed(3));
});

test("a session whose process died enters what the fourth walk lists, in its order", { timeout: 120_000 }, () => {
  expect(traced(4, [join(root, "scripts/fixtures/walk-lost-call.ts")])).toEqual(listed(4));
});
