// `npm run release -- --out DIR`: compiles the packages, the console into orgate, writes a publishable folder and a tarball of each into DIR. Never publishes.
//
// R-5 a tarball holds compiled files, their types and what they read at run time: no test, no source, no script; every entry its manifest
//    names is in it, and its dependencies are exact
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { importsOf, tokensOf } from "./scan.ts";
import { isTest } from "./tree.ts";

const TSC = join(import.meta.dirname, "..", "node_modules", "typescript", "bin", "tsc");
/** Each after what it imports. */
const PACKAGES = ["core", "protocol", "symbi", "toolclad", "shell", "orgate"] as const;
/** Folders copied beside the compiled files, when they exist. */
const BESIDE: readonly string[] = ["bin"];
/** Projects that are copied, not imported, at run time: shipped as they stand, sources included. From the root, to a place in the package. */
const PROJECTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  orgate: {
    "examples/ops-desk": "demo/ops-desk",
    "examples/starters": "starter/projects",
    "policies/starter": "starter/policies",
    "policies/simulations": "starter/simulations",
    agents: "starter/agents",
    "policies/coordinator": "starter/coordinator",
    "policies/shell": "starter/shell",
    "policies/conductor": "starter/conductor",
  },
};
/**
 * Dependencies whose code a package brings in its own files (decision 0056): zod is 95 files, 62 of them languages; the tokenizer 27 MB, of which 4 are used;
 * the reader of TOML 9 files that every start loads.
 * `door`: where our other packages import it from, so that there is one of it.
 */
const CARRIED: Readonly<Record<string, Readonly<{ by: string; door: string | null }>>> = {
  zod: { by: "@orgate/core", door: "@orgate/core/zod" },
  "gpt-tokenizer": { by: "orgate", door: null },
  "smol-toml": { by: "orgate", door: null },
};
/** What processes begin with: a definition, a list, a run, a server. */
const STARTS: Readonly<Record<string, readonly string[]>> = {
  core: ["vocab/text/index", "vocab/index", "journal/index", "index", "gate/index"],
  orgate: ["main", "cli/commands/sessions/sessions-list", "index", "runtime/runtime", "cli/commands/sessions/run", "server/index"],
};
/** Never shipped: what only tests read. */
const TEST_FOLDERS = new Set(["fixtures", "__snapshots__"]);

type Manifest = Readonly<Record<string, unknown>>;

/** The tarballs, in the order they depend on each other. */
export function release(root: string, out: string): readonly string[] {
  const compiled = mkdtempSync(join(tmpdir(), "orgate-release-"));
  try {
    run(process.execPath, [TSC, "-p", join(root, "tsconfig.release.json"), "--outDir", compiled], root);
    return PACKAGES.filter((name) => existsSync(join(root, "packages", name))).map((name) => {
      const folder = join(out, name);
      rmSync(folder, { recursive: true, force: true });
      assemble(join(root, "packages", name), join(compiled, name, "src"), folder);
      for (const [from, to] of Object.entries(PROJECTS[name] ?? {})) copyProject(join(root, from), join(folder, to));
      if (name === "orgate" && existsSync(join(root, "packages", "console")))
        run(process.execPath, [join(root, "scripts", "build-console.ts"), "--out", join(folder, "console")], root);
      cpSync(join(root, "LICENSE"), join(folder, "LICENSE"));
      cpSync(join(root, "packages", name, "README.md"), join(folder, "README.md")); // for who installs it; the repository's is for who clones it
      return pack(folder, out);
    });
  } finally {
    rmSync(compiled, { recursive: true });
  }
}

/** Only what the project consists of: what running it in place has left behind stays there. */
function copyProject(from: string, to: string): void {
  if (!existsSync(from)) return;
  const left = new Set([".orgate", "node_modules", "effects.jsonl", "model-calls.jsonl", "reports", ".home"]);
  cpSync(from, to, { recursive: true, filter: (path) => !left.has(basename(path)) });
}

