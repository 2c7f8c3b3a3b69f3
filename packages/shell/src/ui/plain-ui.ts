/**
 * A shell in plain lines, for pipes, screen readers and terminals that cannot be drawn on.
 *
 * Only lines are written, in the order in which they settle; no cursor moves and nothing is overwritten.
 * On a terminal a text prompt stands last while it is the operator's turn. Ctrl-C cancels what runs; if nothing runs, or pressed twice, it leaves.
 * S-7 at the end of the input it waits for running turns, then leaves; the exit code tells whether an approval request waits.
 */
import { createInterface, type Interface } from "node:readline";
import type { Readable } from "node:stream";
import { quorumText } from "@orgate/protocol/view";
import type { Shell } from "../contract.ts";
import type { AskHidden } from "../terminal/hidden-prompt.ts";
import type { Paint } from "../terminal/paint.ts";
import { visible } from "../terminal/visible.ts";
import { escapeRow } from "./escape.ts";
import type { ScreenLook } from "./look.ts";
import type { ShownApproval } from "./panel.ts";
import { renderDiffLine } from "./screen.ts";
import { type Theme, themePaint } from "./themes.ts";
import type { ShellUi } from "./ui.ts";

export type PlainUi = Readonly<{
  ui: ShellUi;
  /** Connects a shell. */
  begin(shell: Shell): void;
  /** Reads lines until the input ends. Resolves to true if an approval request waits. */
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
  /** Writes a prompt where a person types the lines; null if nobody does. */
  prompt: ((text: string) => void) | null;
}>;

export function openPlainUi(input: Readable, writeRow: (line: string) => void, given: PlainLook): PlainUi {
  return new LineScreen(input, writeRow, given);
}

class LineScreen implements PlainUi {
  readonly ui: ShellUi;
  readonly #input: Readable;
  readonly #writeRow: (line: string) => void;
  readonly #prompt: PlainLook["prompt"];
  /** Approval requests that were printed already. */
  readonly #printed = new Set<string>();
  #look: ScreenLook;
  #shell: Shell | null = null;
  #lines: Interface | null = null;
  #isPrompted = false; // the prompt stands in the last row
  #isListening = false;
  #isLeaving = false;
  #interrupts = 0; // since the last line
  #whenQuiet = (): void => {};

  constructor(input: Readable, writeRow: (line: string) => void, { columns, paint, theme, ask, cwd, prompt }: PlainLook) {
    this.#input = input;
    this.#writeRow = writeRow;
    this.#prompt = prompt;
    this.#look = { columns, paint: themePaint(theme, paint), showThinking: false };
    this.ui = {
      look: () => this.#look,
      print: (lines) => {
        for (const line of lines) this.#write(line);
      },
      changed: () => this.#flush(),
      leave: () => this.#leave(),
      cwd,
      files: () => [],
      show: () => false,
      askHidden: ask,
      setTheme: (next) => {
        this.#look = { ...this.#look, paint: themePaint(next, paint) };
      },
    };
  }

  readonly begin = (to: Shell): void => {
    this.#shell = to;
    this.#flush();
  };

  readonly run = async (): Promise<boolean> => {
    this.#listen();
    this.#lines = createInterface({ input: this.#input, terminal: false });
    for await (const line of this.#lines) {
      this.#isListening = this.#isPrompted = false; // the typed line has ended the prompt's row
      this.#interrupts = 0;
      if (line.trim() !== "") await this.#shell?.submit(line);
      await this.#untilQuiet(); // the next line may be about the result of this one
      if (this.#isLeaving) break;
      this.#listen();
    }
    this.#isListening = false;
    await this.#untilQuiet();
    this.#flush();
    if (this.#isPrompted) this.#prompt?.("\n");
    return (this.#shell?.openApprovals().length ?? 0) > 0;
  };

  readonly interrupt = (): void => {
    this.#interrupts += 1;
    if (this.#shell === null || this.#interrupts > 1) this.#leave();
    else
      void this.#shell.cancel("Ctrl-C").then((isCancelled) => {
        if (!isCancelled) this.#leave();
      });
  };

  #leave(): void {
    this.#isLeaving = true;
    this.#lines?.close();
    this.#whenQuiet();
  }

  /** Prompts once all that is written now has been, and lines typed ahead were read. */
  #listen(): void {
    this.#isListening = true;
    setImmediate(() => this.#showPrompt());
  }
  #showPrompt(): void {
    if (this.#prompt === null || this.#isPrompted || !this.#isListening) return;
    this.#isPrompted = true;
    const addressee = this.#shell?.addressee() ?? null;
    this.#prompt(`${addressee === null ? "" : `@${visible(addressee)}`}> `);
  }
  #write(line: string): void {
    if (this.#isPrompted) {
      this.#prompt?.("\n");
      setImmediate(() => this.#showPrompt());
    }
    this.#isPrompted = false;
    this.#writeRow(escapeRow(line));
  }

  #flush(): void {
    if (this.#shell === null) return;
    for (const line of this.#shell.takeSettledLines()) this.#write(line);
    for (const request of this.#shell.openApprovals()) {
      const isEarly = this.#shell.conversations.find(request.session)?.isCaughtUp() === false; // not before what led to it
      if (!isEarly && !this.#printed.has(request.item.approval)) this.#printRequest(request);
    }
    this.#whenQuiet();
  }
  #printRequest({ agent, item, edit }: ShownApproval): void {
    this.#printed.add(item.approval);
    for (const line of edit?.lines ?? []) this.#write(renderDiffLine(line, this.#look));
    for (const line of edit?.newly ?? []) this.#write(`  ${line}`);
    const voted = quorumText(item.quorum);
    const questions = item.asks.map(({ question }) => question).join(" ");
    this.#write(
      `? ${agent} asks${item.subject == null ? "" : `, serving ${item.subject}`}: ${item.tool}(${item.summary}): ${questions}${voted === null ? "" : ` (${voted})`}`,
    );
    this.#write(`  /why ${item.approval} · /approve ${item.approval} · /deny ${item.approval} REASON`);
  }

  /** Nothing runs, or all that runs waits for a person. */
  #isQuiet(): boolean {
    if (this.#shell?.hasPendingWork() === true) return false;
    return this.#shell?.conversations.all().every((one) => one.isCaughtUp() && one.view.state !== "running") ?? true;
  }
  #untilQuiet(): Promise<void> {
    return new Promise((resolve) => {
      this.#whenQuiet = () => {
        if (this.#isLeaving || this.#isQuiet()) resolve();
      };
      this.#whenQuiet();
    });
  }
}
