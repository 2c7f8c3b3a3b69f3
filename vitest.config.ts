import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["packages/*/src/**/*.test.ts", "scripts/**/*.test.ts", "examples/src/**/*.test.ts", "bench/src/**/*.test.ts"],
    reporters: ["default", "./scripts/closing-line.ts"],
    maxWorkers: 2,
    testTimeout: 30_000,
  },
});
