/** PostgreSQL's errors as ours: one line each, with what to do next. */
import { errorMessage, FaultError } from "@orgate/core/vocab";

/** Classes of SQLSTATE, and codes of sockets, after which the connection is gone and the fate of what it was doing is open. */
const LOST = /^(08|57P0[1-4]|ECONN|EPIPE|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|EAI_AGAIN|ENOTFOUND)/;
/** The statement was rolled back, and may well succeed when it is tried again. */
const AGAIN = /^(40|55P03|53300|57014)/;

export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";

export const isConnectionLost = (error: unknown): boolean =>
  LOST.test(codeOf(error)) || /Connection terminated|timeout exceeded when trying to connect|Query read timeout/.test(errorMessage(error));
export const mayRetry = (error: unknown): boolean => AGAIN.test(codeOf(error));

/** What went wrong, for people: never the URL's password. */
export function explain(error: unknown, place: string): string {
  const code = codeOf(error);
  const said = errorMessage(error instanceof AggregateError ? (error.errors[0] ?? error) : error);
  if (code === "08P01" && said.includes("startup parameter"))
    return `${place} is a pooler that takes no settings with its connections: set \`listen\` in [cluster] to a direct address of the database (${said})`;
  if (code === "28000" && said.includes("no encryption"))
    return `${place} refuses connections without TLS: add \`?sslmode=verify-full\` to its address (${said})`;
  if (said === "The server does not support SSL connections")
    return `${place} has no TLS, and its address asks for it: correct \`sslmode\``;
  if (/CERT|SIGNATURE/.test(code))
    return `${place} has a certificate that is not trusted here: ${said}; name its authority with \`sslrootcert=FILE\` in the address`;
  if (code === "28P01" || code === "28000") return `${place} refuses the user or the password: ${said}`;
  if (code === "3D000") return `${place} has no such database: ${said}; create it, or correct \`database\` in \`[cluster]\``;
  if (code === "42501") return `the user of ${place} may not do this: ${said}`;
  if (code === "53100") return `the disk of ${place} is full: ${said}`;
  if (code === "53300") return `${place} takes no more connections: ${said}`;
  if (isConnectionLost(error)) return `${place} cannot be reached: ${said}`;
  return `${place}: ${said}`;
}

export const asUnreadable = (error: unknown, place: string): FaultError =>
  error instanceof FaultError ? error : new FaultError({ kind: "journal-unreadable", file: null, detail: explain(error, place) }, error);
export const asUnwritable = (error: unknown, place: string): FaultError =>
  error instanceof FaultError ? error : new FaultError({ kind: "journal-unwritable", detail: explain(error, place) }, error);
