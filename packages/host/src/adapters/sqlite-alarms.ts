/**
 * Alarms about the journal, in a file beside the database: whoever can write the database cannot take one back.
 * J302 while an alarm stands the project is read-only, in every process: no append, so no decision, no effect. It stands until an operator acknowledges it.
 */
import { appendFileSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** `what` names the place (`entry 3 of stream halt`), `detail` what is wrong with it. */
export type Alarm = Readonly<{ at: number; what: string; detail: string }>;
export type Acknowledgement = Readonly<{ at: number; by: string; reason: string }>;

export type Alarms = Readonly<{
  /** Those that nobody has acknowledged, the first one first. */
  standing(): readonly Alarm[];
  /** Raised once for a place: while it stands it is not raised again. False when an operator has acknowledged this place as it is. */
  raise(what: string, detail: string): boolean;
  acknowledge(acknowledgement: Omit<Acknowledgement, "at">): readonly Alarm[];
}>;

export const alarmsFile = (directory: string): string => join(directory, "alarms.jsonl");

type Known = Readonly<{ stamp: string; standing: readonly Alarm[]; ever: ReadonlySet<string> }>;

export function openAlarms(directory: string): Alarms {
  const file = alarmsFile(directory);
  const unwritten: Alarm[] = []; // the disk took no more: they still stand here
  let known: Known = { stamp: "", standing: [], ever: new Set() };

  /** One `stat` when nothing has changed: it is asked before every commit. */
  function now(): Known {
    const stat = statSync(file, { throwIfNoEntry: false });
    const stamp = stat === undefined ? "" : `${stat.ino} ${stat.size} ${stat.mtimeMs}`;
    if (stamp !== known.stamp) known = { stamp, ...(stat === undefined ? { standing: [], ever: new Set() } : readAlarms(file)) };
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
        appendFileSync(file, `${JSON.stringify({ kind: "alarm", ...alarm })}\n`, { mode: 0o600, flush: true });
      } catch {
        unwritten.push(alarm);
      }
      return true;
    },
    acknowledge({ by, reason }) {
      const open = standing();
      appendFileSync(file, `${JSON.stringify({ kind: "acknowledged", at: Date.now(), by, reason })}\n`, { mode: 0o600, flush: true });
      unwritten.length = 0;
      return open;
    },
  };
}

/** A file that cannot be read is an alarm itself. */
function readAlarms(file: string): Omit<Known, "stamp"> {
  const ever = new Set<string>();
  let standing: Alarm[] = [];
  try {
    for (const line of readFileSync(file, "utf8").split("\n")) {
      if (line === "") continue;
      const { kind, at, what, detail } = JSON.parse(line) as Readonly<Record<string, unknown>>;
      if (kind === "acknowledged") standing = [];
      else {
        const alarm = { at: Number(at), what: String(what), detail: String(detail) };
        standing.push(alarm);
        ever.add(alarm.what);
      }
    }
  } catch (error) {
    standing.push({ at: 0, what: file, detail: `it cannot be read: ${error instanceof Error ? error.message : String(error)}` });
  }
  return { standing, ever };
}
