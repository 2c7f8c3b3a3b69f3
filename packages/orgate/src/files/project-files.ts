/**
 * The files of a project, for tools. A path is made into the one that it leads to before anything is decided; what is then opened is exactly
 * that, step by step and through no link, so that a path that is exchanged meanwhile leads nowhere.
 *
 * T-12 nothing outside of the project's folder is read or written, by whatever name, and no protected place.
 */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
  renameSync,
  type Stats,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join, relative, sep } from "node:path";

/** Tells free paths from protected ones; see `path-guard.ts`. */
type Judge = (path: string) => Readonly<{ kind: "free"; real: string } | { kind: "protected"; what: string }>;
type Guard = Readonly<{ judge: Judge /** The same for many paths, at the cost of one. */; survey(): Judge }>;
export type ProjectFilesOptions = Readonly<{ root: string; reading: Guard; writing: Guard }>;

export type LocatedPath = Readonly<{ kind: "at"; path: string } | { kind: "refused"; why: string }>;
export type FileContent = Readonly<{ bytes: Uint8Array /** Of the whole file; more than `bytes` when it was cut. */; size: number }>;

export type ListedFile = Readonly<{ path: string; read(maxBytes: number): FileContent }>;

export type ProjectFiles = Readonly<{
  /** The one path, from the project's folder, that this one leads to. `.` is the folder itself. */
  locate(path: string, to: "read" | "write"): LocatedPath;
  read(path: string, maxBytes: number): FileContent;
  /** Files below a folder, by name, without links and unreadable ones. Protected paths are surveyed once, at the beginning. */
  below(path: string, skip: (name: string) => boolean): Generator<ListedFile>;
  /** `change` gets what is there, null for no file, and says what is to be. */
  replace(path: string, maxBytes: number, change: (before: Uint8Array | null) => Uint8Array): void;
}>;

/** `.env` under its other names (`.env.local`, `.env.production`), wherever it lies: what stands in one is a key as often as not. */
const VARIABLES = /^\.env(?:\..*)?$/i;
/** Of a project inside of this one: its keys, its journal. */
const isOfAnother = (step: string): boolean => step.toLowerCase() === ".orgate";
const O_PATH = 0o10000000;
const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
const IS_LINUX = process.platform === "linux";

/** A folder that is held open. Outside Linux it can only be named, and its name is checked again. */
type Folder = Readonly<{
  fd: number | null;
  path: string /** The name of something in it, by which no exchange is noticed too late. */;
  at(name: string): string;
}>;

export function projectFiles({ root: given, reading, writing }: ProjectFilesOptions): ProjectFiles {
  const root = realpathSync(given);

  const located = (path: string, judge: Judge): LocatedPath => locateIn(root, path, judge);
  const locate = (path: string, to: "read" | "write"): LocatedPath => located(path, (to === "read" ? reading : writing).judge);

  const must = (path: string, to: "read" | "write"): readonly string[] => still(path, locate(path, to));

  const read = (path: string, maxBytes: number): FileContent => contentAt(path, must(path, "read"), maxBytes);

  function contentAt(path: string, parts: readonly string[], maxBytes: number): FileContent {
    return withFolder(root, parts.slice(0, -1), false, (folder) => {
      const content = contentOf(folder, parts.at(-1) ?? ".", maxBytes);
      if (content === null) throw new Error(`there is no file \`${path}\``);
      return content;
    });
  }

  function replace(path: string, maxBytes: number, change: (before: Uint8Array | null) => Uint8Array): void {
    const parts = must(path, "write");
    const name = parts.at(-1);
    if (name === undefined) throw new Error("the project's folder is no file");
    withFolder(root, parts.slice(0, -1), true, (folder) => {
      const judged = writing.judge(join(folder.path, name)); // again, by where the open folder lies
      if (judged.kind === "protected") throw new Error(`\`${path}\` is protected (${judged.what})`);
      const was = statOf(folder.at(name));
      const before = contentOf(folder, name, maxBytes);
      if (before !== null && before.size > before.bytes.length) throw new Error(`\`${path}\` is larger than ${maxBytes} bytes`);
      const after = change(before?.bytes ?? null);
      const draft = `.orgate-draft-${randomBytes(6).toString("hex")}`;
      try {
        writeDraft(folder.at(draft), after, was);
        if (!isSame(was, statOf(folder.at(name)))) throw new Error(`\`${path}\` was changed by somebody else meanwhile`);
        renameSync(folder.at(draft), folder.at(name));
      } catch (error) {
        if (statOf(folder.at(draft)) !== null) unlinkSync(folder.at(draft));
        throw error;
      }
      synced(folder);
    });
  }

  const below = (path: string, skip: (name: string) => boolean): Generator<ListedFile> => walk(path, skip, reading.survey());

  function* walk(path: string, skip: (name: string) => boolean, judge: Judge): Generator<ListedFile> {
    const parts = still(path, located(path, judge));
    const entries = withFolder(root, parts, false, (folder) => readdirSync(folder.at("."), { withFileTypes: true }));
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const inside = [...parts, entry.name].join("/");
      if (skip(entry.name) || entry.isSymbolicLink() || located(inside, judge).kind === "refused") continue;
      if (entry.isDirectory()) yield* walk(inside, skip, judge);
      else if (entry.isFile())
        yield { path: inside, read: (maxBytes) => contentAt(inside, still(inside, located(inside, judge)), maxBytes) };
    }
  }

  return { locate, read, replace, below };
}

