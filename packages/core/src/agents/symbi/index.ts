export * from "./declarations.ts";
export type { AgentDraft, ReadSymbi, SymbiFile } from "./declare.ts";
export { readSymbi } from "./declare.ts";
export { KEYS, type Key, type Keys } from "./keys.ts";
export { MAX_CHARACTERS, MAX_NESTING, type Parsed, parseSymbi } from "./parse.ts";
export { SEE_GUIDE, type SymbiProblem } from "./problems.ts";
export { type Compiled, type CompiledPolicy, type CompileWorld, compilePolicies } from "./rules.ts";
export type { ToolShape } from "./scope.ts";
export type * from "./tree.ts";
