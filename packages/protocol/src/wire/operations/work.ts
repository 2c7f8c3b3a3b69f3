/** Work as a whole: breakers and halts. */
import * as z from "zod";
import { as, defineOperations, pageQuery, pageSchema } from "../operation.ts";
import * as s from "../shapes.ts";
import { workWords } from "../words/work.ts";

export const workOperations = defineOperations(workWords, {
  breakers: { query: z.strictObject(pageQuery), answers: as(pageSchema(s.breakerView)) },
  setBreaker: {
    body: z
      .strictObject({
        breaker: z.string().min(1).max(200),
        to: s.breakerState,
        forMs: z.int().min(1).exactOptional(),
        reason: s.requiredReason,
        anyway: z.boolean().default(false),
      })
      .refine(({ to, forMs }) => forMs === undefined || to === "open", { path: ["forMs"], error: "is for an open breaker" }),
    answers: as(s.breakerView),
  },
  halts: { query: z.strictObject(pageQuery), answers: as(pageSchema(s.standingHalt)) },
  halt: {
    body: z.strictObject({ scope: z.string().min(1).max(100), reason: s.requiredReason, anyway: z.boolean().default(false) }),
    answers: as(s.standingHalt),
  },
  resumeWork: {
    body: z.strictObject({ scope: z.string().min(1).max(100), reason: s.requiredReason }),
    answers: as(pageSchema(s.standingHalt)),
  },
});
