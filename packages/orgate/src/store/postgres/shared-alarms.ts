/**
 * Alarms of a project on many machines: what one process finds, all of them raise, each in its own file, which whoever can write the database cannot reach.
 * J-19 while an alarm stands nothing is appended. An acknowledgement counts on the machine on which it was given; where it was given, new processes elsewhere do
 *      not hear of the alarm any more.
 */
import type { Alarms } from "../sqlite/proof/alarms.ts";
import type { Link } from "./link.ts";
import { fromStoredText, toStoredText } from "./text.ts";

export type AlarmRow = Readonly<{ no: number; what: string; detail: string }>;
export type SharedAlarms = Alarms &
  Readonly<{
    /** The last one that was heard of. */
    heard(): number;
    hear(rows: readonly AlarmRow[]): void;
  }>;

export function shareAlarms(local: Alarms, link: Link): SharedAlarms {
  const table = `"${link.schema}".alarms`;
  let last = 0;
  const quietly = (work: Promise<unknown>): void => void work.catch(() => {}); // every process finds for itself what it reads
  return {
    standing: local.standing,
    raise(what, detail) {
      const isNew = !local.standing().some((one) => one.what === what);
      const isRaised = local.raise(what, detail);
      if (isRaised && isNew)
        quietly(link.query(`INSERT INTO ${table} (what, detail) VALUES ($1, $2)`, [toStoredText(what), toStoredText(detail)]));
      return isRaised;
    },
    acknowledge(said) {
      quietly(link.query(`DELETE FROM ${table} WHERE no <= $1`, [last]));
      return local.acknowledge(said);
    },
    heard: () => last,
    hear(rows) {
      for (const { no, what, detail } of rows) {
        last = Math.max(last, no);
        local.raise(fromStoredText(what), fromStoredText(detail));
      }
    },
  };
}
