export * from "./arbitraries.ts";
export * from "./clock.ts";
export * from "./inbox-contract.ts";
export * from "./journal-contract.ts";
export * from "./memory-inbox.ts";
export * from "./memory-journal.ts";
export * from "./scripted-model.ts";
export * from "./world.ts";
