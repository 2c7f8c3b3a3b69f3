/** The question to the gate: from the options of `policy eval` and `policy explain`, or from the journal. */

import {
  type Action,
  type Decision,
  type Facts,
  FaultError,
  type Journal,
  lowerFirst,
  principalName,
  readJson,
  type SessionId,
  type UserAct,
  type Verdict,
} from "@orgate/core";
import { type CedarGate, caseSchema, refuseCase, type ToolCare, toCaseAction, toCaseCare, toCaseFacts } from "@orgate/core/gate";
import { eachEntry } from "@orgate/core/journal";
import { usageFault } from "@orgate/core/vocab";
import type { Given } from "@orgate/shell/terminal";
import { type PastDecision, readPastDecisions } from "../../../policies/past-decisions.ts";
import { toUserAct } from "../../../policies/policy-cases.ts";
import { type PastRules, readRulesThen } from "../../../policies/policy-history.ts";
import { loadOrThrow, tryLoadFolder } from "../../../policies/policy-load.ts";
import { openReadOnlyStore } from "../../../store/open-read-only.ts";
import { findSessionByText, openGivenProject } from "../project/project.ts";
import { loadPolicyOptions } from "./policy.ts";

/** A decision of the journal, with the set it was made under and the rules that decided, as they stood then. */
export type RecordedDecision = Readonly<{ decision: Decision; under: PastRules | null; approved: UsedApproval | null }>;
/** An approval request or a grant, and who answered it. */
export type UsedApproval = Readonly<{ approval: string; by: readonly string[] }>;
export type PolicyQuestion = Readonly<
  | {
      kind: "agent";
      gate: CedarGate;
      action: Action;
      facts: Facts;
      refused: Verdict | null;
      isThere: boolean;
      care: Partial<ToolCare>;
      what: string;
      past: RecordedDecision | null;
    }
  | { kind: "user"; gate: CedarGate; user: string; act: UserAct; what: string }
>;

export function decideQuestion(question: PolicyQuestion): { readonly decision: Decision; readonly what: string } {
  const { what } = question;
  if (question.kind === "user") return { decision: question.gate.decideFor(question.user, question.act), what };
  const { gate, action, facts, isThere, care } = question;
  return { decision: isThere ? gate.decide(action, facts) : gate.suppose(action, facts, care), what };
}

/** From options to a case, through the same decoder as the decision tables. */
export async function readQuestion(given: Given, { strict }: Readonly<{ strict: boolean }>): Promise<PolicyQuestion> {
  const config = openGivenProject(given);
  const read = caseSchema.safeParse(caseOf(given));
  if (!read.success) {
    const [issue] = read.error.issues;
    throw usageFault(`--${issue?.path.join(".") ?? ""}: ${lowerFirst(issue?.message ?? "")}`, "`orgate policy eval --help` shows examples");
  }
  const loaded = loadOrThrow(tryLoadFolder(await loadPolicyOptions(config, given.env)));
  const c = read.data;
  const gate = loaded.gateFor(c.surface);
  if (c.user !== undefined) return { kind: "user", gate, user: c.user, act: toUserAct(c), what: `${c.action} by ${c.user}` };
  const known = loaded.cast.agents.map((a) => a.name);
  if (c.agent !== undefined && !known.includes(c.agent)) throw new FaultError({ kind: "agent-missing", agent: c.agent, known });
  if (!/^(model|respond|tool:.+)$/.test(c.action))
    throw usageFault(`--action is \`${c.action}\``, "for an agent: model, respond or tool:NAME; what a person does needs --user NAME");
  const { action, refused } = toCaseAction(c, loaded.cast.tools);
  const why = refuseCase(c, loaded.cast);
  const isThere = action.kind !== "call" || loaded.cast.tools.some(({ name }) => name === action.tool);
  if (why !== null && (strict || !isThere || refused === null)) throw usageFault(why.detail, why.hint);
  return {
    kind: "agent",
    gate,
    action,
    facts: toCaseFacts(c, loaded.cast.tools),
    refused,
    isThere,
    care: toCaseCare(c),
    what: `${c.action} by ${c.agent ?? "somebody"}`,
    past: null,
  };
}

