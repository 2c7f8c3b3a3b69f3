/** Decision tables: requests with the verdict they must get, checked whenever the policies beside them load. */
import * as z from "zod";
import {
  type Action,
  type CheckedArgs,
  callId,
  type Decision,
  type Facts,
  type Hash,
  type Label,
  lazily,
  MICROS_PER_CENT,
  millis,
  type Origin,
  type RecentCounts,
  SCOPES,
  SURFACES,
  suggestNearest,
  type Tool,
  type Verdict,
  ZERO,
} from "../../vocab/index.ts";
import {
  aimSchema,
  amountFactsSchema,
  countsSchema,
  leavingSchema,
  NO_COUNTS,
  targetsSumSchema,
  toCaseAims,
  valuesSumSchema,
} from "../arguments/case-aims.ts";
import { findInexactNumbers } from "../arguments/numbers.ts";
import type { ToolCare } from "../ask.ts";
import type { CedarGate } from "../cedar.ts";
import { readUserAct } from "./user-acts.ts";
import type { PolicyWorld } from "./vocabulary.ts";
import { findUnknownName } from "./world/case-names.ts";
import { toWorldFacts, worldSchema } from "./world/case-world.ts";

/** Who acts in a case that names nobody. */
const SOMEBODY = "somebody";
const json: () => z.ZodType<Record<string, z.core.util.JSONType>> = lazily(() => z.record(z.string(), z.json()));
const caseBody = lazily(() =>
  z
    .strictObject({
      name: z.string(),
      agent: z.string().optional(),
      user: z.string().optional(),
      /** `tool:NAME`, `model`, `respond`, `delegate` (to the `resource`, an Agent), `recall` and `remember` (a Scope), or what a person does. */
      action: z.string(),
      /** For a tool that this project does not have: what kind of thing it does. */
      effects: z.array(z.enum(["read", "write", "execute", "network", "spend", "unsandboxed", "govern"])).optional(),
      /** For such a tool: what its definition says. What is left out is the strictest. */
      tool: z
        .strictObject({
          riskTier: z.enum(["low", "medium", "high"]).optional(),
          humanApproval: z.boolean().optional(),
          sandbox: z.enum(["process", "none", "own"]).optional(),
        })
        .optional(),
      resource: z.strictObject({ type: z.string(), id: z.string() }).optional(),
      args: json().optional(),
      labels: z.array(z.string()).default([]),
      /** Media types of files that were shown. */
      media: z.array(z.string()).default([]),
      calls: z.record(z.string(), countsSchema()).default({}),
      spent: countsSchema().default(NO_COUNTS),
      /** Money; left out, no price is known. */
      cents: countsSchema().optional(),
      /** Facts about arguments, by name; what is left out of a target is not so. */
      facts: z.record(z.string(), aimSchema()).optional(),
      /** Of all targets together, for a tool that this project does not have; and of its plain texts and numbers. */
      targets: targetsSumSchema().optional(),
      values: valuesSumSchema().optional(),
      outgoing: leavingSchema().optional(),
      amount: amountFactsSchema().optional(),
      ...worldSchema(),
      onBehalfOf: z.string().default("somebody"),
      /** Of an approval request: it is for the requester alone to answer. */
      forRequester: z.boolean().optional(),
      surface: z.enum(SURFACES).default("cli"),
      /** Of a session that nobody opened by hand: by which schedule, or by which delivery. */
      origin: z.union([z.strictObject({ schedule: z.string() }), z.strictObject({ delivery: z.string() })]).optional(),
      verdict: z.enum(["allow", "deny", "ask", "defer", "modify"]),
      /** Ids that must be among the deciding policies. */
      because: z.array(z.string()).default([]),
      /** The refusal is expected of the tool's contract (no such tool, arguments that do not fit), before any policy is asked. */
      by: z.literal("contract").optional(),
    })
    .refine((c) => c.tool === undefined || (c.user === undefined && c.action.startsWith("tool:")), {
      path: ["tool"],
      error: "it is about an agent's `tool:NAME` alone",
    }),
);
export type Case = z.infer<ReturnType<typeof caseBody>>;
/** Made when the first case is read: their doors are values, and their fields are many. */
export const caseSchema = z.lazy(caseBody);
export const casesSchema = z.lazy(() => z.array(caseBody()));

export type CaseResult = Readonly<{ case: Case; passed: boolean; got: Verdict; detail: string }>;

export function runCase(c: Case, gate: CedarGate, tools: readonly Tool[], _hash: Hash): CaseResult {
  const wrong = wrongIn(c);
  if (wrong !== null) return { case: c, passed: false, got: contractDeny(wrong), detail: wrong };
  const got = c.user === undefined ? decideAsAgent(c, gate, tools) : decideAsUser(c, c.user, gate);
  const detail = differenceOf(c, got);
  return { case: c, passed: detail === null, got, detail: detail ?? "" };
}

