/** `newest`: the revision of 2026-07-28 is tried first. Over a pipe the client would start every server twice to find out. */
export type ProtocolEra = "newest" | "earlier";
/** How long a server may take to say that it does not understand. */
const PROBE_MS = 5_000;

/** Options of a client that name its protocol versions: the same for calls and for sign-ins, since a server may know no other. */
export const versionOptions = (era: ProtocolEra) =>
  era === "newest" ? { versionNegotiation: { mode: "auto" as const, probe: { timeoutMs: PROBE_MS } } } : {};
