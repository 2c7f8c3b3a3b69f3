/** The port between a shell and what shows it: a terminal, or plain lines. */
import type { AskHidden } from "../terminal/hidden-prompt.ts";
import type { Key } from "./input/keys.ts";
import type { ScreenLook } from "./look.ts";
import type { Theme } from "./themes.ts";

export type ShellUi = Readonly<{
  look(): ScreenLook;
  /** Prints into the scrollback immediately. */
  print(lines: readonly string[]): void;
  /** Requests a redraw. */
  changed(): void;
  leave(): void;
  /** The folder the shell was started in. */
  cwd: string;
  /** Names in a folder below `cwd`; names of folders end in a slash. */
  files(folder: string): readonly string[];
  /** Gives a modal the keys and the rows until it is replaced by null. False if nothing can be drawn. */
  show(modal: Modal | null): boolean;
  /** Asks for text that is neither shown nor kept. Null if there is nobody to ask. */
  askHidden: AskHidden;
  setTheme(theme: Theme): void;
}>;

/** Takes all keys while it is shown. */
export type Modal = Readonly<{ rows(look: ScreenLook, most: number): readonly string[]; pressed(key: Key): void }>;
