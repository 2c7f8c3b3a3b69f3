import { type StreamId, seq } from "@orgate/core";
import type { Journal, WrittenEntry } from "@orgate/core/journal";
import { onAbort } from "@orgate/core/vocab";
import { type VerifyLine, wireProblem } from "@orgate/protocol";
import { toFacetTerms } from "@orgate/protocol/view";
import type { OperationGroups } from "@orgate/protocol/words";
import { findSetOfEntry } from "../../policies/policy-history.ts";
import { type Snapshot, type Store, withSnapshot } from "../../store/store.ts";
import { exportInWorker } from "../../store/threads/export-worker.ts";
import { type Verified, verifyInWorker } from "../../store/threads/verify-worker.ts";
import type { OperationContext } from "../context.ts";
import type { OperationHandlers } from "../execute.ts";
import { problemIn, refusal } from "../refusal.ts";
import { json } from "../result.ts";

type Group = OperationGroups["journal"];

export function journalHandlers({ runtime, views, lanes }: OperationContext): Required<Pick<OperationHandlers, Group>> {
  const { store, keys } = runtime.place;
  const { journal } = store;
  const verification = verifications(store, keys.dir);
  const stored = async (stream: StreamId, at: number) => {
    const found = await store.stored(stream, seq(at));
    if (found === null) return null;
    if (found.seal === null) return { ...found.entry, seal: null };
    const { writer, number, at: sealedAt, recovered, hash, key, signature } = found.seal;
    return { ...found.entry, seal: { writer, number, at: sealedAt, recovered, hash, key, signature } };
  };
  return {
    /** In a thread of its own: a long journal does not keep the others waiting. */
    verify: async ({ gone }) => json(await verification(() => {}, gone)),
    verifying: async () => ({
      kind: "stream",
      mediaType: "application/x-ndjson",
      async write(sink, gone) {
        const tell = (line: VerifyLine): Promise<void> => (gone.aborted ? Promise.resolve() : sink.write(`${JSON.stringify(line)}\n`));
        try {
          const result = await verification((entries, of) => void tell({ kind: "progress", entries, of }), gone);
          await tell({ kind: "result", result: { ...result, problems: [...result.problems] } });
        } catch (error) {
          await tell({ kind: "failed", detail: problemIn(error).detail }); // a message could name a file
        }
      },
    }),
    journalEntries: async ({ query }) => {
      const { before = Number.MAX_SAFE_INTEGER, limit, ...sought } = query;
      if (toFacetTerms(sought).length === 0) return json(await newestEntries(journal, before, limit));
      const { positions, behind } = await views.find(sought, before, limit);
      const items: unknown[] = [];
      for (const position of positions) items.push(...(await journal.tail(position - 1, 1)));
      return json({ items, next: positions.length < limit ? null : (positions.at(-1) ?? null), behind });
    },
    storedEntry: async ({ params }) =>
      json(
        (await stored(params.session, params.seq)) ??
          missing(`the session has no entry ${params.seq}`, "its last one is `seq` of the session"),
      ),
    entryPolicies: async ({ params }) => json(await findSetOfEntry(journal, params.session, seq(params.seq))),
    journalEntry: async ({ params }) =>
      json(
        (await stored(params.stream, params.seq)) ??
          missing(`the journal has no such entry ${params.seq}`, "the journal's entries name their stream and number"),
      ),
    usage: async ({ query, sees }) => {
      const { rows, behind, cut } = await views.usage({ from: query.from, to: query.to, days: query.days ?? null });
      const seen = new Map<string, boolean>();
      const shows = (agent: string): boolean => {
        const known = seen.get(agent) ?? sees(agent);
        seen.set(agent, known);
        return known && (query.agent === undefined || query.agent === agent);
      };
      return json({ rows: rows.filter(({ agent }) => shows(agent)), behind, cut });
    },
    export: async ({ query, caller, gone }) => {
      lanes.take(caller, "export", gone);
      return {
        kind: "stream",
        mediaType: "application/x-ndjson",
        async write(sink, left) {
          try {
            await store.seal().catch(() => {}); // what cannot be sealed is exported as it is, and counted as unsealed by whoever reads it
            const session = query.session ?? null;
            await withSnapshot(
              store,
              async ({ directory }) => {
                for await (const piece of exportInWorker(directory, session, left)) await sink.write(piece);
              },
              session ?? undefined,
            );
          } catch (error) {
            if (!left.aborted) throw error;
          }
        },
      };
    },
  };
}

/** Every entry has its place in the journal itself: without a filter nothing is looked up beside it, and nobody waits until that is made. */
async function newestEntries(journal: Pick<Journal, "tail" | "position">, before: number, limit: number) {
  const last = Math.min(before - 1, await journal.position());
  const first = Math.max(0, last - limit);
  const items: WrittenEntry[] = [];
  for (let after = first; after < last; ) {
    const page = await journal.tail(after, last - after); // fewer than asked for when there is much
    items.push(...page);
    after = page.at(-1)?.position ?? last;
  }
  return { items: items.toReversed(), next: items.length < limit ? null : first + 1, behind: 0 };
}

function missing(detail: string, hint: string): never {
  throw refusal(wireProblem("not-found", detail, hint));
}

type Progress = (entries: number, of: number) => void;

/** One at a time: a caller that asks meanwhile shares the running one, which ends early once nobody waits for it. */
function verifications(store: Pick<Store, "snapshot">, keys: string): (progress: Progress, gone: AbortSignal) => Promise<Verified> {
  const listening = new Set<Progress>();
  let running: Readonly<{ found: Promise<Verified>; stop: AbortController }> | null = null;
  const begin = (): NonNullable<typeof running> => {
    const stop = new AbortController();
    const tell: Progress = (entries, of) => {
      for (const one of listening) one(entries, of);
    };
    const verify = ({ directory }: Snapshot): Promise<Verified> => verifyInWorker({ snapshot: directory, keys }, tell, stop.signal);
    const found = withSnapshot(store, verify).finally(() => {
      if (running?.stop === stop) running = null;
    });
    return { found, stop };
  };
  return async (progress, gone) => {
    running ??= begin();
    const { found, stop } = running;
    const leave = (): void => {
      listening.delete(progress);
      if (listening.size > 0 || running?.stop !== stop) return;
      running = null; // whoever comes next begins anew
      stop.abort();
    };
    listening.add(progress);
    const stopListening = onAbort(gone, leave);
    try {
      return await found;
    } finally {
      listening.delete(progress);
      stopListening();
    }
  };
}
