/**
 * The lines that were typed, kept for the next start.
 *
 * S-6 what was typed into the line is kept across starts, newest last, for this person alone (0600) and bounded; a line that begins with a blank is not
 *     kept, nor an answer to a question, nor anything that was asked for hidden. Two shells at once lose nothing of each other's.
 */
import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

export type History = Readonly<{ lines: readonly string[]; add(text: string): void }>;
export const NO_HISTORY: History = { lines: [], add: () => {} };

const MOST_LINES = 1_000;
const MOST_CHARS = 8_000;
/** A longer file is rotated at the next start; the one rotated before goes. */
const MOST_BYTES = 512 * 1024;
const STALE_MS = 60_000;

/** A value where none belongs: the command refuses it, and it is not written down either. */
export const HOLDS_SECRET = /^\/secrets?\s+\S+\s+\S+\s+\S|^\/attach\s+\S+(?:@|\s+\S)/i;

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/**
 * S-6 a regular file in the person's own folder, by no link: a project that was cloned may bring a `.orgate` of its own, and what is typed is not written wherever that points, nor
 * is whatever lies there read.
 */
function opened<T>(file: string, flags: number, work: (fd: number) => T): T | null {
  const fd = openSync(file, flags | O_NOFOLLOW | O_NONBLOCK, 0o600);
  try {
    return fstatSync(fd).isFile() ? work(fd) : null;
  } finally {
    closeSync(fd);
  }
}

/** In the project's state, else in the person's. */
export function historyPath(cwd: string, env: Readonly<Record<string, string | undefined>>, profile: string | null): string {
  const name = profile === null ? "shell-history" : `shell-history-${profile}`;
  for (let at = cwd; ; at = dirname(at)) {
    if (existsSync(join(at, "orgate.toml"))) return join(at, ".orgate", name);
    if (dirname(at) === at) return join(env.ORGATE_HOME || join(homedir(), ".orgate"), name);
  }
}

/** A convenience: if the file cannot be written, nothing else fails. */
export function openHistory(file: string): History {
  setAside(file);
  const lines = [...linesIn(`${file}.1`), ...linesIn(file)].slice(-MOST_LINES);
  let last = lines.at(-1);
  return {
    lines,
    add(text) {
      if (/^\s/.test(text) || HOLDS_SECRET.test(text) || text.length > MOST_CHARS || text === last) return;
      last = text;
      quietly(() => {
        mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
        opened(file, O_WRONLY | O_APPEND | O_CREAT, (fd) => {
          fchmodSync(fd, 0o600); // whoever created it
          writeSync(fd, `${JSON.stringify(text)}\n`); // one write at the end: shells do not write into each other's lines
        });
      });
    },
  };
}

function linesIn(file: string): readonly string[] {
  if (!existsSync(file)) return [];
  const text = quietly(() => opened(file, O_RDONLY, (fd) => (fstatSync(fd).size > 2 * MOST_BYTES ? "" : readFileSync(fd, "utf8"))));
  return (text ?? "").split("\n").flatMap((line) => {
    const text: unknown = line === "" ? null : quietly(() => JSON.parse(line));
    return typeof text === "string" ? [text] : []; // half a line of a process that was killed
  });
}

/** By one shell at a time: two would take it for full, and the second would throw away the file that the first has rotated. */
function setAside(file: string): void {
  const isFull = (): boolean => (lstatSync(file, { throwIfNoEntry: false })?.size ?? 0) > MOST_BYTES;
  if (!isFull()) return;
  const lock = `${file}.lock`;
  quietly(() => {
    const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
    if (since !== undefined && Date.now() - since > STALE_MS) rmSync(lock, { force: true });
    writeFileSync(lock, "", { flag: "wx", mode: 0o600 });
    try {
      if (isFull()) renameSync(file, `${file}.1`);
    } finally {
      rmSync(lock, { force: true });
    }
  });
}

function quietly<T>(work: () => T): T | null {
  try {
    return work();
  } catch {
    return null;
  }
}
