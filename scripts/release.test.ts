import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { temporaryTree } from "./fixtures/temporary-tree.ts";
import { objections, publishedManifest, refuseSourceNames, refuseUndeclared, release, withCompiledNames } from "./release.ts";

const ours = (file: string) => join(import.meta.dirname, "..", file);
const manifest = (value: Readonly<Record<string, unknown>>) =>
  JSON.stringify({ version: "0.1.0", type: "module", license: "Apache-2.0", ...value });

/** A repository in small: both packages, each with one of everything that must and must not ship. */
function smallRepository(more: Readonly<Record<string, string>> = {}): string {
  const root = realpathSync(
    temporaryTree({
      "tsconfig.base.json": readFileSync(ours("tsconfig.base.json"), "utf8"),
      "tsconfig.release.json": readFileSync(ours("tsconfig.release.json"), "utf8"),
      "package.json": manifest({ name: "small" }),
      "packages/core/README.md": "core\n",
      "packages/orgate/README.md": "host\n",
      LICENSE: "small\n",
      "packages/core/package.json": manifest({
        name: "@orgate/core",
        private: true,
        exports: { ".": "./src/index.ts", "./vocab": "./src/vocab/index.ts" },
        devDependencies: { vitest: "5.1.0" },
        scripts: { prepack: "false" },
      }),
      "packages/core/src/index.ts": 'export * from "./vocab/index.ts";\n',
      "packages/core/src/vocab/index.ts": 'export type { Word } from "./word.ts";\nexport { word } from "./word.ts";\n',
      "packages/core/src/vocab/word.ts": "export type Word = string;\nexport const word = (text: string): Word => text.toUpperCase();\n",
      "packages/core/src/vocab/word.test.ts": 'import { word } from "./word.ts";\nword("a");\n',
      "packages/core/src/vocab/word.test-d.ts": "export {};\n",
      "packages/core/src/ambient.d.ts": "interface AbortSignal {}\n",
      "packages/orgate/package.json": manifest({
        name: "orgate",
        engines: { node: ">=24" },
        bin: { orgate: "bin/orgate.js" },
        exports: { ".": "./src/index.ts" },
        dependencies: { "@orgate/core": "0.1.0" },
      }),
      "packages/orgate/src/index.ts": 'export { word } from "@orgate/core";\nexport { count } from "./count.ts";\n',
      "packages/orgate/src/main.ts":
        'import { readFileSync } from "node:fs";\nimport { word } from "@orgate/core/vocab";\nexport async function main(argv: readonly string[]): Promise<number> {\n  const { alone, counted, more, work } = await import("./deep/more.ts");\n  const said = `${counted()} ${await work()} ${alone.pathname.endsWith("/deep/alone.js")}`;\n  console.log(more, said, word(argv.join(" ")), readFileSync(new URL("./deep/asset.txt", import.meta.url), "utf8"));\n  return 7;\n}\n',
      "packages/orgate/src/deep/more.ts":
        'import { extname } from "node:path";\nimport { Worker } from "node:worker_threads";\nimport { count } from "../count.ts";\nexport const more = "more";\nexport const alone: URL = new URL(`./alone${extname(import.meta.url)}`, import.meta.url);\nexport const work = (): Promise<string> =>\n  new Promise((done) => new Worker(new URL(`./worker${extname(import.meta.url)}`, import.meta.url)).on("message", done));\nexport const counted = count;\n',
      "packages/orgate/src/deep/worker.ts":
        'import { parentPort } from "node:worker_threads";\nimport { count } from "../count.ts";\nparentPort?.postMessage(`worked ${count()}`);\n',
      "packages/orgate/src/deep/alone.ts": 'import { sep } from "node:path";\nconsole.log("alone", sep.length);\n',
      "packages/orgate/src/count.ts":
        "let n = 0;\n/** One for all who come in. */\nexport function count(): number {\n  n += 1;\n  return n;\n}\n",
      "packages/orgate/src/deep/asset.txt": "asset",
      "packages/orgate/src/deep/fixtures/golden.jsonl": "{}",
      "packages/orgate/src/deep/more.test.ts": "export {};\n",
      ...more,
    }),
  );
  cpSync(ours("packages/orgate/bin"), join(root, "packages/orgate/bin"), { recursive: true });
  mkdirSync(join(root, "node_modules/@orgate"), { recursive: true });
  symlinkSync(ours("node_modules/@types"), join(root, "node_modules/@types"));
  symlinkSync(join(root, "packages/core"), join(root, "node_modules/@orgate/core"));
  return root;
}

