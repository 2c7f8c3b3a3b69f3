import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // Modules of the projects that tests make lie in temporary folders: Node loads them, as it does for users.
    server: { deps: { external: [/\/orgate-[a-z-]+-[A-Za-z0-9]{6}\//] } },
    include: [
      "packages/*/src/**/*.test.ts",
      "scripts/**/*.test.ts",
      "examples/src/**/*.test.ts",
      "bench/src/**/*.test.ts",
      "e2e/src/mcp-conformance/*.test.ts",
      "bench/peers/src/**/*.test.ts",
    ],
    reporters: ["default", "./scripts/closing-line.ts"],
    maxWorkers: 2,
    testTimeout: 30_000,
  },
});
