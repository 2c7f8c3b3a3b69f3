import type { Reporter, TestModule, Vitest } from "vitest/node";
import { requiredNeeds } from "./machine.ts";

type Tag = Readonly<{ name: string; skip?: boolean; description?: string }>;
type Tested = Readonly<{ state: "passed" | "failed" | "skipped" | "pending"; file: string; tags: readonly string[] }>;

/** The last lines of a run, readable by people and by whatever reads CI output: what was not run and why, then how many passed, failed and were skipped. */
export default class ClosingLine implements Reporter {
  #tags: readonly Tag[] = [];

  onInit(vitest: Vitest): void {
    this.#tags = vitest.config.tags.map(({ name, skip, description }) => ({ name, skip: skip === true, description: description ?? "" }));
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests: Tested[] = [];
    let broken = 0;
    for (const module of modules) {
      for (const test of module.children.allTests())
        tests.push({ state: test.result().state, file: module.moduleId, tags: test.tags ?? [] });
      if (module.errors().length > 0) broken += 1;
    }
    for (const line of closingLines(tests, broken, this.#tags, requiredNeeds())) console.log(line);
  }
}

/** `broken` files failed before their tests began. */
export function closingLines(
  tests: readonly Tested[],
  broken: number,
  tags: readonly Tag[],
  required: ReadonlySet<string>,
): readonly string[] {
  const count = { passed: 0, failed: broken, skipped: 0, pending: 0 };
  for (const { state } of tests) count[state] += 1;
  const lacking = tags.filter(({ description }) => description !== undefined && description !== "");
  const notRun = lacking.flatMap(({ name, skip, description }) => {
    const those = tests.filter((test) => test.state === "skipped" && test.tags.includes(name));
    if (!skip || those.length === 0) return [];
    const files = new Set(those.map(({ file }) => file)).size;
    return [
      `not run: ${those.length} ${those.length === 1 ? "test" : "tests"} in ${files} ${files === 1 ? "file" : "files"}, because ${description}`,
    ];
  });
  const wanted = lacking
    .filter(({ name }) => required.has(name))
    .map(({ name, description }) => `required by ORGATE_REQUIRE, and missing: ${name} (${description})`);
  return [...notRun, ...wanted, `${count.passed} passed, ${count.failed + count.pending} failed, ${count.skipped} skipped`];
}
