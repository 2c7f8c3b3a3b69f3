/**
 * The project's own instructions (`AGENTS.md`) in the system text.
 *
 * K-3 Each stands in a block that names its file; nothing in a text can close its block.
 */

import { escapeHiddenLines } from "../vocab/index.ts";

/** `file` as people call it: below the project's folder. */
export type ProjectText = Readonly<{ file: string; text: string }>;

const BLOCK = "project-instructions";

export const projectBlocks = (texts: readonly ProjectText[]): readonly string[] =>
  texts.map(({ file, text }) => `<${BLOCK} file=${inert(JSON.stringify(file))}>\n${inert(text.trim())}\n</${BLOCK}>`);

/** A tag of ours in the text is not one. */
const inert = (text: string): string => escapeHiddenLines(text).replaceAll(new RegExp(`<(?=[\\s/]*${BLOCK})`, "gi"), "&lt;");
