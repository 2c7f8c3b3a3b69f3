/** Notices. Errors stay until they are dismissed, news disappears by itself. */
import type { Problem } from "@orgate/protocol";
import { cell } from "./cell.ts";

export type Toast = Readonly<{ id: number; tone: "bad" | "ok"; title: string; detail: string }>;
export const toasts = cell<readonly Toast[]>([]);
const MOST = 4;
const NEWS_MS = 6_000;
let count = 0;

export function toast(given: Omit<Toast, "id">): void {
  count += 1;
  const id = count;
  toasts.change((all) => [...all.filter((one) => one.title !== given.title || one.detail !== given.detail), { ...given, id }].slice(-MOST));
  if (given.tone === "ok") setTimeout(() => dismiss(id), NEWS_MS);
}
export const dismiss = (id: number): void => toasts.change((all) => all.filter((one) => one.id !== id));

/** `what` failed: "The message was not sent". */
export const toastProblem = (what: string, { detail, hint }: Problem): void =>
  toast({ tone: "bad", title: what, detail: [detail, hint].filter((text) => text !== "").join(": ") });
