/**
 * Paths that no tool writes, whatever the policies permit (except the shell's `save_artifact`, which has a guard of its own): files that decide,
 * files that are loaded or run, and the record. `protected-paths.ts` lists them. Every tool that writes files does it through here.
 *
 * T-10 a path is judged by where it leads: links, `..`, places that do not exist yet, other spellings that a file system may take for the
 *     same name, and other names of the same file (hard links) are all seen through.
 * T-10 what was opened is judged again before a byte of it changes, so a path that is exchanged meanwhile leads nowhere.
 * A caller that judges many paths surveys the protected ones once: the cost grows with the paths plus the protected files, not with their product.
 * T-10 nothing that holds a protected place is renamed or removed.
 */
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  unlinkSync,
  writeSync,
} from "node:fs";
import { basename, dirname, isAbsolute, join, parse, resolve, sep } from "node:path";
import { FaultError } from "@orgate/core";
import { aList, assertArguments, objectWith, text } from "../node/argument-checks.ts";
import { findProtectedPlaces, isWalked, listFilesUnder, matchesName, namePatterns, PROTECTED_NAMES } from "./protected-paths.ts";

export type PathGuardOptions = Readonly<{
  /** The project's folder. */
  root: string;
  /** Files and folders elsewhere that are protected alike: a journal kept in another place, agents under another name. */
  also: readonly string[];
  /** Other places below the project's folder than the usual ones: for what may not even be read. */
  places?: readonly string[];
}>;

export type PathVerdict = Readonly<{ kind: "free"; real: string } | { kind: "protected"; what: string }>;

export type PathGuard = Readonly<{
  judge(path: string): PathVerdict;
  /** The same, for many paths: protected paths are surveyed now, and not again for each. */
  survey(): (path: string) => PathVerdict;
  /** Everything that is protected, there or not, with where links in it lead. */
  places(): readonly string[];
  /** A protected file that has a second name somewhere, in words; null when there is none. The journal's own files are not checked. */
  alias(): string | null;
  /** Replaces what a file holds, or makes it; the folder it lies in must be there. */
  write(path: string, content: string | Uint8Array): void;
  append(path: string, content: string | Uint8Array): void;
  /** With the folders above it. */
  makeFolder(path: string): void;
  rename(from: string, to: string): void;
  /** A file or an empty folder. */
  remove(path: string): void;
}>;

const MAX_LINKS = 40;

