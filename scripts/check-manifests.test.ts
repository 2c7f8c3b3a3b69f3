import { expect, test } from "vitest";
import { checkLocks, checkLocksComplete, checkOneVersion, checkPins } from "./check-manifests.ts";
import { temporaryTree } from "./fixtures/temporary-tree.ts";

type Json = Readonly<Record<string, unknown>>;
const page = (value: Json) => `${JSON.stringify(value, null, 2)}\n`;
const tree = (root: Json, member: Json = {}, outside: Json = {}) =>
  temporaryTree({
    "package.json": page({ name: "whole", version: "0.1.0", workspaces: ["packages/*"], ...root }),
    "packages/core/package.json": page({ name: "@orgate/core", version: "0.1.0", ...member }),
    "bench/peers/package.json": page({ name: "peers", version: "7.0.0", ...outside }),
  });

test.each(["^1.2.3", "~1.2.3", ">=1.2.3", "*", "1.x", "1.2", "latest", "1.2.3 || 2.0.0", "workspace:*", "file:../x", ""])(
  "R-2 a dependency pinned as `%s` is found",
  (range) => {
    for (const group of ["dependencies", "devDependencies", "optionalDependencies"]) {
      expect(checkPins(tree({}, { [group]: { zod: range } }))).toMatchObject([{ file: "packages/core/package.json", line: 5 }]);
      expect(checkPins(tree({}, {}, { [group]: { zod: range } }))).toMatchObject([{ file: "bench/peers/package.json" }]);
    }
  },
);

test("R-2 exact versions pass, prereleases and the ranges of peers included", () => {
  expect(
    checkPins(
      tree(
        { devDependencies: { zod: "4.6.7", pg: "1.0.0-beta.1" } },
        { dependencies: { zod: "4.6.7" }, peerDependencies: { react: ">=19" } },
      ),
    ),
  ).toEqual([]);
});

test("R-2 one dependency at two versions in the workspaces is found; outside them it is not", () => {
  expect(checkPins(tree({ devDependencies: { zod: "4.6.7" } }, { dependencies: { zod: "4.6.8" } }))).toHaveLength(1);
  expect(checkPins(tree({ devDependencies: { zod: "4.6.7" } }, {}, { dependencies: { zod: "4.6.8" } }))).toEqual([]);
});

test("R-2 a workspace with another version is found, and so is a reference to another version of one", () => {
  expect(checkOneVersion(tree({}))).toEqual([]);
  expect(checkOneVersion(tree({}, { version: "0.2.0" }))).toMatchObject([{ file: "packages/core/package.json", line: 3 }]);
  expect(checkOneVersion(tree({ dependencies: { "@orgate/core": "0.0.9" } }))).toMatchObject([{ file: "package.json" }]);
});

test("R-2 a lock file that says where packages came from is found, links and integrity are not", () => {
  const lock = (resolved: string) =>
    temporaryTree({ "e2e/package-lock.json": `{\n  "resolved": "${resolved}",\n  "integrity": "sha512-x"\n}\n` });
  expect(checkLocks(lock("https://packages.example.org/zod.tgz"))).toMatchObject([{ file: "e2e/package-lock.json", line: 2 }]);
  expect(checkLocks(lock("git+ssh://git@example.org/zod.git"))).toHaveLength(1);
  expect(checkLocks(lock("packages/core"))).toEqual([]);
});

test("R-2 a lock file without an entry for a package of another platform is found, wherever npm would look for it", () => {
  const lock = (packages: Json) => temporaryTree({ "package-lock.json": page({ packages }) });
  const linter = { optionalDependencies: { "@lint/linux": "1.0.0", "@lint/darwin": "1.0.0" } };
  const whole = {
    "": { devDependencies: { lint: "1.0.0" } },
    "node_modules/lint": linter,
    "node_modules/@lint/linux": {},
    "node_modules/@lint/darwin": {},
  };
  expect(checkLocksComplete(lock(whole))).toEqual([]);
  const { "node_modules/@lint/darwin": _gone, ...partial } = whole;
  expect(checkLocksComplete(lock(partial))).toMatchObject([
    { file: "package-lock.json", message: expect.stringContaining("`@lint/darwin`") },
  ]);
  expect(checkLocksComplete(lock({ ...partial, "node_modules/lint/node_modules/@lint/darwin": {} }))).toEqual([]);
  expect(checkLocksComplete(lock({ ...partial, "node_modules/other/node_modules/@lint/darwin": {} }))).toHaveLength(1);
});
