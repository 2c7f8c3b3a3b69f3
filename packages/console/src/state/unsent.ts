/**
 * Unsent text, kept in this tab: an ended sign-in, a reload or a scrolled list loses none of it.
 * O-7 leaving a field loses no text; signing out, or another person signing in, deletes all of it.
 */
import { useCallback, useState } from "react";
import { cell } from "./cell.ts";

type Keeps = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;
export type UnsentTexts = ReturnType<typeof openUnsentTexts>;

const PREFIX = "orgate.words.";
const OWNER = "orgate.words-of";

export function openUnsentTexts(storage: () => Keeps) {
  const here = new Map<string, string | null>(); // a browser may refuse to store anything: then text is kept until the page is closed
  const besides = new Set<Pick<Map<string, unknown>, "clear">>();
  const changes = cell(0);
  let owner: string | null = null;
  const put = (name: string, text: string | null): void => {
    try {
      if (text === null) storage().removeItem(name);
      else storage().setItem(name, text);
    } catch {
      // kept until the page is closed
    }
  };
  const read = (name: string): string | null => {
    try {
      return storage().getItem(name);
    } catch {
      return null;
    }
  };
  const set = (name: string, text: string | null): void => {
    here.set(name, text);
    put(PREFIX + name, text);
    changes.change((n) => n + 1);
  };
  const clear = (): void => {
    for (const name of [...here.keys(), ...namesIn(storage)]) set(name, null);
    for (const beside of besides) beside.clear();
  };
  return {
    of: (name: string): string | null => {
      const known = here.get(name);
      return known === undefined ? read(PREFIX + name) : known;
    },
    keep: (name: string, text: string): void => set(name, text),
    drop: (name: string): void => set(name, null),
    clear,
    /** Deletes texts of a different person than the one signed in. */
    belongTo(person: string): void {
      const before = owner ?? read(OWNER);
      if (before !== null && before !== person) clear();
      owner = person;
      put(OWNER, person);
    },
    /** A map for values beside the texts, kept until the page is closed and cleared with them. */
    beside<T>(): Map<string, T> {
      const kept = new Map<string, T>();
      besides.add(kept);
      return kept;
    },
    changes,
  };
}

function namesIn(storage: () => Keeps): readonly string[] {
  try {
    const at = storage();
    return Array.from({ length: at.length }, (_, i) => at.key(i) ?? "").flatMap((name) =>
      name.startsWith(PREFIX) ? [name.slice(PREFIX.length)] : [],
    );
  } catch {
    return [];
  }
}

export const unsentTexts = openUnsentTexts(() => sessionStorage);

/** A field's text, kept under a name; `first` is its text before anybody types, and is not kept. */
export function useUnsentText(name: string, first = ""): readonly [text: string, set: (text: string) => void, drop: () => void] {
  const [text, setText] = useState(() => unsentTexts.of(name) ?? first);
  const set = useCallback(
    (now: string): void => {
      setText(now);
      if (now === first) unsentTexts.drop(name);
      else unsentTexts.keep(name, now);
    },
    [name, first],
  );
  const drop = useCallback(() => unsentTexts.drop(name), [name]);
  return [text, set, drop];
}
