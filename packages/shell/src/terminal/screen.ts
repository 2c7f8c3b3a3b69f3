/** Where a command writes and reads. Process streams for the command line; a test brings its own. */
import { fstatSync } from "node:fs";
import { type Paint, paintFor } from "./paint.ts";

export type Screen = Readonly<{
  /** To stdout, as it is. */
  write(text: string): void;
  line(text?: string): void;
  /** To stderr: what is said beside the result. */
  aside(text: string): void;
  /** On a terminal's stderr, one line that each call replaces; the empty text takes it away. */
  progress(text: string): void;
  paint: Paint;
  paintAside: Paint;
  isTerminal: boolean;
  isAsideTerminal: boolean;
  columns: number;
  /** False once the reader has gone: nobody is left to write for. */
  isOpen(): boolean;
  readInput(): Promise<string>;
  /** Asks for what nobody else is to see, where that is not this process's own terminal. */
  askHidden?: (question: string) => Promise<string>;
}>;

/** Rings where there is a terminal to ring. */
export const bell = (screen: Pick<Screen, "isTerminal">): string => (screen.isTerminal ? "\u0007" : "");

const MAX_INPUT_BYTES = 1024 * 1024;

/** A reader that goes away early (`| head`) ends the output, not the work: no trace, no error. */
export function processScreen(env: NodeJS.ProcessEnv): Screen {
  const { stdout, stderr } = process;
  let open = true;
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    open = false;
    if (error.code !== "EPIPE") stderr.write(`orgate: stdout: ${error.message}\n`);
  });
  stderr.on("error", () => {});
  const write = (text: string): void => {
    if (open) stdout.write(text);
  };
  return {
    write,
    line: (text = "") => write(`${text}\n`),
    aside: (text) => void stderr.write(`${text}\n`),
    progress(text) {
      if (stderr.isTTY === true) stderr.write(`\r\u001b[K${text}`);
    },
    paint: paintFor(stdout.isTTY === true, env),
    paintAside: paintFor(stderr.isTTY === true, env),
    isTerminal: stdout.isTTY === true,
    isAsideTerminal: stderr.isTTY === true,
    columns: stdout.columns ?? 100,
    isOpen: () => open,
    readInput,
  };
}

async function readInput(): Promise<string> {
  fstatSync(0); // a closed stdin is an error here, not an endless wait
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of process.stdin) {
    const bytes: Buffer = Buffer.isBuffer(piece) ? piece : Buffer.from(String(piece));
    size += bytes.length;
    if (size > MAX_INPUT_BYTES) throw new RangeError(`the input is larger than ${MAX_INPUT_BYTES} bytes`);
    pieces.push(bytes);
  }
  return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(pieces));
}
