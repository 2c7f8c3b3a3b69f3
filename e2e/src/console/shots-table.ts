/** Every screen that is photographed: a row each. `of` is null for what has no such state. */
import type { Seed } from "./seed.ts";

export type Shot = Readonly<{
  name: string;
  /** Where it is, with something to show. */
  normal(seed: Seed): string;
  /** Where it is when nothing has happened yet; null: it cannot be empty. */
  empty: string | null;
  /** Where it is with more than 10,000 entries behind it. */
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
];
