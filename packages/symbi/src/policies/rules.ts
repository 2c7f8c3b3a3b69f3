/**
 * Rules of policy blocks as Cedar.
 *
 * Y-8 whatever a file says is about its own agents: every policy made here has one of them as its principal, and none of them can take a project's refusal or question away.
 * Y-11 an effect that is allowed covers tools that do nothing beyond the effects of that rule; one that is denied, audited or needs an approval covers every tool that has it.
 * Y-11 a policy stands in the line of its rule, and is named by file and line.
 */
import type { AgentPolicies } from "@orgate/core";
import { toPosition } from "@orgate/core/vocab";
import type { AgentDraft, SymbiFile } from "../declare.ts";
import { type SymbiProblem, symbiProblemAt } from "../problems.ts";
import { eachToken } from "../tokens.ts";
import type { PolicyBlock, Rule } from "../tree.ts";
import { limitReports } from "../values.ts";
import { compileApproval } from "./approval-rules.ts";
import { cedarText } from "./cedar-text.ts";
import { compileCondition } from "./conditions.ts";
import { actionsText, conditionOptions, groupTargets, policyText } from "./rule-groups.ts";
import { type RuleTarget, readTargets } from "./rule-targets.ts";
import type { CompileWorld, PolicyDraft, RuleBase, RuleWorld } from "./rule-world.ts";

/** One policy, and the rule it was made from. */
export type CompiledPolicy = Readonly<{
  id: string;
  line: number;
  column: number;
  /** The rule's block; null where a setting made it. */
  block: string | null;
  /** As the file says it. */
  rule: string;
  cedar: string;
  shadow: boolean;
}>;
export type Compiled = Readonly<
  | { kind: "compiled"; policies: readonly CompiledPolicy[]; files: readonly AgentPolicies[] }
  | { kind: "problems"; problems: readonly [SymbiProblem, ...SymbiProblem[]] }
>;

export function compilePolicies(symbi: SymbiFile, draft: AgentDraft, world: CompileWorld): Compiled {
  const problems: SymbiProblem[] = [];
  const report = limitReports((at, detail, hint) => problems.push(symbiProblemAt(symbi, at, detail, hint)));
  const around = { symbi, draft, world, report };
  const made = [...sandboxing(around), ...draft.policies.flatMap((policy) => rulesIn(policy, around))];
  const [first, ...rest] = problems.sort((a, b) => a.line - b.line || a.column - b.column);
  if (first !== undefined) return { kind: "problems", problems: [first, ...rest] };
  const policies = named(made, symbi, draft.name);
  return {
    kind: "compiled",
    policies,
    files: [false, true].flatMap((shadow) =>
      fileOf(
        policies.filter((p) => p.shadow === shadow),
        symbi.file,
        draft.name,
        shadow,
      ),
    ),
  };
}

const rulesIn = (policy: PolicyBlock, around: RuleWorld): readonly PolicyDraft[] =>
  policy.rules.flatMap((rule, i) => ruleOf(rule, policy.name?.text ?? null, policy.rules[i + 1]?.at ?? around.symbi.text.length, around));

/** In the line of its rule, so that a line of the Cedar is a line of the file. */
function fileOf(policies: readonly CompiledPolicy[], file: string, agent: string, shadow: boolean): readonly AgentPolicies[] {
  if (policies.length === 0) return [];
  let text = "";
  let line = 1;
  const sorted = policies.toSorted((a, b) => a.line - b.line || a.column - b.column);
  for (const policy of sorted) {
    text += `${"\n".repeat(Math.max(0, policy.line - line))}${line === policy.line && text !== "" ? " " : ""}${policy.cedar}`;
    line = Math.max(line, policy.line);
  }
  return [{ path: file, name: file, agent, text: `${text}\n`, shadow, pieces: sorted.map(({ id, cedar }) => ({ id, text: cedar })) }];
}

function named(made: readonly PolicyDraft[], { file, text, agents }: SymbiFile, agent: string): readonly CompiledPolicy[] {
  const lines = made.map((one) => toPosition(text, one.at));
  const starts = Map.groupBy(made, (_, i) => lines[i]?.line ?? 1);
  return made.map((one, i) => {
    const { line, column } = lines[i] ?? { line: 1, column: 1 };
    const isShared = new Set(starts.get(line)?.map(({ at }) => at)).size > 1;
    // a policy of the whole file is made once for each of its agents
    const whose = agents.length > 1 ? `-${agent}` : "";
    const place = `${line}${isShared ? `.${column}` : ""}`;
    const long = `${place}${one.tag === null ? "" : `-${one.tag}`}${whose}`;
    // a name that is cut could be another's too
    const id = long.length <= LONGEST_ID ? long : `${place}-${i + 1}${whose}`;
    const reason = one.why === null ? [] : [`@reason(${cedarText(`${one.why} (${file}:${line})`)})`];
    const cedar = [`@id("${id}")`, ...one.annotations, ...reason, one.body].join(" ");
    return { id: `${file}/${id}`, line, column, block: one.block, rule: one.rule, cedar, shadow: one.shadow };
  });
}

/** Of Cedar's `@id`, as the gate takes it. */
const LONGEST_ID = 100;

