/** Circuit breakers and halts: the words of their operations. */
import { get, post, tagged } from "./words.ts";

export const workWords = tagged("work", {
  breakers: get({
    path: "/breakers",
    act: { kind: "list", on: "listing" },
    summary: "List the circuit breakers that were ever changed, with their present state.",
  }),
  setBreaker: post({
    path: "/breakers",
    act: { kind: "set-breaker", on: "breaker" },
    summary:
      "Set a circuit breaker (`tool:NAME`, `model:PROVIDER/NAME`, `mcp:SERVER`). A name that the project does not have is refused, unless `anyway` is true.",
  }),
  halts: get({
    path: "/halts",
    act: { kind: "list", on: "listing" },
    summary: "List halts in force: what is halted, by whom and why.",
  }),
  halt: post({
    path: "/halt",
    act: { kind: "halt", on: "work" },
    summary:
      "Halt `all`, `agent:NAME` or `tool:NAME`: nothing new begins, and running work is stopped. A name that the project does not have is refused, unless `anyway` is true.",
  }),
  resumeWork: post({
    path: "/resume-work",
    act: { kind: "halt", on: "work" },
    summary: "Lift a halt; returns the halts that remain.",
  }),
});
