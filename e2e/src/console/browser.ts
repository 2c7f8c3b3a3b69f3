/** Finds the machine's browser; the tests install none. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];
export const INSTALL = "apt-get install -y --no-install-recommends chromium";

export function findBrowser(env: Readonly<Record<string, string | undefined>> = process.env): string {
  const named = env.ORGATE_CHROMIUM;
  const found =
    named ??
    (env.PATH ?? "")
      .split(delimiter)
      .flatMap((folder) => NAMES.map((name) => join(folder, name)))
      .find(existsSync);
  if (found === undefined || !existsSync(found)) throw new Error(`no Chromium: run \`${INSTALL}\`, or name one in ORGATE_CHROMIUM`);
  return found;
}

export function openBrowser(): Promise<Browser> {
  const asRoot = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: findBrowser(), args: [...asRoot, "--disable-gpu", "--font-render-hinting=none"] });
}
