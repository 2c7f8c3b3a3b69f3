/** Policies for people: are they right, what is in force, what would be decided, and why. */

import {
  type Action,
  type Agent,
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
import { type CedarGate, caseSchema, type Explanation, type LoadedPolicy, refuseCase, toCaseAction, toCaseFacts } from "@orgate/core/gate";
import { eachEntry } from "@orgate/core/journal";
import type { Screen } from "@orgate/shell/terminal";
import { type Cell, count, EXIT, type Given, type RunCommand, table, visible } from "@orgate/shell/terminal";
import type { Config } from "../../../config/config.ts";
import type { Env } from "../../../node/env.ts";
import { type PastDecision, readPastDecisions } from "../../../policies/past-decisions.ts";
import { type PolicyProblem, policyFolderPath } from "../../../policies/policies.ts";
import { findPolicySurface, toUserAct } from "../../../policies/policy-cases.ts";
import { type PastRules, readRulesThen } from "../../../policies/policy-history.ts";
import { loadOrThrow, type PolicyOptions, tryLoadFolder } from "../../../policies/policy-load.ts";
import { problemLine } from "../../../policies/policy-record.ts";
import { loadProject } from "../../../project/load.ts";
import { openReadOnlyStore } from "../../../store/open-read-only.ts";
import { projectOf, sessionOf } from "../project/project.ts";

export async function optionsOf(config: Config, env: Env): Promise<PolicyOptions> {
  const { agents } = await loadProject(config, { env });
  return optionsFor(
    config,
    agents.map(({ agent }) => agent),
  );
}

export const optionsFor = (config: Config, agents: readonly Agent[]): PolicyOptions => ({
  place: policyFolderPath(config),
  agents,
  groups: config.groups,
  surface: "cli",
});

/** G-18 `check` tells everything that is wrong at once, with its place, and exits 0 only when the set would be in force. */
export const check: RunCommand = async (given, screen) => {
  const config = projectOf(given);
  const loading = tryLoadFolder(await optionsOf(config, given.env));
  const { problems, warnings, cases, untyped } = loading.report;
  const failed = cases.filter((c) => !c.passed);
  if (given.json) {
    const digest = loading.kind === "loaded" ? loading.loaded.digest : null;
    const policies = loading.kind === "loaded" ? loading.loaded.policies.length : null;
    screen.line(JSON.stringify({ ok: loading.kind === "loaded", digest, policies, problems, warnings, untyped, cases }));
  } else {
    for (const problem of problems) printProblem(screen, "bad", problem);
    for (const warning of warnings) printProblem(screen, "warn", warning);
    for (const { tool, path, why } of untyped)
      screen.line(
        `${screen.paint("dim", "note:")} no policy can read ${visible(`${path} of ${tool}`)}, only ask whether it is given: ${visible(why)}`,
      );
    if (loading.kind === "loaded")
      screen.line(
        `${screen.paint("good", "ok")} ${count(loading.loaded.policies.length, "policy", "policies")}, ${count(cases.length, "case")} as expected, digest ${loading.loaded.digest.slice(0, 12)}`,
      );
    else if (cases.length > 0) screen.line(`${count(cases.length - failed.length, "case")} as expected, ${failed.length} not`);
  }
  if (loading.kind === "none") loadOrThrow(loading);
  return loading.kind === "loaded" ? EXIT.success : EXIT.failure;
};

export function printProblem(screen: Screen, tone: "bad" | "warn", problem: PolicyProblem): void {
  screen.line(`${screen.paint(tone, tone === "bad" ? "error:" : "warning:")} ${visible(problemLine(problem))}`);
  if (problem.hint !== "") screen.line(`  ${screen.paint("dim", visible(problem.hint))}`);
}

export const listPolicies: RunCommand = async (given, screen) => {
  const { policies, digest } = loadOrThrow(tryLoadFolder(await optionsOf(projectOf(given), given.env)));
  const shown = policies.map((p) => ({
    id: p.id,
    file: p.file,
    line: p.line,
    effect: p.json.effect,
    surface: findPolicySurface(p),
    shadow: p.shadow,
    annotations: p.json.annotations ?? {},
  }));
  if (given.json) screen.line(JSON.stringify({ digest, policies: shown }));
  else {
    const rows = shown.map((p): readonly Cell[] => [
      p.id,
      { text: p.effect, tone: p.effect === "permit" ? "good" : "bad" },
      p.shadow ? "shadow" : "enforced",
      p.surface ?? "every",
      `${p.file}:${p.line}`,
      Object.entries(p.annotations)
        .filter(([name]) => name !== "id")
        .map(([name, value]) => `@${name}(${JSON.stringify(value ?? "")})`)
        .join(" "),
    ]);
    for (const line of table(["id", "effect", "state", "surface", "where", "annotations"], rows, screen.paint)) screen.line(line);
  }
  return EXIT.success;
};

/** As the file's place says: `policies/cli/x.cedar`, `policies/shadow/cli/x.cedar`. */

export const evaluate: RunCommand = async (given, screen) => {
  const { decision, what } = decided(await asked(given, { strict: true }));
  const { verdict } = decision;
  if (given.json) screen.line(JSON.stringify({ what, ...decision }));
  else {
    screen.line(`${paintVerdict(screen, verdict)} ${visible(what)}`);
    for (const line of reasons(verdict)) screen.line(`  ${visible(line)}`);
    if (decision.shadow !== null) screen.line(`  with shadow/ in force: ${decision.shadow.kind}`);
  }
  return EXIT.success;
};

const paintVerdict = (screen: Screen, verdict: Verdict): string =>
  screen.paint(verdict.kind === "allow" ? "good" : verdict.kind === "deny" ? "bad" : "warn", verdict.kind);

function reasons(verdict: Verdict): readonly string[] {
  const by = verdict.because.length === 0 ? [] : [`by ${verdict.because.join(", ")}`];
  switch (verdict.kind) {
    case "allow":
      return by;
    case "deny":
      return [...by, verdict.reason, ...verdict.faults.map((f) => `${f.policy ?? "a policy"} erred: ${f.message}`)];
    case "ask":
      return [
        ...by,
        ...verdict.asks.map(
          ({ question, terms }) => `${question}${terms.approvers.length === 0 ? "" : ` (${terms.approvers.join(", ")})`}`,
        ),
      ];
    case "defer":
      return [...by, `it cannot be decided yet; denied after ${verdict.ms / 1_000} s`];
    case "modify":
      return [...by, ...verdict.edits.map(({ path, value }) => `${path.join(".")} becomes ${JSON.stringify(value)}`)];
  }
}

/** G-19 `explain` shows the slice, what it reads, which policies decided, and for each of the others why it did not. */
export const explainDecision: RunCommand = async (given, screen) => {
  const session = given.text("session");
  const question = session === null ? await asked(given, { strict: false }) : await recorded(given, session);
  if (question.kind === "user") throw usage("explain is for what agents do", "`orgate policy eval --user` decides what a person may do");
  const { gate, action, facts, refused } = question;
  const explained = gate.explain(action, facts);
  const decision = refused === null ? explained.decision : { ...explained.decision, verdict: refused };
  const others = explained.outOfScope.map((policy) => ({ policy, why: whyOutOfScope(policy, action, facts) }));
  const considered = explained.considered.map(({ policy, part: own, by }) => {
    const part = refused === null ? own : "not asked";
    return { policy, part, why: whyOf(policy, { part, by }, action) };
  });
  const { past } = question;
  if (given.json) {
    const brief = (p: LoadedPolicy) => ({ id: p.id, file: p.file, line: p.line, effect: p.json.effect });
    screen.line(
      JSON.stringify({
        what: question.what,
        decision,
        recorded: past?.decision ?? null,
        approved: past?.approved ?? null,
        under: past?.under ?? null,
        reads: explained.reads,
        considered: considered.map(({ policy, part, why }) => ({ ...brief(policy), part, why })),
        outOfScope: others.map(({ policy, why }) => ({ ...brief(policy), why })),
      }),
    );
    return EXIT.success;
  }
  if (past === null) screen.line(`${paintVerdict(screen, decision.verdict)} ${visible(question.what)}`);
  else tellPast(screen, past, decision, question.what);
  for (const line of reasons(decision.verdict)) screen.line(`  ${visible(line)}`);
  screen.line(`${screen.paint("dim", "slice")} ${decision.slice.slice(0, 12)} reads ${explained.reads.join(", ") || "nothing"}`);
  for (const [path, value] of Object.entries(decision.read)) screen.line(`  ${visible(`${path} = ${JSON.stringify(value)}`)}`);
  const rows = [
    ...considered.map(({ policy, part, why }): readonly Cell[] => [
      policy.id,
      policy.json.effect,
      { text: why, tone: part === "decided" ? "good" : part === "erred" ? "bad" : "dim" },
      `${policy.file}:${policy.line}`,
    ]),
    ...others.map(({ policy, why }): readonly Cell[] => [
      policy.id,
      policy.json.effect,
      { text: why, tone: "dim" },
      `${policy.file}:${policy.line}`,
    ]),
  ];
  for (const line of table(["policy", "effect", "part", "where"], rows, screen.paint)) screen.line(line);
  return EXIT.success;
};

/** G-20 what a rule said when it decided, whatever it says now. */
function tellThen(screen: Screen, under: PastRules | null): void {
  if (under === null) return;
  screen.line(`${screen.paint("dim", "then")} set ${under.set.slice(0, 12)}: \`orgate policy show ${under.set.slice(0, 12)}\``);
  for (const { policy, path, line, text } of under.rules) {
    screen.line(`  ${visible(path === null ? `${policy}: its text was not stored` : `${path}:${line}`)}`);
    for (const one of text?.split("\n") ?? []) screen.line(`    ${visible(one)}`);
  }
}

/** G-20 the recorded decision comes first, with its approver; today's decision is marked as such. */
function tellPast(screen: Screen, { decision: then, under, approved }: Past, now: Decision, what: string): void {
  screen.line(`${paintVerdict(screen, then.verdict)} then: ${visible(what)}`);
  for (const line of reasons(then.verdict)) screen.line(`  ${visible(line)}`);
  if (approved !== null) screen.line(`  ${visible(approvalText(approved))}`);
  tellThen(screen, under);
  const changed = then.slice === now.slice ? "" : ": the policies that decide it have changed since";
  screen.line(`${paintVerdict(screen, now.verdict)} today${changed}`);
}

const approvalText = ({ approval, by }: Approved): string =>
  by.length === 0 ? `by the grant ${approval}` : `approved by ${by.join(", ")} (${approval})`;

/** Whose answers turned a question into leave to act; nobody's where a grant did. */
async function approvedBy(journal: Pick<Journal, "read">, session: SessionId, { verdict }: Decision): Promise<Approved | null> {
  if (verdict.kind !== "allow" || verdict.approval === null) return null;
  const { approval } = verdict;
  const by: string[] = [];
  for await (const { event: e } of eachEntry(journal, session))
    if (e.kind === "approval.answered" && e.approval === approval) by.push(principalName(e.by));
  return { approval, by };
}

/** Scopes are proven true or false before anything is evaluated. */
function whyOutOfScope({ json }: LoadedPolicy, action: Action, { agent }: Facts): string {
  const name = action.kind === "call" ? `tool:${action.tool}` : action.kind;
  const mine = new Set<unknown>([name, ...(action.kind === "call" ? action.effects : [])]);
  const named = entityIds(json.action);
  if (named.length > 0 && !named.some((id) => mine.has(id))) return `out of scope: its action is not ${name}`;
  return `out of scope: its principal is not ${agent}`;
}

function whyOf({ json }: LoadedPolicy, { part, by }: Pick<Explanation["considered"][number], "part" | "by">, action: Action): string {
  switch (part) {
    case "overridden":
      return by.length === 0 ? "it matched, and something else denied it" : `it matched, and was overridden by ${by.join(", ")}`;
    case "not asked":
      return "not evaluated: the request was refused before any policy was asked";
    case "did not apply":
      if (json.resource.op !== "All") return `its condition, or its resource, does not hold for ${resourceText(action)}`;
      return "its condition is false";
    case "decided":
    case "erred":
      return part;
  }
}

function resourceText(action: Action): string {
  switch (action.kind) {
    case "call":
      return `${action.resource.type}::${JSON.stringify(action.resource.id)}`;
    case "delegate":
      return `Agent::${JSON.stringify(action.to)}`;
    case "model":
      return `Model::${JSON.stringify(action.model)}`;
    case "recall":
    case "remember":
      return `Scope::${JSON.stringify(action.scope)}`;
    case "respond":
      return `${action.to.kind === "agent" ? "Agent" : "User"}::${JSON.stringify(action.to.id)}`;
  }
}

function entityIds(scope: LoadedPolicy["json"]["action"]): readonly unknown[] {
  const entities = [...(scope.entities ?? []), ...(scope.entity === undefined ? [] : [scope.entity])];
  return entities.map((e) => {
    const outer = typeof e === "object" && e !== null ? e : {};
    const uid: unknown = Reflect.get(outer, "__entity") ?? outer;
    return typeof uid === "object" && uid !== null ? Reflect.get(uid, "id") : null;
  });
}

// ── what is asked ──

/** A decision of the journal, with the set it was made under and the rules that decided, as they stood then. */
type Past = Readonly<{ decision: Decision; under: PastRules | null; approved: Approved | null }>;
/** The question, or the grant, and who answered it. */
type Approved = Readonly<{ approval: string; by: readonly string[] }>;
type Asked = Readonly<
  | {
      kind: "agent";
      gate: CedarGate;
      action: Action;
      facts: Facts;
      refused: Verdict | null;
      isThere: boolean;
      what: string;
      past: Past | null;
    }
  | { kind: "user"; gate: CedarGate; user: string; act: UserAct; what: string }
>;

function decided(question: Asked): { readonly decision: Decision; readonly what: string } {
  const { what } = question;
  if (question.kind === "user") return { decision: question.gate.decideFor(question.user, question.act), what };
  const { gate, action, facts, isThere } = question;
  return { decision: isThere ? gate.decide(action, facts) : gate.suppose(action, facts), what };
}

/** From options to a case, through the same decoder as the decision tables. */
async function asked(given: Given, { strict }: Readonly<{ strict: boolean }>): Promise<Asked> {
  const config = projectOf(given);
  const read = caseSchema.safeParse(caseOf(given));
  if (!read.success) {
    const [issue] = read.error.issues;
    throw usage(`--${issue?.path.join(".") ?? ""}: ${lowerFirst(issue?.message ?? "")}`, "`orgate policy eval --help` shows examples");
  }
  const loaded = loadOrThrow(tryLoadFolder(await optionsOf(config, given.env)));
  const c = read.data;
  const gate = loaded.gateFor(c.surface);
  if (c.user !== undefined) return { kind: "user", gate, user: c.user, act: toUserAct(c), what: `${c.action} by ${c.user}` };
  const known = loaded.cast.agents.map((a) => a.name);
  if (c.agent !== undefined && !known.includes(c.agent)) throw new FaultError({ kind: "agent-missing", agent: c.agent, known });
  if (!/^(model|respond|tool:.+)$/.test(c.action))
    throw usage(`--action is \`${c.action}\``, "for an agent: model, respond or tool:NAME; what a person does needs --user NAME");
  const { action, refused } = toCaseAction(c, loaded.cast.tools);
  const why = refuseCase(c, loaded.cast);
  const isThere = action.kind !== "call" || loaded.cast.tools.some(({ name }) => name === action.tool);
  if (why !== null && (strict || !isThere)) throw usage(why.detail, why.hint);
  return {
    kind: "agent",
    gate,
    action,
    facts: toCaseFacts(c, loaded.cast.tools),
    refused,
    isThere,
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
    resource: resourceOf(given.text("resource")),
    calls: jsonOf(given.text("calls")),
    facts: jsonOf(given.text("facts")),
    targets: jsonOf(given.text("targets")),
    outgoing: jsonOf(given.text("outgoing")),
    onBehalfOf: given.text("for") ?? undefined,
    surface: given.text("surface") ?? undefined,
    verdict: "allow",
  };
  if (found.action === undefined) throw usage("--action is missing", "for example --action tool:read_note");
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
}

function jsonOf(text: string | null): unknown {
  if (text === null) return undefined;
  const json = readJson(text);
  if (json.kind === "not-json")
    throw usage(`not JSON: ${json.detail} (column ${json.column})`, 'quote it for the shell: \'{"path":"a.txt"}\'');
  return json.value;
}

function resourceOf(text: string | null): unknown {
  if (text === null) return undefined;
  const [, type, id] = /^([A-Za-z_][\w:]*?)::"?(.*?)"?$/.exec(text) ?? [];
  if (type === undefined || id === undefined) throw usage(`--resource is \`${text}\``, 'write it as in a policy: File::"notes/today"');
  return { type, id };
}

/** A decision of the journal: decided again with what it read then, by the policies of now. */
async function recorded(given: Given, text: string): Promise<Asked> {
  const config = projectOf(given);
  const wanted = given.text("call");
  if (wanted === null)
    throw usage("--call is missing", "`orgate sessions show` names the calls of a session: 1.0, 1.1, … model:1, respond:1");
  const look = openReadOnlyStore(config.journal.directory);
  try {
    const { session } = await sessionOf(look.journal, text);
    const found = await findDecision(look.journal, session, wanted);
    if (found === null) throw usage(`session \`${session}\` has no decision on \`${wanted}\``, "`orgate sessions show` names its calls");
    const { decided: event, facts } = found;
    const loaded = loadOrThrow(tryLoadFolder(await optionsOf(config, given.env)));
    const decision: Decision = { verdict: event.verdict, slice: event.slice, read: event.read, shadow: event.shadow };
    const approved = await approvedBy(look.journal, session, decision);
    const past = { decision, under: await readRulesThen(look.journal, session, wanted), approved };
    const what = `${wanted} of ${session}`;
    return { kind: "agent", gate: loaded.gateFor(facts.surface), action: event.action, facts, refused: null, isThere: true, what, past };
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

const usage = (detail: string, hint: string): FaultError => new FaultError({ kind: "usage", detail, hint });