export function pathGuard(options: PathGuardOptions): PathGuard {
  const hint = 'such as { root: ".", also: [] }';
  assertArguments("pathGuard", { options: objectWith({ root: text(hint), also: aList(hint) }, hint) }, options);
  const root = realpathSync(options.root);
  const own = options.places?.map((name) => join(root, name)) ?? null;
  const also = options.also.map((path) => resolve(root, path));
  /** Surveyed each time: the imports of modules change while their author works on them. */
  const placesNow = (): readonly string[] => [...(own ?? findProtectedPlaces(root)), ...also];

  const judge = (path: string): PathVerdict => survey()(path);
  const whyNot = (real: string): string | null => surveyed()(real);

  function survey(): (path: string) => PathVerdict {
    const why = surveyed();
    return (path) => {
      if (path === "" || path.includes("\0")) return { kind: "protected", what: "it is no path" };
      const real = leadsTo(isAbsolute(path) ? path : `${root}${sep}${path}`);
      if (real === null) return { kind: "protected", what: "its links lead in a circle" };
      const what = why(real);
      return what === null ? { kind: "free", real } : { kind: "protected", what };
    };
  }

  const label = (place: string): string => labelIn(root, place);
  const surveyed = (): ((real: string) => string | null) => surveyPlaces({ root, places: placesNow(), isUsual: own === null });

  function free(path: string): string {
    const judged = judge(path);
    if (judged.kind === "free") return judged.real;
    throw refused(path, judged.what);
  }

  /** Nor what a protected place lies in: renamed away, another could be put where it was. */
  function movable(path: string): string {
    // the link itself is what moves, so its last step is not followed
    const lexical = isAbsolute(path) ? path : `${root}${sep}${path}`;
    free(path);
    const parent = leadsTo(dirname(lexical));
    const own = parent === null ? lexical : join(parent, basename(lexical));
    const what = whyNot(own);
    if (what !== null) throw refused(path, what);
    for (const place of guarded(placesNow()))
      if (keysOf(place).includes(keyOf(own)) || isSame(statOf(own), folderStat(place))) throw refused(path, `it holds ${label(place)}`);
    return own;
  }

  function put(path: string, content: string | Uint8Array, how: "replace" | "append"): void {
    const { fd, made, real } = opened(free(path));
    try {
      const at = whereIs(fd, real);
      const what = whyNot(at) ?? (fstatSync(fd).isFile() ? null : "it is no file");
      if (what !== null) {
        if (made) unlinkSync(at);
        throw refused(path, what);
      }
      if (how === "replace") ftruncateSync(fd, 0);
      writeWhole(fd, typeof content === "string" ? Buffer.from(content) : content);
    } finally {
      closeSync(fd);
    }
  }

  return {
    judge,
    survey,
    places: () => guarded(placesNow()),
    alias: () => findAlias(root, placesNow()),
    write: (path, content) => put(path, content, "replace"),
    append: (path, content) => put(path, content, "append"),
    makeFolder: (path) => void mkdirSync(free(path), { recursive: true }),
    rename: (from, to) => renameSync(movable(from), movable(to)),
    remove(path) {
      const own = movable(path);
      rmSync(own, { recursive: false });
    },
  };
}

const labelIn = (root: string, place: string): string =>
  place === root ? "." : place.startsWith(root + sep) ? place.slice(root.length + 1) : place;

function findAlias(root: string, places: readonly string[]): string | null {
  const looked = places.filter(isWalked).flatMap(listFilesUnder);
  const twice = looked.find((file) => (statOf(file)?.nlink ?? 0) > 1);
  return twice === undefined ? null : `\`${labelIn(root, twice)}\` has another name (a hard link) that could be written`;
}

/** `isUsual`: the project's usual protected places, with the names and patterns that belong to them. */
type Surveying = Readonly<{ root: string; places: readonly string[]; isUsual: boolean }>;

/** By name and by file identity: each protected place is read once, and each path compared with both. */
function surveyPlaces({ root, places, isUsual }: Surveying): (real: string) => string | null {
  const patterns = isUsual ? namePatterns(root) : [];
  const label = (place: string): string => labelIn(root, place);
  const [byKey, byFile] = [new Map<string, string>(), new Map<string, string>()];
  for (const place of guarded(places)) {
    const [key, stat] = [keyOf(place), statOf(place)];
    if (!byKey.has(key)) byKey.set(key, place);
    if (stat !== null && !byFile.has(fileOf(stat))) byFile.set(fileOf(stat), place);
  }
  let others: ReadonlyMap<string, string> | null = null;
  const otherNames = (): ReadonlyMap<string, string> => {
    others ??= new Map(places.flatMap(everyFileUnder).flatMap((file) => withStat(file, (stat) => fileOf(stat))));
    return others;
  };
  return (real) => {
    for (const path of ancestors(real)) {
      const stat = statOf(path);
      const place = byKey.get(keyOf(path)) ?? (stat === null ? undefined : byFile.get(fileOf(stat)));
      if (place !== undefined) return label(place);
      const name = keyOf(basename(path));
      if (isUsual && PROTECTED_NAMES.has(name)) return label(path);
      if (keyOf(dirname(path)) === keyOf(root) && matchesName(patterns, name)) return `${label(path)}, by orgate.toml`;
    }
    const stat = statOf(real);
    if (stat === null || !stat.isFile() || stat.nlink < 2) return null;
    const other = otherNames().get(fileOf(stat));
    return other === undefined ? null : `another name of ${label(other)}`;
  };
}

