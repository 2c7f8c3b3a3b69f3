/**
 * J-19 An entry that no longer fits its own hash, its chain or the end of its stream raises an alarm, like one without a genuine seal: both mean that
 *      somebody wrote into the database. Two cases do not: an entry that was erased while it was read, and one that a newer program has sealed.
 */
import { entryHash, isReadableKind, unsealAppend } from "@orgate/core/journal";
import type { Seq, StreamId } from "@orgate/core/vocab";
import { sha256 } from "../../../node/crypto.ts";
import type { JournalRows } from "../rows.ts";
import type { Seals } from "./seals.ts";

type BadEntry = Readonly<{ stream: StreamId; seq: Seq; detail: string }>;

export function alteredEntries(rows: JournalRows, seals: Seals): (bad: BadEntry) => void {
  return ({ stream, seq: at, detail }) =>
    rows.snapshot(() => {
      const append = rows.appendsFrom(stream, at, 1)[0];
      if (append !== undefined && append.first <= at) {
        const stored = rows.entriesOf(append);
        const place = at - append.first;
        if (unsealAppend(append, stored, rows.unsealing)[place]?.kind === "erased") return; // its blob went first
        const last = stored.at(-1);
        const isWhole = stored.length === append.count && last !== undefined && entryHash(last, sha256) === append.hash;
        const kind = stored[place]?.kind;
        if (isWhole && kind !== undefined && !isReadableKind(kind)) return seals.proveAppend(append);
      }
      seals.alarms.raise(`entry ${at} of stream \`${stream}\``, detail);
    });
}
