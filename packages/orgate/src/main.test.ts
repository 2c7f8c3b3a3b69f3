import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

const ORGATE = join(import.meta.dirname, "..", "bin", "orgate.js");

test("R-9 compiled code is kept beside a person's keys, and only where nobody else may write", () => {
  const folder = mkdtempSync(join(tmpdir(), "orgate-main-"));
  const started = (home: string): string =>
    spawnSync(process.execPath, [ORGATE, "--version"], { encoding: "utf8", env: { ORGATE_HOME: home } }).stdout;
  try {
    const [own, open, none] = [join(folder, "own"), join(folder, "open"), join(folder, "none")];
    mkdirSync(own, { mode: 0o700 });
    mkdirSync(open);
    chmodSync(open, 0o777);
    const said = [own, open, none].map(started);
    expect(said).toEqual([expect.stringMatching(/^\d+\.\d+\.\d+\n$/), said[0], said[0]]);
    expect([own, open, none].map((home) => existsSync(join(home, "cache")))).toEqual([true, false, false]);
    expect(existsSync(none)).toBe(false);
    expect(statSync(join(own, "cache")).mode & 0o777).toBe(0o700); // whatever the person's umask is
    rmSync(join(own, "cache"), { recursive: true });
    mkdirSync(join(own, "cache"));
    chmodSync(join(own, "cache"), 0o777);
    expect(started(own)).toBe(said[0]);
    expect(readdirSync(join(own, "cache"))).toEqual([]); // what others may have put there is not read either
    rmSync(join(own, "cache"), { recursive: true });
    chmodSync(own, 0o500); // a folder that cannot be written to
    expect(started(own)).toBe(said[0]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
