/** What stands in the source, what a lie makes of it, and the test files that must notice. */
export type Mutant = Readonly<{ lie: string; file: string; from: string; to: string; tests: readonly string[] }>;

export const [CORE, ORGATE] = ["packages/core/src", "packages/orgate/src"];
export const inLoop = (file: string) => `${CORE}/loop/${file}`;
export const inGate = (file: string) => `${CORE}/gate/${file}`;
