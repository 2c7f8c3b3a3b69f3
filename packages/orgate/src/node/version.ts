/** Of this package, as its manifest has it. */
import { readFileSync } from "node:fs";

export function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(manifestFile(), "utf8"));
  return typeof manifest === "object" && manifest !== null && "version" in manifest ? String(manifest.version) : "unknown";
}

/** Beside the compiled files, above the sources. */
function manifestFile(): URL {
  return new URL(import.meta.url.endsWith(".ts") ? "../../package.json" : "../package.json", import.meta.url);
}
