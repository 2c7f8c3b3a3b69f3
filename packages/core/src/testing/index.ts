export * from "./arbitraries.ts";
export * from "./memory-inbox.ts";
export * from "./memory-journal.ts";
export * from "./scripted-model.ts";