/** A case about nothing would be denied, and so pass where it expects that: it is reported instead. */
function wrongIn(c: Case): string | null {
  if (c.by !== undefined && c.verdict !== "deny") return `\`by\` is for \`deny\`, and ${c.verdict} is expected`;
  if (c.user !== undefined) {
    const act = readUserAct(c);
    return typeof act === "string" ? act : null;
  }
  return /^(model|respond|delegate|recall|remember|tool:.+)$/s.test(c.action)
    ? null
    : `\`${c.action}\` is nothing that an agent does: model, respond, delegate, recall, remember and tool:NAME are; what a person does needs \`user\``;
}

/**
 * G-14 a case about an unknown agent or tool whose name is nearly a known one would be decided for nobody: where it expects a denial it would
 * pass whatever the policies say. A tool that stands for any of its kind is called `any…` or `some…`.
 */
export function findStranger(c: Case, cast: Pick<PolicyWorld, "agents" | "tools" | "subject" | "unknown">): string | null {
  const { agents, tools } = cast;
  const agent = absentAgent(c, { agents });
  const meant = agent === null ? null : nearlyOf(agent, agents);
  if (meant !== null) return `there is no agent \`${agent}\`; ${meant}`;
  const tool = c.effects === undefined ? undefined : /^tool:(?!any|some)(.+)$/s.exec(c.action)?.[1];
  const near = tool === undefined ? null : nearlyOf(tool, tools);
  if (near !== null) return `there is no tool \`${tool}\`; ${near}`;
  const unknown = findUnknownName(c, cast);
  return unknown === null ? null : `${unknown.detail}; ${unknown.hint}`;
}

/** The unknown subject of a case: an agent that was removed, or never came; a person who is nearly one of a group. */
export function findDoubt(c: Case, cast: Pick<PolicyWorld, "agents" | "users">): string | null {
  const agent = absentAgent(c, cast);
  if (agent !== null) return `there is no agent \`${agent}\`, so it proves nothing about one`;
  const near = c.user === undefined ? null : nearlyOf(c.user, cast.users);
  return near === null ? null : `\`${c.user}\` is in no group of this project; ${near}`;
}

/** Whom it delegates to is free: a table speaks of agents to come. */
const absentAgent = ({ agent }: Case, { agents }: Pick<PolicyWorld, "agents">): string | null =>
  agent === undefined || agent === SOMEBODY || agents.some(({ name }) => name === agent) ? null : agent;

/** G-19 why it cannot be asked, before any policy is: no such agent or tool, arguments that do not fit, facts that nothing has. Null when it can. */
export function refuseCase(
  c: Case,
  cast: Pick<PolicyWorld, "agents" | "tools" | "subject" | "unknown">,
): Readonly<{ detail: string; hint: string }> | null {
  if (c.user !== undefined) return null;
  const { agents, tools } = cast;
  const agent = absentAgent(c, { agents });
  const names = agents.map(({ name }) => name);
  if (agent !== null) return { detail: `there is no agent \`${agent}\``, hint: suggestNearest(agent, names) };
  const { refused } = toCaseAction(c, tools);
  if (refused === null) return findUnknownName(c, cast);
  const tool = c.action.replace(/^tool:/, "");
  if (hasNoTool(refused)) {
    const known = tools.map(({ name }) => name);
    return { detail: `there is no tool \`${tool}\``, hint: `${suggestNearest(tool, known)} For one that is to come, give its \`effects\`` };
  }
  const detail = refused.kind === "deny" ? refused.reason : "";
  return { detail: `\`${tool}\`: ${detail}`, hint: `\`orgate tools show ${tool}\` tells what it takes` };
}

/** Null when it is one of them, or near none. */
function nearlyOf(name: string, known: readonly Readonly<{ name: string }>[]): string | null {
  const found = suggestNearest(
    name,
    known.map((one) => one.name),
  );
  return known.some((one) => one.name === name) || !found.startsWith("did you mean") ? null : found;
}

/** Null where it was decided as expected. */
function differenceOf(c: Case, got: Verdict): string | null {
  const said = got.kind === "deny" ? `: ${got.reason}` : "";
  if (got.kind !== c.verdict) return `expected ${c.verdict}, got ${got.kind}${said}`;
  const byContract = got.kind === "deny" && got.by === "contract";
  if (byContract && c.by === undefined)
    return `no policy was asked${said}; mend the case${hasNoTool(got) ? ", give its `effects`" : ""}, or expect that with "by": "contract"`;
  if (!byContract && c.by !== undefined) return `expected the contract to deny it, and the policies did${said}`;
  const missing = c.because.filter((id) => !got.because.some((b) => b === id));
  if (missing.length === 0) return null;
  return `${missing.join(", ")} did not decide it; ${got.because.join(", ") || "nothing"} did`;
}

const NO_TOOL = "there is no such tool";
const hasNoTool = (got: Verdict): boolean => got.kind === "deny" && got.reason === NO_TOOL;
const contractDeny = (reason: string): Verdict => ({ kind: "deny", by: "contract", because: [], faults: [], reason });

function decideAsUser(c: Case, user: string, gate: CedarGate): Verdict {
  const act = readUserAct(c);
  return typeof act === "string" ? contractDeny(act) : gate.decideFor(user, act).verdict;
}

