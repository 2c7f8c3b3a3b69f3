/** Text that is typed but neither shown nor kept: keys and other secrets. */
import type { Key } from "./keys.ts";

export type HiddenInput = Readonly<{ question: string; typed: string; resolve(text: string): void; reject(error: Error): void }>;
/** Null once the text was entered or given up. */
export function typeHidden(hidden: HiddenInput, key: Key): HiddenInput | null {
  if (key.kind === "text" || key.kind === "paste") return { ...hidden, typed: hidden.typed + key.text };
  const isLeft = key.kind === "ctrl" && (key.letter === "c" || key.letter === "d");
  if (isLeft || (key.kind === "named" && key.name === "escape")) {
    hidden.reject(new Error("it was not said"));
    return null;
  }
  if (key.kind === "ctrl" && key.letter === "u") return { ...hidden, typed: "" };
  if (key.kind !== "named") return hidden;
  if (key.name === "backspace") return { ...hidden, typed: hidden.typed.slice(0, -1) };
  if (key.name !== "enter") return hidden;
  hidden.resolve(hidden.typed.replace(/\n$/, ""));
  return null;
}