function assemble(source: string, compiled: string, folder: string): void {
  const written: Manifest = JSON.parse(readFileSync(join(source, "package.json"), "utf8"));
  const manifest = publishedManifest(written);
  const doors = [...leaves(publishedEntries(written)), ...startedFrom(manifest)].filter((target) => /(?<!\.d)\.js$/.test(target));
  for (const file of filesUnder(compiled)) if (file.endsWith(".js")) refuseSourceNames(file, readFileSync(join(compiled, file), "utf8"));
  // code in few pieces, types file by file: whoever reads them follows names
  cpSync(compiled, folder, { recursive: true, filter: (path) => !path.endsWith(".js") });
  const entries = doors.map((door) => door.replace(/^\.\//, "").replace(/\.js$/, ""));
  const pieces = [...(STARTS[basename(source)] ?? []).map((start) => `--start=${start}`), ...carryingOf(written)];
  run(process.execPath, [join(import.meta.dirname, "bundle.ts"), "--from", compiled, "--to", folder, ...pieces, ...entries], source);
  for (const name of carriedBy(written)) copyCarried(name, folder);
  for (const file of filesUnder(folder))
    if (file.endsWith(".js")) refuseUndeclared(file, readFileSync(join(folder, file), "utf8"), manifest);
  for (const file of filesUnder(folder)) {
    if (!file.endsWith(".d.ts")) continue;
    writeFileSync(join(folder, file), withCompiledNames(readFileSync(join(folder, file), "utf8")));
  }
  for (const name of BESIDE) if (existsSync(join(source, name))) cpSync(join(source, name), join(folder, name), { recursive: true });
  for (const file of assetsOf(join(source, "src"))) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(source, "src", file), join(folder, file));
  }
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Names of the dependencies that this package brings in its own files. */
const carriedBy = ({ name, dependencies }: Manifest): readonly string[] =>
  Object.keys(CARRIED).filter((one) => CARRIED[one]?.by === name && Object.hasOwn(record(dependencies), one));

function carryingOf(manifest: Manifest): readonly string[] {
  const own = carriedBy(manifest);
  const others = Object.entries(CARRIED).filter(([one, { door }]) => door !== null && !own.includes(one));
  return [
    ...own.map((one) => `--carry=${one}`),
    ...own.filter((one) => CARRIED[one]?.door !== null).map((one) => `--share=${one}`),
    ...others.map(([one, { door }]) => `--shared=${one}=${door}`),
  ];
}

/** Its licence travels with its code; its types stay in its own package. */
function copyCarried(name: string, folder: string): void {
  cpSync(join(import.meta.dirname, "..", "node_modules", name, "LICENSE"), join(folder, `LICENSE-${name}`));
  if (CARRIED[name]?.door !== null)
    writeFileSync(
      join(folder, `${name}.d.ts`),
      `export * from ${JSON.stringify(name)};\nexport { default } from ${JSON.stringify(name)};\n`,
    );
}

/** What the code reads at run time lies beside it and is neither code nor a test's. */
function assetsOf(source: string): readonly string[] {
  return filesUnder(source).filter((file) => !/\.tsx?$/.test(file) && !file.split("/").some((part) => TEST_FOLDERS.has(part)));
}

/** The compiler rewrites `./a.ts` to `./a.js` in code and leaves declarations as they are. */
export function withCompiledNames(declaration: string): string {
  let text = declaration;
  for (const { specifier, start, end } of importsOf(declaration).toReversed()) {
    if (specifier?.startsWith(".")) text = text.slice(0, start) + specifier.replace(/\.ts$/, ".js") + text.slice(end);
  }
  return text;
}

/** A worker or a module that is found by its source's name would be missing once compiled. */
export function refuseSourceNames(file: string, code: string): void {
  const left = tokensOf(code).find((token) => token.kind === "text" && /^\.{1,2}\/.*(?<!\.d)\.tsx?$/.test(token.value));
  if (left !== undefined) throw new Error(`${file} names \`${left.value}\` at run time: take the extension from import.meta.url`);
}

/** What a published file imports is installed with it, or named as a peer: a package that was to be carried and is not would be missing at a user's first use. */
export function refuseUndeclared(file: string, code: string, manifest: Manifest): void {
  const named = new Set([
    manifest.name,
    ...["dependencies", "optionalDependencies", "peerDependencies"].flatMap((kind) => Object.keys(record(manifest[kind]))),
  ]);
  for (const { specifier } of importsOf(code)) {
    if (specifier === null || specifier.startsWith(".") || specifier.startsWith("node:")) continue;
    const name = /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0];
    if (!named.has(name)) throw new Error(`${file} imports \`${specifier}\`, which its package does not depend on`);
  }
}

