/**
 * The server's log: one line of JSON each, on stderr.
 *
 * W-22 a line has its time, its level, what happened, and what it is about: request, session, turn, iterations, tokens. No header, query, body or key is ever
 *     in one, a text in it is cut, and writing it never fails what it is about.
 */
export type Level = "debug" | "info" | "warn" | "error";
export type Fields = Readonly<Record<string, string | number | boolean | null>>;
export type Log = (level: Level, what: string, fields?: Fields) => void;

const LEVELS: readonly Level[] = ["debug", "info", "warn", "error"];
const MOST_TEXT = 500;

export type LogOptions = Readonly<{ write(line: string): void; now(): number; least?: Level }>;

export function openLog({ write, now, least = "info" }: LogOptions): Log {
  const from = LEVELS.indexOf(least);
  return (level, what, fields = {}) => {
    if (LEVELS.indexOf(level) < from) return;
    const cut = Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === "string" && value.length > MOST_TEXT ? `${value.slice(0, MOST_TEXT)}…` : value,
    ]);
    try {
      write(`${JSON.stringify({ at: new Date(now()).toISOString(), level, what, ...Object.fromEntries(cut) })}\n`);
    } catch {
      // nobody reads it: what it tells of goes on
    }
  };
}

export const NO_LOG: Log = () => {};

/** An error's text in a log: its first line, never its stack with the machine's paths in it unless it is a defect of ours. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error)).split("\n", 1)[0] ?? "";
