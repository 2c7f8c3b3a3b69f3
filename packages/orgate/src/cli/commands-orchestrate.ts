/** Several agents at one task: four commands that differ in how. */
import type { CommandSpec, OptionSpec } from "@orgate/shell/terminal";

const AGENTS = { name: "AGENT", required: true, help: "who works on it, in this order; at least two", many: true } as const;
const INPUT: OptionSpec = { type: "string", required: true, value: "TEXT", help: "the task; `-` reads it from stdin" };
const BUDGET: OptionSpec = {
  type: "string",
  value: "BUDGET",
  help: "for all of them together: 20000 (tokens), or tokens=20000,iterations=12,calls=30,cents=50",
};
const NOTES = [
  "Every member works in a session of its own, decided on as itself; `agents/conductor.toml` names who may be a member, and the most that may be used.",
  "Ctrl-C cancels all of it. After a crash `orgate sessions resume` of the session goes on where it was.",
];

export const orchestrations = (as: OptionSpec): readonly CommandSpec[] => [
  {
    name: "chain",
    summary: "Run agents one after the other, each with the result of the one before",
    args: [AGENTS],
    options: { input: INPUT, budget: BUDGET, as },
    notes: [...NOTES, "A member that does not complete ends the whole `failed`, and the next is not asked."],
    examples: ['orgate chain researcher writer --input "what changed this week?"'],
    load: async () => (await import("./commands/sessions/orchestrate.ts")).orchestrating("chain"),
  },
  {
    name: "parallel",
    summary: "Run agents on the same task, all at once",
    args: [AGENTS],
    options: { input: INPUT, budget: BUDGET, as },
    notes: [...NOTES, "Who did not complete is named beside the answers of those who did; the exit code is 1 then."],
    examples: ['orgate parallel researcher writer --input "what is on today?" --budget 40000'],
    load: async () => (await import("./commands/sessions/orchestrate.ts")).orchestrating("parallel"),
  },
  {
    name: "race",
    summary: "Run agents on the same task, all at once; the first that completes wins",
    args: [AGENTS],
    options: { input: INPUT, budget: BUDGET, as },
    notes: [...NOTES, "The others are cancelled, their tools included."],
    examples: ['orgate race quick careful --input "is the site up?"'],
    load: async () => (await import("./commands/sessions/orchestrate.ts")).orchestrating("race"),
  },
  {
    name: "debate",
    summary: "Run two agents in turns, each with the other's last answer",
    args: [AGENTS],
    options: {
      input: { ...INPUT, help: "the topic; `-` reads it from stdin" },
      rounds: { type: "string", value: "N", help: "1 to 10 (default 2)" },
      budget: BUDGET,
      as,
    },
    notes: NOTES,
    examples: ['orgate debate optimist sceptic --rounds 3 --input "do we ship on Friday?"'],
    load: async () => (await import("./commands/sessions/orchestrate.ts")).orchestrating("debate"),
  },
];
