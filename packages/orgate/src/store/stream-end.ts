/** N-15 where a stream ends, without reading it: what is appended to one again and again costs the same each time. */
import { isFault, type JournalEvent, type Millis, type Seq, type StreamId, seq } from "@orgate/core";
import type { Journal } from "@orgate/core/journal";

/** 0 before its first entry. */
export async function findStreamEnd(journal: Pick<Journal, "streams">, stream: StreamId): Promise<Seq> {
  const found = (await journal.streams(stream)).find((one) => one.stream === stream);
  return found?.seq ?? seq(0);
}

const TRIES = 100;

/** Behind whatever is there, whoever else appends to it meanwhile. For streams that nobody holds, and whose entries do not hang on one another. */
export async function appendAtEnd(
  journal: Pick<Journal, "streams" | "append">,
  stream: StreamId,
  given: Readonly<{ at: Millis; event: JournalEvent }>,
): Promise<Seq> {
  for (let tries = 1; ; tries += 1) {
    const after = await findStreamEnd(journal, stream);
    try {
      return await journal.append({ stream, after, hold: null, events: [given], consumes: [], unlessHalted: [] });
    } catch (error) {
      if (!isFault(error, "append-conflict") || tries === TRIES) throw error;
    }
  }
}
