/** How commands read and write at a terminal: tables, colours, hidden questions, text made safe to show. */
export * from "./command.ts";
export * from "./fold.ts";
export * from "./hidden-prompt.ts";
export * from "./next-command.ts";
export * from "./paint.ts";
export * from "./screen.ts";
export * from "./table.ts";
export * from "./visible.ts";
