/** Preferences kept in this browser. Nothing of the journal is kept here. */
import { type Cell, cell } from "./cell.ts";

export type Theme = "system" | "light" | "dark";
const THEMES: readonly Theme[] = ["system", "light", "dark"];

/** A browser may refuse to store anything: then the choice is kept until the page is closed. */
function preference<T extends string>(name: string, choices: readonly T[], first: T): Cell<T> {
  const read = (): string | null => {
    try {
      return localStorage.getItem(name);
    } catch {
      return null;
    }
  };
  const found = cell<T>(choices.find((choice) => choice === read()) ?? first);
  return {
    ...found,
    set(value) {
      found.set(value);
      try {
        localStorage.setItem(name, value);
      } catch {
        // kept until the page is closed
      }
    },
  };
}

export const theme = preference<Theme>("orgate.theme", THEMES, "system");
export const singleKeys = preference<"on" | "off">("orgate.keys", ["on", "off"], "on");

export function applyTheme(): void {
  const set = (): void => {
    const chosen = theme.get();
    if (chosen === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = chosen;
  };
  set();
  theme.watch(set);
}
export const nextTheme = (now: Theme): Theme => THEMES[(THEMES.indexOf(now) + 1) % THEMES.length] ?? "system";