// ── one rule ──

function ruleOf(rule: Rule, block: string | null, end: number, around: RuleWorld): readonly PolicyDraft[] {
  const base = { at: rule.at, block, rule: ruleText(around.symbi.text.slice(rule.at, end)) };
  if (rule.subject.kind === "record") {
    for (const { key } of rule.subject.fields)
      around.report(key.at, `\`${key.text}\` is nothing that a policy can ${rule.effect}`, WHAT_RULES_TAKE[rule.effect]);
    if (rule.subject.fields.length === 0) around.report(rule.subject.at, "this rule is about nothing", "take it out");
    return [];
  }
  if (rule.effect === "require") {
    const { subject } = rule;
    if (subject.kind === "call" && subject.of.kind === "ident" && subject.of.name === "approval")
      return compileApproval(rule, subject, base, around);
    return requirementOf(rule, base, around);
  }
  const targets = readTargets(rule.subject, rule.effect, around);
  if (targets === null) return [];
  const [effect, unknown] = rule.effect === "allow" ? (["permit", false] as const) : (["forbid", true] as const);
  const because = rule.effect === "deny" ? "denied" : rule.effect === "audit" ? "audited" : null;
  const why = because === null ? null : `${because} by ${block === null ? "a rule" : `policy ${block}`} of the agent`;
  return groupTargets(targets, rule.condition, around, (condition) => condition?.whenUnknown(unknown) ?? null).map(
    ({ scope, tag, when }) => ({
      ...base,
      tag,
      annotations: [],
      body: policyText(effect, around.draft.name, scope, when),
      shadow: rule.effect === "audit",
      why,
    }),
  );
}

const WHAT_RULES_TAKE: Readonly<Record<Rule["effect"], string>> = {
  allow: "name a tool or an effect; conditions stand behind `if`",
  deny: "name a tool or an effect; conditions stand behind `if`",
  require: "take it out, or write a condition over args, labels, calls, facts, user: `require: args.euros < 50`",
  audit: "every decision is in the journal: take it out, or name a tool or an effect whose calls are to be marked",
};

/** Policies for a condition that every call has to meet. */
function requirementOf(rule: Rule, base: RuleBase, around: RuleWorld): readonly PolicyDraft[] {
  const { world, report, draft } = around;
  if (world.tools.length === 0 && world.unknown?.more === true) return [];
  if (world.tools.length === 0) {
    report(rule.at, "there is no tool that this could be required of", "give the agent capabilities, or take the rule out");
    return [];
  }
  const targets: readonly RuleTarget[] = world.tools.map((tool) => ({ kind: "tool", tool, resource: null }));
  const why = `what ${base.block === null ? "a rule" : `policy ${base.block}`} of the agent requires is not so`;
  const only = rule.condition;
  return groupTargets(targets, rule.subject, around, (wanted, scope) => {
    // unknown: it is not met
    const met = wanted?.whenUnknown(false) ?? "false";
    if (only === null) return `!(${met})`;
    const then = compileCondition(only, conditionOptions(scope.about, scope.scope, around))?.whenUnknown(true);
    return then === undefined ? null : `(${then} && !(${met}))`;
  }).map(({ scope, tag, when }) => ({
    ...base,
    tag,
    annotations: [],
    body: policyText("forbid", draft.name, scope, when),
    shadow: false,
    why,
  }));
}

/** `with sandbox = "process"`. */
function sandboxing({ draft, world, symbi }: RuleWorld): readonly PolicyDraft[] {
  const running = world.tools.filter((tool) => tool.effects.includes("execute"));
  if (draft.sandbox === null || running.length === 0) return [];
  const scope = actionsText(running.map(({ name }) => `tool:${name}`));
  return [
    {
      at: draft.sandbox,
      block: null,
      rule: symbi.text.slice(draft.sandbox, lineEnd(symbi.text, draft.sandbox)).trim(),
      tag: null,
      annotations: [],
      body: policyText("forbid", draft.name, scope, '!(context.tool.sandbox == "process")'),
      shadow: false,
      why: "the agent runs programs in a sandbox only",
    },
  ];
}

/** As it stands in the file, comments aside, in one line. `text` begins with it, and goes on to the next. */
function ruleText(text: string): string {
  const odd = text.search(/[#"{}]|\/\//); // most rules have none of these before they end
  if (odd === -1 || text[odd] === "}")
    return text
      .slice(0, odd === -1 ? text.length : odd)
      .trim()
      .replaceAll(/\s+/g, " ")
      .replace(/[,;]$/, "");
  let [depth, end, kept] = [0, 0, ""];
  for (const { kind, text: sign, at } of eachToken(text)) {
    if (kind === "sign" && "{[(".includes(sign)) depth += 1;
    if (kind === "sign" && "}])".includes(sign)) depth -= 1;
    if (depth < 0) break; // the end of its block
    if (kind === "comment") continue;
    kept += at > end ? ` ${sign}` : sign;
    end = at + sign.length;
  }
  return kept.replace(/[,;]$/, "");
}

function lineEnd(text: string, from: number): number {
  const end = text.slice(from).search(/[\n\r]/);
  return end === -1 ? text.length : from + end;
}
