/** Of this package, as its manifest has it. */
import { readFileSync } from "node:fs";

export const version = (): string => readManifest().version ?? "unknown";

/** The version of an optional package that this one was tested with. */
export const peerVersion = (name: string): string => readManifest().peerDependencies?.[name]?.replace(/^\^/, "") ?? "latest";

const readManifest = (): Partial<Readonly<{ version: string; peerDependencies: Readonly<Record<string, string>> }>> =>
  JSON.parse(readFileSync(manifestFile(), "utf8"));

/** Beside the compiled files, above the sources. */
function manifestFile(): URL {
  return new URL(import.meta.url.endsWith(".ts") ? "../../package.json" : "../package.json", import.meta.url);
}