function listed(tarball: string): readonly string[] {
  const { stdout } = spawnSync("tar", ["-tzf", tarball], { encoding: "utf8" });
  return stdout.trim().split("\n").map((path) => path.replace(/^package\//, "")).sort(); // biome-ignore format: one thought
}

test("R-5 the tarballs hold compiled files in few pieces, types and assets, and run as what they were, through whichever door", () => {
  const root = smallRepository();
  const out = join(root, "out");
  mkdirSync(out);
  const tarballs = release(root, out);
  expect(tarballs.map((path) => basename(path))).toEqual(["orgate-core-0.1.0.tgz", "orgate-0.1.0.tgz"]);
  const pieces = (tarball: string | undefined) => listed(tarball ?? "").filter((file) => file.startsWith("chunks/"));
  expect(pieces(tarballs[0]).length + pieces(tarballs[1]).length).toBeLessThan(8);
  const apart = (tarball: string | undefined) => listed(tarball ?? "").filter((file) => !file.startsWith("chunks/"));
  expect(apart(tarballs[0])).toEqual(
    ["LICENSE", "README.md", "index.d.ts", "index.js", "package.json", "vocab/index.d.ts", "vocab/index.js", "vocab/word.d.ts"].sort(),
  );
  expect(apart(tarballs[1])).toEqual(
    [
      "LICENSE",
      "README.md",
      "bin/orgate.js",
      "deep/asset.txt",
      "count.d.ts",
      "deep/alone.d.ts",
      "deep/alone.js",
      "deep/more.d.ts",
      "deep/worker.d.ts",
      "deep/worker.js",
      "index.d.ts",
      "index.js",
      "main.d.ts",
      "main.js",
      "package.json",
    ].sort(),
  );
  expect(readFileSync(join(out, "core/vocab/index.d.ts"), "utf8")).not.toContain(".ts");

  const modules = join(root, "elsewhere/node_modules");
  for (const [name, tarball] of [
    ["@orgate/core", tarballs[0]],
    ["orgate", tarballs[1]],
  ] as const) {
    mkdirSync(join(modules, name), { recursive: true });
    expect(spawnSync("tar", ["-xzf", tarball ?? "", "--strip-components=1", "-C", join(modules, name)]).status).toBe(0);
  }
  const { stdout, status } = spawnSync(process.execPath, [join(modules, "orgate/bin/orgate.js"), "a", "b"], { encoding: "utf8" });
  expect({ stdout, status }).toEqual({ stdout: "more 1 worked 1 true A B asset\n", status: 7 });

  //
  const doors =
    'import { count, word } from "orgate"; import { main } from "./node_modules/orgate/main.js"; import { word as same } from "@orgate/core/vocab"; count(); await main([]); console.log(word === same);';
  writeFileSync(join(root, "elsewhere/doors.mjs"), doors);
  expect(spawnSync(process.execPath, [join(root, "elsewhere/doors.mjs")], { encoding: "utf8" }).stdout).toBe(
    "more 2 worked 1 true  asset\ntrue\n",
  );
  expect(spawnSync(process.execPath, [join(modules, "orgate/deep/alone.js")], { encoding: "utf8" }).stdout).toBe("alone 1\n");
  expect(readFileSync(join(modules, "orgate/deep/alone.js"), "utf8")).not.toContain("chunks/");
  expect(
    listed(tarballs[1] ?? "")
      .flatMap((file) => (file.endsWith(".js") ? [readFileSync(join(modules, "orgate", file), "utf8")] : []))
      .join(""),
  ).not.toContain(root);
});

test("R-5 sources that do not compile, and a file found by its source's name, are not released", () => {
  const broken = smallRepository({ "packages/orgate/src/deep/more.ts": 'export const more: number = "more";\n' });
  expect(() => release(broken, broken)).toThrow("TS2322");
  expect(existsSync(join(broken, "orgate-core-0.1.0.tgz"))).toBe(false);
  const worker = smallRepository({
    "packages/orgate/src/count.ts":
      'export const count = (): number => 1;\nexport const worker: string = new URL("./worker.ts", import.meta.url).href;\n',
  });
  expect(() => release(worker, worker)).toThrow("count.js names `./worker.ts` at run time");
  const lost = smallRepository({
    "packages/orgate/src/count.ts": 'export const count = (): URL => new URL("./deep/more.js", import.meta.url);\n',
  });
  expect(() => release(lost, lost)).toThrow("count.js finds `./deep/more.js` by its name");
  const placed = smallRepository({ "packages/orgate/src/count.ts": "export const count = (): string => import.meta.dirname;\n" });
  expect(() => release(placed, placed)).toThrow("import.meta.dirname cannot be published");
});

test("R-5 a published manifest names compiled entries, keeps what users need and drops what they do not", () => {
  const published = publishedManifest({
    name: "orgate",
    private: true,
    engines: { node: ">=24" },
    bin: { orgate: "bin/orgate.js" },
    exports: { ".": "./src/index.ts", "./a": "./src/a/b.ts" },
    dependencies: { zod: "4.6.7" },
    peerDependencies: { vitest: ">=5" },
    devDependencies: { vitest: "5.1.0" },
    scripts: { test: "x" },
  });
  expect(published).toEqual({
    name: "orgate",
    engines: { node: ">=24" },
    bin: { orgate: "bin/orgate.js" },
    exports: { ".": { types: "./index.d.ts", default: "./index.js" }, "./a": { types: "./a/b.d.ts", default: "./a/b.js" } },
    dependencies: { zod: "4.6.7" },
    peerDependencies: { vitest: ">=5" },
  });
  expect(() => publishedManifest({ exports: { ".": "./lib/index.ts" } })).toThrow("export `.`");
});

test.each([
  ["a/b.test.ts", "is a test"],
  ["a/b.test.js", "is a test"],
  ["a/b.test-d.d.ts", "is a test"],
  ["a/b.ts", "is a source"],
  ["a/B.tsx", "is a source"],
  ["ambient.d.ts", "belongs to the checkout"],
])("R-5 a tarball with %s is refused", (file, reason) => {
  const good = ["LICENSE", "README.md", "index.js", "index.d.ts"];
  expect(objections(good, { exports: { ".": { types: "./index.d.ts", default: "./index.js" } } })).toEqual([]);
  expect(objections([...good, file], {}).some((text) => text.includes(reason))).toBe(true);
});

test("R-5 a tarball without an entry, without licence, or with a range is refused", () => {
  expect(objections(["LICENSE", "README.md"], { bin: { orgate: "bin/orgate.js" }, exports: { ".": { default: "./index.js" } } })).toEqual([
    "`index.js` is an entry and missing",
    "`bin/orgate.js` is an entry and missing",
    "`main.js` is an entry and missing",
  ]);
  expect(objections(["README.md"], {})).toEqual(["`LICENSE` is missing"]);
  expect(objections(["LICENSE", "README.md"], { dependencies: { zod: "^4.6.7" } })).toEqual(["`zod` is not pinned"]);
});

test("R-5 declarations name compiled files; code that names a source is refused", () => {
  expect(withCompiledNames('export * from "./a.ts";\nexport type B = import("../b.ts").B;\nimport type { z } from "zod";\n')).toBe(
    'export * from "./a.js";\nexport type B = import("../b.js").B;\nimport type { z } from "zod";\n',
  );
  expect(() => refuseSourceNames("a.js", 'import "./b.js"; // "./c.ts"\n')).not.toThrow();
  expect(() => refuseSourceNames("a.js", 'new Worker("./b.ts")')).toThrow("./b.ts");
});

test.each(["core", "protocol", "symbi", "toolclad", "shell", "orgate"])(
  "R-5 the README of %s is for who installs it: no command of a checkout, no link into the repository",
  (name) => {
    const text = readFileSync(ours(`packages/${name}/README.md`), "utf8");
    expect(text).not.toMatch(/npm ci|npm start|npm run|npm test/);
    expect([...text.matchAll(/\]\(([^)]+)\)/g)].map(([, target]) => target).filter((target) => !target?.startsWith("https://"))).toEqual(
      [],
    );
    expect(name === "orgate" ? text : "npm install -g").toContain("npm install -g");
  },
);

