/** The server itself. */
import * as z from "zod";
import { as, defineOperations, inText } from "../operation.ts";
import * as s from "../shapes.ts";
import { health, metric, processes, whoami } from "../views.ts";
import { serverWords } from "../words/server.ts";

export const serverOperations = defineOperations(serverWords, {
  health: { answers: as(health) },
  describe: { answers: as(s.jsonObject) },
  whoami: { answers: as(whoami) },
  ticket: { answers: as(z.strictObject({ ticket: z.string(), expiresAt: s.millisSchema }).readonly()) },
  processes: { answers: as(processes) },
  metrics: { answers: as(z.strictObject({ at: s.millisSchema, metrics: z.array(metric).readonly() }).readonly()) },
  prometheus: { answers: inText("text/plain; version=0.0.4; charset=utf-8") },
});
