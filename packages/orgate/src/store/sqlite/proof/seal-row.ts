/** The row of a seal as the record that it is. STRICT tables hold what the types say. */
import type { SQLOutputValue } from "node:sqlite";
import type { StoredSeal } from "@orgate/core/journal";

export const toSeal = ({ counts: _, recovered, ...row }: Record<string, SQLOutputValue>): StoredSeal =>
  ({ ...row, recovered: recovered === 1 }) as unknown as StoredSeal;
