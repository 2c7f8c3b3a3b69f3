import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { explainMissingPackage } from "./provider-package.ts";
import { PROVIDERS } from "./providers.ts";

const elsewhere = pathToFileURL(join(mkdtempSync(join(tmpdir(), "orgate-alone-")), "index.js")).href;

test("M-3 a provider whose package is not installed is refused in one line, with the command that installs the version that was tested", () => {
  for (const { package: name } of Object.values(PROVIDERS)) {
    expect(explainMissingPackage(name)).toBeNull();
    const why = explainMissingPackage(name, elsewhere) ?? "";
    expect(why).toContain(`its package \`${name}\` is not installed: run \`npm install ${name}@`);
    expect(why).toMatch(/@\d+\.\d+\.\d+` where orgate is installed/);
    expect(why).not.toContain("\n");
  }
});
