/** Texts and faults without the rest of the vocabulary: every command loads these before it runs, so they are few. */
export * from "../fault.ts";
export * from "./duration.ts";
export * from "./error-message.ts";
export * from "./hidden.ts";
export * from "./json-text.ts";
export * from "./nearest.ts";
export * from "./words.ts";
