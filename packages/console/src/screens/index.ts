/**
 * Every screen, one row each: addresses, title, icon, and the module to load. A new screen is a row and a file.
 * `nav`: `first` is in the rail and in the phone's bar, `rest` in the rail and under More, `none` nowhere (other screens link to it).
 */
import type { ComponentType } from "react";
import type { IconName } from "../parts/Icon.tsx";
import { matchPath, type Params } from "../routing/router.ts";

export type ScreenProps = Readonly<{ params: Params; query: URLSearchParams }>;
export type Screen = Readonly<{
  id: string;
  /** The navigation leads to the first. */
  paths: readonly [string, ...string[]];
  title: string;
  /** One line, for the palette. */
  says: string;
  icon: IconName;
  /** `g c`; null: none. */
  shortcut: string | null;
  nav: "first" | "rest" | "none";
  load(): Promise<Readonly<{ default: ComponentType<ScreenProps> }>>;
}>;

export const SCREENS: readonly Screen[] = [
  {
    id: "chat",
    paths: ["/chat", "/chat/with/{agent}", "/chat/{session}"],
    title: "Chat",
    says: "Talk with the coordinator or any agent",
    icon: "chat",
    shortcut: "g c",
    nav: "first",
    load: () => import("./chat/Chat.tsx"),
  },
  {
    id: "approvals",
    paths: ["/approvals", "/approvals/{approval}"],
    title: "Approvals",
    says: "Approval requests, unknown outcomes, grants",
    icon: "approvals",
    shortcut: "g a",
    nav: "first",
    load: () => import("./approvals/Approvals.tsx"),
  },
  {
    id: "sessions",
    paths: ["/sessions", "/sessions/{session}"],
    title: "Sessions",
    says: "Every session, entry by entry",
    icon: "sessions",
    shortcut: "g s",
    nav: "first",
    load: () => import("./sessions/Sessions.tsx"),
  },
  {
    id: "fleet",
    paths: ["/fleet"],
    title: "Fleet",
    says: "What every agent is doing, and how it did",
    icon: "fleet",
    shortcut: "g f",
    nav: "first",
    load: () => import("./fleet/Fleet.tsx"),
  },
  {
    id: "schedules",
    paths: ["/schedules", "/schedules/{schedule}"],
    title: "Schedules",
    says: "Schedules and webhooks",
    icon: "schedules",
    shortcut: "g w",
    nav: "rest",
    load: () => import("./schedules/Schedules.tsx"),
  },
  {
    id: "policies",
    paths: ["/policies"],
    title: "Policies",
    says: "Policy files, decision tables, test decisions",
    icon: "policies",
    shortcut: "g p",
    nav: "rest",
    load: () => import("./policies/Policies.tsx"),
  },
  {
    id: "journal",
    paths: ["/journal", "/journal/{stream}/{seq}"],
    title: "Journal",
    says: "Verify, export, find entries",
    icon: "journal",
    shortcut: "g j",
    nav: "rest",
    load: () => import("./journal/Journal.tsx"),
  },
  {
    id: "cost",
    paths: ["/cost"],
    title: "Cost",
    says: "By agent, model and day",
    icon: "cost",
    shortcut: "g o",
    nav: "rest",
    load: () => import("./cost/Cost.tsx"),
  },
  {
    id: "health",
    paths: ["/health"],
    title: "Health",
    says: "Health of the server",
    icon: "health",
    shortcut: "g h",
    nav: "rest",
    load: () => import("./health/Health.tsx"),
  },
  {
    id: "guide",
    paths: ["/guide"],
    title: "First run",
    says: "See an allow, a denial and an approval within a minute",
    icon: "guide",
    shortcut: "g i",
    nav: "rest",
    load: () => import("./guide/Guide.tsx"),
  },
];

/** Where `/` leads. */
export const HOME = "/chat";

export function findScreen(path: string): Readonly<{ screen: Screen; params: Params }> | null {
  for (const screen of SCREENS) {
    for (const pattern of screen.paths) {
      const params = matchPath(pattern, path);
      if (params !== null) return { screen, params };
    }
  }
  return null;
}
