/**
 * The skills a project brings, and which of them can be used.
 *
 * K-3 A skill of a folder is used only as it was trusted: not trusted, edited since, not whole, or under a name that is taken, it is not,
 *    and the refusal says why and what to do.
 */
import {
  type Agent,
  type Digest,
  escapeHidden,
  type ProjectResources,
  type ProjectText,
  type Skill,
  type SkillAbout,
  type Unusable,
} from "@orgate/core";
import { sha256 } from "../node/crypto.ts";
import { findSkillFile, toSkill } from "./skill-folder.ts";
import { findTrustState, projectInstructions, skillFolders, type Trusted, type TrustFolders, type TrustState } from "./trust.ts";

export type SkillState = "usable" | "untrusted" | "changed" | "bad" | "clash";

export type ProjectSkill = Readonly<{
  name: string;
  /** The subject of trust; null for a skill in code, which is trusted as code is. */
  subject: string | null;
  /** Where it is defined, for people. */
  place: string;
  state: SkillState;
  /** Null when it can be used. */
  why: Unusable | null;
  /** Null where its folder is not whole. */
  skill: Skill | null;
  about: SkillAbout | null;
  digest: Digest | null;
  /** Beside its text; what is no text is not offered. */
  files: readonly Readonly<{ path: string; bytes: number; offered: boolean }>[];
}>;

export type CodeSkill = Readonly<{ skill: Skill; place: string }>;

/** `wanted`: only skills of these names are read; null for all. */
export function projectSkills(
  place: TrustFolders,
  trusted: Trusted,
  code: readonly CodeSkill[],
  wanted: ReadonlySet<string> | null,
): readonly ProjectSkill[] {
  const found = [...code.map(fromCode), ...skillFolders(place, sha256, wanted).map((folder) => fromFolder(folder, trusted))];
  return found
    .map((one) => {
      const others = found.filter((other) => other.name === one.name);
      if (others.length < 2 || one.subject === null) return one; // a folder does not take away what the project's own code defines
      const detail = `the name is taken: ${others.map((other) => other.place).join(" and ")} have it`;
      return { ...one, state: "clash" as const, why: { detail, hint: "rename or remove one of them" } };
    })
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

const fromCode = ({ skill, place }: CodeSkill): ProjectSkill => ({
  name: skill.name,
  subject: null,
  place,
  state: "usable",
  why: null,
  skill,
  about: null,
  digest: null,
  files: Object.entries(skill.files).map(([path, text]) => ({ path, bytes: Buffer.byteLength(text), offered: true })),
});

function fromFolder(folder: ReturnType<typeof skillFolders>[number], trusted: Trusted): ProjectSkill {
  const { subject, name } = folder;
  const at = { name, subject, place: subject, skill: null, about: null };
  if (folder.kind === "unreadable")
    return {
      ...at,
      digest: null,
      files: [],
      state: "bad",
      why: { detail: folder.detail, hint: "mend the folder; `orgate skills list` looks again" },
    };
  const { digest } = folder;
  const files = [...folder.files]
    .filter(([path]) => path !== findSkillFile(folder.files))
    .map(([path, { bytes, text }]) => ({ path, bytes, offered: text !== null }));
  const read = toSkill(folder.folder, folder, []);
  if (read.kind === "bad") {
    const line = read.line === null ? "" : `${findSkillFile(folder.files)}:${read.line}:${read.column ?? 1}: `;
    return { ...at, digest, files, state: "bad", why: { detail: `${line}${read.detail}`, hint: read.hint } };
  }
  const standing = findTrustState(subject, digest, trusted);
  const why = untrusted(subject, standing);
  return {
    ...at,
    digest,
    files,
    skill: read.skill,
    about: read.about,
    state: why === null ? "usable" : standing === "changed" ? "changed" : "untrusted",
    why,
  };
}

function untrusted(subject: string, standing: TrustState): Unusable | null {
  if (standing === "trusted") return null;
  const detail = standing === "changed" ? "it has changed since it was trusted" : "it is not trusted";
  return { detail, hint: `read it (\`orgate skills show\`), then \`orgate trust add ${escapeHidden(subject)}\`` };
}

/** For every agent of the project: each takes what it asks for. */
export function toProjectResources(
  place: TrustFolders,
  trusted: Trusted,
  skills: readonly ProjectSkill[],
  servers: Pick<ProjectResources, "servers" | "unusableServers">,
): ProjectResources {
  const instructions: ProjectText[] = [];
  const warnings: string[] = [];
  for (const found of projectInstructions(place, sha256)) {
    const standing = findTrustState(found.subject, found.kind === "readable" ? found.digest : null, trusted);
    if (found.kind === "readable" && standing === "trusted") instructions.push({ file: found.subject, text: found.text });
    else warnings.push(warning(found, standing));
  }
  return {
    skills: skills.flatMap(({ state, skill }) => (state === "usable" && skill !== null ? [skill] : [])),
    unusable: new Map(skills.flatMap(({ name, why }) => (why === null ? [] : [[name, why] as const]))),
    instructions,
    warnings,
    missingTools: [],
    prices: {},
    ...servers,
  };
}

function warning(found: ReturnType<typeof projectInstructions>[number], standing: TrustState): string {
  const file = escapeHidden(found.subject);
  if (found.kind === "unreadable") return `${file} of this project cannot be used: ${found.detail}`;
  const why = standing === "changed" ? "has changed since it was trusted" : "is not trusted";
  return `${file} of this project ${why}, so it is not used: \`orgate trust add ${file}\` after reading it`;
}

/** Who uses which, for people. */
export const findSkillUsers = (name: string, agents: readonly Agent[]): readonly string[] =>
  agents.filter(({ skills, missing }) => skills.some((s) => s.name === name) || missing.some((m) => m.skill === name)).map((a) => a.name);
