import { dirname } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { exportJournal, exportSession } from "@orgate/core/journal";
import { proof } from "../../compose.ts";
import { verifyAside } from "../../verify-aside.ts";
import type { Handlers } from "../api.ts";
import type { Front } from "./front.ts";
import { json } from "./paging.ts";

export function journalHandlers({ runtime }: Front): Pick<Handlers, "verify" | "export"> {
  const { store, keys } = runtime.place;
  return {
    /** In a thread of its own: a long journal does not keep the others waiting. */
    verify: async () => json(await verifyAside(dirname(keys.dir))),
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
