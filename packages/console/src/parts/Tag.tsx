import type { ReactNode } from "react";
import css from "./Tag.module.css";
import tones from "./tones.module.css";

export type Tone = "ok" | "bad" | "wait" | "note" | "plain" | "observe" | "reason" | "gate" | "act";

/** A word in its colour. The word carries the meaning, the colour repeats it. */
export function Tag({ tone = "plain", children }: Readonly<{ tone?: Tone; children: ReactNode }>) {
  return <span className={`${css.tag} ${tones[tone]}`}>{children}</span>;
}
