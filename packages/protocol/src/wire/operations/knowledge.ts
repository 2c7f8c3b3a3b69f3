/** Operations on the knowledge store, for people. */
import * as z from "zod";
import { as, defineOperations } from "../operation.ts";
import * as s from "../shapes.ts";
import { knowledgeWords } from "../words/knowledge.ts";

const knownItem = z
  .strictObject({
    id: z.string(),
    kind: z.string(),
    scope: z.string(),
    /** Who put it there; null: a person. */
    agent: z.string().nullable(),
    /** Its beginning. */
    text: z.string(),
    labels: z.array(z.string()).readonly(),
    verified: z.boolean(),
    createdAt: s.millisSchema,
    uses: s.countSchema,
    /** Null where nothing was looked for. */
    relevance: z.number().nullable(),
  })
  .readonly();

export const knowledgeOperations = defineOperations(knowledgeWords, {
  knowledge: {
    query: z.strictObject({
      /** Only items of this agent; in a search, items that it would find. */
      agent: s.name.exactOptional(),
      words: z.string().min(1).max(500).exactOptional(),
      limit: z.coerce.number().int().min(1).max(100).default(20),
    }),
    answers: as(z.strictObject({ items: z.array(knownItem).readonly() }).readonly()),
  },
});