test("R-5 a dependency that is carried is no longer one, unless its types are ours; one that our packages share has a door", () => {
  const core = publishedManifest({ name: "@orgate/core", exports: {}, dependencies: { zod: "4.6.7" } });
  expect(core).toMatchObject({ dependencies: { zod: "4.6.7" }, exports: { "./zod": { types: "./zod.d.ts", default: "./zod.js" } } });
  const host = publishedManifest({ name: "orgate", exports: {}, dependencies: { zod: "4.6.7", "gpt-tokenizer": "4.0.0" } });
  expect(host).toMatchObject({ dependencies: { zod: "4.6.7" }, exports: {} });
  expect(Object.keys(Object(host.dependencies))).toEqual(["zod"]);
});

test("R-5 a file that imports what its package does not depend on is not published", () => {
  const manifest = { name: "orgate", dependencies: { "@orgate/core": "0.1.0" }, peerDependencies: { "@ai-sdk/openai": "^4.0.0" } };
  const fine = 'import "node:fs"; import "./a.js"; import "@orgate/core/zod"; import "orgate"; await import("@ai-sdk/openai");';
  expect(() => refuseUndeclared("a.js", fine, manifest)).not.toThrow();
  expect(() => refuseUndeclared("a.js", 'import "gpt-tokenizer/encoding/o200k_base";', manifest)).toThrow("does not depend on");
});
