/**
 * A real terminal: put into the state that a shell needs, and given back as it was found, whatever happens.
 *
 * S-3 the terminal is given back at the end, before it is stopped (Ctrl-Z), and when the process ends by an error or a signal: echo, cursor, paste marks.
 */
import type { ReadStream, WriteStream } from "node:tty";
import type { Paint } from "../terminal/paint.ts";
import type { History } from "./input/history.ts";
import { type Key, keyReader } from "./input/keys.ts";
import type { Theme } from "./themes.ts";

export type Terminal = Readonly<{
  columns(): number;
  rows(): number;
  write(text: string): void;
  /** Stops this process as the terminal would, and goes on when it is continued. `before` takes away what is drawn. */
  suspend(before: string): void;
  close(): void;
}>;
export type TerminalEvents = Readonly<{
  keys(keys: readonly Key[]): void;
  resized(): void;
  /** The terminal is ours again: everything must be redrawn. */
  resumed(): void;
  /** Somebody ends this process, or the terminal has gone. */
  ended(signal: NodeJS.Signals): void;
}>;

/** The ports of a shell on a terminal. */
export type TerminalPorts = Readonly<{
  open(events: TerminalEvents): Terminal;
  /** The paint that fits this terminal without a theme. */
  paint: Paint;
  theme: Theme;
  cwd: string;
  history: History;
  now(): number;
  /** Calls back once, soon: changes until then are drawn together. */
  soon(run: () => void): void;
  /** Calls back once after `ms`. */
  wait(ms: number, run: () => void): void;
}>;

const ON = "\u001b[?2004h";
const OFF = "\u001b[?2004l\u001b[?25h";
/** An escape that nothing follows for so long is the key; over a slow line a sequence comes in pieces. */
const SETTLE_MS = 40;
const ENDING: readonly NodeJS.Signals[] = ["SIGTERM", "SIGHUP", "SIGINT"];

export function openTerminal(input: ReadStream, output: WriteStream, events: TerminalEvents): Terminal {
  const reader = keyReader();
  const decoder = new TextDecoder();
  let settling: NodeJS.Timeout | null = null;
  let isOurs = false;
  let isClosed = false;

  const hear = (bytes: Uint8Array): void => {
    if (settling !== null) clearTimeout(settling);
    settling = null;
    const keys = reader.read(decoder.decode(bytes, { stream: true }));
    if (reader.isPending()) settling = setTimeout(() => tell(reader.settle()), SETTLE_MS);
    tell(keys);
  };
  const tell = (keys: readonly Key[]): void => {
    if (keys.length > 0) events.keys(keys);
  };
  const take = (): void => {
    if (isOurs || isClosed) return;
    isOurs = true;
    input.setRawMode(true);
    output.write(ON);
  };
  const giveBack = (): void => {
    if (!isOurs) return;
    isOurs = false;
    output.write(OFF);
    input.setRawMode(false);
  };
  const continued = (): void => {
    isOurs = false; // another program may have changed its mode
    take();
    events.resumed();
  };
  const signals = ENDING.map((signal) => [signal, () => events.ended(signal)] as const);
  const gone = (): void => events.ended("SIGHUP");

  take();
  input.on("data", hear);
  input.on("end", gone);
  input.resume();
  output.on("resize", events.resized);
  process.on("exit", giveBack); // also after an error that nobody caught
  process.on("SIGCONT", continued);
  for (const [signal, told] of signals) process.on(signal, told);

  return {
    columns: () => output.columns || 80,
    rows: () => output.rows || 24,
    write: (text) => {
      if (!isClosed && text !== "") output.write(text);
    },
    suspend(before) {
      output.write(before);
      giveBack();
      process.kill(0, "SIGTSTP"); // the whole job, as Ctrl-Z does
    },
    close() {
      if (isClosed) return;
      giveBack();
      isClosed = true;
      if (settling !== null) clearTimeout(settling);
      input.off("data", hear);
      input.off("end", gone);
      input.pause();
      output.off("resize", events.resized);
      process.off("exit", giveBack);
      process.off("SIGCONT", continued);
      for (const [signal, told] of signals) process.off(signal, told);
    },
  };
}
