/** Whether something failed because there is no room on the disk, however deep that lies in what was thrown. */
import { isFault } from "@orgate/core/vocab";

const SQLITE_FULL = 13;
const SAYS = /database or disk is full|\bENOSPC\b/; // what comes from another thread has its words alone

export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, errcode } = error as Error & Readonly<{ code?: unknown; errcode?: unknown }>;
  if (code === "ENOSPC" || errcode === SQLITE_FULL) return true;
  if (isFault(error) ? error.fault.kind === "journal-unwritable" && SAYS.test(error.fault.detail) : SAYS.test(error.message)) return true;
  return isDiskFull(error.cause);
}