/** The places themselves, and what links in them lead to: a policy may be a link to a file elsewhere in the project. */
function guarded(places: readonly string[]): readonly string[] {
  const found = new Set(places);
  for (const path of [...places, ...places.filter(isWalked).flatMap(listFilesUnder)]) {
    if (statOf(path)?.isSymbolicLink() !== true) continue;
    const real = leadsTo(path);
    if (real !== null) found.add(real);
  }
  return [...found];
}

function everyFileUnder(place: string): readonly string[] {
  if (statOf(place)?.isDirectory() !== true) return [place];
  return readdirSync(place).flatMap((name) => everyFileUnder(join(place, name)));
}

/** Component by component, as the kernel does it: `..` after a link is the parent of where the link leads. Null for a circle. */
function leadsTo(path: string): string | null {
  const { root } = parse(path);
  const rest = partsOf(path.slice(root.length));
  let at = root;
  for (let links = 0; rest.length > 0; ) {
    const step = rest.shift() ?? "";
    if (step === "..") {
      at = dirname(at);
      continue;
    }
    const next = join(at, step);
    if (statOf(next)?.isSymbolicLink() !== true) {
      at = next;
      continue;
    }
    links += 1;
    if (links > MAX_LINKS) return null;
    const target = readlinkSync(next);
    if (isAbsolute(target)) at = parse(target).root;
    rest.unshift(...partsOf(isAbsolute(target) ? target.slice(parse(target).root.length) : target));
  }
  return at;
}

const partsOf = (path: string): string[] => path.split(sep === "\\" ? /[\\/]/ : "/").filter((part) => part !== "" && part !== ".");

/** Names that some file system takes for one: whatever their case, dots and blanks at their end, marks without a shape, and composition. */
function keyOf(path: string): string {
  return partsOf(path.slice(parse(path).root.length))
    .map((part) =>
      part
        .normalize("NFC")
        .replaceAll(/[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, "")
        .replace(/[. ]+$/, "")
        .toLowerCase(),
    )
    .join("/");
}
const keysOf = (path: string): readonly string[] => ancestors(path).map(keyOf);

/** The path itself first, then what it lies in. */
function ancestors(path: string): readonly string[] {
  return dirname(path) === path ? [path] : [path, ...ancestors(dirname(path))];
}

function statOf(path: string): Stats | null {
  return lstatSync(path, { throwIfNoEntry: false }) ?? null;
}
const fileOf = ({ dev, ino }: Stats): string => `${dev}:${ino}`;
function withStat(path: string, of: (stat: Stats) => string): readonly (readonly [string, string])[] {
  const stat = statOf(path);
  return stat === null ? [] : [[of(stat), path]];
}
const folderStat = (path: string): Stats | null => statOf(dirname(path));
const isSame = (a: Stats | null, b: Stats | null): boolean => a !== null && b !== null && a.ino === b.ino && a.dev === b.dev;

/** Never through a link, never emptied by opening, never waiting for the other end of a pipe. */
function opened(real: string): { readonly fd: number; readonly made: boolean; readonly real: string } {
  const flags = constants.O_WRONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  try {
    return { fd: openSync(real, flags | constants.O_CREAT | constants.O_EXCL, 0o666), made: true, real };
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    return { fd: openSync(real, flags), made: false, real };
  }
}

/** Where an open file really lies; where the system cannot tell, where its path leads now, if that is the same file. */
function whereIs(fd: number, real: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    const now = realpathSync(real);
    if (!isSame(statOf(now), fstatSync(fd))) throw refused(real, "it was exchanged meanwhile");
    return now;
  }
}

function writeWhole(fd: number, bytes: Uint8Array): void {
  // appended at the end, wherever that is: after a truncation it is the beginning
  for (let done = 0, from = fstatSync(fd).size; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, from + done);
}

const refused = (path: string, what: string): FaultError => new FaultError({ kind: "path-protected", path, what });
