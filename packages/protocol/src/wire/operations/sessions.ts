/** Sessions: opening, following, speaking in them. */
import * as z from "zod";
import { as, because, defineOperations, EVENTS, messageFields, ofSession, pageQuery, pageSchema, whole } from "../operation.ts";
import * as s from "../shapes.ts";
import { turnView } from "../views.ts";
import { sessionWords } from "../words/sessions.ts";

export const sessionOperations = defineOperations(sessionWords, {
  sessions: {
    query: z.strictObject({
      ...pageQuery,
      state: z.enum(["idle", "running", "waiting", "closed"]).exactOptional(),
      agent: s.name.exactOptional(),
      /** Words: only sessions whose title, ids, agent, person, or one of the newest inputs and answers has all of them. */
      text: z.string().trim().min(1).max(200).exactOptional(),
    }),
    answers: as(pageSchema(s.listedSession)),
  },
  openSession: {
    body: z.strictObject({
      agent: s.name,
      id: z.string().min(1).max(128).exactOptional(),
      labels: z.array(s.name).max(50).exactOptional(),
      /** Whom it serves: `context.subject` for policies. */
      subject: s.subject.exactOptional(),
    }),
    answers: as(s.sessionSummary),
  },
  session: { params: ofSession, answers: as(s.listedSession) },
  events: {
    params: ofSession,
    query: z.strictObject({ after: whole.default(0), limit: pageQuery.limit }),
    answers: as(z.strictObject({ entries: z.array(s.entry).readonly(), next: s.countSchema.nullable() }).readonly()),
  },
  turns: { params: ofSession, query: z.strictObject(pageQuery), answers: as(pageSchema(turnView)) },
  say: { params: ofSession, body: z.strictObject(messageFields), answers: as(s.became) },
  steer: { params: ofSession, body: z.strictObject(messageFields), answers: as(s.became) },
  cancel: { params: ofSession, body: because.extend({ all: z.boolean().default(false) }), answers: as(s.became) },
  clear: { params: ofSession, body: z.strictObject({}), answers: as(s.became) },
  compact: {
    params: ofSession,
    body: z.strictObject({ tokens: s.countSchema.exactOptional() }),
    answers: as(s.became),
  },
  chooseModel: { params: ofSession, body: z.strictObject({ model: s.name }), answers: as(s.became) },
  fork: {
    params: ofSession,
    body: z.strictObject({ at: s.seqSchema.exactOptional(), id: z.string().min(1).max(128).exactOptional() }),
    answers: as(s.sessionSummary),
  },
  close: { params: ofSession, body: because, answers: as(s.sessionSummary) },
  follow: {
    params: ofSession,
    query: z.strictObject({ after: z.union([z.literal("now"), whole]).default(0) }),
    answers: EVENTS,
  },
  followAll: { query: z.strictObject({ after: z.union([z.literal("now"), whole]).default("now") }), answers: EVENTS },
});
