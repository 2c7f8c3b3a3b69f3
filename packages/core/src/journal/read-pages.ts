/** Reading long lists in pages: a page shorter than asked for is the last. */
import { type Entry, type Seq, type StreamId, seq } from "../vocab/index.ts";
import type { Journal } from "./port.ts";
import type { SessionSummary } from "./summary.ts";

export const PAGE_SIZE = 500;

/** `read` gets the last row of the page before, null at the start. */
export async function* eachPage<T>(
  read: (last: T | null, most: number) => Promise<readonly T[]>,
  most = PAGE_SIZE,
): AsyncGenerator<readonly T[]> {
  for (let last: T | null = null; ; ) {
    const page: readonly T[] = await read(last, most);
    if (page.length > 0) yield page;
    last = page.at(-1) ?? null;
    if (last === null || page.length < most) return;
  }
}

export async function* eachRow<T>(read: (last: T | null, most: number) => Promise<readonly T[]>, most = PAGE_SIZE): AsyncGenerator<T> {
  for await (const page of eachPage(read, most)) yield* page;
}

type Reads = Pick<Journal, "read">;

/** The entries of a stream after `after`. */
export const entryPages = (journal: Reads, stream: StreamId, after: Seq = seq(0), most = PAGE_SIZE): AsyncGenerator<readonly Entry[]> =>
  eachPage((last, size) => journal.read(stream, last?.seq ?? after, size), most);

export async function* eachEntry(journal: Reads, stream: StreamId, after: Seq = seq(0)): AsyncGenerator<Entry> {
  for await (const page of entryPages(journal, stream, after)) yield* page;
}

export async function readAllEntries(journal: Reads, stream: StreamId, after: Seq = seq(0)): Promise<readonly Entry[]> {
  const all: Entry[] = [];
  for await (const page of entryPages(journal, stream, after)) all.push(...page);
  return all;
}

/** Newest first. */
export const eachSession = (
  journal: Pick<Journal, "sessions">,
  { state = null, agent = null }: Partial<Pick<Parameters<Journal["sessions"]>[0], "state" | "agent">> = {},
): AsyncGenerator<SessionSummary> => eachRow((before, most) => journal.sessions({ state, agent, before, most }));
