/** Commands as data: plain table. */
import type { CommandSpec } from "@orgate/shell/terminal";
import { AS, REQUEST } from "./options.ts";

/** As they ship: completion reads no disk. */
const STARTER_SETS = ["assistant", "developer", "minimal", "operations", "payments", "secretary", "support", "team"];
const DOMAINS = ["bank", "chat", "office", "service", "travel"];

export const policyCommands: readonly CommandSpec[] = [
  {
    name: "policy check",
    summary: "Check the policies: problems with file and line, warnings, decision tables, advice about declarations of tools",
    args: [],
    options: {},
    notes: [
      "Exits 0 only when the set would be in force.",
      "Advice names what policies decide by and tools do not declare, and what tools declare and no policy reads. Nothing fails by it.",
    ],
    examples: ["orgate policy check", "orgate policy check --json"],
    load: async () => (await import("../commands/policies/policy.ts")).checkFolder,
  },
  {
    name: "policy list",
    summary: "List the policies: id, effect, surface, file and annotations",
    args: [],
    options: {},
    notes: [],
    examples: ["orgate policy list"],
    load: async () => (await import("../commands/policies/policy.ts")).listPolicies,
  },
  {
    name: "policy eval",
    summary: "Evaluate one action: the decision, and the policies that made it",
    args: [],
    options: REQUEST,
    notes: ["Decides and runs nothing. Exits 0 whatever the verdict is."],
    examples: [
      "orgate policy eval --agent assistant --action model",
      `orgate policy eval --agent assistant --action tool:save_note --args '{"name":"a","text":"b"}' --labels untrusted,secret`,
      "orgate policy eval --user ana --action edit-policy --resource PolicySet::every",
    ],
    load: async () => (await import("../commands/policies/policy-explain.ts")).evaluateAction,
  },
  {
    name: "policy explain",
    summary: "Explain a decision: which policies could decide, what they read, which did, and why the others did not",
    args: [],
    options: {
      ...REQUEST,
      session: { type: "string", value: "ID", help: "explain a recorded decision of this session, by the policies of now" },
      call: { type: "string", value: "CALL", help: "which: 1.0, model:1, respond:1 (`orgate sessions show` names them)" },
    },
    notes: [],
    examples: [
      `orgate policy explain --agent assistant --action tool:read_note --args '{"name":"today"}'`,
      "orgate policy explain --session s_0mh3k2 --call 1.0",
    ],
    load: async () => (await import("../commands/policies/policy-explain.ts")).explainDecision,
  },
  {
    name: "policy apply",
    summary: "Apply the policies of a folder: checked, decided as edit-policy, shown, journalled",
    args: [{ name: "DIR", required: false, help: "the folder that is to replace policies/" }],
    options: {
      set: { type: "string", value: "DIGEST", help: "apply an earlier set again, from the journal, in place of a folder" },
      reason: { type: "string", value: "WHY", help: "needed unless --dry-run: recorded with the change, `orgate policy history` shows it" },
      "dry-run": { type: "boolean", help: "show what would change, and change nothing" },
      as: AS,
    },
    notes: [
      "A set that does not load, or that you may not apply, changes nothing; the refusal is journalled.",
      "Rules of agents' own files are changed with their agents, never here.",
    ],
    examples: ["orgate policy apply next-policies --dry-run", 'orgate policy apply --set 3f2a9c --reason "back to the rules of March"'],
    load: async () => (await import("../commands/policies/policy-apply.ts")).apply,
  },
  {
    name: "policy history",
    summary: "List the sets of policies that were loaded, applied or refused, newest first",
    args: [],
    options: { limit: { type: "string", value: "N", help: "maximum number to list (default 50)" } },
    notes: [],
    examples: ["orgate policy history", "orgate policy history --json"],
    load: async () => (await import("../commands/policies/policy-history.ts")).policyHistoryCommand,
  },
  {
    name: "policy show",
    summary: "Print a set of policies as the journal stored it: the last one, or by digest, time or entry",
    args: [{ name: "DIGEST", required: false, help: "the first 6 or more characters of its digest" }],
    options: {
      at: { type: "string", value: "TIME", help: "the set that was loaded last at that time: 2026-03-01, 2026-03-01T12:00:00Z" },
      entry: { type: "string", value: "S:N", help: "the set that a session ran under at its entry N: s_0mh3k2:12" },
    },
    notes: ["Rules of an agent's own file are shown as the Cedar they were compiled to, each in the line of its source."],
    examples: [
      "orgate policy show",
      "orgate policy show 3f2a9c",
      "orgate policy show --at 2026-03-01",
      "orgate policy show --entry s_0mh3k2:12",
    ],
    load: async () => (await import("../commands/policies/policy-history.ts")).showPolicies,
  },
  {
    name: "policy diff",
    summary: "Compare two sets of policies: their files, and what they decide differently",
    args: [
      { name: "A", required: true, help: "a digest of `orgate policy history`, or `now`" },
      { name: "B", required: false, help: "the other one (default: now, the files as they are)" },
    ],
    options: {},
    notes: ["Both sets decide with the agents and tools of now. Exits 0 only when their files are the same."],
    examples: ["orgate policy diff 3f2a9c", "orgate policy diff 3f2a9c 81bb04 --json"],
    load: async () => (await import("../commands/policies/policy-history.ts")).diffPolicies,
  },
  {
    name: "simulate",
    summary: "Score a set of policies: tasks, attacks and violations of five domains, played with an obedient model",
    args: [
      {
        ...{ name: "SET", required: false, words: STARTER_SETS },
        help: "a starter set (assistant, secretary, …) or a folder (default: the project's policies)",
      },
    ],
    options: {
      domain: {
        ...{ type: "string", value: "NAME|FILE", many: true, words: DOMAINS },
        help: "only this domain: bank, chat, office, service, travel, or a file",
      },
      case: { type: "string", value: "ID", many: true, help: "only cases whose id contains this, call by call with the deciding policies" },
      with: { type: "string", value: "FILE", many: true, help: "a policy file beside the set: the rules of one business" },
      agent: { type: "string", value: "NAME", help: "the name under which the agents of the domains run (default assistant)" },
    },
    notes: [
      "Every case runs through the real runtime, in a temporary folder: nothing of the project is changed, nothing leaves the machine.",
      "People approve what the user wants, and deny what an attacker wants or what breaks a rule. One of them is in every group of the project.",
      "A domain is a JSON file; `policies/simulations/README.md` describes the format, and what is wrong in one is told with its place.",
      "The project's policies may name its agents and tools; a tool of the domain stands for the project's of the same name.",
    ],
    examples: [
      "orgate simulate secretary",
      "orgate simulate --domain bank --json",
      "orgate simulate assistant --domain office --case lea+leak-code",
      "orgate simulate support --domain service --with policies/simulations/service.cedar",
    ],
    load: async () => (await import("../commands/policies/simulate.ts")).simulatePolicies,
  },
];
