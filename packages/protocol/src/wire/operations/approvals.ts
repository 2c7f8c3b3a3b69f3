/** Operations on requests that wait for people. */
import * as z from "zod";
import { as, defineOperations, ofCall, pageQuery, pageSchema } from "../operation.ts";
import * as s from "../shapes.ts";
import { approvalWords } from "../words/approvals.ts";

export const approvalOperations = defineOperations(approvalWords, {
  approvals: { query: z.strictObject(pageQuery), answers: as(pageSchema(s.listedQuestion)) },
  approval: { params: z.strictObject({ approval: s.approvalIdSchema }), answers: as(s.questionView) },
  answer: {
    params: z.strictObject({ approval: s.approvalIdSchema }),
    body: z.strictObject({ digest: s.digestSchema, answer: s.answer }),
    answers: as(s.became),
  },
  grants: { query: z.strictObject(pageQuery), answers: as(pageSchema(s.standingGrant)) },
  revoke: {
    params: z.strictObject({ grant: s.grantIdSchema }),
    body: z.strictObject({ reason: s.requiredReason }),
    answers: as(s.standingGrant),
  },
  unknowns: { query: z.strictObject(pageQuery), answers: as(pageSchema(s.openUnknown)) },
  resolve: {
    params: ofCall,
    body: z.strictObject({ as: s.resolution, note: s.reason.default("") }),
    answers: as(s.became),
  },
  deadLetters: { query: z.strictObject(pageQuery), answers: as(pageSchema(s.deadLetter)) },
  dismiss: { params: ofCall, body: z.strictObject({ note: s.reason.default("") }), answers: as(s.became) },
});
