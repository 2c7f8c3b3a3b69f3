/** Operations on requests that wait for people. */
import * as z from "zod";
import { as, defineOperations, ofCall, paged, pageOf } from "../operation.ts";
import * as s from "../shapes.ts";
import { approvalWords } from "../words/approvals.ts";

export const approvalOperations = defineOperations(approvalWords, {
  approvals: { query: z.strictObject(paged), answers: as(pageOf(s.listedQuestion)) },
  approval: { params: z.strictObject({ approval: s.approvalIdSchema }), answers: as(s.questionView) },
  answer: {
    params: z.strictObject({ approval: s.approvalIdSchema }),
    body: z.strictObject({ digest: s.digestSchema, answer: s.answer }),
    answers: as(s.became),
  },
  grants: { query: z.strictObject(paged), answers: as(pageOf(s.standingGrant)) },
  revoke: {
    params: z.strictObject({ grant: s.grantIdSchema }),
    body: z.strictObject({ reason: s.requiredReason }),
    answers: as(s.standingGrant),
  },
  unknowns: { query: z.strictObject(paged), answers: as(pageOf(s.openUnknown)) },
  resolve: {
    params: ofCall,
    body: z.strictObject({ as: s.resolution, note: s.reason.default("") }),
    answers: as(s.became),
  },
  deadLetters: { query: z.strictObject(paged), answers: as(pageOf(s.deadLetter)) },
  dismiss: { params: ofCall, body: z.strictObject({ note: s.reason.default("") }), answers: as(s.became) },
});
