/** Agents: what they are, what they do, running them. */
import * as z from "zod";
import { as, defineOperations, ofAgent, pageQuery, pageSchema, UI_STREAM } from "../operation.ts";
import * as s from "../shapes.ts";
import { agentDetail, agentStatus, agentView, turnView } from "../views.ts";
import { agentWords } from "../words/agents.ts";

export const agentOperations = defineOperations(agentWords, {
  agents: { query: z.strictObject(pageQuery), answers: as(pageSchema(agentView)) },
  agent: { params: ofAgent, answers: as(agentDetail) },
  agentStatus: { params: ofAgent, answers: as(agentStatus) },
  agentHistory: { params: ofAgent, query: z.strictObject(pageQuery), answers: as(pageSchema(turnView)) },
  execute: {
    params: ofAgent,
    body: z.strictObject({
      input: s.text,
      files: s.attachments.exactOptional(),
      session: s.sessionIdSchema.exactOptional(),
      /** The caller's own name of the session; one is opened under it when there is none. */
      id: z.string().min(1).max(128).exactOptional(),
      labels: z.array(s.name).max(50).exactOptional(),
      /** Whom a new session serves: `context.subject` for policies. */
      subject: s.subject.exactOptional(),
      limits: s.jsonObject.exactOptional(),
      /** The result is waited for so long at the most; it is answered with what there is then. */
      waitMs: z.int().min(0).max(600_000).default(120_000),
    }),
    answers: as(s.runResult),
  },
  uiChat: {
    params: ofAgent,
    /** As `useChat` sends it: the last message is what is said, the session is the chat's. */
    body: z.looseObject({
      id: z.string().min(1).max(100),
      messages: z.array(z.looseObject({ role: z.string() })).min(1),
      trigger: z.string().exactOptional(),
    }),
    answers: UI_STREAM,
  },
});
