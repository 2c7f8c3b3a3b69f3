export * from "./declarations.ts";
