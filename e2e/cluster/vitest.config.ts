/**
 * Tests that need a real PostgreSQL: the laboratory's own, and those that lie beside the code they test. `npm run cluster:contracts`
 * `npm test` skips the latter by their tag, `postgres`.
 */
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { installDebianPrograms } from "./src/servers/debian.ts";
import { whyNoSmallDisk } from "./src/servers/small-disk.ts";

/** Replicas, backups and pooling need programs that npm does not have. ORGATE_REQUIRE makes their absence a failure. */
const lacking = installDebianPrograms((line) => console.error(line));
const isSkipped = lacking !== null && process.env.ORGATE_REQUIRE === undefined;
const noDisk = whyNoSmallDisk();
if (noDisk !== null) console.error(`not run: the test of a full disk, because ${noDisk}`);
if (isSkipped) console.error(`not run: tests of replicas, backups and pooling, because ${lacking}`);

export default defineConfig({
  root: join(import.meta.dirname, "..", ".."),
  test: {
    include: [
      "packages/orgate/src/**/postgres/**/*.test.ts",
      "packages/orgate/src/**/*-{postgres,restate}.test.ts",
      "e2e/cluster/src/**/*.test.ts",
    ],
    tags: [
      { name: "postgres", description: "" },
      { name: "debian", description: lacking ?? "", ...(isSkipped ? { skip: true } : {}) },
      {
        name: "small-disk",
        description: noDisk ?? "",
        ...(noDisk !== null && process.env.ORGATE_REQUIRE === undefined ? { skip: true } : {}),
      },
    ],
    globalSetup: ["e2e/cluster/src/contracts-setup.ts"],
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
