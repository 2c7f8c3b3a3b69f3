/** Operations on webhooks: where other systems deliver, and with what result. */
import * as z from "zod";
import { as, defineOperations, pageQuery, pageSchema } from "../operation.ts";
import * as s from "../shapes.ts";
import { webhookWords } from "../words/webhooks.ts";

const told = z
  .strictObject({
    /** Since the server was started. */
    since: s.millisSchema,
    accepted: s.countSchema,
    /** They had come before. */
    known: s.countSchema,
    /** The filter did not let them through, or they only say hello. */
    ignored: s.countSchema,
    /** Signed as they have to be, and not taken all the same. */
    refused: s.countSchema,
    /** Their senders do not know the secret. */
    unsigned: s.countSchema,
    unsignedAt: s.millisSchema.nullable(),
  })
  .readonly();
export const webhookView = z
  .strictObject({
    webhook: s.name,
    path: z.string(),
    provider: z.enum(["github", "stripe", "slack", "custom"]),
    agent: s.name,
    /** On whose behalf. */
    owner: z.string(),
    from: z.string(),
    /** Conditions that a delivery must meet, one line each. */
    filter: z.array(z.string()).readonly(),
    maxBytes: s.countSchema,
    windowMs: s.countSchema,
    told,
  })
  .readonly();
/** `delivery` is what its sender calls it. */
export const deliveryView = z
  .strictObject({
    at: s.millisSchema,
    what: z.enum(["accepted", "known", "ignored", "refused"]),
    delivery: z.string().nullable(),
    session: s.sessionIdSchema.nullable(),
    /** Why it was not taken. */
    detail: z.string(),
  })
  .readonly();

export const webhookOperations = defineOperations(webhookWords, {
  webhooks: { query: z.strictObject(pageQuery), answers: as(pageSchema(webhookView)) },
  deliveries: {
    params: z.strictObject({ agent: s.name, webhook: s.name }),
    query: z.strictObject({ limit: z.coerce.number().int().min(1).max(100).default(20) }),
    answers: as(z.strictObject({ items: z.array(deliveryView).readonly(), behind: s.countSchema }).readonly()),
  },
});
