/** Keys and sign-ins that stand for people, as the stream `access` tells them. */
import type { AccessId, Entry, JournalEvent, Millis, Principal } from "../vocab/index.ts";

export type Access = Readonly<
  Omit<Extract<JournalEvent, { kind: "access.given" }>, "kind"> & {
    givenAt: Millis;
    revoked: Readonly<{ at: Millis; by: Principal; reason: string }> | null;
  }
>;

/** The first of a name counts; what was revoked stays revoked. */
export function foldAccess(
  before: ReadonlyMap<AccessId, Access>,
  entries: Iterable<Pick<Entry, "at"> & Readonly<{ event: JournalEvent }>>,
): ReadonlyMap<AccessId, Access> {
  const all = new Map(before);
  for (const { at, event } of entries) {
    if (event.kind === "access.given") {
      const { kind: _, ...given } = event;
      if (!all.has(event.access)) all.set(event.access, { ...given, givenAt: at, revoked: null });
    } else if (event.kind === "access.revoked") {
      const found = all.get(event.access);
      if (found !== undefined && found.revoked === null)
        all.set(event.access, { ...found, revoked: { at, by: event.by, reason: event.reason } });
    }
  }
  return all;
}

/** W-11 why a link counts no more once somebody has signed in with it. */
export const USED_LINK = "used";

/** Why it counts no more; null while it does. */
export function accessEnd(access: Access, now: Millis): "used" | "revoked" | "expired" | null {
  if (access.revoked !== null) return access.means === "link" && access.revoked.reason === USED_LINK ? "used" : "revoked";
  return access.until !== null && now >= access.until ? "expired" : null;
}
