/** Work as a whole: breakers and halts. */
import * as z from "zod";
import { as, get, paged, pageOf, post } from "../route.ts";
import * as s from "../shapes.ts";

export const workRoutes = {
  breakers: get({
    path: "/breakers",
    query: z.strictObject(paged),
    answers: as(pageOf(s.breakerView)),
    act: { kind: "list", on: "listing" },
    tag: "work",
    says: "Breakers that were ever changed, as they stand now.",
  }),
  setBreaker: post({
    path: "/breakers",
    body: z.strictObject({
      breaker: z.string().min(1).max(200),
      to: s.breakerState,
      forMs: z.int().min(1).exactOptional(),
      reason: s.requiredReason,
      anyway: z.boolean().default(false),
    }),
    answers: as(s.breakerView),
    act: { kind: "set-breaker", on: "breaker" },
    tag: "work",
    says: "Opens or closes a breaker (`tool:NAME`, `model:PROVIDER/NAME`, `mcp:SERVER`). A name that the project does not have is refused, unless `anyway` is true.",
  }),
  halts: get({
    path: "/halts",
    query: z.strictObject(paged),
    answers: as(pageOf(s.standingHalt)),
    act: { kind: "list", on: "listing" },
    tag: "work",
    says: "What is halted, by whom and why.",
  }),
  halt: post({
    path: "/halt",
    body: z.strictObject({ scope: z.string().min(1).max(100), reason: s.requiredReason, anyway: z.boolean().default(false) }),
    answers: as(s.standingHalt),
    act: { kind: "halt", on: "work" },
    tag: "work",
    says: "Halts work in `all`, `agent:NAME` or `tool:NAME`: nothing new begins, what runs is stopped. A name that the project does not have is refused, unless `anyway` is true.",
  }),
  resumeWork: post({
    path: "/resume-work",
    body: z.strictObject({ scope: z.string().min(1).max(100), reason: s.requiredReason }),
    answers: as(pageOf(s.standingHalt)),
    act: { kind: "halt", on: "work" },
    tag: "work",
    says: "Lets halted work go on; answers with what is still halted.",
  }),
} as const;
