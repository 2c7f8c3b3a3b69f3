// `node scripts/bundle.ts --from DIR --to DIR`: the compiled files of one package in few pieces, since every file that is loaded costs a third of a millisecond at least.
// Every door of the package, and every file that is started by its path, stays where it was; what they share lies once in `chunks/`, so that whoever comes in through
// whichever door meets the same instance. Dependencies, `@orgate/core` among them, stay outside for the same reason, except the few that a package carries (decision 0056).
//
// R-5 the published files are few, and mean what the compiled ones do: each keeps its own address, and files that are started by path stand for themselves
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, posix, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type InputOptions, type Plugin, type RolldownOutput, rolldown } from "rolldown";
import { importsOf, tokensOf } from "./scan.ts";

export type Pieces = Readonly<{
  /** Paths below `from`, without the ending. Files that are started by path are found. */
  doors: readonly string[];
  /** Files, named like doors, with which common processes begin: what the same of them load lies in one piece. */
  starts: readonly string[];
  /** Dependencies whose code is put into the package's own files. */
  carries: readonly string[];
  /** Of these, those that other packages of ours import from here: each gets a door of its name. */
  shares: readonly string[];
  /** Dependencies that a package of ours shares: name to address. */
  shared: Readonly<Record<string, string>>;
}>;

export async function bundle(from: string, to: string, pieces: Pieces): Promise<void> {
  const { doors, starts, carries, shares, shared } = pieces;
  const started = startedByPath(from);
  const alone = started.filter(
    (name) =>
      !importsOf(readFileSync(join(from, `${name}.js`), "utf8")).some(
        ({ specifier }) => specifier?.startsWith(".") || carries.includes(packageOf(specifier ?? "")),
      ),
  );
  const entries = [...new Set([...doors, ...started])].filter((name) => !alone.includes(name));
  const input: InputOptions = {
    cwd: from, // pieces name their files from here
    input: Object.fromEntries([...entries.map((entry) => [entry, join(from, `${entry}.js`)]), ...shares.map((name) => [name, name])]),
    external: (id) => !id.startsWith(".") && !isAbsolute(id) && !carries.includes(packageOf(id)) && !Object.hasOwn(shared, id),
    platform: "node",
    treeshake: false, // as it was compiled: nothing is guessed about what has an effect
    plugins: [carried(carries, shared), ownAddresses(from)],
    checks: { bundlerTimings: false }, // a busy machine makes plugins slow; that says nothing about the files
    onLog(_, log) {
      throw new Error(log.message); // whatever it has to say was not looked at by anybody
    },
  };
  await writePieces(input, to, starts.length === 0 ? null : pieceOf(from, pieces));
  for (const { file, name } of namedIn(from))
    if (!existsSync(join(to, dirname(file), name)))
      throw new Error(`${file} finds \`${name}\` by its name, and it is not published: take the extension from import.meta.url`);
  // a sandbox shows it to its program, and nothing that lies elsewhere
  for (const name of alone) {
    mkdirSync(dirname(join(to, name)), { recursive: true });
    cpSync(join(from, `${name}.js`), join(to, `${name}.js`));
  }
}

const OUTPUT = {
  format: "esm",
  entryFileNames: "[name].js",
  chunkFileNames: "chunks/[name]-[hash].js",
  comments: { jsdoc: false, annotation: false, legal: true }, // people read them beside the types
} as const;

/** Whichever way the files are put together, a door has the names that its source exports, and no more. */
async function writePieces(input: InputOptions, to: string, piece: ((id: string) => string | null) | null): Promise<void> {
  await using plain = await rolldown(input);
  if (piece === null) return void (await plain.write({ ...OUTPUT, dir: to }));
  await using grouped = await rolldown({ ...input, preserveEntrySignatures: "allow-extension" }); // groups that leave dependencies out need it
  // a piece imports only pieces that more starts load: no circles
  const codeSplitting = { includeDependenciesRecursively: false, groups: [{ name: piece }] };
  const written = doorNames(await grouped.write({ ...OUTPUT, dir: to, codeSplitting }));
  for (const [door, names] of doorNames(await plain.generate(OUTPUT)))
    if (written.get(door) !== names) throw new Error(`\`${door}\` exports other names than its source: ${written.get(door)}; not ${names}`);
}

const doorNames = ({ output }: RolldownOutput): ReadonlyMap<string, string> =>
  new Map(output.flatMap((file) => (file.type === "chunk" && file.isEntry ? [[file.name, file.exports.toSorted().join(", ")]] : [])));

/** Dependencies that are carried are found where this repository has them; the ones that a package of ours shares are imported from there. */
function carried(carries: readonly string[], shared: Pieces["shared"]): Plugin {
  return {
    name: "carried",
    resolveId(source) {
      if (Object.hasOwn(shared, source)) return { id: shared[source] ?? source, external: true };
      return carries.includes(packageOf(source)) ? fileURLToPath(import.meta.resolve(source)) : null;
    },
    load(id) {
      // zod's messages in 62 languages: nobody can choose one of them here, and whoever imports zod has them all
      return /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/.test(id) ? 'export { default as en } from "./en.js";' : null;
    },
  };
}

const packageOf = (specifier: string): string => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;

/** Names the piece of a file by the starts that load it: none loads a file that it does not need, and each few pieces. Doors stand by themselves. */
function pieceOf(from: string, { doors, starts, shares }: Pieces): (id: string) => string | null {
  const loaded = starts.map((start) => loadedBy(from, `${start}.js`));
  return (id) => {
    const path = id.split(sep).join("/");
    const share = shares.find((name) => path.includes(`/node_modules/${name}/`));
    if (share !== undefined) return share;
    const file = posix.relative(from.split(sep).join("/"), path);
    const by = starts.filter((_, i) => loaded[i]?.has(file));
    return by.length === 0 || doors.includes(file.replace(/\.js$/, ""))
      ? null
      : by.map((start) => posix.basename(start.replace(/\/index$/, ""))).join("-");
  };
}

/** Every file that is loaded before the first line of this one runs. */
function loadedBy(from: string, entry: string): ReadonlySet<string> {
  const seen = new Set<string>();
  const left = existsSync(join(from, entry)) ? [entry] : [];
  for (let file = left.pop(); file !== undefined; file = left.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    const code = readFileSync(join(from, file), "utf8");
    for (const { specifier, start } of importsOf(code))
      if (specifier?.startsWith(".") && !/\bimport\s*\($/.test(code.slice(0, start - 1)))
        left.push(posix.join(posix.dirname(file), specifier));
  }
  return seen;
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
      [...readFileSync(join(from, path), "utf8").matchAll(/new URL\(`\.\/([\w/-]+)\$\{extname\(import\.meta\.url\)\}`/g)].map(
        ([, name = ""]) => posix.join(posix.dirname(path), name),
      ),
    )
    .sort();
}

if (import.meta.main) {
  const list = { type: "string", multiple: true, default: [] as string[] } as const;
  const { values, positionals } = parseArgs({
    options: { from: { type: "string" }, to: { type: "string" }, start: list, carry: list, share: list, shared: list },
    allowPositionals: true,
  });
  const shared = Object.fromEntries(values.shared.map((one) => one.split("=", 2)));
  await bundle(realpathSync(values.from ?? ""), values.to ?? "", {
    doors: positionals,
    starts: values.start,
    carries: values.carry,
    shares: values.share,
    shared,
  });
}
