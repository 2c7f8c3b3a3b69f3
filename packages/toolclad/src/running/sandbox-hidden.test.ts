import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { closeAll, mountsFor, NO_PROTECTION } from "./sandbox-bubblewrap.ts";
import { hiddenBelow } from "./sandbox-hidden.ts";

const made: string[] = [];
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});
function folderWith(...files: readonly string[]): string {
  const root = mkdtempSync(join(tmpdir(), "orgate-hidden-"));
  made.push(root);
  for (const file of files) {
    mkdirSync(join(root, file, ".."), { recursive: true });
    writeFileSync(join(root, file), "KEY=1");
  }
  return root;
}
const below = (root: string, most?: number) => {
  const found = hiddenBelow(root, most);
  return typeof found === "string" ? found : found.map((path) => path.slice(root.length + 1)).sort();
};

test("T-27 files of variables and the records of other projects are found wherever they lie, and nothing else", () => {
  const root = folderWith(
    "a/.env",
    "a/b/c/.env.local",
    ".ENV.Production",
    "d/.orgate/journal.db",
    "a/.environment",
    "env",
    "a/x.env",
    "d/.env.d/x",
  );
  expect(below(root)).toEqual([".ENV.Production", "a/.env", "a/b/c/.env.local", "d/.env.d", "d/.orgate"]);
});

test("T-27 what is there later is found later, though folders are not read again for nothing", () => {
  const root = folderWith("a/b/x");
  const long = new Date(Date.now() - 60_000);
  utimesSync(join(root, "a/b"), long, long);
  expect(below(root)).toEqual([]);
  expect(below(root)).toEqual([]);
  writeFileSync(join(root, "a/b/.env.new"), "");
  expect(below(root)).toEqual(["a/b/.env.new"]);
  rmSync(join(root, "a/b/.env.new"));
  expect(below(root)).toEqual([]);
});

test("T-27 in every grant they are masked, for reading and for writing; one that is such a file, and one beyond the bounds, is refused", () => {
  const root = folderWith("a/.env", "a/b/.env.local", "a/x", "tools/t", "a/vars");
  symlinkSync("vars", join(root, "a/.env.linked"));
  const protection = {
    ...NO_PROTECTION,
    judge: (path: string) =>
      path === join(root, "tools") ? ({ kind: "protected", what: "tools" } as const) : ({ kind: "free", real: path } as const),
    places: () => [join(root, "tools")],
  };
  for (const access of ["read", "write"] as const) {
    const mounts = mountsFor([{ path: root, access }], protection);
    if ("reason" in mounts) throw new Error(mounts.reason);
    closeAll(mounts);
    const masks = mounts.flatMap((mount) => (mount.access === "hidden" ? [mount.at.slice(root.length + 1)] : []));
    expect([...new Set(masks)].sort()).toEqual(["a/.env", "a/b/.env.local", "a/vars"]);
    // a mask is made after every mount that shows what lies under it
    const last = Math.max(...mounts.map((mount, i) => (mount.access === "hidden" ? -1 : i)));
    expect(mounts.findIndex((mount) => mount.access === "hidden")).toBeGreaterThan(last);
  }
  expect(mountsFor([{ path: join(root, "a/.env"), access: "read" }], NO_PROTECTION)).toMatchObject({
    reason: expect.stringContaining("never shown"),
  });
  expect(below(root, 2)).toContain("more than 2 folders");
});
