export * from "./vocab/index.ts";
