/** Pages of a session's entries, read backwards. */
import { type Entry, FaultError, type Journal, seq } from "@orgate/core";
import type { HistoryFrame, ServerFrame } from "@orgate/protocol";
import { type Act, act, type Caller, type Permissions } from "../../operations/access.ts";
import { refusalFor } from "../../operations/acts.ts";
import type { Whose } from "../../operations/visibility.ts";

export type HistoryPorts = Readonly<{
  access: Pick<Permissions, "mayDo">;
  journal: Pick<Journal, "session" | "read">;
  whose: Whose;
}>;

/** Throws a fault if the caller may not read the session, or it does not exist. */
export async function readHistory(
  { access, journal, whose }: HistoryPorts,
  caller: Caller,
  { id, session, before, most }: HistoryFrame,
): Promise<Extract<ServerFrame, { kind: "page" }>> {
  const about = await whose(session);
  if (about === null) throw new FaultError({ kind: "session-unknown", session });
  const mayNot = (wanted: Act): string | null => access.mayDo(caller, wanted);
  const wanted = act("read-journal", "session", { session, ...about });
  const reason = mayNot(wanted);
  if (reason !== null) throw refusalFor(mayNot, wanted, reason, caller.principal.id);
  const last = (await journal.session(session))?.seq ?? 0;
  const end = Math.min(before === null ? last : before - 1, last);
  const start = Math.max(0, end - most);
  const entries: readonly Entry[] = end <= start ? [] : await journal.read(session, seq(start), end - start);
  return { kind: "page", id, entries: [...entries], before: start === 0 ? null : seq(start + 1) };
}
