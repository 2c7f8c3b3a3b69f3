import type { Case } from "@orgate/core/gate";
import { type FolderPlace, readPolicyFolder } from "./compose.ts";

/** What the decision tables beside policies ask. */
export function casesOf(place: FolderPlace): readonly Case[] {
  const read = readPolicyFolder(place);
  return read.kind === "refused" ? [] : read.folder.tables.filter((t) => !t.shadow).flatMap((t) => t.cases.map(({ case: c }) => c));
}
