/** Work as a whole: breakers and halts. */
import * as z from "zod";
import { as, get, paged, pageOf, post } from "../operation.ts";
import * as s from "../shapes.ts";

export const workOperations = {
  breakers: get({
    path: "/breakers",
    query: z.strictObject(paged),
    answers: as(pageOf(s.breakerView)),
    act: { kind: "list", on: "listing" },
    tag: "work",
    summary: "List the circuit breakers that were ever changed, with their present state.",
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
    summary:
      "Set a circuit breaker (`tool:NAME`, `model:PROVIDER/NAME`, `mcp:SERVER`). A name that the project does not have is refused, unless `anyway` is true.",
  }),
  halts: get({
    path: "/halts",
    query: z.strictObject(paged),
    answers: as(pageOf(s.standingHalt)),
    act: { kind: "list", on: "listing" },
    tag: "work",
    summary: "List halts in force: what is halted, by whom and why.",
  }),
  halt: post({
    path: "/halt",
    body: z.strictObject({ scope: z.string().min(1).max(100), reason: s.requiredReason, anyway: z.boolean().default(false) }),
    answers: as(s.standingHalt),
    act: { kind: "halt", on: "work" },
    tag: "work",
    summary:
      "Halt `all`, `agent:NAME` or `tool:NAME`: nothing new begins, and running work is stopped. A name that the project does not have is refused, unless `anyway` is true.",
  }),
  resumeWork: post({
    path: "/resume-work",
    body: z.strictObject({ scope: z.string().min(1).max(100), reason: s.requiredReason }),
    answers: as(pageOf(s.standingHalt)),
    act: { kind: "halt", on: "work" },
    tag: "work",
    summary: "Lift a halt; returns the halts that remain.",
  }),
} as const;
