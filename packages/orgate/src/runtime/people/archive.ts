/**
 * Archives sessions: each becomes a file that proves itself, the file is read back from disk and verified, and only then the content is erased from the
 * journal. Headers, hashes and seals stay there, so the journal verifies as before; the recorded erasure names the file and its digest.
 * J-35 content is dropped only after a file that has all of it was verified.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ERASURES, isFault, type Millis, type Principal, type SessionId, type StreamId, seq } from "@orgate/core";
import { eachEntry, eachSession, type Journal, type Records, type SessionSummary } from "@orgate/core/journal";
import { readExport, sessionExports } from "@orgate/core/proof";
import { writeExportFile } from "../../store/export-file.ts";
import { PROOF_PORTS } from "../../store/open-read-only.ts";
import type { OpenProjectStore } from "../ports/project-store.ts";
import { eraseHeld } from "./erase.ts";

/** How long a session must have been closed, or left alone between turns; null: such sessions stay. */
export type Retention = Readonly<{ closedMs: number | null; idleMs: number | null }>;

export type Archiving = Readonly<{
  place: OpenProjectStore;
  /** Made when missing. */
  folder: string;
  by: Principal;
  reason: string;
}>;

export type Archived =
  | Readonly<{ kind: "archived"; session: SessionId; file: string; digest: string; entries: number; truncated: boolean }>
  /** Nothing of it was dropped. */
  | Readonly<{ kind: "kept"; session: SessionId; why: string }>;

/** Sessions that the retention names and whose content is still in the journal, those opened last first. */
export async function findArchivable(
  journal: Pick<Journal, "read" | "sessions">,
  { closedMs, idleMs }: Retention,
  now: Millis,
): Promise<readonly SessionSummary[]> {
  const gone = await readErasures(journal);
  const found: SessionSummary[] = [];
  for (const [state, ms] of [["closed", closedMs] as const, ["idle", idleMs] as const]) {
    if (ms === null) continue;
    for await (const one of eachSession(journal, { state }))
      if (one.lastAt <= now - ms && ((gone.get(one.session) ?? 0) < one.seq || isStillThere(one))) found.push(one);
  }
  return found;
}

/** An erasure is recorded before it is done: a process that died in between has left the content. Erasing takes the title. */
const isStillThere = ({ title }: SessionSummary): boolean => title !== null;

/** Session → how far its content was erased from its first entry on. */
async function readErasures(journal: Pick<Journal, "read">): Promise<ReadonlyMap<StreamId, number>> {
  const gone = new Map<StreamId, number>();
  for await (const { event: e } of eachEntry(journal, ERASURES))
    if (e.kind === "content.erased" && e.first === 1) gone.set(e.stream, Math.max(e.last, gone.get(e.stream) ?? 0));
  return gone;
}

/** One after the other; each is done, or kept as it was, when it is yielded. */
export async function* archiveSessions(archiving: Archiving, sessions: readonly SessionId[]): AsyncGenerator<Archived> {
  const { store } = archiving.place;
  await store.seal();
  mkdirSync(archiving.folder, { recursive: true, mode: 0o700 });
  const snapshot = await store.snapshot();
  try {
    const linesOf = sessionExports(snapshot.records, sessions, PROOF_PORTS);
    for (const session of sessions)
      yield await archiveOne(archiving, session, { records: snapshot.records, lines: () => linesOf(session) });
  } finally {
    await snapshot.close();
  }
}

type Exported = Readonly<{ records: Records; lines: () => Iterable<string> }>;

async function archiveOne(archiving: Archiving, session: SessionId, exported: Exported): Promise<Archived> {
  const { journal } = archiving.place.store;
  const kept = (why: string): Archived => ({ kind: "kept", session, why });
  let hold: Awaited<ReturnType<Journal["take"]>>;
  try {
    hold = await journal.take(session); // nobody adds to it, or erases in it, from here on
  } catch (error) {
    if (isFault(error, "session-held")) return kept("a process drives it");
    throw error;
  }
  try {
    const summary = await journal.session(session);
    const why = summary === null ? "there is no such session" : whyKept(summary, exported.records);
    if (summary === null || why !== null) return kept(why ?? "");
    return await writeThenErase(archiving, summary, exported);
  } finally {
    await journal.release(hold);
  }
}

/** Null if the session may go. People still need the others, or policies do. */
function whyKept({ session, state, openQuestions, openUnknowns, children }: SessionSummary, records: Records): string | null {
  if (state !== "closed" && state !== "idle") return `it is ${state}`;
  if (openQuestions > 0) return "an approval request in it is open";
  if (openUnknowns > 0) return "an unknown outcome in it is not resolved";
  if (children.length > 0) return "a sub-agent works for it";
  for (const { kind } of records.entries(session))
    if (kind.startsWith("known.learned")) return "policies rely on trusted values that it has taught";
  return null;
}

async function writeThenErase(archiving: Archiving, { session, seq: last }: SessionSummary, { lines }: Exported): Promise<Archived> {
  const { place, folder, by, reason } = archiving;
  const file = join(folder, `${session}.jsonl`);
  const { digest } = writeExportFile(file, lines());
  const why = await whyUnproved(place, file, { session, last });
  if (why !== null) return { kind: "kept", session, why: `its file ${why}` };
  const named = `archived in ${session}.jsonl, SHA-256 ${digest}`;
  const { entries, truncated } = await eraseHeld(place, {
    session,
    first: seq(1),
    last,
    by,
    reason: reason === "" ? named : `${reason}: ${named}`,
  });
  return { kind: "archived", session, file, digest, entries, truncated };
}

/** Reads the file as an auditor does, with nothing but the root's public key, and compares its end with the journal's. Null when it has all of the session. */
async function whyUnproved(
  { store, keys }: OpenProjectStore,
  file: string,
  { session, last }: Readonly<{ session: SessionId; last: SessionSummary["seq"] }>,
): Promise<string | null> {
  const read = readExport(readFileSync(file, "utf8"), keys.root().publicKey, PROOF_PORTS);
  if (read.torn) return "is torn";
  if (read.firstBad !== null) return `does not verify: line ${read.firstBad.line}: ${read.firstBad.reason}`;
  if (read.counts.unsealed > 0) return "has entries that no seal covers";
  const end = [...read.records.entries(session)].at(-1);
  const isWhole = end?.seq === last && end.entryHash === (await store.journal.hashAt(session, last));
  const isEnd = (await store.journal.hashAt(session, seq(last + 1))) === null;
  return isWhole && isEnd ? null : "is not all of it: the session went on meanwhile";
}
