/** A journal of any size, soon: sessions that were really driven, copied through the store's own append. */
import { type Entry, type SessionEvent, sessionId } from "@orgate/core";
import type { Journal } from "@orgate/core/journal";
import { createRuntime, type Runtime, sha256, tableGate } from "orgate";
import { inFolder, USER } from "../places.ts";
import { agent, countingModel } from "../workload.ts";

/** About fifty entries in a session, as in practice: a few turns of a few calls. */
const ITERATIONS = 8;
/** Sessions that wait for a person, whatever the size of the journal: what is open is the operators' work, not the journal's length. */
const WAITING = 20;
const STEP_MS = 60_000;

/** Everything is permitted, but for sessions that were opened with a label: their calls wait for a person. */
export const ASKING = tableGate(
  [
    { id: "ask-first", action: "tool:lookup", labels: ["careful"], verdict: "ask", say: "Shall it?" },
    { id: "permit-all", action: "*", verdict: "allow" },
  ],
  sha256,
);

export const openLarge = (directory: string): Promise<Runtime> =>
  createRuntime({
    directory,
    agents: [agent],
    gate: ASKING,
    principal: USER,
    model: () => countingModel(ITERATIONS),
    powerCut: "lose-last-moments",
    thread: "main",
  });

export type Filled = Readonly<{ sessions: number; entries: number }>;

/** Fills a new journal with about so many sessions, each an append and a seal of its own. */
export async function fillJournal(directory: string, sessions: number): Promise<Filled> {
  const runtime = await openLarge(directory);
  try {
    const { journal } = runtime.place.store;
    const { session: driven } = await runtime.run("bench", "go").result;
    const events = await eventsOf(journal, driven);
    const began = Date.now() - sessions * STEP_MS;
    for (let i = 0; i < sessions; i += 1) {
      const at = (began + i * STEP_MS) as Entry["at"];
      const hold = await journal.take(sessionId(`s_${i.toString(36).padStart(16, "0")}`));
      const copied = events.map((event) => ({ at, event }));
      await journal.append({ stream: hold.session, after: 0 as Entry["seq"], hold, events: copied, consumes: [], unlessHalted: [] });
      await journal.release(hold);
    }
    for (let i = 0; i < WAITING; i += 1) await runtime.run("bench", "go", { labels: ["careful"] }).result;
    return { sessions: sessions + WAITING + 1, entries: await journal.position() };
  } finally {
    await runtime.close();
  }
}

async function eventsOf(journal: Pick<Journal, "read">, session: Entry["stream"]): Promise<readonly SessionEvent[]> {
  const entries = await journal.read(session, 0 as Entry["seq"], 10_000);
  return entries.map(({ event }) => event as SessionEvent); // a session's stream holds no others
}

/** Two journals of the same kind, one after the other, in a folder that is gone afterwards. */
export const inLargeJournals = <T>(
  sizes: readonly number[],
  work: (folders: readonly string[], filled: readonly Filled[]) => Promise<T>,
): Promise<T> =>
  inFolder(async (folder) => {
    const folders = sizes.map((_, i) => `${folder}/${i}/.orgate`);
    const filled: Filled[] = [];
    for (const [i, sessions] of sizes.entries()) filled.push(await fillJournal(folders[i] ?? folder, sessions));
    return work(folders, filled);
  });
