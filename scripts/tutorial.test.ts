import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const chapters = readFileSync(join(root, "docs/guide/tutorial.md"), "utf8")
  .split(/^## /m)
  .filter((part) => /^\d\. /.test(part));

const scratch = mkdtempSync(join(tmpdir(), "orgate-tutorial-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** The reader's `orgate` is the command of this checkout, with a home folder of its own. */
const bin = join(scratch, "bin");
mkdirSync(bin);
const command = join(bin, "orgate");
writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${join(root, "packages/orgate/bin/orgate.js")}' "$@"\n`);
chmodSync(command, 0o755);
const env = { ...process.env, PATH: `${bin}:${process.env["PATH"] ?? ""}`, ORGATE_HOME: join(scratch, "home"), NO_COLOR: "1" };

/** A `cd` in one block holds for the next, as it does for a reader. */
const place = join(scratch, "pwd");
function run(page: string): string {
  const script = page.replaceAll(/^(.*?) +# exits with (\d+).*$/gm, "{ $1 && exit 99; } || test $$? -eq $2");
  const cwd = existsSync(place) ? readFileSync(place, "utf8").trim() : scratch;
  const { status, stdout, stderr } = spawnSync("bash", ["-e", "-c", `trap 'pwd > "${place}"' EXIT\n${script}`], {
    cwd,
    env,
    encoding: "utf8",
  });
  expect({ status, stderr: status === 0 ? "" : stderr }).toEqual({ status: 0, stderr: "" });
  return stdout;
}

const escapeRegExp = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/** Lines of the page that the output does not have, in the page's order; `…` stands for anything. */
function missing(shown: string, output: string): readonly string[] {
  const lines = output.split("\n").map((line) => line.trim());
  let at = 0;
  return shown.split("\n").filter((line) => {
    const pattern = new RegExp(`^${line.trim().split("…").map(escapeRegExp).join(".*")}$`);
    const found = lines.findIndex((one, i) => i >= at && pattern.test(one));
    if (found >= 0) at = found + 1;
    return found < 0;
  });
}

describe("the tutorial's commands run in order, and print what the page shows", () => {
  test("it has six chapters", () => expect(chapters).toHaveLength(6));

  test.each(chapters.map((text) => [text.split("\n")[0] ?? "", text] as const))("%s", { timeout: 300_000 }, (_, text) => {
    const steps = [...text.matchAll(/```sh\n([\s\S]*?)```\n(?:\n```text\n([\s\S]*?)```)?/g)];
    expect(steps.length).toBeGreaterThan(0);
    for (const [, script = "", shown = ""] of steps) {
      const output = run(script);
      expect({ missing: missing(shown.trim(), output), output }).toEqual({ missing: [], output });
    }
  });
});