function locateIn(root: string, path: string, judge: Judge): LocatedPath {
  const judged = judge(path);
  if (judged.kind === "protected") return { kind: "refused", why: `\`${path}\` is protected (${judged.what})` };
  const found = relative(root, judged.real);
  if (found.split(sep).some((step) => VARIABLES.test(step)))
    return { kind: "refused", why: `\`${path}\` is protected (it holds variables)` };
  if (found.split(sep).some(isOfAnother))
    return { kind: "refused", why: `\`${path}\` is protected (it belongs to another project's records)` };
  const isOut = found === ".." || found.startsWith(`..${sep}`) || found.startsWith(sep);
  return isOut ? { kind: "refused", why: `\`${path}\` leads out of the project` } : { kind: "at", path: found.split(sep).join("/") || "." };
}

/** Throws unless the path leads where it says. */
function still(path: string, at: LocatedPath): readonly string[] {
  if (at.kind === "refused") throw new Error(at.why);
  if (at.path !== path) throw new Error(`\`${path}\` leads somewhere else by now`);
  return path === "." ? [] : path.split("/");
}

/** Opens one folder after the other, through no link. */
function withFolder<T>(root: string, parts: readonly string[], make: boolean, use: (folder: Folder) => T): T {
  let folder = folderOf(root, root);
  try {
    for (const part of parts) {
      const next = folder.at(part);
      if (make && statOf(next) === null) mkdirSync(next);
      const inner = folderOf(next, join(folder.path, part));
      close(folder);
      folder = inner;
    }
    return use(folder);
  } finally {
    close(folder);
  }
}

/** `name`: how it is opened; `path`: where it must lie. */
function folderOf(name: string, path: string): Folder {
  const fd = IS_LINUX ? openSync(name, O_PATH | O_DIRECTORY | O_NOFOLLOW) : null;
  const lies = fd === null ? realpathSync(path) : readlinkSync(`/proc/self/fd/${fd}`);
  const folder: Folder = { fd, path, at: (inside) => (fd === null ? join(path, inside) : `/proc/self/fd/${fd}/${inside}`) };
  if (lies === path) return folder;
  close(folder);
  throw new Error(`\`${path}\` was exchanged meanwhile`);
}

function close({ fd }: Folder): void {
  if (fd !== null) closeSync(fd);
}

/** Null when there is nothing by that name. Never waits for the other end of a pipe. */
function contentOf(folder: Folder, name: string, maxBytes: number): FileContent | null {
  if (statOf(folder.at(name)) === null) return null;
  const fd = openSync(folder.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const { size } = regular(fstatSync(fd), name);
    const bytes = new Uint8Array(Math.min(size, maxBytes));
    let done = 0;
    while (done < bytes.length) {
      const got = readSync(fd, bytes, done, bytes.length - done, done);
      if (got === 0) break;
      done += got;
    }
    return { bytes: bytes.subarray(0, done), size: Math.max(size, done) };
  } finally {
    closeSync(fd);
  }
}

function regular(stat: Stats, name: string): Stats {
  if (stat.isFile()) return stat;
  throw new Error(`\`${name}\` is no file`);
}

function writeDraft(path: string, content: Uint8Array, was: Stats | null): void {
  const fd = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666);
  try {
    if (was !== null) fchmodSync(fd, was.mode & 0o777);
    writeFileSync(fd, content);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** The new name is on disk too. */
function synced(folder: Folder): void {
  if (folder.fd === null) return;
  const fd = openSync(folder.at("."), O_RDONLY | O_DIRECTORY);
  fsyncSync(fd);
  closeSync(fd);
}

const statOf = (path: string): Stats | null => lstatSync(path, { throwIfNoEntry: false }) ?? null;
const isSame = (a: Stats | null, b: Stats | null): boolean =>
  a === null || b === null
    ? a === b
    : a.ino === b.ino && a.dev === b.dev && a.size === b.size && a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs;
