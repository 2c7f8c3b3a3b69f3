/** A lie about a fact: what stands in the source, what the lie makes of it, and the test files that must notice it. */
export type Mutant = Readonly<{ lie: string; file: string; from: string; to: string; tests: readonly string[] }>;

export const [CORE, ORGATE] = ["packages/core/src", "packages/orgate/src"];
export const GENERIC: readonly string[] = [`${ORGATE}/runtime/generic-facts.test.ts`];
export const inLoop = (file: string): string => `${CORE}/loop/${file}`;
export const inGate = (file: string): string => `${CORE}/gate/${file}`;
