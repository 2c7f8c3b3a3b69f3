/** Digests that name the files of a set. */
import { type Digest, digestJson, type FileDigest } from "@orgate/core";
import { sha256 } from "../node/crypto.ts";
import type { PolicyFolder } from "./policy-files.ts";

/** One file of a set. Rules of an agent's own file stand in it as the Cedar they were compiled to, each in the line of its source. */
export type SetFile = FileDigest & Readonly<{ text: string }>;

type Digests = Readonly<{ files: readonly FileDigest[]; filesDigest: Digest; sources: readonly SetFile[] }>;

export function digestFolder(folder: PolicyFolder): Digests {
  const sources = [...folder.policies, ...folder.tables]
    .map(({ below, text }) => ({ path: below, digest: sha256(text), text }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
  const files = sources.map(({ path, digest }) => ({ path, digest }));
  return { files, filesDigest: digestJson(files, sha256), sources };
}
