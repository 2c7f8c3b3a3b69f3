/**
 * A skill as a folder: `SKILL.md` and what lies beside it.
 *
 * K-1 A folder is read whole, at once, and within bounds: what was hashed is what is used, whatever is written to the disk later. No link
 *    leads out of it.
 */

import { createHash } from "node:crypto";
import { lstatSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import {
  type Digest,
  defineSkill,
  describeFault,
  digest,
  digestJson,
  escapeHidden,
  escapeLookalikes,
  FaultError,
  type Hash,
  isSkillName,
  isSkillPath,
  MAX_SKILL_FILES,
  readSkillText,
  SKILL_NAME_RULE,
  type Skill,
  type SkillAbout,
  skillName,
  UNTRUSTED,
} from "@orgate/core";
import { errorMessage } from "@orgate/core/vocab";
import { isBelow, readBytes, realPath } from "../files/text-file.ts";

const SKILL_FILE = "SKILL.md";
/** As others write it. */
const LOWER_FILE = "skill.md";
/** Path of a skill's text inside its folder. */
export const findSkillFile = (files: ReadFolderFiles["files"]): string =>
  !files.has(SKILL_FILE) && files.has(LOWER_FILE) ? LOWER_FILE : SKILL_FILE;
const MAX_FILE = 256 * 1024;
const MAX_FOLDER = 2 * 1024 * 1024;
const MAX_DEPTH = 4;
/** Files and the folders they lie in. */
const MAX_ENTRIES = 2 * MAX_SKILL_FILES;

/** All that lies in it; a text is null where the bytes are none. */
export type ReadFolderFiles = Readonly<{ digest: Digest; files: ReadonlyMap<string, Readonly<{ bytes: number; text: string | null }>> }>;

/** Throws a plain `Error` whose message is one phrase about the folder. `within` is what it must lie below, links resolved. */
export function readFolder(folder: string, within: string, hash: Hash): ReadFolderFiles {
  const root = realPath(folder);
  if (root === null || !isBelow(root, within)) throw new Error("it leads out of where it should lie");
  const files = new Map<string, { bytes: number; text: string | null }>();
  const digests: Record<string, Digest> = Object.create(null);
  let [total, entries] = [0, 0];
  const visit = (at: string, below: string, depth: number): void => {
    if (depth > MAX_DEPTH) throw new Error(`it is nested deeper than ${MAX_DEPTH} folders`);
    const names = readdirSync(at).sort();
    entries += names.length;
    if (entries > MAX_ENTRIES) throw new Error(`it holds more than ${MAX_SKILL_FILES} files`);
    for (const entry of names) {
      const [path, inner] = [join(at, entry), below === "" ? entry : `${below}/${entry}`];
      const real = realPath(path);
      if (!isSkillPath(inner)) throw new Error(`\`${escapeHidden(inner)}\` has no plain name`);
      if (real === null || !isBelow(real, root)) throw new Error(`\`${inner}\` leads out of it`);
      const stat = lstatSync(real);
      if (stat.isDirectory()) {
        if (real !== path) throw new Error(`\`${inner}\` is a link to a folder`);
        visit(real, inner, depth + 1);
        continue;
      }
      const bytes = read(real, inner);
      total += bytes.length;
      if (total > MAX_FOLDER) throw new Error(`it holds more than ${MAX_FOLDER} bytes`);
      if (files.size >= MAX_SKILL_FILES) throw new Error(`it holds more than ${MAX_SKILL_FILES} files`);
      files.set(inner, { bytes: bytes.length, text: decodeText(bytes) });
      digests[inner] = digest(createHash("sha256").update(bytes).digest("hex"));
    }
  };
  visit(root, "", 1);
  return { digest: digestJson({ ...digests }, hash), files };
}

function read(file: string, name: string): Uint8Array {
  try {
    return readBytes(file, MAX_FILE);
  } catch (error) {
    throw new Error(`\`${name}\` ${errorMessage(error)}`, { cause: error });
  }
}

function decodeText(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

export type SkillOfFolder = Readonly<
  | { kind: "skill"; skill: Skill; about: SkillAbout }
  | { kind: "bad"; line: number | null; column: number | null; detail: string; hint: string }
>;

/** `labels` is what its texts carry. */
export function toSkill(folder: string, { files }: Pick<ReadFolderFiles, "files">, labels: readonly string[]): SkillOfFolder {
  const bad = (detail: string, hint: string): SkillOfFolder => ({ kind: "bad", line: null, column: null, detail, hint });
  const file = findSkillFile(files);
  const own = files.get(file);
  if (own === undefined) return bad(`there is no ${SKILL_FILE} in it`, "see docs/guide/skills.md for what a skill is");
  if (files.has(SKILL_FILE) && files.has(LOWER_FILE))
    return bad(`it has both ${SKILL_FILE} and ${LOWER_FILE}`, `keep one of them, and call it ${SKILL_FILE}`);
  if (own.text === null) return bad(`${file} is no UTF-8 text`, "save it as UTF-8");
  const text = readSkillText(own.text);
  if (text.kind === "bad") return text;
  const { nameAt, description, instructions, about } = text.skill;
  const [name, called] = [skillName(text.skill.name), skillName(basename(folder))];
  if (name !== called) {
    const [own_, its] = escapeLookalikes(escapeHidden(name), escapeHidden(called));
    return { kind: "bad", ...nameAt, detail: `its name is \`${own_}\`, and its folder's \`${its}\``, hint: "give both the same name" };
  }
  if (!isSkillName(name))
    return { kind: "bad", ...nameAt, detail: `\`${escapeHidden(name)}\` is no name for a skill`, hint: `a name is ${SKILL_NAME_RULE}` };
  const others = [...files].flatMap(([path, one]) => (path === file || one.text === null ? [] : [[path, one.text] as const]));
  try {
    return { kind: "skill", skill: defineSkill({ name, description, instructions, files: Object.fromEntries(others), labels }), about };
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    const { message, hint } = describeFault(error.fault);
    return bad(message, hint);
  }
}

/**
 * A skill of any folder, for an agent in code. Nobody has said that it can be trusted, so what it holds is `untrusted` unless the caller
 * says otherwise; `orgate trust` is for those a project brings.
 */
export function readSkill(folder: string, { labels = [UNTRUSTED] }: Readonly<{ labels?: readonly string[] }> = {}): Skill {
  const real = realPath(folder) ?? folder;
  const bad = (line: number | null, column: number | null, detail: string, hint: string): FaultError =>
    new FaultError({ kind: "file-bad", file: line === null ? folder : join(folder, called), line, column, detail, hint });
  let files: ReadFolderFiles;
  let called = SKILL_FILE;
  try {
    files = readFolder(real, dirname(real), sha256Digest);
    called = findSkillFile(files.files);
  } catch (error) {
    throw bad(null, null, errorMessage(error), "it must be a folder with a SKILL.md");
  }
  const read = toSkill(real, files, labels);
  if (read.kind === "bad") throw bad(read.line, read.column, read.detail, read.hint);
  return read.skill;
}

const sha256Digest: Hash = (text) => digest(createHash("sha256").update(text).digest("hex"));
