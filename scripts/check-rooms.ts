// Who may import whom. Concepts are rooms (folders), not packages, so nothing but this script keeps them apart.
//
// R-1 a room imports only what the table below allows; packages, examples, bench and e2e meet at published entry points
// R-1 the turnstile is imported by the commits of a drive alone, and `testing` by nothing that ships
// R-1 what is imported by name is declared in the importing package's own manifest
import { join, posix } from "node:path";
import { importsOf } from "./scan.ts";
import { type Finding, filesOf, isSource, isTest, lineAt, readText } from "./tree.ts";

/** The rooms of core, and the rooms each may import beside itself. Siblings meet only in `loop`, as values. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  vocab: [],
  reason: ["vocab"],
  gate: ["vocab"],
  permit: ["vocab"],
  act: ["vocab"],
  observe: ["vocab"],
  journal: ["vocab"],
  inbox: ["vocab"],
  agents: ["vocab"],
  knowledge: ["vocab"],
  loop: ["vocab", "reason", "gate", "permit", "act", "observe", "journal", "inbox", "agents", "knowledge"],
};
const ALL_ROOMS = [...Object.keys(ROOMS), "testing"];
/** Rooms whose types, and only types, may be named. `redeem` is handed to `act` by the driver. */
const TYPES_OF: Readonly<Record<string, readonly string[]>> = { act: ["permit"] };
/** The files of core outside any room (its front door) compose what ships. */
const FRONT_DOOR = Object.keys(ROOMS);

/** Packages, and those of ours that each may import. Folders that are not in this table (examples, bench, e2e, the root) may import all but the console. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  "packages/core": [],
  "packages/protocol": ["packages/core"],
  "packages/symbi": ["packages/core"],
  "packages/toolclad": ["packages/core"],
  "packages/shell": ["packages/core", "packages/protocol"],
  "packages/console": ["packages/core", "packages/protocol"],
  "packages/orgate": ["packages/core", "packages/protocol", "packages/symbi", "packages/toolclad", "packages/shell"],
};
/** Folders that run anywhere: no `node:` module, no computed import. */
const ANYWHERE: readonly string[] = [
  "packages/core/src/",
  "packages/protocol/src/",
  "packages/symbi/src/",
  "packages/toolclad/src/contract/",
];
const anywhereIn = (file: string): string | undefined => ANYWHERE.find((folder) => file.startsWith(folder));

const TURNSTILE = "packages/core/src/permit/turnstile.ts";
const COMMITS = "packages/core/src/loop/commit.ts";

/**
 * Entry points of ours that a package may import where it may not import them all, and those that its tests may import too. Clients (shell, console)
 * render folds and send intents; the protocol is made of words, and names records of the journal by their types.
 */
type Doors = Readonly<{ values: readonly string[]; types: readonly string[]; tests: readonly string[] }>;
const CLIENT: Doors = {
  values: [
    "@orgate/core/vocab",
    "@orgate/core/text",
    "@orgate/protocol",
    "@orgate/protocol/words",
    "@orgate/protocol/view",
    "@orgate/protocol/text",
  ],
  types: [],
  tests: ["@orgate/protocol/testing"],
};
const DOORS: Readonly<Record<string, Doors>> = {
  "packages/protocol": {
    values: ["@orgate/core/vocab", "@orgate/core/text"],
    types: ["@orgate/core/journal"],
    tests: ["@orgate/core", "@orgate/core/journal"],
  },
  "packages/shell": CLIENT,
  "packages/console": CLIENT,
};
const TESTING: readonly string[] = ["@orgate/core/testing", "@orgate/protocol/testing", "@orgate/shell/testing"];

export type Manifest = Readonly<{
  name?: string;
  exports?: Readonly<Record<string, unknown>>;
  dependencies?: Readonly<Record<string, string>>;
  optionalDependencies?: Readonly<Record<string, string>>;
  peerDependencies?: Readonly<Record<string, string>>;
  devDependencies?: Readonly<Record<string, string>>;
}>;
/** Manifests by the folder they lie in; the root's is under the empty name. */
export type Manifests = Readonly<Record<string, Manifest>>;

type Use = Readonly<{ file: string; specifier: string; types: boolean; manifests: Manifests }>;

export function checkRooms(root: string): readonly Finding[] {
  const files = filesOf(root);
  const manifests: Record<string, Manifest> = {};
  for (const file of files.filter((path) => posix.basename(path) === "package.json")) {
    manifests[posix.dirname(file).replace(/^\.$/, "")] = JSON.parse(readText(root, file));
  }
  return files.filter(isSource).flatMap((file) => findingsIn(file, readText(root, file), manifests));
}

export function findingsIn(file: string, source: string, manifests: Manifests): readonly Finding[] {
  return importsOf(source).flatMap(({ specifier, types, start }) => {
    const wrong = specifier === null ? computed(file) : objection({ file, specifier, types, manifests });
    return wrong === null ? [] : [{ file, line: lineAt(source, start), message: wrong }];
  });
}

function computed(file: string): string | null {
  const home = anywhereIn(file);
  return home === undefined || isTest(file) ? null : `${nameOf(home)} may not import a computed name: nothing could check it`;
}

