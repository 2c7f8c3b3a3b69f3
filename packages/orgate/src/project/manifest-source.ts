/** A project's files as manifests are read from them: links resolved, drafts in place of what lies there. */
import { existsSync, realpathSync } from "node:fs";
import { isManifest, type ManifestFiles, type ManifestSource, type ReadManifests, readManifests } from "@orgate/toolclad";
import { type Draft, findDraft, matchDrafts } from "../files/file-overlay.ts";
import { readTextFile } from "../files/text-file.ts";
import { findTomlPosition, readToml } from "../files/toml-text.ts";
import { matchProjectFiles } from "../guard/modules.ts";

/** Manifests as they lie on disk. */
export const diskManifests: ManifestSource = {
  read: (file, maxBytes) => (existsSync(file) ? readTextFile(file, maxBytes) : null),
  parseToml: readToml,
  findPosition: findTomlPosition,
};

/** `patterns` are paths and globs below `root`; those of other files are skipped. */
export function readProjectManifests(root: string, patterns: readonly string[], drafts: readonly Draft[] = []): ReadManifests {
  const folder = realpathSync(root);
  const named = patterns.filter(isManifest);
  const files = [...new Set([...matchProjectFiles(folder, named, "tools"), ...matchDrafts(folder, named, drafts)])].sort();
  const read: ManifestFiles["read"] = (file, maxBytes) =>
    (isManifest(file) ? findDraft(file, folder, drafts) : null) ?? diskManifests.read(file, maxBytes);
  return readManifests({ ...diskManifests, read, folder, files });
}
