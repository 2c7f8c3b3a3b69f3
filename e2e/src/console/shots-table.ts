/** Every screen to photograph, one row each. A state that a screen does not have is null. */
import type { Seed } from "./seed.ts";

export type Shot = Readonly<{
  name: string;
  /** Its address with content. */
  normal(seed: Seed): string;
  /** Its address before anything has happened; null: it cannot be empty. */
  empty: string | null;
  /** Its address with more than 10,000 entries. */
  many(seed: Seed): string;
}>;

export const SHOTS: readonly Shot[] = [
  { name: "chat", normal: ({ session }) => `/chat/${session}`, empty: "/chat", many: ({ many }) => `/chat/${many ?? ""}` },
  { name: "chat-question", normal: ({ waiting }) => `/chat/${waiting}`, empty: null, many: ({ waiting }) => `/chat/${waiting}` },
  { name: "chat-hostile", normal: ({ hostile }) => `/chat/${hostile}`, empty: null, many: ({ hostile }) => `/chat/${hostile}` },
  { name: "approvals", normal: () => "/approvals", empty: "/approvals", many: () => "/approvals" },
  {
    name: "approval",
    normal: ({ approval }) => `/approvals/${approval}`,
    empty: "/approvals/a_none",
    many: ({ approval }) => `/approvals/${approval}`,
  },
  { name: "grants", normal: () => "/approvals?tab=grants", empty: "/approvals?tab=grants", many: () => "/approvals?tab=grants" },
  { name: "unknown", normal: () => "/approvals?tab=unknown", empty: "/approvals?tab=unknown", many: () => "/approvals?tab=unknown" },
  { name: "guide", normal: () => "/guide", empty: "/guide", many: () => "/guide" },
  { name: "sessions", normal: () => "/sessions", empty: "/sessions", many: () => "/sessions" },
  {
    name: "session",
    normal: () => "/sessions/s_past100000?at=40",
    empty: "/sessions/s_00000000",
    many: () => "/sessions/s_past000long?at=5000",
  },
  {
    name: "session-entry",
    normal: () => "/sessions/s_past100000?at=12&show=entry",
    empty: null,
    many: () => "/sessions/s_past000long?at=9000&show=entry",
  },
  { name: "session-hostile", normal: ({ hostile }) => `/sessions/${hostile}`, empty: null, many: ({ hostile }) => `/sessions/${hostile}` },
  { name: "fleet", normal: () => "/fleet", empty: "/fleet", many: () => "/fleet" },
  { name: "schedules", normal: () => "/schedules", empty: "/schedules?state=done", many: () => "/schedules" },
  { name: "schedule", normal: () => "/schedules/reconcile", empty: "/schedules/morning-report", many: () => "/schedules/reconcile" },
  { name: "webhooks", normal: () => "/schedules?tab=webhooks", empty: "/schedules?tab=webhooks", many: () => "/schedules?tab=webhooks" },
  { name: "policies", normal: () => "/policies?policy=desk/refund", empty: null, many: () => "/policies" },
  { name: "policies-cases", normal: () => "/policies?show=cases", empty: null, many: () => "/policies?show=cases" },
  { name: "policies-evaluate", normal: () => "/policies?show=evaluate", empty: null, many: () => "/policies?show=evaluate" },
  { name: "journal", normal: () => "/journal?verdict=deny", empty: "/journal?label=none", many: () => "/journal" },
  { name: "cost", normal: () => "/cost", empty: "/cost?days=1&agent=reporter", many: () => "/cost?days=30&by=model" },
  { name: "health", normal: () => "/health", empty: null, many: () => "/health" },
];
