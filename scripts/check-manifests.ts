// R-2 dependencies are pinned exactly and at one version each, the repository has one version, and the lock file names no registry host.
// R-2 the lock file has an entry for every dependency of every entry, those of other platforms included: `npm ci` refuses it otherwise, and
//     npm writes such a lock file without a word when its registry lacks a package of another platform.
import { posix } from "node:path";
import { type Finding, filesOf, lineAt, readText } from "./tree.ts";

const EXACT = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/;
/** What gets installed. A peer dependency says what works and installs nothing, so it may be a range. */
const PINNED = ["dependencies", "devDependencies", "optionalDependencies"] as const;

type Manifest = Readonly<
  { name?: string; version?: string; workspaces?: readonly string[] } & Partial<
    Record<(typeof PINNED)[number], Readonly<Record<string, string>>>
  >
>;
type Place = Readonly<{ file: string; text: string; manifest: Manifest }>;

export function checkPins(root: string): readonly Finding[] {
  const seen = new Map<string, string>(); // dependency → first version met in the workspaces
  const members = new Set(workspaces(root).map((place) => place.file));
  return manifests(root).flatMap((place) =>
    pins(place.manifest).flatMap(([name, version]) => {
      if (!EXACT.test(version)) return [at(place, name, `\`${name}\` is pinned as \`${version}\`: write one exact version`)];
      if (!members.has(place.file)) return [];
      const first = seen.get(name) ?? version;
      seen.set(name, first);
      return first === version ? [] : [at(place, name, `\`${name}\` is pinned at ${version} here and at ${first} elsewhere`)];
    }),
  );
}

export function checkOneVersion(root: string): readonly Finding[] {
  const places = workspaces(root);
  const version = places.find((place) => place.file === "package.json")?.manifest.version;
  const ours = new Set(places.map((place) => place.manifest.name));
  return places.flatMap((place) => [
    ...(place.manifest.version === version
      ? []
      : [at(place, "version", `version is ${place.manifest.version}, the repository's is ${version}`)]),
    ...pins(place.manifest)
      .filter(([name, pinned]) => ours.has(name) && pinned !== version)
      .map(([name, pinned]) => at(place, name, `\`${name}\` is wanted at ${pinned}, the repository's version is ${version}`)),
  ]);
}

export function checkLocks(root: string): readonly Finding[] {
  return locks(root).flatMap(({ file, text }) =>
    [...text.matchAll(/"resolved"\s*:\s*"[a-z+]+:\/\/[^"]*"/g)].map((match) => ({
      file,
      line: lineAt(text, match.index),
      message: "`resolved` names a host: set omit-lockfile-registry-resolved=true and run npm install again",
    })),
  );
}

type Locked = Readonly<Partial<Record<"dependencies" | "optionalDependencies", Readonly<Record<string, string>>>>>;

export function checkLocksComplete(root: string): readonly Finding[] {
  return locks(root).flatMap(({ file, text }) => {
    const packages: Readonly<Record<string, Locked>> = JSON.parse(text).packages ?? {};
    return Object.entries(packages).flatMap(([path, entry]) =>
      Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })
        .filter((name) => !isLocked(packages, path, name))
        .map((name) => ({
          file,
          line: lineAt(text, text.indexOf(`"${path}": {`)),
          message: `\`${path}\` wants \`${name}\`, which has no entry: npm ci will refuse`,
        })),
    );
  });
}

/** Looks where Node would: in the folder's own node_modules, then in those above it. */
function isLocked(packages: Readonly<Record<string, unknown>>, from: string, name: string): boolean {
  for (let folder = from; ; folder = posix.dirname(folder).replace(/^\.$/, "")) {
    if (Object.hasOwn(packages, posix.join(folder, "node_modules", name))) return true;
    if (folder === "") return false;
  }
}

function locks(root: string): readonly { file: string; text: string }[] {
  const files = filesOf(root).filter((file) => posix.basename(file) === "package-lock.json");
  return files.map((file) => ({ file, text: readText(root, file) }));
}

function manifests(root: string): readonly Place[] {
  return filesOf(root)
    .filter((file) => posix.basename(file) === "package.json")
    .map((file) => {
      const text = readText(root, file);
      return { file, text, manifest: JSON.parse(text) };
    });
}

function workspaces(root: string): readonly Place[] {
  const places = manifests(root);
  const members = places.find((place) => place.file === "package.json")?.manifest.workspaces ?? [];
  return places.filter(({ file }) => file === "package.json" || members.some((member) => posix.matchesGlob(posix.dirname(file), member)));
}

function pins(manifest: Manifest): readonly [name: string, version: string][] {
  return PINNED.flatMap((group) => Object.entries(manifest[group] ?? {}));
}

function at({ file, text }: Place, key: string, message: string): Finding {
  return { file, line: lineAt(text, Math.max(0, text.lastIndexOf(`"${key}"`))), message };
}
