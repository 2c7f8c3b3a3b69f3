import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { firstBytes, MOST_FIRST } from "./build-console.ts";
import { temporaryTree } from "./fixtures/temporary-tree.ts";

/** Noise, which nothing can make smaller. */
const noise = (bytes: number): Uint8Array => crypto.getRandomValues(new Uint8Array(bytes));

test("O-2 everything that the first screen loads is counted: the page, its chunks and theirs, styles and fonts; nothing of another screen is", () => {
  const tree = temporaryTree({ "index.html": "<!doctype html>" });
  mkdirSync(join(tree, ".vite"));
  const manifest = {
    "index.html": { file: "a.js", imports: ["_shared.js"], css: ["a.css"], assets: ["f.woff2"] },
    "_shared.js": { file: "shared.js" },
    "src/screens/chat/Chat.tsx": { file: "chat.js", imports: ["_shared.js", "index.html"] },
    "src/screens/other/Other.tsx": { file: "other.js" },
  };
  writeFileSync(join(tree, ".vite", "manifest.json"), JSON.stringify(manifest));
  for (const file of ["a.js", "a.css", "shared.js", "chat.js", "other.js"]) writeFileSync(join(tree, file), noise(10_000));
  writeFileSync(join(tree, "f.woff2"), noise(5_000));
  const counted = firstBytes(tree);
  expect(counted).toBeGreaterThan(45_000);
  expect(counted).toBeLessThan(46_000);
  expect(MOST_FIRST).toBe(350_000);
});
