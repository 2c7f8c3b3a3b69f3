/**
 * Which files a module can make Node load: followed through its imports, with every place where Node would look for them.
 *
 * Nothing here is trusted to be complete: the loader refuses a file of the project that is not protected (`modules.ts`), so what is
 * missed here is not run. What must be complete is the list of places that could be chosen *instead* of the file that is there.
 */
import { readFileSync, statSync } from "node:fs";
import { dirname, extname, isAbsolute, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { isBelow, realPath } from "../files/text-file.ts";

const CODE = /\.[cm]?[jt]s$/;
/** `require("./x")` tries these after `x` itself. */
const TRIED = [".js", ".json", ".node"];
const MAX_BYTES = 4 * 1_048_576;

/**
 * Import, export … from, import(), require(), workers, and URLs of other code (T-11: another module decides whether they are a worker or a program), with
 * their text as a constant.
 */
const SPECIFIER =
  /(?:\b(from|import|require(?:\.resolve)?)\s*\(?|\bnew\s+Worker\s*\(\s*(?:new\s+URL\s*\()?|\bnew\s+(URL)\s*\()\s*(?:\/\*[\s\S]*?\*\/\s*)*(["'`])((?:\\.|(?!\3)[^\\\n])*)\3/g;

type Specifier = Readonly<{ text: string; required: boolean }>;

const MOST_CACHED = 10_000;
/** A value computed from a file's text, cached while the file is unchanged; null if the file cannot be read. */
export function findImports<T>(make: (text: string) => T): (file: string) => T | null {
  const cache = new Map<string, Readonly<{ stamp: string; value: T }>>();
  return (file) => {
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat?.isFile() !== true || stat.size > MAX_BYTES) return null;
    const stamp = `${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}`;
    const known = cache.get(file);
    if (known?.stamp === stamp) return known.value;
    const value = make(readFileSync(file, "utf8"));
    if (cache.size >= MOST_CACHED) cache.clear();
    cache.set(file, { stamp, value });
    return value;
  };
}

/** `entries` are absolute. The result holds files and folders below `root`, there or not, without the entries themselves. */
export function listImportedFiles(entries: readonly string[], root: string): readonly string[] {
  const places = new Set<string>();
  const seen = new Set<string>();
  const [followed, beside] = [new Set<string>(), new Set<string>()];
  const rest = [...entries];
  for (let file = rest.pop(); file !== undefined; file = rest.pop()) {
    const real = realPath(file);
    if (real === null || seen.has(real)) continue;
    seen.add(real);
    for (const place of [dirname(file), dirname(real)].flatMap((folder) => besides(folder, beside))) places.add(place);
    if (!CODE.test(real) || !isBelow(real, root)) continue;
    const fresh = (specifiersIn(real) ?? []).filter(({ text, required }) => {
      const key = `${required} ${text} ${dirname(real)}`; // modules of one folder import the same packages
      return !followed.has(key) && followed.add(key);
    });
    // the beginning of a computed name (`"file://" + path`) may lead to a folder that holds the project: that is no place of it, and nothing is loaded by it (T-11)
    for (const target of fresh.flatMap((specifier) => targetsOf(specifier, real)).filter((one) => !isBelow(root, one))) {
      const leads = realPath(target);
      for (const place of leads === null ? [target] : [target, leads]) places.add(place);
      rest.push(target);
    }
  }
  return [...places];
}

/** Files that decide how imports are resolved, in a folder and above it: packages and their settings, whether or not they exist. */
function besides(folder: string, seen: Set<string>): readonly string[] {
  if (seen.has(folder)) return [];
  seen.add(folder);
  const above = besides(dirname(folder), seen);
  return folder.split(sep).includes("node_modules") ? above : [join(folder, "node_modules"), join(folder, "package.json"), ...above];
}

const specifiersIn = findImports((text): readonly Specifier[] =>
  [...text.matchAll(SPECIFIER)]
    .filter(([, , url, , said = ""]) => url === undefined || CODE.test(said.replace(/[?#].*$/, "")))
    .map(([, word = "", , , said = ""]) => ({ text: said, required: word.startsWith("require") }))
    .filter(({ text: said }) => said !== "" && !said.includes("${")),
);

function targetsOf({ text, required }: Specifier, from: string): readonly string[] {
  if (/^\.{0,2}\//.test(text) || text === "." || text === ".." || text.startsWith("file:")) {
    const base = pathIn(text, from);
    if (base === null) return [];
    return required ? [base, ...TRIED.map((ending) => base + ending), ...mainsOf(base)] : [base];
  }
  if (/^[a-z]+:/.test(text)) return []; // node:fs, data:…
  return text.startsWith("#") ? ownImports(text, from) : packageTargets(text, from);
}

function pathIn(text: string, from: string): string | null {
  try {
    return text.startsWith("file:") ? fileURLToPath(text) : resolve(dirname(from), decodeURIComponent(text.replace(/[?#].*$/, "")));
  } catch {
    return null;
  }
}

/** A folder that is required is what its package.json or its index says. */
const mainsOf = (folder: string): readonly string[] => TRIED.map((ending) => join(folder, `index${ending}`));

/** `#name`, by the nearest package.json. */
function ownImports(text: string, from: string): readonly string[] {
  const own = nearestPackage(dirname(from));
  return own === null ? [] : pathsFor(own.settings["imports"], text, own.folder, from);
}

/** A package by its name: the one that the file lies in, or one that is linked into `node_modules`. Those that lie there are protected with it. */
function packageTargets(text: string, from: string): readonly string[] {
  const name = /^(?:@[^/]+\/)?[^/]+/.exec(text)?.[0] ?? text;
  const own = nearestPackage(dirname(from));
  if (own?.settings["name"] === name) return pathsFor(own.settings["exports"], `.${text.slice(name.length)}`, own.folder, from);
  return linked(name, dirname(from), new Set());
}

/** Its whole folder, and the packages that it says it needs, where they are linked too. */
function linked(name: string, from: string, seen: Set<string>): readonly string[] {
  const folder = foldersAbove(from)
    .map((above) => realPath(join(above, "node_modules", name)))
    .find((real) => real !== null);
  if (folder === undefined || folder === null || folder.split(sep).includes("node_modules") || seen.has(folder)) return [];
  seen.add(folder);
  const settings = settingsIn(folder) ?? {};
  const needs = ["dependencies", "optionalDependencies", "peerDependencies"].flatMap((key) => Object.keys(recordOf(settings[key])));
  return [folder, ...needs.flatMap((need) => linked(need, folder, seen))];
}

type Settings = Readonly<Record<string, unknown>>;
function nearestPackage(from: string): Readonly<{ folder: string; settings: Settings }> | null {
  for (const folder of foldersAbove(from)) {
    const settings = settingsIn(folder);
    if (settings !== null) return { folder, settings };
  }
  return null;
}

const foldersAbove = (folder: string): readonly string[] =>
  dirname(folder) === folder ? [folder] : [folder, ...foldersAbove(dirname(folder))];

const settingsOf = findImports((text): Settings | null => {
  try {
    return recordOf(JSON.parse(text));
  } catch {
    return null; // Node does not read it either
  }
});
const settingsIn = (folder: string): Settings | null => settingsOf(join(folder, "package.json"));

const recordOf = (value: unknown): Settings => (typeof value === "object" && value !== null ? { ...value } : {});

/** Every target of `exports` or `imports`, under any condition. */
function pathsFor(map: unknown, key: string, folder: string, from: string): readonly string[] {
  const keyed = recordOf(map);
  const isTable = Object.keys(keyed).some((one) => /^[.#]/.test(one));
  if (!isTable) return key === "." ? leavesOf(map).map((leaf) => resolve(folder, leaf)) : [];
  return Object.entries(keyed).flatMap(([pattern, target]) => {
    const [head = "", tail] = pattern.split("*");
    const fits = tail === undefined ? pattern === key : key.startsWith(head) && key.endsWith(tail) && key.length >= pattern.length - 1;
    if (!fits) return [];
    const star = tail === undefined ? "" : key.slice(head.length, key.length - tail.length);
    return leavesOf(target)
      .map((leaf) => leaf.replaceAll("*", star))
      .flatMap((leaf) => (/^\.{0,2}\//.test(leaf) || isAbsolute(leaf) ? [resolve(folder, leaf)] : packageTargets(leaf, from)));
  });
}

function leavesOf(target: unknown): readonly string[] {
  if (typeof target === "string") return [target];
  return Object.values(recordOf(target)).flatMap(leavesOf);
}

/** Modules that Orgate could load by themselves; tests and declarations are none. */
export const isCode = (file: string): boolean => CODE.test(file) && !/\.(?:test|d)\.[cm]?ts$/.test(file) && extname(file) !== "";
