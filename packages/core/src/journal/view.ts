/** What shell and console show of the journal: pure folds of entries into plain JSON, made once and shared. Nothing here reads, writes or knows the time. */
export * from "./view-approvals.ts";
export { editView } from "./view-calls.ts";
export { cronWords } from "./view-cron.ts";
export * from "./view-diff.ts";
export * from "./view-facets.ts";
export * from "./view-fleet.ts";
export * from "./view-halts.ts";
export type * from "./view-items.ts";
export { missingOf, policyRef, quorumOf, quorumText } from "./view-items.ts";
export { filesText, type Line, narrator, resourceText, type Tone } from "./view-lines.ts";
export { scheduleLine, timeText, whenText } from "./view-schedules.ts";
export { type PreviewOf, type SessionFold, sessionFold, sessionViewOf, tokenCountText, tokensText } from "./view-session.ts";
export * from "./view-summary.ts";
export * from "./view-timeline.ts";
export * from "./view-usage.ts";
export * from "./view-words.ts";
