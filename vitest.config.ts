import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { postgresTag, tagsOfNeeds } from "./scripts/machine.ts";

export default defineConfig({
  test: {
    // Modules of the projects that tests make lie in temporary folders: Node loads them, as it does for users.
    server: { deps: { external: [/\/orgate-[a-z-]+-[A-Za-z0-9]{6}\//] } },
    projects: [
      // Core, protocol, languages and the console's own code have no globals and touch nothing outside: their files share a process, a third less to compute.
      { extends: true, test: { name: "pure", include: ["packages/{core,protocol,symbi,console}/src/**/*.test.ts"], isolate: false } },
      {
        extends: true,
        test: {
          name: "node",
          include: [
            "packages/{orgate,shell,toolclad}/src/**/*.test.ts",
            "scripts/**/*.test.ts",
            "examples/src/**/*.test.ts",
            "bench/src/**/*.test.ts",
            "e2e/src/mcp-conformance/*.test.ts",
            "bench/peers/src/**/*.test.ts",
          ],
        },
      },
    ],
    // What a test needs beyond npm is its tag: not run where it is missing, and said in the closing lines.
    tags: [...tagsOfNeeds(), postgresTag()],
    reporters: ["default", "./scripts/closing-line.ts"],
    // Tests start hundreds of processes from source: Node keeps what it has stripped and compiled, by the text of each file.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), `orgate-compile-cache-${process.getuid?.() ?? 0}`) },
    maxWorkers: 3, // of two cores: many tests wait, for a process, a time-out or the disk
    testTimeout: 30_000,
  },
});
