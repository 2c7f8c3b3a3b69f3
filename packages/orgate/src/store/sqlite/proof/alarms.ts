/**
 * Alarms about the journal, in a file beside the database: write access to the database is not enough to remove one.
 * J-19 while an alarm stands the project is read-only, in every process: no append, so no decision, no effect. It stands until an operator acknowledges it.
 * J-20 an acknowledgement counts only with a keyed hash over itself and all that stood in the file before it: a writer of the file who has not the
 *      project's key can neither add one, nor use an old one for a new alarm.
 */

import { createHmac } from "node:crypto";
import { appendFileSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { errorMessage } from "@orgate/core/vocab";
import type { Acknowledgement, Alarm, StoreAlarms } from "../../store.ts";

export type Alarms = Readonly<{
  /** Those that nobody has acknowledged, the first one first. */
  standing(): readonly Alarm[];
  /** Raised once for a place: while it stands it is not raised again. False when an operator has acknowledged this place as it is. */
  raise(what: string, detail: string): boolean;
  acknowledge(acknowledgement: Pick<Acknowledgement, "by" | "reason"> & Partial<Acknowledgement>): readonly Alarm[];
}>;

/** As the store offers them. */
export const toStoreAlarms = (alarms: Alarms): StoreAlarms => ({
  standing: async () => alarms.standing(),
  raise: async (what, detail) => alarms.raise(what, detail),
  acknowledge: async (acknowledgement) => alarms.acknowledge(acknowledgement),
});

export const alarmsFile = (directory: string): string => join(directory, "alarms.jsonl");

type Known = Readonly<{ stamp: string; standing: readonly Alarm[]; ever: ReadonlySet<string> }>;

/** Without the project's keys, acknowledgements are believed. */
export function openAlarms(directory: string, key: string | Uint8Array | null): Alarms {
  const file = alarmsFile(directory);
  const macOf: MacOf = (before, said) =>
    key === null
      ? null
      : createHmac("sha256", key)
          .update(`orgate-acknowledged-1\n${JSON.stringify([before, said.at, said.by, said.reason, said.isVerified])}`)
          .digest("hex");
  const unwritten: Alarm[] = []; // the disk took no more: they still stand here
  let known: Known = { stamp: "", standing: [], ever: new Set() };

  /** One `stat` when nothing has changed: it is asked before every commit. */
  function now(): Known {
    const stat = statSync(file, { throwIfNoEntry: false });
    const stamp = stat === undefined ? "" : `${stat.ino} ${stat.size} ${stat.mtimeMs}`;
    if (stamp !== known.stamp) known = { stamp, ...(stat === undefined ? { standing: [], ever: new Set() } : readAlarms(file, macOf)) };
    return known;
  }
  const standing = (): readonly Alarm[] => [...now().standing, ...unwritten];
  return {
    standing,
    raise(what, detail) {
      if (standing().some((alarm) => alarm.what === what)) return true;
      if (now().ever.has(what)) return false;
      const alarm: Alarm = { at: Date.now(), what, detail };
      try {
        appendFileSync(file, `\n${JSON.stringify({ kind: "alarm", ...alarm })}\n`, { mode: 0o600, flush: true });
      } catch {
        unwritten.push(alarm);
      }
      return true;
    },
    acknowledge({ by, reason, isVerified = false }) {
      const open = standing();
      const said: Acknowledgement = { at: Date.now(), by, reason, isVerified };
      const before = statSync(file, { throwIfNoEntry: false }) === undefined ? "" : linesIn(file).join("\n");
      const line = { kind: "acknowledged", ...said, mac: macOf(before, said) }; // one that is raised meanwhile is not acknowledged with the others
      appendFileSync(file, `\n${JSON.stringify(line)}\n`, { mode: 0o600, flush: true });
      unwritten.length = 0;
      return open;
    },
  };
}

type MacOf = (before: string, said: Acknowledgement) => string | null;

/** Each line begins on a line of its own, also behind one that a crash or a full disk has torn: empty ones say nothing. */
const linesIn = (file: string): readonly string[] =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "");

/** A file or a line that cannot be read is an alarm itself, and so is an acknowledgement that this project did not write. */
function readAlarms(file: string, macOf: MacOf): Omit<Known, "stamp"> {
  const ever = new Set<string>();
  let standing: Alarm[] = [];
  const doubt = (at: number, detail: string): void => void standing.push({ at, what: file, detail });
  try {
    const lines = linesIn(file);
    for (const [i, line] of lines.entries()) {
      const said = parsed(line);
      if (said === null) doubt(0, `line ${i + 1} cannot be read`);
      else if (said.kind === "alarm") {
        standing.push(said.alarm);
        ever.add(said.alarm.what);
      } else if (![null, said.mac].includes(macOf(lines.slice(0, i).join("\n"), said.acknowledged)))
        doubt(said.acknowledged.at, "an acknowledgement in it was not written by this project");
      else {
        standing = [];
        if (said.acknowledged.isVerified) ever.clear();
      }
    }
  } catch (error) {
    doubt(0, `it cannot be read: ${errorMessage(error)}`);
  }
  return { standing, ever };
}

type Line = Readonly<{ kind: "alarm"; alarm: Alarm } | { kind: "acknowledged"; acknowledged: Acknowledgement; mac: string }>;

function parsed(line: string): Line | null {
  try {
    const { kind, at, what, detail, by, reason, isVerified, mac } = JSON.parse(line) as Readonly<Record<string, unknown>>;
    if (kind !== "acknowledged") return { kind: "alarm", alarm: { at: Number(at), what: String(what), detail: String(detail) } };
    return {
      kind: "acknowledged",
      acknowledged: { at: Number(at), by: String(by), reason: String(reason), isVerified: isVerified === true },
      mac: String(mac),
    };
  } catch {
    return null;
  }
}