function caseOf(given: Given): Readonly<Record<string, unknown>> {
  const words = (option: string): readonly string[] | undefined =>
    given
      .text(option)
      ?.split(",")
      .filter((w) => w !== "");
  const found = {
    name: "asked",
    agent: given.text("agent") ?? undefined,
    user: given.text("user") ?? undefined,
    action: given.text("action") ?? undefined,
    args: jsonOf(given.text("args")),
    labels: words("labels"),
    media: words("media"),
    effects: words("effects"),
    tool: jsonOf(given.text("tool")),
    resource: resourceOf(given.text("resource")),
    calls: jsonOf(given.text("calls")),
    facts: jsonOf(given.text("facts")),
    targets: jsonOf(given.text("targets")),
    values: jsonOf(given.text("values")),
    outgoing: jsonOf(given.text("outgoing")),
    amount: jsonOf(given.text("amount")),
    spent: jsonOf(given.text("spent")),
    records: jsonOf(given.text("records")),
    subject: jsonOf(given.text("subject")),
    now: given.text("now") ?? undefined,
    approval: jsonOf(given.text("approval")),
    onBehalfOf: given.text("for") ?? undefined,
    surface: given.text("surface") ?? undefined,
    verdict: "allow",
  };
  if (found.action === undefined) throw usageFault("--action is missing", "for example --action tool:read_note");
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
}

function jsonOf(text: string | null): unknown {
  if (text === null) return undefined;
  const json = readJson(text);
  if (json.kind === "not-json")
    throw usageFault(`not JSON: ${json.detail} (column ${json.column})`, 'quote it for the shell: \'{"path":"a.txt"}\'');
  return json.value;
}

function resourceOf(text: string | null): unknown {
  if (text === null) return undefined;
  const [, type, id] = /^([A-Za-z_][\w:]*?)::"?(.*?)"?$/.exec(text) ?? [];
  if (type === undefined || id === undefined) throw usageFault(`--resource is \`${text}\``, 'write it as in a policy: File::"notes/today"');
  return { type, id };
}

/** A decision of the journal: decided again with what it read then, by the policies of now. */
export async function readRecordedQuestion(given: Given, text: string): Promise<PolicyQuestion> {
  const config = openGivenProject(given);
  const wanted = given.text("call");
  if (wanted === null)
    throw usageFault("--call is missing", "`orgate sessions show` names the calls of a session: 1.0, 1.1, … model:1, respond:1");
  const look = await openReadOnlyStore(config.journal);
  try {
    const { session } = await findSessionByText(look.journal, text);
    const found = await findDecision(look.journal, session, wanted);
    if (found === null)
      throw usageFault(`session \`${session}\` has no decision on \`${wanted}\``, "`orgate sessions show` names its calls");
    const { decided: event, facts } = found;
    const loaded = loadOrThrow(tryLoadFolder(await loadPolicyOptions(config, given.env)));
    const decision: Decision = { verdict: event.verdict, slice: event.slice, read: event.read, shadow: event.shadow };
    const approved = await findUsedApproval(look.journal, session, decision);
    const past = { decision, under: await readRulesThen(look.journal, session, wanted), approved };
    const what = `${wanted} of ${session}`;
    return {
      kind: "agent",
      gate: loaded.gateFor(facts.surface),
      action: event.action,
      facts,
      refused: null,
      isThere: true,
      care: {},
      what,
      past,
    };
  } finally {
    await look.close();
  }
}

/** The last decision on it, with the facts as they stood then. */
async function findDecision(journal: Pick<Journal, "read">, session: SessionId, id: string): Promise<PastDecision | null> {
  let found: PastDecision | null = null;
  for await (const past of readPastDecisions(journal, session)) if (past.decided.id === id) found = past;
  return found;
}

/** The approval that allowed it, with who answered: nobody where it is a grant. */
async function findUsedApproval(journal: Pick<Journal, "read">, session: SessionId, { verdict }: Decision): Promise<UsedApproval | null> {
  if (verdict.kind !== "allow" || verdict.approval === null) return null;
  const { approval } = verdict;
  const by: string[] = [];
  for await (const { event: e } of eachEntry(journal, session))
    if (e.kind === "approval.answered" && e.approval === approval) by.push(principalName(e.by));
  return { approval, by };
}
