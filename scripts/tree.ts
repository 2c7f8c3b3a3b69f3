// What every check shares: where a finding is, and which files belong to the repository.
import { readdirSync, readFileSync } from "node:fs";
import { basename, join, matchesGlob } from "node:path";

export type Finding = Readonly<{ file: string; line: number; message: string }>;

/** Paths relative to `root`, with forward slashes, sorted: what git would track. Reads `.gitignore` itself, so that an exported tree without git is checked alike. */
export function filesOf(root: string): readonly string[] {
  const ignored = ignoredNames(root);
  const found: string[] = [];
  const visit = (folder: string): void => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      if (ignored.some((pattern) => matchesGlob(entry.name, pattern))) continue;
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) visit(path);
      else if (entry.isFile()) found.push(path);
    }
  };
  visit("");
  return found.sort();
}

function ignoredNames(root: string): readonly string[] {
  const lines = readFileSync(join(root, ".gitignore"), "utf8").split("\n");
  const names = lines.map((line) => line.trim().replace(/\/$/, "")).filter((line) => line !== "" && !line.startsWith("#"));
  const odd = names.find((name) => name.includes("/") || name.startsWith("!"));
  if (odd !== undefined) throw new Error(`.gitignore holds \`${odd}\`: the checks understand plain names and name patterns only`);
  return [".git", ...names];
}

export function readText(root: string, file: string): string {
  return readFileSync(join(root, file), "utf8");
}

export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let i = text.indexOf("\n"); i !== -1 && i < offset; i = text.indexOf("\n", i + 1)) line += 1;
  return line;
}

/** Tests are never published, so they may reach further than the code they stand beside. */
export function isTest(file: string): boolean {
  return /\.(test|test-d)\.tsx?$/.test(basename(file));
}

export function isSource(file: string): boolean {
  return /\.(ts|tsx|mts|js|jsx|mjs)$/.test(file) && !file.split("/").includes("fixtures");
}
