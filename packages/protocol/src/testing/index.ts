export * from "./view-cases.ts";
export * as viewJournals from "./view-journals.ts";
