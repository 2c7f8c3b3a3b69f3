/**
 * Rules of policy blocks as Cedar.
 *
 * Y-8 whatever a file says is about its own agents: every policy made here has one of them as its principal, and none of them can take a project's refusal or question away.
 * Y-11 an effect that is allowed covers tools that do nothing beyond the effects of that rule; one that is denied, audited or needs an approval covers every tool that has it.
 * Y-11 a policy stands in the line of its rule, and is named by file and line.
 */
import type { AgentPolicies } from "@orgate/core";
import {
  type ApprovalTerms,
  type Effect,
  findUnanswerable,
  suggestNearest,
  toPosition,
  type UnanswerableTerms,
  type UserGroups,
} from "@orgate/core/vocab";
import { type Condition, type ConditionScope, cedarPattern, cedarText, compileCondition, groupHint } from "./conditions.ts";
import type { AgentDraft, SymbiFile } from "./declare.ts";
import { BLOCK_KEYS } from "./keys.ts";
import { type SymbiProblem, symbiProblemAt } from "./problems.ts";
import { sharedScope, type ToolShape, toolScope } from "./scope.ts";
import { eachToken } from "./tokens.ts";
import type { Expression, PolicyBlock, Rule } from "./tree.ts";
import { limitReports, type Report, readEntries } from "./values.ts";

export type CompileWorld = Readonly<{
  /** All that the agent has, of skills and servers too. */
  tools: readonly ToolShape[];
  /** Who is in which; null: nobody knows. */
  userGroups: UserGroups | null;
  /** What is not known of the tools, where the agent could not be read whole: what rests on it is not told. */
  unknown?: UnknownTools;
}>;
/** `more`: it may have others. `named`: those of its tools of which only the name is known. */
export type UnknownTools = Readonly<{ more: boolean; named: readonly string[] }>;

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

type Made = Readonly<{
  at: number;
  block: string | null;
  rule: string;
  tag: string | null;
  annotations: readonly string[];
  body: string;
  shadow: boolean;
  why: string | null;
}>;
type Around = Readonly<{ symbi: SymbiFile; draft: AgentDraft; world: CompileWorld; report: Report }>;

