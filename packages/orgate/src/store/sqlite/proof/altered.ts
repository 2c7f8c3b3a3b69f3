/**
 * J-19 An entry that no longer fits its own hash, its chain or the end of its stream raises an alarm, like one without a genuine seal: both mean that
 *      somebody wrote into the database. Two cases do not: an entry that was erased while it was read, and one that a newer program has sealed.
 */
import { EMPTY_STREAM, entryHash, isReadableKind, type StoredEntry, type UnsealPorts, unsealOne } from "@orgate/core/journal";
import { type Digest, type Seq, type StreamId, seq } from "@orgate/core/vocab";
import type { Seals } from "./seals.ts";

type Needs = Readonly<{
  entryAt(stream: StreamId, at: Seq): StoredEntry | null;
  hashAt(stream: StreamId, at: Seq): Digest | null;
  snapshot: <T>(look: () => T) => T;
  seals: Seals;
  ports: UnsealPorts;
}>;

type BadEntry = Readonly<{ stream: StreamId; seq: Seq; detail: string }>;

export function alteredEntries({ entryAt, hashAt, snapshot, seals, ports }: Needs): (bad: BadEntry) => void {
  return ({ stream, seq: at, detail }) => {
    const { stored, before } = snapshot(() => ({
      stored: entryAt(stream, at),
      before: at === 1 ? EMPTY_STREAM.hash : hashAt(stream, seq(at - 1)),
    }));
    if (stored !== null && unsealOne(stored, before, ports).kind === "erased") return; // its blob went first
    if (stored !== null && isOfNewerProgram(stored, ports)) return void snapshot(() => seals.prove(stored));
    seals.alarms.raise(`entry ${at} of stream \`${stream}\``, detail);
  };
}

/** The header names the kind, so that a kind nobody changed cannot be read here, and nothing else is wrong. */
const isOfNewerProgram = (stored: StoredEntry, { hash }: Pick<UnsealPorts, "hash">): boolean =>
  !isReadableKind(stored.kind) && entryHash(stored, hash) === stored.entryHash;
