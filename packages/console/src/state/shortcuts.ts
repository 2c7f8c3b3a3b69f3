/**
 * Keyboard shortcuts, registered by the components on screen, so that their list (`?`) is always complete.
 * A key typed into a field, or pressed with a modifier that the shortcut does not name, is no shortcut; all single keys can be switched off.
 * Key repeat triggers an action once; only navigation keys repeat. Keys typed into an editor, a menu or a dialog belong to it.
 */
import { useEffect, useRef } from "react";
import { cell } from "./cell.ts";
import { singleKeys } from "./preferences.ts";

/** `keys`: one key (`a`, `?`, `Enter`), two in a row (`g c`), or with the command key (`mod+k`). */
export type Shortcut = Readonly<{ keys: string; says: string; run(): void; group?: string; repeats?: boolean }>;

export const shortcuts = cell<readonly Shortcut[]>([]);

/** Registers shortcuts while the component is mounted. The latest registered wins where two use the same key. */
export function useShortcuts(given: readonly Shortcut[]): void {
  const latest = useRef(given);
  latest.current = given;
  const names = given.map(({ keys, says }) => `${keys}=${says}`).join("\n");
  // biome-ignore lint/correctness/useExhaustiveDependencies: `names` is what is listed; `latest` is what is run
  useEffect(() => {
    const mine = latest.current.map((one, i): Shortcut => ({ ...one, run: () => latest.current[i]?.run() }));
    shortcuts.change((all) => [...all, ...mine]);
    return () => shortcuts.change((all) => all.filter((one) => !mine.includes(one)));
  }, [names]);
}

const FIELDS = "input, textarea, select, [contenteditable], [role=textbox]";
const OVER = "[role=dialog], [role=menu], [role=listbox]";
const BETWEEN_MS = 1_200;

/** The name of a key event, with its modifier. */
export function keyName(event: Pick<KeyboardEvent, "key" | "metaKey" | "ctrlKey" | "altKey">): string | null {
  if (event.altKey) return null;
  if (event.metaKey || event.ctrlKey) return `mod+${event.key.toLowerCase()}`;
  return event.key;
}

export function listenToKeys(): () => void {
  let first: Readonly<{ key: string; at: number }> | null = null;
  const heard = (event: KeyboardEvent): void => {
    const key = keyName(event);
    if (key === null || event.defaultPrevented || event.isComposing) return;
    const isBare = !key.startsWith("mod+");
    const [target] = event.composedPath(); // also inside an editor's shadow root
    const within = (of: string): boolean => target instanceof Element && target.closest(of) !== null;
    if (isBare && (within(FIELDS) || within(OVER) || singleKeys.get() === "off")) return;
    if (isBare && (key === "Enter" || key === " ") && within("button, a, summary, [role=button]")) return;
    const now = event.timeStamp;
    const pair = first !== null && now - first.at < BETWEEN_MS ? `${first.key} ${key}` : null;
    first = null;
    const found = shortcuts.get().findLast(({ keys }) => keys === pair) ?? shortcuts.get().findLast(({ keys }) => keys === key);
    if (found !== undefined) {
      event.preventDefault();
      if (!event.repeat || found.repeats === true) found.run();
    } else if (isBare && !event.repeat && shortcuts.get().some(({ keys }) => keys.startsWith(`${key} `))) first = { key, at: now };
  };
  window.addEventListener("keydown", heard);
  return () => window.removeEventListener("keydown", heard);
}

const isMac = typeof navigator !== "undefined" && /mac|iphone|ipad/i.test(navigator.platform);
export const keysText = (keys: string): readonly string[] =>
  keys.split(" ").map((key) =>
    key
      .replace("mod+", isMac ? "⌘" : "Ctrl ")
      .replace("ArrowDown", "↓")
      .replace("ArrowUp", "↑"),
  );
