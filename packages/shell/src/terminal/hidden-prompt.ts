/**
 * Asks a person at a terminal for something that nobody else is to see.
 * T-22 what is typed is not shown, nor what is typed ahead of the next question; nor is it lost.
 */

import { FaultError } from "@orgate/core/text";
import { INTERRUPTED } from "./command.ts";

const unsaid = (isLeft: boolean): FaultError =>
  new FaultError({ kind: "usage", detail: "it was not said: nothing was done", hint: "" }, isLeft ? INTERRUPTED : undefined);

/** Asks for a text that is neither shown nor kept; null if there is nobody to ask. */
export type AskHidden = ((question: string) => Promise<string>) | null;

/** Typed ahead: the rest of what came at once, for the next question. */
let ahead = "";

/** Null where there is no terminal to ask at. */
export function hiddenPrompt(): AskHidden {
  const { stdin, stderr } = process;
  if (stdin.isTTY !== true || stderr.isTTY !== true) return null;
  return (question) =>
    new Promise((resolve, reject) => {
      let typed = "";
      const done = (end: () => void): void => {
        stdin.off("data", onData);
        stdin.setRawMode(false);
        stdin.pause();
        stderr.write("\n");
        end();
      };
      const onData = (piece: Buffer | string): void => {
        const text = piece.toString("utf8");
        for (const [i, c] of [...text].entries()) {
          if (c === "\r" || c === "\n" || c === "\u0003" || c === "\u0004") {
            ahead = [...text].slice(i + 1).join("");
            done(() => (c === "\r" || c === "\n" ? resolve(typed) : reject(unsaid(c === "\u0003"))));
            return;
          }
          typed = c === "\u007f" || c === "\b" ? typed.slice(0, -1) : c < " " ? typed : typed + c;
        }
      };
      stdin.setRawMode(true); // before the question: whoever answers quickly is not shown either
      stderr.write(question);
      stdin.resume();
      stdin.on("data", onData);
      const before = ahead;
      ahead = "";
      if (before !== "") onData(before);
    });
}
