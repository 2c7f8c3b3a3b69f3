/** A12 an erasure is journalled before anything is gone; a session that another process drives is not touched. */
import { ERASURES, FaultError, isFault, type Principal, type Seq, type SessionId, seq } from "@orgate/core";
import type { SessionSummary } from "@orgate/core/journal";
import { EXIT, type Given, type Run } from "../cli/command.ts";
import { count } from "../cli/table.ts";
import { NODE, type Place } from "../compose.ts";
import { certified, looking, personOf, projectOf, sessionOf, writing } from "./project.ts";

export const erase: Run = async (given, screen) => {
  const config = projectOf(given);
  const session = required(given, "session");
  const reason = required(given, "reason");
  const summary = await looking(given, (look) => sessionOf(look.journal, session));
  const { first, last } = rangeOf(given.text("entries"), summary.seq);
  const person = personOf(given, screen);
  return writing(config, async (place) => {
    await certified(given, screen, place, person);
    const hold = await place.store.journal.take(summary.session); // refused while its holder lives; nobody takes it meanwhile
    try {
      mayBeErased(await place.store.journal.session(summary.session));
      await record(place, { stream: summary.session, first, last, by: { kind: "user", id: person.name }, reason });
      const done = await place.store.erase(summary.session, first, last);
      if (given.json) screen.line(JSON.stringify({ session: summary.session, first, last, ...done }));
      else {
        const wishes = done.intents > 0 ? `, ${count(done.intents, "pending wish", "pending wishes")}` : "";
        screen.line(
          `erased ${count(done.entries, "entry", "entries")} (${first}-${last}), ${count(done.blobs, "blob")}${wishes} of ${summary.session}`,
        );
        screen.line("the chain still verifies; the session can no longer resume");
        if (!done.truncated) screen.line("a reader was in the way: old pages go when it ends. Run this again to be sure");
      }
      return EXIT.success;
    } finally {
      await place.store.journal.release(hold);
    }
  });
};

/** D4 a turn ends after its delegates: one that can no longer be driven would leave it open for good. */
function mayBeErased(summary: SessionSummary | null): void {
  if (summary === null || summary.parent === null || summary.turns > 1 || summary.state === "idle" || summary.state === "closed") return;
  throw new FaultError({
    kind: "usage",
    detail: `session \`${summary.session}\` works for \`${summary.parent}\`, which waits for it`,
    hint: `cancel it first: \`orgate sessions cancel ${summary.session}\``,
  });
}

type Erasure = Readonly<{ stream: SessionId; first: Seq; last: Seq; by: Principal; reason: string }>;

async function record({ store: { journal } }: Place, erasure: Erasure): Promise<void> {
  for (let after = seq(0); ; ) {
    const chunk = await journal.read(ERASURES, after, 1_000);
    after = chunk.at(-1)?.seq ?? after;
    if (chunk.length === 1_000) continue;
    const event = { kind: "content.erased", ...erasure } as const;
    try {
      await journal.append({
        stream: ERASURES,
        after,
        hold: null,
        events: [{ at: NODE.clock.now(), event }],
        consumes: [],
        unlessHalted: [],
      });
      return;
    } catch (error) {
      if (!isFault(error, "append-conflict")) throw error; // somebody erased meanwhile: read on
    }
  }
}

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
