export * from "./memory-inbox.ts";
export * from "./memory-journal.ts";
