/** `[cluster]` as lines of `orgate.toml`: a move of the journal adds them, or takes them out; everything else in the file stays as it was written. */
import type { AddressSource } from "./cluster-schema.ts";

/** `source` as it is written: a file's path as the person gave it. */
export function addCluster(text: string, source: AddressSource, schema: string): string {
  const database =
    source.kind === "text"
      ? JSON.stringify(source.text)
      : source.kind === "env"
        ? `{ env = ${JSON.stringify(source.name)} }`
        : `{ file = ${JSON.stringify(source.file)} }`;
  return `${text.replace(/\n*$/, "\n")}\n[cluster]\ndatabase = ${database}\nschema = ${JSON.stringify(schema)}\n`;
}

/** Null where there is no table `[cluster]` with a line of its own. */
export function removeCluster(text: string): string | null {
  const lines = text.split("\n");
  const first = lines.findIndex((line) => /^\s*\[\s*cluster\s*\]/.test(line));
  if (first === -1) return null;
  const rest = lines.slice(first + 1).findIndex((line) => /^\s*\[(?!\s*cluster\s*\.)/.test(line));
  const kept = rest === -1 ? lines.slice(0, first) : [...lines.slice(0, first), ...lines.slice(first + 1 + rest)];
  return `${kept.join("\n").replace(/\n*$/, "")}\n`;
}
