import { dirname } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type StreamId, seq } from "@orgate/core";
import { exportJournal, exportSession } from "@orgate/core/journal";
import { type VerifyLine, wireProblem } from "@orgate/core/wire";
import { proof } from "../../compose.ts";
import { setDigestAt } from "../../policy-history.ts";
import { type Verified, verifyAside } from "../../verify-aside.ts";
import { problemIn, refusal } from "../answering.ts";
import type { Handlers } from "../api.ts";
import type { Front } from "./front.ts";
import { json } from "./paging.ts";

type Names = "verify" | "verifying" | "journalEntries" | "storedEntry" | "entryPolicies" | "journalEntry" | "usage" | "export";

export function journalHandlers({ runtime, views }: Front): Pick<Handlers, Names> {
  const { store, keys } = runtime.place;
  const { journal } = store;
  const verification = verifications(dirname(keys.dir));
  const stored = (stream: StreamId, at: number) => {
    const found = store.stored(stream, seq(at));
    if (found === null) return null;
    const { writer, number, at: committed, hash, root, key, signature } = found.commit;
    return { ...found.entry, commit: { writer, number, at: committed, hash, root, key, signature } };
  };
  return {
    /** In a thread of its own: a long journal does not keep the others waiting. */
    verify: async () => json(await verification(() => {})),
    verifying: async () => ({
      kind: "stream",
      mediaType: "application/x-ndjson",
      async write(sink, gone) {
        const tell = (line: VerifyLine): Promise<void> => (gone.aborted ? Promise.resolve() : sink.write(`${JSON.stringify(line)}\n`));
        try {
          const result = await verification((entries, of) => void tell({ kind: "progress", entries, of }));
          await tell({ kind: "result", result: { ...result, problems: [...result.problems] } });
        } catch (error) {
          await tell({ kind: "failed", detail: problemIn(error).detail }); // a message could name a file
        }
      },
    }),
    journalEntries: async ({ query }) => {
      const { before = Number.MAX_SAFE_INTEGER, limit, ...sought } = query;
      const { positions, behind } = await views.find(sought, before, limit);
      const items: unknown[] = [];
      for (const position of positions) items.push(...(await journal.tail(position - 1, 1)));
      return json({ items, next: positions.length < limit ? null : (positions.at(-1) ?? null), behind });
    },
    storedEntry: async ({ params }) =>
      json(stored(params.session, params.seq) ?? missing(`the session has no entry ${params.seq}`, "its last one is `seq` of the session")),
    entryPolicies: async ({ params }) => json({ digest: await setDigestAt(journal, params.session, seq(params.seq)) }),
    journalEntry: async ({ params }) =>
      json(
        stored(params.stream, params.seq) ??
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
    export: async ({ query }) => ({
      kind: "stream",
      mediaType: "application/x-ndjson",
      async write(sink, gone) {
        const lines =
          query.session === undefined ? exportJournal(store.records, proof) : exportSession(store.records, query.session, proof);
        let piece = "";
        for (const line of lines) {
          piece += line;
          if (piece.length < 64 * 1024) continue;
          await sink.write(piece);
          if (gone.aborted) return;
          piece = "";
          await nextTurn();
        }
        if (piece !== "") await sink.write(piece);
      },
    }),
  };
}

function missing(detail: string, hint: string): never {
  throw refusal(wireProblem("not-found", detail, hint));
}

type Progress = (entries: number, of: number) => void;

/** One at a time: who asks meanwhile is told of the one that goes on. */
function verifications(directory: string): (progress: Progress) => Promise<Verified> {
  const listening = new Set<Progress>();
  let running: Promise<Verified> | null = null;
  return async (progress) => {
    listening.add(progress);
    try {
      running ??= verifyAside(directory, (entries, of) => {
        for (const one of listening) one(entries, of);
      }).finally(() => {
        running = null;
      });
      return await running;
    } finally {
      listening.delete(progress);
    }
  };
}
