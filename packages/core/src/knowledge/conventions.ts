/**
 * Conventions: what is to be done in a folder, by the nearest who says so (K18, K19).
 * N-7 from the folder up to the project's own, then by the language alone; nearest first, nothing twice, a step that fails is skipped.
 */
import { itemText } from "./item.ts";
import type { Hit, Search, SearchResult } from "./port.ts";

const DEEPEST = 32;

/** From the project's folder on, without a way out of it; null: it leads out. */
export function toProjectFolder(path: string): string | null {
  if (/^(?:[\\/]|[A-Za-z]:)|[\0\\]/.test(path)) return null;
  const parts: string[] = [];
  for (const part of path.normalize("NFC").split("/")) {
    if (part === "" || part === ".") continue;
    if (part === "..") return null;
    parts.push(part);
  }
  return parts.length > DEEPEST ? null : parts.join("/");
}

/** The folder itself, then each above it; the project's own is the empty name. */
export function listFoldersUpwards(folder: string): readonly string[] {
  const parts = folder === "" ? [] : folder.split("/");
  return [...parts.map((_, i) => parts.slice(0, parts.length - i).join("/")), ""];
}

type Ask = (search: Search) => SearchResult | Promise<SearchResult>;

export async function findConventions(ask: Ask, language: Search, folder: string, limit: number): Promise<SearchResult> {
  const steps: readonly Search["directory"][] = [...listFoldersUpwards(folder).map((path) => ({ path, how: "at" }) as const), null];
  const hits: Hit[] = [];
  const seen = new Set<string>();
  const troubles = new Set<string>();
  for (const directory of steps) {
    if (hits.length >= limit) break;
    try {
      const found = await ask({ ...language, directory });
      if (found.trouble !== null) troubles.add(found.trouble);
      for (const hit of found.hits) {
        const text = itemText(hit.item.body);
        if (!seen.has(text)) hits.push(hit);
        seen.add(text);
      }
    } catch (error) {
      troubles.add(error instanceof Error ? error.message : String(error));
    }
  }
  return { hits: hits.slice(0, limit), trouble: troubles.size === 0 ? null : [...troubles].join("; ") };
}
