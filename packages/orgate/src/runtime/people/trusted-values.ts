/**
 * Trusted sets as people edit them: payees, people, domains, paths, and whatever a project names. The command line and the library use this file.
 * G-30 only a certified person whom the policies permit edits a set (`edit-known`), with a reason; a tool that declares it extends it when its
 * call is done.
 */

import { FaultError, isFault, type Millis, SET_NAME, seq, TRUSTED_VALUES } from "@orgate/core";
import { plainValue } from "@orgate/core/gate";
import { entryPages } from "@orgate/core/journal";
import type { OpenProjectStore } from "../ports/project-store.ts";
import { type Acting, assertMayAct, certifyActor } from "./approvals.ts";

export type TrustedEntry = Readonly<{ set: string; value: string; why: string }>;

const TRIES = 100;
const MAX_VALUE = 2_000;

/** Throws `not-permitted` and `usage`. */
export async function editTrustedValues(
  acting: Omit<Acting, "place"> & Readonly<{ place: Pick<OpenProjectStore, "keyring" | "orders" | "store"> }>,
  kind: "known.added" | "known.removed",
  { set, value: given, why }: TrustedEntry,
  now: () => Millis,
): Promise<void> {
  const wrong = (detail: string, hint: string) => new FaultError({ kind: "usage", detail, hint });
  const isRecords = kind === "known.removed" && SET_NAME.test(set.replace(/^record:/, "")); // only tools make records
  if (!SET_NAME.test(set) && !isRecords) throw wrong(`\`${set}\` is no name of a set`, "use a-z, 0-9, _ and -, a letter first");
  const value = plainValue(given);
  if (value === null || value.length > MAX_VALUE)
    throw wrong("a value is plain text, without characters that cannot be seen", "write it out by hand instead of pasting it");
  if (why.trim() === "") throw wrong("it does not say why", "say why: the journal keeps it");
  const what = `edit the set ${set}`;
  assertMayAct(acting.gate, acting.person, { kind: "edit-known", set }, what);
  const by = await certifyActor(acting, what);
  const { journal } = acting.place.store;
  if (kind === "known.removed" && !journal.isKnown(set, [value], false))
    throw wrong(`\`${value}\` is not in \`${set}\``, "`orgate known list` shows what is");
  let after = seq(0);
  for (let tries = 1; ; tries += 1) {
    for await (const page of entryPages(journal, TRUSTED_VALUES, after)) after = page.at(-1)?.seq ?? after;
    try {
      const event = { kind, set, value, by, why: why.toWellFormed() };
      await journal.append({ stream: TRUSTED_VALUES, after, hold: null, events: [{ at: now(), event }], consumes: [], unlessHalted: [] });
      return;
    } catch (error) {
      if (!isFault(error, "append-conflict") || tries === TRIES) throw error; // somebody else edits it too
    }
  }
}
