/**
 * The view of a program in the sandbox, as arguments for bubblewrap: a read-only system, a temporary folder of its own, what its contract
 * grants, and nothing else. Grants are handed over as open files, so that a path that is exchanged meanwhile leads nowhere.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { basename, isAbsolute, join, resolve, sep } from "node:path";
import type { PathAccess } from "../contract/running.ts";
import { hiddenBelow, isNeverShown } from "./sandbox-hidden.ts";

/** Paths that no program may write, or see, whatever its contract grants. */
export type Protection = Readonly<{
  judge(path: string): Readonly<{ kind: "free"; real: string } | { kind: "protected"; what: string }>;
  /** Everything protected, there or not, as real paths. */
  places(): readonly string[];
  /** Another name of a protected file: writing there would change it. */
  alias(): string | null;
  /** Never seen: keys, the journal, what holds secrets. */
  hidden: readonly string[];
}>;

export const NO_PROTECTION: Protection = {
  judge: (path) => ({ kind: "free", real: path }),
  places: () => [],
  alias: () => null,
  hidden: [],
};

export type Objection = Readonly<{ reason: string; hint: string }>;
/** One mount, in the order in which they are made. `fd`s are the caller's to close. */
export type Mount = Readonly<
  { access: "read" | "write"; real: string; at: string; fd: number } | { access: "hidden"; at: string; folder: boolean }
>;

const O_PATH = 0o10000000;
const NOT_FOR_TOOLS = ["/proc", "/sys", "/dev"];

/** The mounts for what a contract grants, or why there are none. */
export function mountsFor(grants: readonly PathAccess[], protection: Protection): readonly Mount[] | Objection {
  const fds: number[] = [];
  let made: readonly Mount[] | Objection | null = null;
  try {
    made = withHidden(grants, protection, fds);
    return made;
  } finally {
    if (made === null || "reason" in made) for (const fd of fds) closeSync(fd);
  }
}

function withHidden(grants: readonly PathAccess[], protection: Protection, fds: number[]): readonly Mount[] | Objection {
  const mounts: Mount[] = [];
  for (const grant of grants.toSorted((a, b) => a.path.length - b.path.length)) {
    const made = mountsOf(grant, protection, fds);
    if ("reason" in made) return made;
    mounts.push(...made);
  }
  const never = neverShown(mounts);
  if ("reason" in never) return never;
  for (const place of [...protection.hidden, ...never]) {
    const real = realOf(place);
    if (real === null) continue;
    const folder = statSync(real).isDirectory();
    for (const mount of [...mounts]) {
      if (mount.access === "hidden") continue;
      if (isAtOrBelow(mount.real, real)) return objection(place, "is never shown to a program", "grant another path");
      if (isAtOrBelow(real, mount.real)) mounts.push({ access: "hidden", at: join(mount.at, real.slice(mount.real.length)), folder });
    }
    // a project may lie in what every program sees of the system, such as /usr/src/app
    if ([...SYSTEM, ...SETTINGS].some((shown) => isAtOrBelow(real, realOf(shown) ?? shown)))
      mounts.push({ access: "hidden", at: real, folder });
  }
  return mounts;
}

/** T-27 by name, below whatever is granted. */
function neverShown(mounts: readonly Mount[]): readonly string[] | Objection {
  const granted = mounts.flatMap((mount) => (mount.access === "hidden" ? [] : [mount.real]));
  const found: string[] = [];
  for (const real of granted) {
    if (isNeverShown(basename(real))) return objection(real, "is never shown to a program", "grant another path");
    if (granted.some((other) => other !== real && isAtOrBelow(real, other))) continue;
    const below = hiddenBelow(real);
    if (typeof below === "string") return objection(real, `cannot be granted: ${below}`, "grant the folders in it that the tool needs");
    found.push(...below);
  }
  return found;
}

export function closeAll(mounts: readonly Mount[]): void {
  for (const mount of mounts) if (mount.access !== "hidden") closeSync(mount.fd);
}

function mountsOf({ path, access }: PathAccess, protection: Protection, fds: number[]): readonly Mount[] | Objection {
  if (!isAbsolute(path) || path.includes("\0")) return objection(path, "is no absolute path", "grant a path that begins at /");
  let real: string;
  try {
    real = realpathSync(path);
  } catch {
    return objection(path, "is not there", "make it first, or leave it out of the tool's paths");
  }
  if (real === "/" || NOT_FOR_TOOLS.some((place) => isAtOrBelow(real, place)))
    return objection(path, "is no place to grant", "grant the folder that the tool works in");
  if (access === "read") return [opened(real, resolve(path), "read", fds)];
  const judged = protection.judge(real);
  if (judged.kind === "protected")
    return objection(path, `is protected (${judged.what})`, "no tool writes there, whatever the policies permit");
  const alias = protection.alias();
  if (alias !== null) return objection(path, `cannot be granted for writing: ${alias}`, "remove the other name, or copy the file");
  const places = protection.places();
  if (!places.some((place) => isAtOrBelow(place, real))) return [opened(real, resolve(path), "write", fds)];
  const inside = { places, protection, fds };
  return [opened(real, resolve(path), "read", fds), ...openedInside(real, resolve(path), inside)];
}

