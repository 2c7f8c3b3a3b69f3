/**
 * How an artifact is written: whole or not at all, exactly what was tried, exactly where it was shown.
 *
 * S-10 the reviewed text is the written text: it is tried again right before, and the file in place and the newly permitted actions must still be those that were shown.
 *      No link is followed, no other name of a file is written through.
 */
import type { FileEdit } from "@orgate/core";
import type { Config } from "../../config/config.ts";
import { type ProjectFiles, projectFiles } from "../../files/project-files.ts";
import { pathGuard } from "../../guard/path-guard.ts";
import { PROTECTED } from "../../guard/protected-paths.ts";
import { sha256 } from "../../node/crypto.ts";
import type { Env } from "../../node/env.ts";
import { MAX_ARTIFACT, SHELL_OWNED, whyNotAuthored } from "../artifact.ts";
import type { Artifact, TryResult } from "../try-artifact.ts";

const ARTIFACT_FOLDERS: ReadonlySet<string> = new Set(["agents", "policies", "tools"]);

export type ArtifactFiles = Readonly<{
  /** Why nothing is written there; null: it may be. */
  whyNot(path: string): string | null;
  /** Null: there is no such file. */
  read(path: string): string | null;
  /** `before` is what was shown to lie there; throws unless it is so. */
  write(artifact: Artifact, before: string | null): void;
}>;

export function artifactFiles(config: Config): ArtifactFiles {
  const { root, journal } = config;
  const places = [...PROTECTED.filter((one) => !ARTIFACT_FOLDERS.has(one)), ...SHELL_OWNED];
  const guard = pathGuard({ root, also: [journal.directory], places });
  const files: ProjectFiles = projectFiles({ root, reading: guard, writing: guard });
  const whyNot = (path: string): string | null => {
    const why = whyNotAuthored(path, config);
    if (why !== null) return why;
    const at = files.locate(path, "write");
    if (at.kind === "refused") return at.why;
    return at.path === path ? null : `\`${path}\` is a link to \`${at.path}\`: nothing is written through it`;
  };
  return {
    whyNot,
    read(path) {
      try {
        const { bytes, size } = files.read(path, MAX_ARTIFACT);
        if (size > bytes.length) throw new Error(`\`${path}\` has more than ${MAX_ARTIFACT} bytes`);
        return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      } catch (error) {
        if (error instanceof Error && /no such file|ENOENT|there is no/i.test(error.message)) return null;
        throw error;
      }
    },
    write({ path, content }, before) {
      const why = whyNot(path);
      if (why !== null) throw new Error(why);
      files.replace(path, MAX_ARTIFACT, (was) => {
        const text = was === null ? null : new TextDecoder("utf-8", { fatal: true }).decode(was);
        if (text !== before) throw new Error(`\`${path}\` is not what was shown any more: propose it again`);
        return Buffer.from(content);
      });
    },
  };
}

/**
 * Facts shown with the approval request. `before` is left out for a new file.
 * S-12 `people`: it changes what people may do, or that is unknown: policies ask about it each time, and no grant covers it.
 * S-12 `used`: a tool that agents have already becomes another one: the same.
 */
export type ShownArtifact = Readonly<{ before?: string; newly: readonly string[]; people: boolean; used: boolean }>;
export type LookResult = Readonly<
  { kind: "fit"; shown: ShownArtifact; tried: Extract<TryResult, { kind: "fit" }> } | Extract<TryResult, { kind: "unfit" }>
>;

export async function previewSave(config: Config, env: Env, shelf: ArtifactFiles, artifact: Artifact): Promise<LookResult> {
  const why = shelf.whyNot(artifact.path);
  if (why !== null)
    return { kind: "unfit", problems: [{ file: artifact.path, line: 1, column: 1, detail: why, hint: "choose another place" }] };
  const before = shelf.read(artifact.path);
  const {
    describeChanges: changesOf,
    changesPeople: isAboutPeople,
    changesUsedTool: isUsed,
    tryArtifact,
  } = await import("../try-artifact.ts"); // where something is authored, and not before
  const tried = await tryArtifact(config, artifact, env);
  if (tried.kind === "unfit") return tried;
  const shown = { newly: changesOf(tried), people: isAboutPeople(tried), used: isUsed(tried) };
  return { kind: "fit", tried, shown: before === null ? shown : { before, ...shown } };
}

export type SaveResult = Readonly<{ edit: FileEdit; tried: Extract<TryResult, { kind: "fit" }> }>;

/** `shown` is what the person said yes to. */
export async function saveArtifact(config: Config, env: Env, artifact: Artifact, shown: ShownArtifact): Promise<SaveResult> {
  const shelf = artifactFiles(config);
  const before = shown.before ?? null;
  const { path, content } = artifact;
  const editOf = (was: string | null): FileEdit => ({
    path,
    before: was,
    after: content,
    whole: true,
    beforeDigest: was === null ? null : sha256(was),
    afterDigest: sha256(content),
  });
  const why = shelf.whyNot(path);
  if (why !== null) throw new Error(why);
  const now = shelf.read(path);
  const looked = await previewSave(config, env, shelf, artifact);
  if (looked.kind === "unfit") throw new Error(`nothing was written: ${problemLines(looked.problems)}`);
  if (now === content) return { edit: editOf(before), tried: looked.tried }; // it was written before a crash, or lies there already
  if (now !== before) throw new Error(`\`${path}\` is not what was shown any more: propose it again`);
  if (
    looked.shown.people !== shown.people ||
    looked.shown.used !== shown.used ||
    JSON.stringify(looked.shown.newly) !== JSON.stringify(shown.newly)
  )
    throw new Error(`what \`${path}\` newly permits is not what was shown: propose it again`);
  shelf.write(artifact, before);
  return { edit: editOf(before), tried: looked.tried };
}

export const problemLines = (
  problems: readonly Readonly<{ file: string; line: number; column: number; detail: string; hint: string }>[],
): string =>
  problems
    .slice(0, 20)
    .map(({ file, line, column, detail, hint }) => `${file}:${line}:${column} ${detail}${hint === "" ? "" : ` (${hint})`}`)
    .join("\n");

/** Which policies of which surface an artifact is about, for `edit-policy`. */
export function artifactSurface(path: string): string {
  const [folder, ...rest] = path.split("/");
  if (folder !== "policies") return "every";
  const below = rest.slice(0, -1);
  return (below[0] === "shadow" ? below[1] : below[0]) ?? "every";
}
