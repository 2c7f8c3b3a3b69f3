import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { commandName, hintAsTyped, nextCommand, shellWord } from "./next-command.ts";

const folder = mkdtempSync(join(tmpdir(), "orgate-next-"));
afterAll(() => rmSync(folder, { recursive: true }));
const ROOT = join(import.meta.dirname, "../../../..");

/** In the checkout, as README says it; nothing of the npm that runs these tests is inherited. */
function sh(command: string) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("npm_")));
  const { status, stdout, stderr } = spawnSync("sh", ["-c", command], {
    cwd: ROOT,
    encoding: "utf8",
    env: { ...env, ORGATE_HOME: join(folder, "home") },
  });
  return { status, stdout, stderr };
}

test.each([
  ["npm run -s orgate --", "by-script"],
  ["npx orgate", "by-npx"],
])(
  "A-15 what `%s init` says to run next runs as it stands",
  (by, name) => {
    const project = join(folder, name);
    const made = sh(`${by} init '${project}' --yes`);
    expect(made.stderr).not.toMatch(/error/);
    const next = /^next: (.*), then see README\.md$/m.exec(made.stdout)?.[1] ?? "";
    expect(next.startsWith(`${by} run assistant`)).toBe(true);
    expect(sh(next)).toMatchObject({ status: 0, stdout: expect.stringContaining("The agent answered.") });
  },
  60_000,
);

test("A-15 a hint names the command as it was started; by its own name it stays as it is", () => {
  const hint = "`orgate init DIR` makes one; `orgate help` lists all";
  const npx = { npm_lifecycle_event: "npx", npm_lifecycle_script: "'orgate' 'run'" };
  expect(hintAsTyped(hint, npx)).toBe("`npx orgate init DIR` makes one; `npx orgate help` lists all");
  expect(hintAsTyped(hint, {})).toBe(hint);
  expect(commandName({ npm_lifecycle_event: "npx", npm_lifecycle_script: "vitest run" })).toBe("orgate");
  expect(nextCommand({ env: npx, project: "a b" }, "approvals list")).toBe("npx orgate approvals list --project 'a b'");
  expect(shellWord("-x'y")).toBe("'./-x'\\''y'");
});