/**
 * A folder that holds protected places is closed, and its free parts are opened: a place that does not exist yet can then not be created.
 * The price is that nothing else can be made right there either.
 */
type Inside = Readonly<{ places: readonly string[]; protection: Protection; fds: number[] }>;
function openedInside(real: string, at: string, inside: Inside): readonly Mount[] {
  const { places, protection, fds } = inside;
  return readdirSync(real, { withFileTypes: true }).flatMap((entry): readonly Mount[] => {
    const [path, seen] = [join(real, entry.name), join(at, entry.name)];
    if (entry.isSymbolicLink() || isHidden(path, protection) || protection.judge(path).kind === "protected") return [];
    if (entry.isDirectory() && places.some((place) => isAtOrBelow(place, path))) return openedInside(path, seen, inside);
    return entry.isDirectory() || entry.isFile() ? [opened(path, seen, "write", fds)] : [];
  });
}

const isHidden = (path: string, { hidden }: Protection): boolean => hidden.some((place) => realOf(place) === path);

/** Mounts the very path that was judged: it leads through no link, and the open file says where it lies. */
function opened(real: string, at: string, access: "read" | "write", fds: number[]): Mount {
  const fd = openSync(real, O_PATH | constants.O_NOFOLLOW);
  fds.push(fd);
  const lies = readlinkSync(`/proc/self/fd/${fd}`);
  if (lies !== real || fstatSync(fd).isSymbolicLink()) throw new Error(`\`${real}\` was exchanged meanwhile`);
  return { access, real, at, fd };
}

const objection = (path: string, what: string, hint: string): Objection => ({ reason: `\`${path}\` ${what}`, hint });
export const isAtOrBelow = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);

/** Of the system, read-only and only as far as programs need it to run: nothing of anybody's home, of `/var`, of the keys in `/etc`. */
const SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];
const SETTINGS = [
  "alternatives",
  "crypto-policies",
  "ld.so.cache",
  "localtime",
  "pki/ca-trust",
  "pki/tls/certs",
  "pki/tls/openssl.cnf",
  "ssl/certs",
  "ssl/cert.pem",
  "ssl/openssl.cnf",
].map((name) => `/etc/${name}`);

/** The part that is the same for all programs; worked out once. */
export function systemArgs(): readonly string[] {
  const args: string[] = [];
  for (const path of [...SYSTEM, ...SETTINGS]) {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) continue;
    if (!stat.isSymbolicLink()) args.push("--ro-bind", path, path);
    else if (SYSTEM.some((place) => isAtOrBelow(realOf(path) ?? "", place))) args.push("--symlink", readlinkSync(path), path);
  }
  return args;
}

function realOf(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

export const isOfSystem = (path: string): boolean => SYSTEM.some((place) => isAtOrBelow(path, place));

export const FIXED: readonly string[] = [
  "--unshare-all",
  "--unshare-user",
  ...["--uid", "1000", "--gid", "1000"],
  ...["--cap-drop", "ALL"],
  ...["--hostname", "sandbox"],
  "--new-session",
  "--die-with-parent",
  "--clearenv",
];
/** A program that looks up its own name finds one. */
export const USERS = "tool:x:1000:1000:tool:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n";
export const SYSTEM_GROUPS = "tool:x:1000:\nnogroup:x:65534:\n";
export const HOSTS = "127.0.0.1 localhost sandbox\n::1 localhost\n";

/** Room in memory: what is written there counts. */
export function ownFolders(memoryBytes: number): readonly string[] {
  const [tmp, shared] = [Math.ceil(memoryBytes / 2), Math.ceil(memoryBytes / 4)].map(String);
  return [
    ...["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"],
    ...["--size", shared ?? "", "--perms", "1777", "--tmpfs", "/dev/shm"],
    ...["--size", tmp ?? "", "--perms", "1777", "--tmpfs", "/tmp"],
  ];
}

/** `fdOf`: the number that an open file has in the child. */
export function mountArgs(mounts: readonly Mount[], fdOf: (fd: number) => number): readonly string[] {
  return mounts.flatMap((mount) => argsOf(mount, fdOf));
}

function argsOf(mount: Mount, fdOf: (fd: number) => number): readonly string[] {
  switch (mount.access) {
    case "read":
      return ["--ro-bind-fd", String(fdOf(mount.fd)), mount.at];
    case "write":
      return ["--bind-fd", String(fdOf(mount.fd)), mount.at];
    case "hidden":
      return mount.folder
        ? ["--size", "4096", "--perms", "0555", "--tmpfs", mount.at, "--remount-ro", mount.at]
        : ["--ro-bind", "/dev/null", mount.at];
  }
}
