/** The fold of records: what a trusted source last said of a thing, and whom the session serves. */
import { type Millis, millis, type StoredThing } from "../../vocab/index.ts";
import type { EventOf } from "../fold-parts.ts";
import { type EndedThing, nameKey, type State } from "../state.ts";

/** The oldest are dropped: a record that this many later ones did not replace is not fresh either; nor is the project's from before it. */
const MOST_THINGS = 5_000;

export function foldRecorded(s: State, e: EventOf<"known.recorded">, at: Millis): State {
  s.changes += 1;
  const put = (key: string, said: StoredThing | EndedThing): void => {
    const name = nameKey(e.type, key);
    s.things.delete(name); // the newest last
    if (e.set === "project") return; // the journal has it for every session, and says when it ends
    s.things.set(name, said);
    if (s.things.size > MOST_THINGS) dropOldest(s);
  };
  for (const { key } of e.skipped) if (key !== null) put(key, { at, hasEnded: true });
  const doubted = e.skipped.flatMap(({ key, why }) => (why === "unknown" ? [key] : []));
  if (doubted.length > 0) foldDoubts(s, e.type, doubted, at);
  for (const record of e.records) put(record.key, { ...record, at, maxAgeSeconds: e.maxAgeSeconds });
  if (e.establishes === "subject") foldSubject(s, e);
  return s;
}

function dropOldest(s: State): void {
  const [oldest] = s.things;
  if (oldest === undefined) return;
  const [name, { at }] = oldest;
  s.things.delete(name);
  doubtType(s, name.slice(0, name.indexOf("\n")), at);
}

/** A clock that was set back takes no doubt away. */
const doubtType = (s: State, type: string, at: Millis): void => void s.doubted.set(type, millis(Math.max(s.doubted.get(type) ?? at, at)));

/** However it was spelt: the tool may have taken one spelling for another. Of which thing nobody knows, it may be any of the type, the project's too. */
function foldDoubts(s: State, type: string, keys: readonly (string | null)[], at: Millis): void {
  const isAny = keys.includes(null);
  if (isAny) doubtType(s, type, at);
  const all = nameKey(type, "");
  const named = new Set(keys.flatMap((key) => (key === null ? [] : [nameKey(type, key).toLowerCase()])));
  for (const name of [...s.things.keys()])
    if ((isAny && name.startsWith(all)) || named.has(name.toLowerCase())) s.things.set(name, { at, hasEnded: true });
}

/**
 * The tool has identified somebody; whom it names and cannot describe as declared is nobody, and no longer the one before; so is whom a call may
 * have changed. An output that names nobody (a wrong code) identifies nobody else.
 */
function foldSubject(s: State, { records: [first], skipped }: EventOf<"known.recorded">): void {
  if (first !== undefined) s.subject = { id: first.key, attributes: first.fields };
  else if (skipped.some(({ key, why }) => key !== null || why !== "missing")) s.subject = null;
}
