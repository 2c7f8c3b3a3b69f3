/** Views of the journal for shell and console: pure folds of entries into plain JSON, made once and shared. Nothing here reads, writes or knows the time. */

export * from "./approvals.ts";
export * from "./call-summary.ts";
export { editView } from "./calls.ts";
export { cronWords } from "./cron.ts";
export * from "./diff.ts";
export * from "./facets.ts";
export * from "./fleet.ts";
export type * from "./items.ts";
export { countMissing, findQuorum, policyRef, quorumText } from "./items.ts";
export { type Line, resourceText } from "./lines/line.ts";
export { createNarrator, toEntryLine } from "./lines/narrator.ts";
export { filesText } from "./lines/session-lines.ts";
export type { PreviewOf } from "./preview.ts";
export { scheduleLine, timeText, whenText } from "./schedules.ts";
export { buildSessionView, createSessionFold, type SessionFold } from "./session.ts";
export * from "./text-width.ts";
export * from "./timeline.ts";
export { tokenCountText, tokensText } from "./tokens-text.ts";
export type { Tone } from "./tone.ts";
export * from "./usage.ts";
