/**
 * Tests that need a real PostgreSQL: the laboratory's own, and those that lie beside the code they test. `npm run cluster:contracts`
 * `npm test` skips the latter by their tag, `postgres`.
 */
import { join } from "node:path";
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: join(import.meta.dirname, "..", ".."),
  test: {
    include: ["packages/orgate/src/**/postgres/**/*.test.ts", "packages/orgate/src/**/*-postgres.test.ts", "e2e/cluster/src/**/*.test.ts"],
    tags: [{ name: "postgres", description: "" }],
    globalSetup: ["e2e/cluster/src/contracts-setup.ts"],
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
