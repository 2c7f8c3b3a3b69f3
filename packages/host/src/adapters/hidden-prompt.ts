/** Asks a person at a terminal for something that nobody else is to see: what is typed is not shown. */

/** Null where there is no terminal to ask at. */
export function hiddenPrompt(): ((question: string) => Promise<string>) | null {
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
      const onData = (piece: Buffer): void => {
        for (const c of piece.toString("utf8")) {
          if (c === "\r" || c === "\n" || c === "\u0003" || c === "\u0004") {
            done(() => (c === "\r" || c === "\n" ? resolve(typed) : reject(new Error("it was not said"))));
            return;
          }
          typed = c === "\u007f" || c === "\b" ? typed.slice(0, -1) : c < " " ? typed : typed + c;
        }
      };
      stderr.write(question);
      stdin.setRawMode(true);
      stdin.resume();
      stdin.on("data", onData);
    });
}
