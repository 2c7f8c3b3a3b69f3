/** The journal. */
import * as z from "zod";
import { as, get, inText } from "../route.ts";
import * as s from "../shapes.ts";

export const journalRoutes = {
  verify: get({
    path: "/journal/verify",
    answers: as(
      z
        .strictObject({
          ok: z.boolean(),
          streams: s.count,
          entries: s.count,
          commits: s.count,
          writers: s.count,
          erased: s.count,
          head: z.string(),
          problems: z.array(z.string()).readonly(),
        })
        .readonly(),
    ),
    act: { kind: "read-journal", on: "project" },
    tag: "journal",
    says: "Checks every hash, chain and seal of the journal.",
  }),
  export: get({
    path: "/journal/export",
    query: z.strictObject({ session: s.sessionId.exactOptional() }),
    answers: inText("application/x-ndjson"),
    act: { kind: "read-journal", on: "project" },
    tag: "journal",
    says: "The journal, or one session with its proof, as lines of JSON.",
  }),
} as const;
