/** J-9 an erasure is journalled before anything is gone; a session that another process drives is not touched. */
import { FaultError, type Seq, seq } from "@orgate/core";
import { count, EXIT, type Given, type RunCommand } from "@orgate/shell/terminal";
import { eraseEntries } from "../../../runtime/people/erase.ts";
import {
  certifyIfNeeded,
  findSessionByText,
  openGivenProject,
  permittedPerson,
  sessionAct,
  withReadOnlyStore,
  writingProject,
} from "../project/project.ts";

export const erase: RunCommand = async (given, screen) => {
  const config = openGivenProject(given);
  const session = required(given, "session");
  const reason = required(given, "reason");
  const summary = await withReadOnlyStore(given, (look) => findSessionByText(look.journal, session));
  const { first, last } = rangeOf(given.text("entries"), summary.seq);
  const person = await permittedPerson(given, screen, config, { act: sessionAct("erase", summary), what: `erase ${summary.session}` });
  return writingProject(config, async (place) => {
    await certifyIfNeeded(given, screen, place, person);
    const by = { kind: "user", id: person.name } as const;
    const done = await eraseEntries(place, { session: summary.session, first, last, by, reason, anyway: given.flag("anyway") });
    if (given.json) screen.line(JSON.stringify({ session: summary.session, first, last, ...done }));
    else {
      const wishes = done.intents > 0 ? `, ${count(done.intents, "pending intent", "pending intents")}` : "";
      screen.line(
        done.entries === 0
          ? `nothing was left to erase: entries ${first}-${last} of ${summary.session} were erased before`
          : `erased ${count(done.entries, "entry", "entries")} (${first}-${last}), ${count(done.blobs, "blob")}${wishes} of ${summary.session}`,
      );
      screen.line("the chain still verifies; the session can no longer resume");
      if (!done.truncated) screen.line("a reader was in the way: old pages go when it ends. Run this again to be sure");
    }
    return done.truncated ? EXIT.success : EXIT.failure;
  });
};

function rangeOf(text: string | null, end: Seq): { readonly first: Seq; readonly last: Seq } {
  if (text === null) return { first: seq(1), last: end };
  const [, from, to = from] = /^([1-9]\d{0,8})(?:-([1-9]\d{0,8}))?$/.exec(text) ?? [];
  const [first, last] = [Number(from), Number(to)];
  if (from !== undefined && first <= last && last <= end) return { first: seq(first), last: seq(last) };
  throw new FaultError({ kind: "usage", detail: `--entries is \`${text}\``, hint: `use A-B within 1-${end}` });
}

function required(given: Given, option: string): string {
  const value = given.text(option)?.trim() ?? "";
  if (value === "")
    throw new FaultError({ kind: "usage", detail: `--${option} is missing`, hint: "`orgate journal erase --help` tells more" });
  return value;
}