/** Entry points move from `./src/a.ts` to `./a.js`; what only development needs is dropped, and what is carried and has no types of ours. */
export function publishedManifest(manifest: Manifest): Manifest {
  const { devDependencies: _tools, scripts: _scripts, private: _guard, exports: _sources, dependencies, ...kept } = manifest;
  const carried = carriedBy(manifest);
  const shared = carried.filter((name) => CARRIED[name]?.door !== null);
  const left = Object.entries(record(dependencies)).filter(([name]) => !carried.includes(name) || shared.includes(name));
  return {
    ...kept,
    ...(dependencies === undefined ? {} : { dependencies: Object.fromEntries(left) }),
    exports: {
      ...publishedEntries(manifest),
      ...Object.fromEntries(shared.map((name) => [`./${name}`, { types: `./${name}.d.ts`, default: `./${name}.js` }])),
    },
  };
}

function publishedEntries({ exports }: Manifest): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(record(exports)).map(([door, target]) => [door, publishedEntry(door, target)]));
}

function publishedEntry(door: string, target: unknown): unknown {
  const name = typeof target === "string" ? /^\.\/src\/(.+)\.ts$/.exec(target)?.[1] : undefined;
  if (name === undefined) throw new Error(`export \`${door}\` is not of the form ./src/name.ts`);
  return { types: `./${name}.d.ts`, default: `./${name}.js` };
}

function pack(folder: string, out: string): string {
  const [packed] = JSON.parse(run("npm", ["pack", folder, "--json", "--ignore-scripts", "--pack-destination", out], out));
  const files: readonly string[] = packed.files.map((file: { path: string }) => file.path);
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const wrong = objections(files, manifest);
  if (wrong.length > 0) throw new Error(`${packed.filename}: ${wrong.join("; ")}`);
  return join(out, packed.filename);
}

/** What a tarball with these files and this manifest must not be published with. */
export function objections(files: readonly string[], manifest: Manifest): readonly string[] {
  const names = new Set(files);
  const targets = [...leaves(manifest.exports), ...leaves(manifest.bin), ...startedFrom(manifest)].map((target) =>
    target.replace(/^\.\//, ""),
  );
  const pins = Object.entries({ ...record(manifest.dependencies), ...record(manifest.optionalDependencies) });
  return [
    ...files.filter((file) => isTest(file) || /\.test(-d)?\.(d\.ts|js)$/.test(file)).map((file) => `\`${file}\` is a test`),
    ...files
      .filter((file) => /\.tsx?$/.test(file) && !file.endsWith(".d.ts") && !isShippedProject(file))
      .map((file) => `\`${file}\` is a source`),
    ...files.filter((file) => basename(file) === "ambient.d.ts").map((file) => `\`${file}\` belongs to the checkout`),
    ...targets.filter((target) => !names.has(target)).map((target) => `\`${target}\` is an entry and missing`),
    ...["LICENSE", "README.md"].filter((page) => !names.has(page)).map((page) => `\`${page}\` is missing`),
    ...pins.filter(([, version]) => !/^\d+\.\d+\.\d+/.test(String(version))).map(([name]) => `\`${name}\` is not pinned`),
  ];
}

/** What bin/orgate.js imports. */
const startedFrom = (manifest: Manifest): readonly string[] => (manifest.bin === undefined ? [] : ["main.js"]);

const isShippedProject = (file: string): boolean =>
  Object.values(PROJECTS).some((places) => Object.values(places).some((place) => file.startsWith(`${place}/`)));

function leaves(value: unknown): readonly string[] {
  return typeof value === "string" ? [value] : Object.values(record(value)).flatMap(leaves);
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function filesUnder(folder: string): readonly string[] {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((path) => path.replaceAll("\\", "/"));
  return paths.filter((path) => statSync(join(folder, path)).isFile()).sort();
}

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8", shell: process.platform === "win32" });
  if (status !== 0)
    throw new Error(`${basename(command)} ${basename(args[0] ?? "")} failed\n${stdout ?? ""}${stderr ?? ""}${error?.message ?? ""}`);
  return stdout;
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { out: { type: "string" } } });
  if (values.out === undefined) {
    console.error("where to? run `npm run release -- --out DIR`");
    process.exitCode = 1;
  } else {
    const out = resolve(process.env.INIT_CWD ?? process.cwd(), values.out); // npm runs scripts in the root, people name folders from where they are
    mkdirSync(out, { recursive: true });
    try {
      for (const tarball of release(join(import.meta.dirname, ".."), out)) console.log(tarball);
    } catch (error) {
      console.error(`nothing to publish: ${error instanceof Error ? error.message.trim() : String(error)}`);
      process.exitCode = 1;
    }
  }
}
