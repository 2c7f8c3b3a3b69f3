/**
 * Resources of a project that could steer an agent: `AGENTS.md`, skills, MCP servers. Each needs trust on first use, pinned by digest.
 *
 * A-5 a resource that is not trusted, or has changed since it was, is not used.
 */

import { readdirSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { type Digest, digestJson, type Entry, type Hash, type JournalEvent, type Principal, skillName } from "@orgate/core";
import { errorMessage } from "@orgate/core/vocab";
import { isBelow, readTextFile, realPath } from "../files/text-file.ts";
import { MCP_FILE, readMcpFile } from "../mcp/mcp-file.ts";
import { type ReadFolderFiles, readFolder } from "./skill-folder.ts";

export const INSTRUCTIONS = "AGENTS.md";
const SKILLS = [".agents/skills", "skills"];
const HOME_SKILLS = "~/.agents/skills";
const MAX_INSTRUCTIONS = 64 * 1024;

/** `subject` is what people and the journal call it: `AGENTS.md`, `skills/NAME`, `mcp:NAME`. Unreadable: shown, and never trusted. */
export type Candidate = Readonly<
  { subject: string; kind: "readable"; digest: Digest } | { subject: string; kind: "unreadable"; detail: string }
>;

/** Where to look. `from` is the working folder; `skillsHome` the person's own skills, null where the project does not want them. */
export type TrustFolders = Readonly<{ root: string; from: string; skillsHome: string | null }>;

/** All that there is to trust in a project, by name. `known`: subjects trusted from another working folder are read too. */
export function trustCandidates(place: TrustFolders, hash: Hash, known: Iterable<string> = []): readonly Candidate[] {
  const files = new Set([...instructionFiles(place), ...[...known].filter((subject) => isInstructions(subject, place.root))]);
  return [
    ...[...files].flatMap((file) => readInstructions(place.root, file, hash) ?? []),
    ...skillFolders(place, hash),
    ...listServers(place.root, hash),
  ].map((found): Candidate => {
    const { subject } = found;
    return found.kind === "readable"
      ? { subject, kind: found.kind, digest: found.digest }
      : { subject, kind: found.kind, detail: found.detail };
  });
}

// ── AGENTS.md ──

export type FoundText = Candidate & Readonly<{ kind: "readable"; text: string } | { kind: "unreadable" }>;

/** The project's own instructions, from its folder down to the working folder. */
export const projectInstructions = (place: TrustFolders, hash: Hash): readonly FoundText[] =>
  instructionFiles(place).flatMap((file) => readInstructions(place.root, file, hash) ?? []);

/** From the project's folder down, as subjects. */
function instructionFiles({ root, from }: TrustFolders): readonly string[] {
  const files = [INSTRUCTIONS];
  for (let folder = from; isBelow(folder, root); folder = dirname(folder))
    files.splice(1, 0, `${relative(root, folder).replaceAll(sep, "/")}/${INSTRUCTIONS}`);
  return files;
}

const isInstructions = (subject: string, root: string): boolean =>
  subject.endsWith(`/${INSTRUCTIONS}`) && !subject.startsWith("~") && isBelow(join(root, subject), root);

function readInstructions(root: string, file: string, hash: Hash): FoundText | null {
  const path = join(root, file);
  const real = realPath(path);
  if (real === null && !listNames(dirname(path)).includes(INSTRUCTIONS)) return null;
  const unreadable = (detail: string): FoundText => ({ subject: file, kind: "unreadable", detail });
  if (real === null || !isBelow(real, realPath(root) ?? root)) return unreadable("it is no readable text file of the project");
  try {
    const text = readTextFile(real, MAX_INSTRUCTIONS);
    return { subject: file, kind: "readable", text, digest: hash(text) };
  } catch (error) {
    return unreadable(`it is no readable text file of the project: it ${errorMessage(error)}`);
  }
}

// ── skills ──

/** The folders that skills lie in, whether they are there or not. */
export const listSkillPlaces = ({ root, skillsHome }: Pick<TrustFolders, "root" | "skillsHome">): readonly string[] => [
  ...SKILLS.map((place) => join(root, place)),
  ...(skillsHome === null ? [] : [skillsHome]),
];

/** A skill is its whole folder: texts and whatever lies beside them. */
export type FoundFolder = Readonly<{ subject: string; name: string; folder: string }> &
  Readonly<({ kind: "readable" } & ReadFolderFiles) | { kind: "unreadable"; detail: string }>;

/** `wanted`: only those of these names are read; null for all. */
export function skillFolders(
  { root, skillsHome }: TrustFolders,
  hash: Hash,
  wanted: ReadonlySet<string> | null = null,
): readonly FoundFolder[] {
  const isWanted = (name: string): boolean => wanted?.has(skillName(name)) ?? true;
  const places: readonly SkillPlace[] = [
    ...SKILLS.map((place) => ({ parent: join(root, place), place, within: root })),
    ...(skillsHome === null ? [] : [{ parent: skillsHome, place: HOME_SKILLS, within: skillsHome }]),
  ];
  return places.flatMap((place) => listSkillFolders(place, hash, isWanted));
}

/** `place` is the folder as subjects name it; nothing outside `within` is read. */
type SkillPlace = Readonly<{ parent: string; place: string; within: string }>;

function listSkillFolders({ parent, place, within }: SkillPlace, hash: Hash, isWanted: (name: string) => boolean): readonly FoundFolder[] {
  const real = realPath(within) ?? within;
  return listNames(parent)
    .filter(isWanted)
    .flatMap((name): readonly FoundFolder[] => {
      const folder = join(parent, name);
      if (statSync(folder, { throwIfNoEntry: false })?.isFile() === true) return []; // a README beside the skills is none
      const found = { subject: `${place}/${skillName(name)}`, name: skillName(name), folder };
      try {
        return [{ ...found, kind: "readable", ...readFolder(folder, real, hash) }];
      } catch (error) {
        return [{ ...found, kind: "unreadable", detail: errorMessage(error) }];
      }
    });
}

// ── MCP servers ──

/** Each server by itself, as `.mcp.json` has it. */
function listServers(root: string, hash: Hash): readonly Candidate[] {
  if (!listNames(root).includes(MCP_FILE)) return [];
  try {
    return readMcpFile(join(root, MCP_FILE)).map(({ name, entry }) => ({
      subject: `mcp:${name}`,
      kind: "readable",
      digest: digestJson(entry, hash),
    }));
  } catch (error) {
    return [{ subject: MCP_FILE, kind: "unreadable", detail: errorMessage(error) }];
  }
}

function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

// ── what the journal says ──

export type TrustGiven = Readonly<{ digest: Digest; by: Principal; at: number }>;
export type Trusted = ReadonlyMap<string, TrustGiven>;

/** The `trust` stream, folded. */
export function foldTrust(entries: Iterable<Pick<Entry, "at"> & { readonly event: JournalEvent }>): Trusted {
  const trusted = new Map<string, TrustGiven>();
  for (const { at, event } of entries) {
    if (event.kind === "trust.given") trusted.set(event.subject, { digest: event.digest, by: event.by, at });
    else if (event.kind === "trust.withdrawn") trusted.delete(event.subject);
  }
  return trusted;
}

export type TrustState = "trusted" | "changed" | "untrusted" | "gone";

/** `gone`: trusted once, and no longer there. */
export function findTrustState(subject: string, now: Digest | null, trusted: Trusted): TrustState {
  const given = trusted.get(subject);
  if (given === undefined) return "untrusted";
  if (now === null) return "gone";
  return given.digest === now ? "trusted" : "changed";
}
