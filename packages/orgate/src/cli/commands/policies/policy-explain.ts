/** Explains decisions: the recorded one, today's, and the policies behind each. */

import type { Action, Decision, Facts, Verdict } from "@orgate/core";
import type { Explanation, LoadedPolicy } from "@orgate/core/gate";
import { usageFault } from "@orgate/core/vocab";
import { type Cell, EXIT, type RunCommand, type Screen, table, visible } from "@orgate/shell/terminal";
import type { PastRules } from "../../../policies/policy-history.ts";
import { decideQuestion, type RecordedDecision, readQuestion, readRecordedQuestion, type UsedApproval } from "./policy-question.ts";

export const evaluateAction: RunCommand = async (given, screen) => {
  const { decision, what } = decideQuestion(await readQuestion(given, { strict: true }));
  const { verdict } = decision;
  if (given.json) screen.line(JSON.stringify({ what, ...decision }));
  else {
    screen.line(`${paintVerdict(screen, verdict)} ${visible(what)}`);
    for (const line of listReasons(verdict)) screen.line(`  ${visible(line)}`);
    if (decision.shadow !== null) screen.line(`  with shadow/ in force: ${decision.shadow.kind}`);
  }
  return EXIT.success;
};

const paintVerdict = (screen: Screen, verdict: Verdict): string =>
  screen.paint(verdict.kind === "allow" ? "good" : verdict.kind === "deny" ? "bad" : "warn", verdict.kind);

function listReasons(verdict: Verdict): readonly string[] {
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
  const question = session === null ? await readQuestion(given, { strict: false }) : await readRecordedQuestion(given, session);
  if (question.kind === "user")
    throw usageFault("explain is for what agents do", "`orgate policy eval --user` decides what a person may do");
  const { gate, action, facts, refused, isThere, care } = question;
  const explained = gate.explain(action, facts, isThere ? undefined : care);
  const decision = refused === null ? explained.decision : { ...explained.decision, verdict: refused };
  const others = explained.outOfScope.map((policy) => ({ policy, why: whyOutOfScope(policy, action, facts) }));
  const considered = explained.considered.map(({ policy, part: own, by }) => {
    const part = refused === null ? own : "not asked";
    return { policy, part, why: describePart(policy, { part, by }, action) };
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
  else printPast(screen, past, decision, question.what);
  for (const line of listReasons(decision.verdict)) screen.line(`  ${visible(line)}`);
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
function printRulesThen(screen: Screen, under: PastRules | null): void {
  if (under === null) return;
  screen.line(`${screen.paint("dim", "then")} set ${under.set.slice(0, 12)}: \`orgate policy show ${under.set.slice(0, 12)}\``);
  for (const { policy, path, line, text } of under.rules) {
    screen.line(`  ${visible(path === null ? `${policy}: its text was not stored` : `${path}:${line}`)}`);
    for (const one of text?.split("\n") ?? []) screen.line(`    ${visible(one)}`);
  }
}

/** G-20 the recorded decision comes first, with its approver; today's decision is marked as such. */
function printPast(screen: Screen, { decision: then, under, approved }: RecordedDecision, now: Decision, what: string): void {
  screen.line(`${paintVerdict(screen, then.verdict)} then: ${visible(what)}`);
  for (const line of listReasons(then.verdict)) screen.line(`  ${visible(line)}`);
  if (approved !== null) screen.line(`  ${visible(approvalText(approved))}`);
  printRulesThen(screen, under);
  const changed = then.slice === now.slice ? "" : ": the policies that decide it have changed since";
  screen.line(`${paintVerdict(screen, now.verdict)} today${changed}`);
}

const approvalText = ({ approval, by }: UsedApproval): string =>
  by.length === 0 ? `by the grant ${approval}` : `approved by ${by.join(", ")} (${approval})`;

/** Scopes are proven true or false before anything is evaluated. */
function whyOutOfScope({ json }: LoadedPolicy, action: Action, { agent }: Facts): string {
  const name = action.kind === "call" ? `tool:${action.tool}` : action.kind;
  const mine = new Set<unknown>([name, ...(action.kind === "call" ? action.effects : [])]);
  const named = entityIds(json.action);
  if (named.length > 0 && !named.some((id) => mine.has(id))) return `out of scope: its action is not ${name}`;
  return `out of scope: its principal is not ${agent}`;
}

function describePart(
  { json }: LoadedPolicy,
  { part, by }: Pick<Explanation["considered"][number], "part" | "by">,
  action: Action,
): string {
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
