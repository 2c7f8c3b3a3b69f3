// `node scripts/bundle.ts --from DIR --to DIR`: the compiled files of one package in few pieces, since every file that is loaded costs a third of a millisecond at least.
// Every door of the package, and every file that is started by its path, stays where it was; what they share lies once in `chunks/`, so that whoever comes in through
// whichever door meets the same instance. Dependencies, `@orgate/core` among them, stay outside for the same reason.
//
// R-5 the published files are few, and mean what the compiled ones do: each keeps its own address, and files that are started by path stand for themselves
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, posix, relative, sep } from "node:path";
import { parseArgs } from "node:util";
import { type Plugin, rolldown } from "rolldown";
import { importsOf, tokensOf } from "./scan.ts";

/** `doors`: paths below `from`, without the ending. Files that are started by path are found. */
export async function bundle(from: string, to: string, doors: readonly string[]): Promise<void> {
  const started = startedByPath(from);
  const alone = started.filter(
    (name) => !importsOf(readFileSync(join(from, `${name}.js`), "utf8")).some(({ specifier }) => specifier?.startsWith(".")),
  );
  const entries = [...new Set([...doors, ...started])].filter((name) => !alone.includes(name));
  const build = await rolldown({
    cwd: from, // pieces name their files from here
    input: Object.fromEntries(entries.map((entry) => [entry, join(from, `${entry}.js`)])),
    external: (id) => !id.startsWith(".") && !id.startsWith(from),
    platform: "node",
    treeshake: false, // as it was compiled: nothing is guessed about what has an effect
    plugins: [ownAddresses(from)],
    checks: { bundlerTimings: false }, // a busy machine makes plugins slow; that says nothing about the files
    onLog(_, log) {
      throw new Error(log.message); // whatever it has to say was not looked at by anybody
    },
  });
  try {
    await build.write({
      dir: to,
      format: "esm",
      entryFileNames: "[name].js",
      chunkFileNames: "chunks/[name]-[hash].js",
    });
  } finally {
    await build.close();
  }
  for (const { file, name } of namedIn(from))
    if (!existsSync(join(to, dirname(file), name)))
      throw new Error(`${file} finds \`${name}\` by its name, and it is not published: take the extension from import.meta.url`);
  // a sandbox shows it to its program, and nothing that lies elsewhere
  for (const name of alone) {
    mkdirSync(dirname(join(to, name)), { recursive: true });
    cpSync(join(from, `${name}.js`), join(to, `${name}.js`));
  }
}

/** What is looked for beside a file (a worker, an asset, the manifest) is found from where that file would have been. */
function ownAddresses(from: string): Plugin {
  return {
    name: "own-addresses",
    transform(code, id) {
      const places = addressesIn(code);
      if (places.length === 0) return null;
      const name = JSON.stringify(relative(from, id).split(sep).join("/"));
      let text = code;
      for (const { start, end } of places.toReversed()) text = `${text.slice(0, start)}${MARK}(${name})${text.slice(end)}`;
      return text;
    },
    renderChunk(code, { fileName }) {
      return code.replaceAll(MARKED, (_, name: string) => {
        const path = posix.relative(posix.dirname(fileName), name);
        return name === fileName
          ? "import.meta.url"
          : `new URL(${JSON.stringify(path.startsWith(".") ? path : `./${path}`)}, import.meta.url).href`;
      });
    },
  };
}
const MARK = "__ownAddress";
const MARKED = /__ownAddress\("([^"]+)"\)/g;

/** Where code, not text, says `import.meta.url`; other ways to ask for the address are refused. */
function addressesIn(code: string): readonly Readonly<{ start: number; end: number }>[] {
  const tokens = tokensOf(code);
  return tokens.flatMap((token, i) => {
    const next = tokens.slice(i + 1, i + 5);
    if (token.kind !== "word" || token.value !== "import" || next.map(({ value }) => value).slice(0, 3).join("") !== ".meta.") return []; // biome-ignore format: one thought
    const [, , , what] = next;
    if (what?.value !== "url") throw new Error(`import.meta.${what?.value ?? ""} cannot be published: use import.meta.url`);
    return [{ start: token.start, end: what.end }];
  });
}

/** Compiled files that code names without importing them. */
function namedIn(from: string): readonly Readonly<{ file: string; name: string }>[] {
  return compiledIn(from).flatMap((file) => {
    const code = readFileSync(join(from, file), "utf8");
    const imported = new Set(importsOf(code).map(({ specifier }) => specifier));
    return tokensOf(code).flatMap(({ kind, value }) =>
      kind === "text" && /^\.{1,2}\/.*\.js$/.test(value) && !imported.has(value) && existsSync(join(from, dirname(file), value))
        ? [{ file, name: value }]
        : [],
    );
  });
}

const compiledIn = (from: string): readonly string[] =>
  readdirSync(from, { recursive: true, encoding: "utf8" })
    .map((path) => path.split(sep).join("/"))
    .filter((path) => path.endsWith(".js"));

/** Files that are started by their path: a worker, a program. They are named beside the file that starts them, with the ending of that file. */
function startedByPath(from: string): readonly string[] {
  return compiledIn(from)
    .flatMap((path) =>
      [...readFileSync(join(from, path), "utf8").matchAll(/new URL\(`\.\/([\w-]+)\$\{extname\(import\.meta\.url\)\}`/g)].map(
        ([, name = ""]) => posix.join(posix.dirname(path), name),
      ),
    )
    .sort();
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({ options: { from: { type: "string" }, to: { type: "string" } }, allowPositionals: true });
  await bundle(realpathSync(values.from ?? ""), values.to ?? "", positionals);
}