export function compilePolicies(symbi: SymbiFile, draft: AgentDraft, world: CompileWorld): Compiled {
  const problems: SymbiProblem[] = [];
  const report = limitReports((at, detail, hint) => problems.push(symbiProblemAt(symbi.file, symbi.text, at, detail, hint)));
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

const rulesIn = (policy: PolicyBlock, around: Around): readonly Made[] =>
  policy.rules.flatMap((rule, i) => ruleOf(rule, policy.name?.text ?? null, policy.rules[i + 1]?.at ?? around.symbi.text.length, around));

/** In the line of its rule, so that whoever names a line of the Cedar names one of the file. */
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

function named(made: readonly Made[], { file, text, agents }: SymbiFile, agent: string): readonly CompiledPolicy[] {
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

function ruleOf(rule: Rule, block: string | null, end: number, around: Around): readonly Made[] {
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
      return approvalOf(rule, subject, base, around);
    return requirementOf(rule, base, around);
  }
  const targets = targetsOf(rule.subject, rule.effect, around);
  if (targets === null) return [];
  const [effect, unknown] = rule.effect === "allow" ? (["permit", false] as const) : (["forbid", true] as const);
  const because = rule.effect === "deny" ? "denied" : rule.effect === "audit" ? "audited" : null;
  const why = because === null ? null : `${because} by ${block === null ? "a rule" : `policy ${block}`} of the agent`;
  return grouped(targets, rule.condition, around, (condition) => condition?.whenUnknown(unknown) ?? null).map(({ scope, tag, when }) => ({
    ...base,
    tag,
    annotations: [],
    body: policyText(effect, around.draft.name, scope, when),
    shadow: rule.effect === "audit",
    why,
  }));
}

const WHAT_RULES_TAKE: Readonly<Record<Rule["effect"], string>> = {
  allow: "name a tool or an effect; conditions stand behind `if`",
  deny: "name a tool or an effect; conditions stand behind `if`",
  require: "take it out, or write a condition over args, labels, calls, facts, user: `require: args.euros < 50`",
  audit: "every decision is in the journal: take it out, or name a tool or an effect whose calls are to be marked",
};

type Base = Readonly<{ at: number; block: string | null; rule: string }>;

/** What every call has to meet. */
function requirementOf(rule: Rule, base: Base, around: Around): readonly Made[] {
  const { world, report, draft } = around;
  if (world.tools.length === 0 && world.unknown?.more === true) return [];
  if (world.tools.length === 0) {
    report(rule.at, "there is no tool that this could be required of", "give the agent capabilities, or take the rule out");
    return [];
  }
  const targets: readonly Target[] = world.tools.map((tool) => ({ kind: "tool", tool, resource: null }));
  const why = `what ${base.block === null ? "a rule" : `policy ${base.block}`} of the agent requires is not so`;
  const only = rule.condition;
  return grouped(targets, rule.subject, around, (wanted, scope) => {
    // unknown: it is not met
    const met = wanted?.whenUnknown(false) ?? "false";
    if (only === null) return `!(${met})`;
    const then = compileCondition(only, optionsOf(scope.about, scope.scope, around))?.whenUnknown(true);
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

/** A person says yes, or it is not done; what cannot be told does not pass by without a question. */
function approvalOf(rule: Rule, call: Extract<Expression, { kind: "call" }>, base: Base, around: Around): readonly Made[] {
  const { draft, report } = around;
  const [what, terms, more] = call.args;
  if (what === undefined || what.kind === "named-argument" || more !== undefined || (terms !== undefined && terms.kind !== "record")) {
    report(
      call.at,
      "`approval` takes what is to be approved, and how",
      'write approval(pay), or approval(pay, { question: "Pay it?", quorum: 2 })',
    );
    return [];
  }
  const targets = targetsOf(what, "approval", around);
  const annotations = annotationsOf(terms, base, around);
  if (targets === null || annotations === null) return [];
  // the question is about the call: the leave that goes with it asks no second one
  const [calls, leaves] = [targets.filter(({ kind }) => kind !== "leave"), targets.filter(({ kind }) => kind === "leave")];
  const asked = grouped(calls, rule.condition, around, (condition) => condition?.whenUnknown(false) ?? null);
  const allowed = grouped(leaves, rule.condition, around, (condition) => condition?.whenUnknown(false) ?? null);
  const unsure = grouped(calls, rule.condition, around, (condition) => {
    const [loose, strict] = [condition?.whenUnknown(true), condition?.whenUnknown(false)];
    return loose === undefined || loose === strict ? "" : `(${loose} && !(${strict}))`;
  }).filter(({ when }) => when !== null && when !== "");
  return [
    ...asked.map(({ scope, tag, when }) => ({
      ...base,
      tag,
      annotations,
      body: policyText("permit", draft.name, scope, when),
      shadow: false,
      why: null,
    })),
    ...allowed.map(({ scope, tag, when }) => ({
      ...base,
      tag: tag ?? "unsandboxed",
      annotations: [],
      body: policyText("permit", draft.name, scope, when),
      shadow: false,
      why: null,
    })),
    ...unsure.map(({ scope, tag, when }) => ({
      ...base,
      tag: tag === null ? "unknown" : `${tag}-unknown`,
      annotations: [],
      body: policyText("forbid", draft.name, scope, when),
      shadow: false,
      why: "whether it needs an approval cannot be told: an argument is missing",
    })),
  ];
}

const LABEL = /^[a-z][a-z0-9_:.-]{0,63}$/;

function annotationsOf(
  terms: Extract<Expression, { kind: "record" }> | undefined,
  base: Base,
  { report, world }: Around,
): readonly string[] | null {
  let good = true;
  const fields = (terms?.fields ?? []).map(({ key, value, at }) => ({ kind: "entry", at, key, value }) as const);
  const values = readEntries(fields, BLOCK_KEYS.approval, "approval", (...wrong) => {
    good = false;
    report(...wrong);
  });
  const get = (key: string): unknown => values.get(key)?.value;
  const question = get("question");
  const approvers = get("approvers");
  const [quorum, expires, onExpiry, grant, survives] = ["quorum", "expires", "on_expiry", "grant", "grant_survives"].map(get);
  if (question === "") {
    report(values.get("question")?.at ?? base.at, "`question` asks nothing", "say what the person is asked, or take it out");
    return null;
  }
  if (typeof expires === "number" && (expires < 1_000 || expires % 1_000 !== 0)) {
    report(values.get("expires")?.at ?? base.at, "`expires` is in whole seconds", "write 30s, 15m or 8h");
    return null;
  }
  if (Array.isArray(approvers) && approvers.some((one) => typeof one !== "string" || !/^[\w-]+$/.test(one))) {
    report(values.get("approvers")?.at ?? base.at, "`approvers` are names of groups of users", 'write ["operators"]');
    return null;
  }
  if (Array.isArray(survives) && (typeof grant !== "string" || survives.some((one) => typeof one !== "string" || !LABEL.test(one)))) {
    const [detail, hint] =
      typeof grant === "string"
        ? ["`grant_survives` are labels", "write [untrusted]"]
        : ["`grant_survives` stands beside no `grant` that could be given", 'add grant: "session", or leave it out'];
    report(values.get("grant_survives")?.at ?? base.at, detail, hint);
    return null;
  }
  const groups = Array.isArray(approvers) ? approvers.filter((one) => typeof one === "string") : [];
  const never = nobodyFor({ approvers: groups, quorum: typeof quorum === "number" ? quorum : 1 }, world.userGroups);
  if (never !== null) {
    report(values.get(never.of)?.at ?? base.at, never.detail, never.hint);
    return null;
  }
  if (!good) return null;
  return [
    `@ask(${cedarText(typeof question === "string" ? question : "May it do this?")})`,
    ...(Array.isArray(approvers) ? [`@approvers(${cedarText(approvers.join(", "))})`] : []),
    ...(typeof quorum === "number" ? [`@quorum("${quorum}")`] : []),
    ...(typeof expires === "number" ? [`@expires("${expires / 1_000}s")`] : []),
    ...(typeof onExpiry === "string" ? [`@onExpiry("${onExpiry}")`] : []),
    ...(typeof grant === "string" ? [`@grant(${cedarText(grant)})`] : []),
    ...(Array.isArray(survives) ? [`@grantSurvives(${cedarText(survives.join(", "))})`] : []),
  ];
}

/** Why nobody could ever say yes; null: somebody could, or nobody knows. */
function nobodyFor(
  terms: Pick<ApprovalTerms, "approvers" | "quorum">,
  groups: UserGroups | null,
): Omit<UnanswerableTerms, "isRefused"> | null {
  if (groups === null) return null;
  const stranger = terms.approvers.find((one) => !Object.hasOwn(groups, one));
  if (stranger === undefined) return findUnanswerable(terms, groups).find(({ isRefused }) => isRefused) ?? null;
  return { of: "approvers", detail: `there is no group of users \`${stranger}\``, hint: groupHint(stranger, Object.keys(groups)) };
}

/** `with sandbox = "process"`. */
function sandboxing({ draft, world, symbi }: Around): readonly Made[] {
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

// ── what a rule is about ──

const EFFECTS: readonly Effect[] = ["read", "write", "execute", "network", "spend", "unsandboxed", "govern"];
const ACTS = ["model", "respond", "delegate", "recall", "remember"] as const;
type Act = (typeof ACTS)[number];
/** What each of these is done to, where a rule names it. */
const ACT_TYPES: Readonly<Record<Act, string>> = { model: "Model", respond: "User", delegate: "Agent", recall: "Scope", remember: "Scope" };

type Target = Readonly<
  | { kind: "tool"; tool: ToolShape; resource: ResourcePattern | null }
  | { kind: "effect"; effect: Effect; tools: readonly ToolShape[]; resource: ResourcePattern | null }
  | { kind: "act"; act: Act; resource: ResourcePattern | null }
  /** That it runs without a sandbox, which is decided beside the call itself. */
  | { kind: "leave"; tool: ToolShape }
>;
type ResourcePattern = Readonly<{ type: string; pattern: string }>;
type Purpose = "allow" | "deny" | "audit" | "approval";

/** Null where something is wrong, which was told. */
function targetsOf(subject: Expression, purpose: Purpose, around: Around): readonly Target[] | null {
  const { report, world } = around;
  const named = subject.kind === "array" ? subject.items : [subject];
  if (named.length === 0) {
    report(subject.at, "this rule is about nothing", "name a tool or an effect");
    return null;
  }
  const effects = named.flatMap((one) => {
    const word = wordOf(one);
    return word !== null && isEffect(word) && !world.tools.some((t) => t.name === word) ? [word] : [];
  });
  const found = named.map((one) => targetOf(one, purpose, effects, around));
  return found.some((one) => one === null) ? null : found.flatMap((one) => one ?? []);
}

const isEffect = (word: string): word is Effect => EFFECTS.some((e) => e === word);
const wordOf = (e: Expression): string | null =>
  e.kind === "ident" ? e.name : e.kind === "call" && e.of.kind === "ident" ? e.of.name : null;

function targetOf(e: Expression, purpose: Purpose, effects: readonly Effect[], around: Around): readonly Target[] | null {
  const { world, report } = around;
  const { tools } = world;
  const word = e.kind === "string" ? e.value : wordOf(e);
  const tool = tools.find((t) => t.name === word);
  const wrong = (at: number, detail: string, hint: string): null => {
    report(at, detail, hint);
    return null;
  };
  const mayHaveMore = world.unknown?.more === true;
  const names = [...tools.map((t) => t.name), "tools", ...EFFECTS, ...ACTS];
  if (word === null) return wrong(e.at, "a rule is about a tool, an effect, or what else an agent does", `there are: ${names.join(", ")}`);
  const act = e.kind === "string" ? undefined : ACTS.find((one) => one === word);
  const effect = e.kind === "string" ? undefined : EFFECTS.find((one) => one === word);
  if (tool !== undefined && (act !== undefined || effect !== undefined || word === "tools") && e.kind !== "string")
    return wrong(e.at, `\`${word}\` is a tool of this agent's, and a word of the language`, `write "${word}" in quotes for the tool`);
  const resource = e.kind === "call" ? resourceOf(e, act, report) : null;
  if (e.kind === "call" && resource === null) return null;
  if (tool !== undefined) return touches(tool, resource, e.at, report) ? [{ kind: "tool", tool, resource }] : null;
  if (act !== undefined) {
    if (
      act === "delegate" &&
      !mayHaveMore &&
      resource !== null &&
      !around.draft.delegates.some((d) => d.name === resource.pattern) &&
      !resource.pattern.includes("*")
    )
      return wrong(e.at, `\`${resource.pattern}\` is no delegate of this agent's`, `add "agent:${resource.pattern}" to its capabilities`);
    return [{ kind: "act", act, resource }];
  }
  if (word === "tools" && e.kind !== "string") {
    if (tools.length === 0 && mayHaveMore) return null;
    if (tools.length === 0) return wrong(e.at, "this agent has no tools", "give it capabilities, or take the rule out");
    return tools.map((one) => ({ kind: "tool", tool: one, resource }));
  }
  if (effect === undefined && mayHaveMore) return null;
  if (effect === undefined) return wrong(e.at, `\`${word}\` is no tool of this agent's`, suggestNearest(word, names));
  return ofEffect(effect, purpose, effects, resource, e.at, around);
}

const knowsAllTools = ({ unknown }: CompileWorld): boolean => unknown === undefined || (!unknown.more && unknown.named.length === 0);

/** Y-11. */
function ofEffect(
  effect: Effect,
  purpose: Purpose,
  effects: readonly Effect[],
  resource: ResourcePattern | null,
  at: number,
  { world, report }: Around,
): readonly Target[] | null {
  const having = world.tools.filter((tool) => tool.effects.includes(effect));
  const isTouched = ({ resourceTypes: types }: ToolShape) => resource === null || types.length === 0 || types.includes(resource.type);
  if (having.length > 0 && !having.some(isTouched)) {
    if (!knowsAllTools(world)) return null;
    report(
      at,
      `no tool with the effect \`${effect}\` touches ${resource?.type ?? ""}`,
      "it would be about nothing: look at the tools' resourceTypes",
    );
    return null;
  }
  if (purpose === "deny") return [{ kind: "effect", effect, tools: having, resource }];
  // a question that left out what does more than this would let it pass without one
  const covered = purpose === "allow" ? having.filter((tool) => tool.effects.every((one) => effects.includes(one))) : having;
  const leaves = effect === "unsandboxed" && purpose !== "audit" ? covered : [];
  if (covered.length > 0)
    return [
      ...covered.map((tool): Target => ({ kind: "tool", tool, resource })),
      ...leaves.map((tool): Target => ({ kind: "leave", tool })),
    ];
  if (!knowsAllTools(world)) return null;
  const wider = having.map((tool) => `${tool.name} (${tool.effects.join(", ")})`).join(", ");
  report(
    at,
    having.length === 0
      ? `no tool of this agent's has the effect \`${effect}\``
      : `every tool with the effect \`${effect}\` has others too: ${wider}`,
    having.length === 0 ? "take the rule out, or give the agent such a tool" : "name all of their effects in one list, or name the tool",
  );
  return null;
}

/** `write(File("notes/*"))`, `delegate("reader")`, `model("anthropic/*")`. */
function resourceOf(e: Extract<Expression, { kind: "call" }>, act: Act | undefined, report: Report): ResourcePattern | null {
  const [arg, second] = e.args;
  const wrong = (at: number): null => {
    const hint = act === undefined ? 'write write(File("notes/*")), and conditions behind `if`' : `write ${act}("NAME")`;
    report(at, "in brackets stands what it is done to", hint);
    return null;
  };
  if (arg === undefined || second !== undefined) return wrong(e.stepAt);
  if (arg.kind === "string" && act !== undefined) return { type: ACT_TYPES[act], pattern: arg.value };
  const [only, more] = arg.kind === "call" ? arg.args : [];
  if (arg.kind !== "call" || arg.of.kind !== "ident" || only?.kind !== "string" || more !== undefined || act !== undefined)
    return wrong(arg.at);
  return { type: arg.of.name, pattern: only.value };
}

function touches(tool: ToolShape, resource: ResourcePattern | null, at: number, report: Report): boolean {
  if (resource === null || tool.resourceTypes.length === 0 || tool.resourceTypes.includes(resource.type)) return true;
  report(at, `\`${tool.name}\` touches no ${resource.type}`, `it touches ${tool.resourceTypes.join(", ")}`);
  return false;
}

// ── texts ──

type About = Readonly<{ about: string; scope: ConditionScope }>;
type Group = Readonly<{ scope: string; tag: string | null; when: string | null }>;

const optionsOf = (about: string, scope: ConditionScope, { draft, world, report }: Around) => ({
  about,
  scope,
  params: draft.params,
  userGroups: world.userGroups === null ? null : Object.keys(world.userGroups),
  report: (...[at, detail, hint, rests]: Parameters<Report>) => {
    if (rests === undefined || world.unknown?.more !== true) report(at, detail, hint);
  },
});

/** One policy for all targets whose condition reads alike; one each where it does not. */
function grouped(
  targets: readonly Target[],
  condition: Expression | null,
  around: Around,
  write: (condition: Condition | null, about: About) => string | null,
): readonly Group[] {
  const { tools } = around.world;
  const texts = new Map<string, { actions: string[]; effects: string[]; when: string | null; name: string }>();
  const add = (action: string, isEffectGroup: boolean, about: About, resource: ResourcePattern | null, name: string): void => {
    if (needsTool(condition) && around.world.unknown?.named.includes(name) === true) return;
    const made = condition === null ? null : compileCondition(condition, optionsOf(about.about, about.scope, around));
    if (condition !== null && made === null) return;
    const said = write(made, about);
    const parts = [...(resource === null ? [] : [resourceText(resource)]), ...(said === null ? [] : [said])];
    const when = said === "" ? "" : parts.length === 0 ? null : parts.join(" && ");
    const key = `${isEffectGroup ? action : ""}\n${when ?? ""}`;
    const found = texts.get(key) ?? { actions: [], effects: [], when, name };
    (isEffectGroup ? found.effects : found.actions).push(action);
    texts.set(key, found);
  };
  for (const target of targets) {
    if (target.kind === "tool") add(`tool:${target.tool.name}`, false, aboutTool(target.tool, tools), target.resource, target.tool.name);
    else if (target.kind === "leave") {
      const resource = { type: "Tool", pattern: target.tool.name };
      add(
        "unsandboxed",
        false,
        { about: `running \`${target.tool.name}\` without a sandbox`, scope: sharedScope(tools) },
        resource,
        "unsandboxed",
      );
    } else if (target.kind === "act")
      add(target.act, false, { about: `\`${target.act}\``, scope: sharedScope(tools) }, target.resource, target.act);
    else if (target.tools.length === 0 || !needsTool(condition))
      add(target.effect, true, { about: `\`${target.effect}\``, scope: sharedScope(tools) }, target.resource, target.effect);
    else for (const tool of target.tools) add(`tool:${tool.name}`, false, aboutTool(tool, tools), target.resource, tool.name);
  }
  const all = [...texts.values()];
  return all.map(({ actions, effects, when, name }, i) => {
    const earlier = all.slice(0, i).filter((one) => one.name === name).length;
    return {
      scope: effects.length > 0 ? `action in Action::${cedarText(effects[0] ?? "")}` : actionsText(actions),
      tag: all.length === 1 ? null : earlier === 0 ? name : `${name}.${earlier + 1}`,
      when,
    };
  });
}

const aboutTool = (tool: ToolShape, tools: readonly ToolShape[]): About => ({
  about: `a call of \`${tool.name}\``,
  scope: toolScope(tool, tools),
});

/** Whether it speaks of what only a call of a tool has. */
function needsTool(e: Expression | null): boolean {
  const words = ["args", "facts", "targets", "outgoing", "tool"];
  const inside = (value: unknown): boolean => {
    if (typeof value !== "object" || value === null) return false;
    if ("kind" in value && value.kind === "ident" && "name" in value && words.some((w) => w === value.name)) return true;
    return Object.values(value).some(inside);
  };
  return inside(e);
}

function actionsText(actions: readonly string[]): string {
  const all = [...new Set(actions)].map((id) => `Action::${cedarText(id)}`);
  return all.length === 1 ? `action == ${all[0] ?? ""}` : `action in [${all.join(", ")}]`;
}

const resourceText = ({ type, pattern }: ResourcePattern): string =>
  pattern.includes("*")
    ? `resource is ${type} && resource.id like "${cedarPattern(pattern)}"`
    : `resource == ${type}::${cedarText(pattern)}`;

const policyText = (effect: "permit" | "forbid", agent: string, scope: string, when: string | null): string =>
  `${effect}(principal == Agent::${cedarText(agent)}, ${scope}, resource)${when === null ? "" : ` when { ${when} }`};`;

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