function decideAsAgent(c: Case, gate: CedarGate, tools: readonly Tool[]): Verdict {
  return toCaseAction(c, tools).refused ?? decideCase(c, gate, tools).verdict;
}

/** The action of an agent. An unknown tool is assumed to exist, by its `effects`. */
export function decideCase(c: Case, gate: CedarGate, tools: readonly Tool[]): Decision {
  const { action } = toCaseAction(c, tools);
  const there = action.kind !== "call" || tools.some((t) => t.name === action.tool);
  const facts = toCaseFacts(c, tools);
  return there ? gate.decide(action, facts) : gate.suppose(action, facts, toCaseCare(c));
}

/** What it says of a tool that this project does not have. */
export const toCaseCare = ({ tool = {} }: Case): Partial<ToolCare> =>
  Object.fromEntries(Object.entries(tool).filter(([, value]) => value !== undefined));

/** The facts of this case; `policy eval` and `explain` use it too. */
export const toCaseFacts = (c: Case, tools: readonly Tool[] = []): Facts => ({
  agent: c.agent ?? SOMEBODY,
  onBehalfOf: { kind: "user", id: c.onBehalfOf },
  surface: c.surface,
  labels: c.labels as string[] as Label[],
  calls: (tool) => c.calls[tool] ?? NO_COUNTS,
  spent: c.spent,
  cents: c.cents ?? null,
  media: c.media,
  lately: ({ name, value }) => latelyOf(c, name, value),
  aims: () => toCaseAims(c, tools.find((t) => `tool:${t.name}` === c.action) ?? null),
  ...toWorldFacts(c),
  ...(c.origin === undefined ? {} : { origin: originOf(c.origin) }),
});

const originOf = (given: NonNullable<Case["origin"]>): Origin =>
  "schedule" in given
    ? { kind: "schedule", schedule: given.schedule, dueAt: millis(0), attempt: 1 }
    : { kind: "webhook", webhook: "any", provider: "custom", delivery: given.delivery, key: ZERO };

function latelyOf(c: Case, name: string, value: string): RecentCounts {
  if (name === "tokens") return c.spent;
  if (name === "micros") return { hour: (c.cents?.hour ?? 0) * MICROS_PER_CENT, day: (c.cents?.day ?? 0) * MICROS_PER_CENT };
  return value === "" ? (c.calls[name.replace(/^calls:/, "")] ?? NO_COUNTS) : NO_COUNTS;
}

export function toCaseAction(c: Case, tools: readonly Tool[]): { readonly action: Action; readonly refused: Verdict | null } {
  if (c.action === "model") return { action: { kind: "model", model: c.resource?.id ?? "offline/echo" }, refused: null };
  if (c.action === "respond") {
    const kind = c.resource?.type === "Agent" ? "agent" : "user";
    return { action: { kind: "respond", to: { kind, id: c.resource?.id ?? c.onBehalfOf } }, refused: null };
  }
  if (c.action === "delegate") {
    const to = c.resource?.id ?? "somebody";
    return { action: { kind: "delegate", call: callId("0.0"), to, agentDigest: ZERO, args: {} }, refused: null };
  }
  if (c.action === "recall" || c.action === "remember") {
    const scope = SCOPES.find((one) => one === c.resource?.id) ?? "agent";
    return {
      action: c.action === "recall" ? { kind: "recall", scope } : { kind: "remember", scope, key: "any", content: ZERO },
      refused: null,
    };
  }
  const name = c.action.replace(/^tool:/, "");
  const tool = tools.find((t) => t.name === name);
  const given = c.args ?? {};
  const checked = tool?.check(given) ?? { kind: "valid", args: given };
  const args = checked.kind === "valid" ? checked.args : null;
  const resource = c.resource ?? (tool !== undefined && args !== null ? tool.resource(args) : { type: "Tool", id: name });
  const inexact = args === null ? [] : findInexactNumbers(JSON.stringify(given), args);
  const action: Action = {
    kind: "call",
    call: callId("0.0"),
    tool: name,
    toolDigest: ZERO,
    effects: tool?.effects ?? c.effects ?? [],
    args,
    inexact,
    resource,
  };
  const unknown = tool === undefined && c.effects === undefined;
  const reason = unknown ? NO_TOOL : (otherCare(c, tool) ?? refusalOf(checked));
  return { action, refused: reason === null ? null : contractDeny(reason) };
}

/** A case about a tool of the project cannot say that it is another one. */
function otherCare(c: Case, tool: Tool | undefined): string | null {
  if (tool === undefined) return null;
  const own: ToolCare = { riskTier: tool.riskTier, humanApproval: tool.humanApproval, sandbox: tool.sandbox ?? "own" };
  const other = Object.entries(toCaseCare(c)).find(([name, value]) => !Object.entries(own).some(([n, v]) => n === name && v === value));
  return other === undefined ? null : `the case says \`tool.${other[0]}\` is ${String(other[1])}, and its definition says otherwise`;
}

function refusalOf(checked: CheckedArgs): string | null {
  if (checked.kind === "refused") return checked.reason;
  return checked.kind === "invalid" ? `the arguments do not fit: ${checked.issues.join("; ")}` : null;
}
