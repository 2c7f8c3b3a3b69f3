/**
 * Claims of a session that begins, each granted once: the caller's own id; and, where no person opened it, the due time or the delivery that did.
 * Rule: Z-3.
 */
import type { JournalEvent } from "../vocab/index.ts";

/** In order. Those of an origin begin with a line feed, which no id of a caller's can hold: nobody can claim them beforehand. */
export function listOpeningClaims(e: JournalEvent): readonly string[] {
  if (e.kind !== "session.opened") return NONE;
  const own = e.external === null ? NONE : [e.external];
  if (e.origin === null || e.parent !== null) return own; // a delegate tells whose delivery it works on
  return [...own, ...(e.origin.kind === "schedule" ? [scheduleClaim(e.origin)] : deliveryClaims(e.origin))];
}
const NONE: readonly string[] = Object.freeze([]);

export const scheduleClaim = ({ schedule, dueAt, attempt }: Readonly<{ schedule: string; dueAt: number; attempt: number }>): string =>
  `\nschedule ${schedule} ${dueAt} ${attempt}`;
export const deliveryClaims = ({
  webhook,
  delivery,
  key,
}: Readonly<{ webhook: string; delivery: string; key: string }>): readonly string[] => [
  `\nwebhook ${webhook} id ${delivery}`,
  `\nwebhook ${webhook} signed ${key}`,
];
