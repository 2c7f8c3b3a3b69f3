/** The declaration of records as data, for files that declare tools (MCP entries, manifests, simulations). `readRecords` has the last word. */
import * as z from "zod";
import { lazily, RECORD_FIELD_TYPES } from "../../vocab/index.ts";

export const recordDefinitionSchema = lazily(() =>
  z.strictObject({
    type: z.string(),
    each: z.string().exactOptional(),
    key: z.union([z.string(), z.strictObject({ arg: z.string() })]),
    fields: z
      .record(
        z.string(),
        z.union([
          z.string(),
          z.strictObject({
            path: z.string(),
            type: z.enum(RECORD_FIELD_TYPES).exactOptional(),
            optional: z.boolean().exactOptional(),
            of: z.string().exactOptional(),
          }),
        ]),
      )
      .exactOptional(),
    owner: z.string().exactOptional(),
    set: z.enum(["session", "project"]).exactOptional(),
    maxAgeSeconds: z.int().min(1).exactOptional(),
    establishes: z.literal("subject").exactOptional(),
  }),
);
