// `npm run build -w @orgate/console`: the console as static files, each compressed beforehand. `--if-needed` leaves a build of the same sources as it is.
//
// O-2 what the first screen loads, everything counted and compressed, is 350 kB at the most: a build above that fails
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "vite";

const ROOT = join(import.meta.dirname, "..");
const CONSOLE = join(ROOT, "packages", "console");
export const MOST_FIRST = 350_000;
/** What is loaded before anybody has done anything: the page, the frame, and the screen that `/` leads to. */
const FIRST: readonly string[] = ["index.html", "src/screens/chat/Chat.tsx"];
/** Read for the stamp: what a build is made from. */
const SOURCES: readonly string[] = [
  "packages/console/src",
  "packages/console/index.html",
  "packages/console/package.json",
  "packages/core/src/vocab",
  "packages/protocol/src",
  "scripts/build-console.ts",
  "package-lock.json",
];
const STAMP = ".built";
const PACKED = /\.(?:js|css|svg|html|json)$/;

type Chunk = Readonly<{ file: string; imports?: readonly string[]; css?: readonly string[]; assets?: readonly string[] }>;
export type Built = Readonly<{ files: number; firstBytes: number; fresh: boolean }>;

export async function buildConsole(to: string, ifNeeded: boolean): Promise<Built> {
  const stamp = join(to, STAMP);
  const digest = digestOf(SOURCES.map((source) => join(ROOT, source)));
  if (ifNeeded && existsSync(stamp) && readFileSync(stamp, "utf8") === digest) {
    return { files: filesUnder(to).length, firstBytes: firstBytes(to), fresh: false };
  }
  await build({
    root: CONSOLE,
    configFile: false,
    logLevel: "warn",
    build: {
      outDir: to,
      emptyOutDir: true,
      target: "es2023",
      manifest: true, // what the first screen loads is counted by it
      assetsInlineLimit: 0, // a `data:` font or image would have to be allowed by the content policy
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      chunkSizeWarningLimit: 1_500,
      rolldownOptions: {
        // Decoders are made where their modules run, and must find them interpreted by then (O-2): whatever is split off comes after this.
        output: { codeSplitting: { groups: [{ name: "zod", test: /node_modules\/zod\/|without-eval/ }] } },
        onLog: (level, log, told) => (log.code === "MODULE_LEVEL_DIRECTIVE" ? undefined : told(level, log)), // `use client` is for servers: there is none here
      },
    },
  });
  for (const file of filesUnder(to).filter((path) => PACKED.test(path))) pack(join(to, file));
  const bytes = firstBytes(to);
  if (bytes > MOST_FIRST) throw new Error(`the first screen loads ${bytes} bytes, compressed; ${MOST_FIRST} is the most`);
  writeFileSync(stamp, digest);
  return { files: filesUnder(to).length, firstBytes: bytes, fresh: true };
}

function pack(path: string): void {
  const bytes = readFileSync(path);
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 10 } }));
}

/** Compressed with gzip, which everybody has; fonts are compressed in themselves. */
export function firstBytes(to: string): number {
  const manifest: Readonly<Record<string, Chunk>> = JSON.parse(readFileSync(join(to, ".vite", "manifest.json"), "utf8"));
  const chunks = new Set<string>();
  const visit = (name: string): void => {
    if (chunks.has(name)) return;
    chunks.add(name);
    for (const other of manifest[name]?.imports ?? []) visit(other);
  };
  for (const name of FIRST) {
    if (manifest[name] === undefined) throw new Error(`the build has no \`${name}\``);
    visit(name);
  }
  const files = new Set([...chunks].flatMap((name) => filesOf(manifest[name])));
  return ["index.html", ...files].reduce((sum, file) => sum + sizeOf(join(to, file)), 0);
}
const filesOf = (chunk: Chunk | undefined): readonly string[] =>
  chunk === undefined ? [] : [chunk.file, ...(chunk.css ?? []), ...(chunk.assets ?? [])];
const sizeOf = (path: string): number => (PACKED.test(path) ? gzipSync(readFileSync(path), { level: 9 }).length : statSync(path).size);

function digestOf(paths: readonly string[]): string {
  const hash = createHash("sha256");
  for (const path of paths) {
    const files = statSync(path).isFile() ? [path] : filesUnder(path).map((file) => join(path, file));
    for (const file of files)
      if (!/\.test\.tsx?$/.test(file)) hash.update(file.slice(ROOT.length)).update("\0").update(readFileSync(file)).update("\0");
  }
  return hash.digest("hex");
}

function filesUnder(folder: string): readonly string[] {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((path) => path.replaceAll("\\", "/"));
  return paths.filter((path) => statSync(join(folder, path)).isFile()).sort();
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { out: { type: "string" }, "if-needed": { type: "boolean", default: false } } });
  const to = values.out === undefined ? join(CONSOLE, "dist") : resolve(values.out);
  try {
    const { files, firstBytes: bytes, fresh } = await buildConsole(to, values["if-needed"]);
    if (fresh) console.log(`the console is built: ${files} files, its first screen loads ${Math.round(bytes / 1_000)} kB, compressed`);
  } catch (error) {
    console.error(`the console is not built: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
