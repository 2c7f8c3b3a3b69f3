export * from "./vocab/index.ts";
export * from "./agents/index.ts";