const nameOf = (folder: string): string =>
  folder
    .replace(/^packages\//, "")
    .replace("/src/", "/")
    .replace(/\/$/, "");

function objection(use: Use): string | null {
  return use.specifier.startsWith(".") ? objectionToFile(use) : objectionToPackage(use);
}

/** The benchmark of a cluster starts the laboratory's servers: they have their own lock file, and are published nowhere. */
const isLaboratory = (home: string, target: string): boolean =>
  home === "bench" && (target.startsWith("e2e/cluster/src/servers/") || target === "e2e/cluster/src/install.ts");

function objectionToFile({ file, specifier, types, manifests }: Use): string | null {
  const target = posix.normalize(posix.join(posix.dirname(file), specifier));
  const home = packageOf(file, manifests);
  if (packageOf(target, manifests) !== home && !isLaboratory(home, target))
    return `\`${specifier}\` leaves ${home === "" ? "the root" : `\`${home}\``}: use a published entry point`;
  if (isCore(file) && isCore(target)) return objectionInCore(file, target, types);
  if (isKit(target) && !isKit(file) && !isTest(file)) return "`testing` is for tests, e2e, bench and examples";
  return isTest(target) && !isTest(file) && file.startsWith("packages/") ? "code that ships may not import a test" : null;
}

function objectionInCore(file: string, target: string, types: boolean): string | null {
  const from = roomOf(file);
  const to = roomOf(target);
  if (isTest(file)) return null;
  if (isTest(target)) return "code that ships may not import a test";
  if (target === TURNSTILE && !types && file !== COMMITS) return "the turnstile is imported by `loop/commit.ts` alone";
  if (from === to || from === "testing") return null;
  if (to === null) return `room \`${from}\` may not import core's front door`;
  if (!ALL_ROOMS.includes(to)) return `\`${to}\` is not a room of core: add it to the table in scripts/check-rooms.ts`;
  if (to === "testing") return "`testing` is for tests, e2e, bench and examples";
  const allowed = from === null ? FRONT_DOOR : ROOMS[from];
  if (allowed === undefined) return `\`${from}\` is not a room of core: add it to the table in scripts/check-rooms.ts`;
  if (allowed.includes(to)) return null;
  if (from !== null && TYPES_OF[from]?.includes(to)) return types ? null : `room \`${from}\` may import types of \`${to}\` only`;
  return `room \`${from}\` may not import \`${to}\``;
}

function objectionToPackage(use: Use): string | null {
  const { file, specifier } = use;
  const home = packageOf(file, use.manifests);
  if (specifier.startsWith("node:")) {
    if (isTest(file)) return null;
    const anywhere = anywhereIn(file);
    if (anywhere !== undefined) return `${nameOf(anywhere)} runs anywhere: \`node:\` modules arrive through ports`;
    return home === "packages/console" ? "the console runs in a browser: no `node:` modules" : null;
  }
  if (specifier.startsWith("/") || /^[a-z]+:/.test(specifier)) return `\`${specifier}\` is neither a package nor a file beside this one`;
  const name = specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
  return objectionToOurs(use, home, name) ?? objectionToUndeclared(use, home, name);
}

function objectionToOurs({ file, specifier, types, manifests }: Use, home: string, name: string): string | null {
  const owner = Object.entries(manifests).find(([, manifest]) => manifest.name === name);
  if (owner === undefined) return null;
  const [folder, manifest] = owner;
  if (folder === home) return "a package imports its own files by path, so that the rooms can be checked";
  if (folder === "packages/console" || PACKAGES[home]?.includes(folder) === false) return `\`${home}\` may not import \`${name}\``;
  if (home.startsWith("packages/") && PACKAGES[home] === undefined)
    return `\`${home}\` is not a known package: add it to the table in scripts/check-rooms.ts`;
  const door = `.${specifier.slice(name.length)}`;
  if (!Object.hasOwn(manifest.exports ?? {}, door)) return `\`${specifier}\` is not a published entry point of \`${name}\``;
  const ships = home.startsWith("packages/") && !isTest(file);
  if (TESTING.includes(specifier) && ships) return "`testing` is for tests, e2e, bench and examples";
  const doors = DOORS[home];
  if (doors === undefined) return null;
  const open = [...doors.values, ...(types ? doors.types : []), ...(ships ? [] : doors.tests)];
  return open.includes(specifier) ? null : `${nameOf(home)} may import ${doors.values.join(", ")} of ours only`;
}

function objectionToUndeclared({ file, manifests }: Use, home: string, name: string): string | null {
  const own = manifests[home] ?? {};
  const development = isTest(file) || home === "" ? { ...own.devDependencies, ...manifests[""]?.devDependencies } : {};
  const declared = { ...own.dependencies, ...own.optionalDependencies, ...own.peerDependencies, ...development };
  return Object.hasOwn(declared, name) ? null : `\`${name}\` is not declared in ${posix.join(home, "package.json")}`;
}

function isKit(file: string): boolean {
  return /^packages\/[^/]+\/src\/testing\//.test(file);
}

function isCore(file: string): boolean {
  return file.startsWith("packages/core/src/");
}

/** Null for the files of core that lie in no room. */
function roomOf(file: string): string | null {
  const [room, ...rest] = file.slice("packages/core/src/".length).split("/");
  return rest.length === 0 || room === undefined ? null : room;
}

/** The folder of the nearest manifest above a file; the root and its scripts share the empty name. */
function packageOf(file: string, manifests: Manifests): string {
  for (let folder = posix.dirname(file); folder !== "."; folder = posix.dirname(folder))
    if (Object.hasOwn(manifests, folder)) return folder;
  return "";
}

if (import.meta.main) {
  const findings = checkRooms(join(import.meta.dirname, ".."));
  for (const { file, line, message } of findings) console.error(`${file}:${line} ${message}`);
  process.exitCode = findings.length > 0 ? 1 : 0;
}
