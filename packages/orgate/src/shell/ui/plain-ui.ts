/**
 * A shell without a terminal's ways: lines in, lines out. For pipes, for screen readers, for terminals that can do nothing.
 *
 * Nothing is written but lines, in the order in which they are settled; no cursor is moved and nothing is written over.
 * On a terminal a prompt says whose turn it is: it stands last, in the person's turn alone, and it is text. Ctrl-C cancels what runs; where nothing does, or once more, it leaves.
 * Rule: S-7.
 */
import { createInterface, type Interface } from "node:readline";
import type { Readable } from "node:stream";
import { quorumText } from "@orgate/core/journal/view";
import type { AskHidden } from "../../identity/secrets.ts";
import type { Paint } from "../../terminal/paint.ts";
import { visible } from "../../terminal/visible.ts";
import type { Shell, ShellUi } from "../shell.ts";
import { escapeRow } from "./escape.ts";
import { renderDiffLine, type ScreenLook } from "./screen.ts";
import { type Theme, themePaint } from "./themes.ts";

export type PlainUi = Readonly<{
  face: ShellUi;
  /** Now this is who is talked to. */
  begin(shell: Shell): void;
  /** Resolves at the end: true when a question waits. */
  run(): Promise<boolean>;
  /** Ctrl-C. */
  interrupt(): void;
}>;
export type PlainLook = Readonly<{
  columns: number;
  paint: Paint;
  theme: Theme;
  ask: AskHidden;
  cwd: string;
  /** Writes a text as it is where a person types the lines; null: nobody does. */
  prompt: ((text: string) => void) | null;
}>;

export function openPlainUi(
  input: Readable,
  writeRow: (line: string) => void,
  { columns, paint: own, theme, ask, cwd, prompt }: PlainLook,
): PlainUi {
  let isPrompted = false; // it stands in the last row
  let isListening = false;
  let lines: Interface | null = null;
  let interrupts = 0; // since the last line
  const write = (line: string): void => {
    if (isPrompted) prompt?.("\n");
    if (isPrompted) setImmediate(listen); // once all that is written with this line has been
    isPrompted = false;
    writeRow(escapeRow(line));
  };
  function listen(): void {
    if (prompt === null || isPrompted || !isListening) return;
    isPrompted = true;
    const addressee = shell?.addressee() ?? null;
    prompt(`${addressee === null ? "" : `@${visible(addressee)}`}> `);
  }
  let look: ScreenLook = { columns, paint: themePaint(theme, own), showThinking: false };
  const asked = new Set<string>();
  let shell: Shell | null = null;
  let quiet = (): void => {};
  let isLeaving = false;

  function flush(): void {
    if (shell === null) return;
    for (const line of shell.takeSettledLines()) write(line);
    for (const { session, agent, item, edit } of shell.openApprovals()) {
      // not before what led to it
      if (asked.has(item.approval) || shell.conversations.find(session)?.isCaughtUp() === false) continue;
      asked.add(item.approval);
      for (const line of edit?.lines ?? []) write(renderDiffLine(line, look));
      for (const line of edit?.newly ?? []) write(`  ${line}`);
      const voted = quorumText(item.quorum);
      write(
        `? ${agent} asks: ${item.tool}(${item.summary}): ${item.asks.map(({ question }) => question).join(" ")}${voted === null ? "" : ` (${voted})`}`,
      );
      write(`  /why ${item.approval} · /approve ${item.approval} · /deny ${item.approval} REASON`);
    }
    quiet();
  }
  /** Nothing runs, or all that runs waits for a person. */
  const isQuiet = (): boolean =>
    shell?.hasPendingWork() !== true &&
    (shell?.conversations.all().every((talk) => talk.isCaughtUp() && talk.view.state !== "running") ?? true);
  const untilQuiet = (): Promise<void> =>
    new Promise((resolve) => {
      quiet = () => {
        if (isLeaving || isQuiet()) resolve();
      };
      quiet();
    });
  function leave(): void {
    isLeaving = true;
    lines?.close();
    quiet();
  }
  const face: ShellUi = {
    look: () => look,
    print: (lines) => lines.forEach(write),
    changed: flush,
    leave,
    cwd,
    files: () => [],
    show: () => false,
    askHidden: ask,
    setTheme: (next) => {
      look = { ...look, paint: themePaint(next, own) };
    },
  };
  return {
    face,
    begin(to) {
      shell = to;
      flush();
    },
    async run() {
      isListening = true;
      setImmediate(listen);
      lines = createInterface({ input, terminal: false });
      for await (const line of lines) {
        isListening = isPrompted = false; // what was typed has ended its row
        interrupts = 0;
        if (line.trim() !== "") await shell?.submit(line);
        // what is written next may be about what comes of this
        await untilQuiet();
        if (isLeaving) break;
        isListening = true;
        setImmediate(listen); // not before what was typed ahead
      }
      isListening = false;
      await untilQuiet();
      flush();
      if (isPrompted) prompt?.("\n");
      return (shell?.openApprovals().length ?? 0) > 0;
    },
    interrupt() {
      interrupts += 1;
      if (shell === null || interrupts > 1) return leave();
      void shell.cancel("Ctrl-C").then((isCancelled) => {
        if (!isCancelled) leave();
      });
    },
  };
}
