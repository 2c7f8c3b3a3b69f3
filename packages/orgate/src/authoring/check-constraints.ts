/**
 * A project's constraints, held against an artifact as it was parsed and loaded: what it means, not how it is written.
 *
 * S-9 every setting of `.orgate/constraints.toml` refuses what goes beyond it, with the place in the artifact and the setting's name; a warning is no refusal.
 * S-9 what an agent brings into use is judged like what is authored: its tools, those of its skills and servers, the manifests behind them.
 */
import { type Agent, millis, type Tool } from "@orgate/core";
import type { LoadedPolicy, PolicyProblem } from "@orgate/core/gate";
import type { SymbiFile } from "@orgate/symbi";
import type { ManifestFile } from "@orgate/toolclad";
import { findTomlPosition } from "../files/toml-text.ts";
import { problemAt as symbiProblemAt } from "../project/symbi/symbi-files.ts";
import { type Calendar, readTime } from "../schedules/calendar.ts";
import { type Constraints, RISKS, TIERS } from "./constraints.ts";
import { allowsAnyPrincipal, allowsAnyResource, coversAction, type PolicyAction } from "./policy-scope.ts";

export type Finding = PolicyProblem;

const SETTING = (name: string): string => `\`${name}\` in .orgate/constraints.toml says so: choose otherwise, or have a person change it`;
const EFFECTS: ReadonlySet<string> = new Set(["read", "write", "execute", "network", "spend", "unsandboxed", "govern"]);
const ACTS: ReadonlySet<string> = new Set(["model", "respond", "delegate", "recall", "remember"]);

// ── policies, those that an agent's file says among them ──

export type PolicyCheck = Readonly<{ constraints: Constraints; tools: readonly Tool[]; warnings: readonly PolicyProblem[] }>;

/** `policies` are those of the artifact. */
export function checkPolicyConstraints(
  policies: readonly LoadedPolicy[],
  { constraints, tools, warnings }: PolicyCheck,
): readonly Finding[] {
  const { cedar, forbidden_capabilities: forbidden } = constraints;
  const permits = policies.filter(({ json, shadow }) => json.effect === "permit" && !shadow);
  const of = (policy: LoadedPolicy, detail: string, setting: string): Finding => ({
    file: policy.file,
    line: policy.line,
    column: 1,
    detail: `${policy.id} ${detail}`,
    hint: SETTING(setting),
  });
  const covered = (policy: LoadedPolicy, name: string): string | null =>
    doingsOf(name, tools).find((one) => coversAction(policy.json, one))?.id ?? null;
  return [
    ...(cedar.require_schema_verified
      ? warnings.map((warning) => ({ ...warning, hint: `${warning.hint}; ${SETTING("cedar.require_schema_verified")}` }))
      : []),
    ...permits.flatMap((policy): readonly Finding[] => [
      ...(cedar.forbid_wildcard_principal && allowsAnyPrincipal(policy.json)
        ? [of(policy, "permits it to anybody", "cedar.forbid_wildcard_principal")]
        : []),
      ...cedar.forbid_wildcard_resource_on.flatMap((name) => {
        const what = allowsAnyResource(policy.json) ? covered(policy, name) : null;
        return what === null ? [] : [of(policy, `permits \`${what}\` on anything`, "cedar.forbid_wildcard_resource_on")];
      }),
      ...(cedar.require_approval_for_execute && policy.duties.ask === null
        ? ["execute", "unsandboxed"]
            .flatMap((name) => covered(policy, name) ?? [])
            .slice(0, 1)
            .map((what) => of(policy, `permits \`${what}\` without asking a person`, "cedar.require_approval_for_execute"))
        : []),
      ...forbidden.flatMap((name) => {
        const what = name.includes(":") ? null : covered(policy, name);
        return what === null ? [] : [of(policy, `permits \`${what}\``, "forbidden_capabilities")];
      }),
    ]),
  ];
}

/** The actions that a name in a setting stands for: the name itself, and every tool with that effect. */
function doingsOf(name: string, tools: readonly Tool[]): readonly PolicyAction[] {
  if (ACTS.has(name)) return [{ id: name, groups: [] }];
  if (EFFECTS.has(name))
    return [
      ...tools
        .filter(({ effects }) => effects.some((one) => one === name))
        .map((tool) => ({ id: `tool:${tool.name}`, groups: tool.effects })),
      { id: name, groups: [] },
    ];
  const bare = name.replace(/^tool:/, "");
  return [{ id: `tool:${bare}`, groups: tools.find((tool) => tool.name === bare)?.effects ?? [] }];
}

// ── manifests ──

export function checkManifestConstraints({ shown, text, contract }: ManifestFile, constraints: Constraints): readonly Finding[] {
  const { manifest, effects } = contract;
  const { tool, backend, args } = manifest;
  const { max_memory, max_cpu, max_tier, min_security_tier, required_sandbox, forbidden_capabilities: forbidden, toolclad } = constraints;
  const findings: Finding[] = [];
  const refuse = (path: readonly string[], detail: string, setting: string): void => {
    findings.push({ file: shown, ...findTomlPosition(text, path), detail, hint: SETTING(setting) });
  };
  const { memory_mb, processes, sandbox } = tool.orgate;
  if (backend.kind === "command" || backend.kind === "executor") {
    if (max_memory !== undefined && memory_mb > max_memory)
      refuse(["tool", "orgate", "memory_mb"], `\`${tool.name}\` may use ${memory_mb} MB, and ${max_memory} MB is the most`, "max_memory");
    if (max_cpu !== undefined && processes > max_cpu)
      refuse(
        ["tool", "orgate", "processes"],
        `\`${tool.name}\` may keep ${processes} processors busy (\`processes\`), and ${max_cpu} is the most`,
        "max_cpu",
      );
    if (max_tier !== undefined && tierOf(sandbox) > tierOf(max_tier))
      refuse(["tool", "orgate", "sandbox"], `\`${tool.name}\` wants sandbox \`${sandbox}\`, and \`${max_tier}\` is the most`, "max_tier");
    if (min_security_tier !== undefined && tierOf(sandbox) < tierOf(min_security_tier))
      refuse(
        ["tool", "orgate", "sandbox"],
        `\`${tool.name}\` runs in sandbox \`${sandbox}\`, and \`${min_security_tier}\` is the least`,
        "min_security_tier",
      );
    if (required_sandbox !== undefined && sandbox !== required_sandbox)
      refuse(
        ["tool", "orgate", "sandbox"],
        `\`${tool.name}\` runs in sandbox \`${sandbox}\`, and \`${required_sandbox}\` is required`,
        "required_sandbox",
      );
  }
  for (const name of forbidden)
    if (name === tool.name || effects.some((one) => one === name) || (backend.kind === "mcp" && name === `mcp:${backend.server}`))
      refuse(
        ["tool", "name"],
        `\`${tool.name}\` ${name === tool.name ? "is" : `has \`${name}\`, which is`} forbidden`,
        "forbidden_capabilities",
      );
  const { max_risk_tier: most, require_evidence_above_tier: above } = toolclad;
  if (most !== undefined && riskOf(tool.risk_tier) > riskOf(most))
    refuse(
      ["tool", "risk_tier"],
      `\`${tool.name}\` has risk tier \`${tool.risk_tier}\`, and \`${most}\` is the most`,
      "toolclad.max_risk_tier",
    );
  if (above !== undefined && riskOf(tool.risk_tier) > riskOf(above) && !(tool.evidence.capture && tool.evidence.output_dir !== undefined))
    refuse(
      ["tool", "risk_tier"],
      `\`${tool.name}\` has risk tier \`${tool.risk_tier}\` and keeps no evidence: [tool.evidence] with \`output_dir\``,
      "toolclad.require_evidence_above_tier",
    );
  if (toolclad.require_scope_check)
    for (const arg of args.values())
      if (arg.isHost && !arg.isScoped)
        refuse(
          ["args", arg.name],
          `argument \`${arg.name}\` of \`${tool.name}\` names a host that need not be in scope`,
          "toolclad.require_scope_check",
        );
  return findings;
}

const tierOf = (tier: (typeof TIERS)[number]): number => TIERS.indexOf(tier);
const riskOf = (tier: (typeof RISKS)[number]): number => RISKS.indexOf(tier);

// ── agents ──

export type AgentCheck = Readonly<{
  constraints: Constraints;
  /** Behind its tools, by name. */
  manifests: ReadonlyMap<string, ManifestFile>;
  /** Policies compiled from its file. */
  policies: readonly LoadedPolicy[];
  calendar: Calendar;
  now: number;
}>;
type Drafted = Readonly<{ agent: Agent; symbi: SymbiFile }>;

export function checkAgentConstraints({ agent, symbi }: Drafted, ground: AgentCheck): readonly Finding[] {
  const { constraints, manifests, policies } = ground;
  const {
    max_tier,
    min_security_tier,
    required_sandbox,
    min_audit_level: audit,
    forbidden_capabilities: forbidden,
    toolclad,
  } = constraints;
  const draft = symbi.agents.find(({ name }) => name === agent.name);
  if (draft === undefined) return [];
  const findings: Finding[] = [];
  const refuse = (at: number, detail: string, setting: string): void => {
    findings.push(symbiProblemAt(symbi, at, detail, SETTING(setting)));
  };
  const sandbox = draft.sandbox === null ? "none" : "process";
  const at = draft.sandbox ?? draft.at;
  const running = agent.tools.filter(({ effects }) => effects.some((one) => one === "execute" || one === "unsandboxed"));
  if (max_tier !== undefined && tierOf(sandbox) > tierOf(max_tier))
    refuse(at, `agent \`${agent.name}\` wants sandbox \`${sandbox}\`, and \`${max_tier}\` is the most`, "max_tier");
  if (required_sandbox !== undefined && sandbox !== required_sandbox)
    refuse(
      at,
      `agent \`${agent.name}\` has sandbox \`${sandbox}\`, and \`with sandbox = ${required_sandbox}\` is required`,
      "required_sandbox",
    );
  const [loose] =
    min_security_tier === undefined || tierOf(sandbox) >= tierOf(min_security_tier)
      ? []
      : running.filter((tool) => tierOf(tool.sandbox ?? "none") < tierOf(min_security_tier));
  if (loose !== undefined && min_security_tier !== undefined)
    refuse(
      at,
      `\`${loose.name}\` of agent \`${agent.name}\` may run in less than sandbox \`${min_security_tier}\`: say \`with sandbox\``,
      "min_security_tier",
    );
  for (const name of forbidden) {
    const why = forbiddenIn(agent, name);
    if (why !== null) refuse(draft.at, `agent \`${agent.name}\` ${why}`, "forbidden_capabilities");
  }
  const { max_risk_tier: most } = toolclad;
  for (const tool of agent.tools) {
    const place = draft.tools.find(({ name }) => name === tool.name)?.at ?? draft.at;
    if (most !== undefined && riskOf(tool.riskTier) > riskOf(most))
      refuse(place, `\`${tool.name}\` has risk tier \`${tool.riskTier}\`, and \`${most}\` is the most`, "toolclad.max_risk_tier");
    const manifest = manifests.get(tool.name);
    if (manifest !== undefined)
      for (const { detail, hint } of checkManifestConstraints(manifest, {
        ...constraints,
        forbidden_capabilities: [],
        toolclad: { ...toolclad, max_risk_tier: "high" },
      }))
        findings.push(symbiProblemAt(symbi, place, `${manifest.shown}: ${detail}`, hint));
    if (audit !== "none" && (audit === "all" || tool.effects.some((one) => one !== "read")) && !isAudited(tool, policies))
      refuse(place, `\`${tool.name}\` of agent \`${agent.name}\` is not audited: \`audit: ${tool.name}\``, "min_audit_level");
  }
  return [...findings, ...judgeSchedules(symbi, ground)];
}

/** By a rule that has no condition. */
const isAudited = (tool: Tool, policies: readonly LoadedPolicy[]): boolean =>
  policies.some(
    ({ shadow, json }) => shadow && json.conditions.length === 0 && coversAction(json, { id: `tool:${tool.name}`, groups: tool.effects }),
  );

function forbiddenIn(agent: Agent, name: string): string | null {
  const { skills, mcp, delegates } = agent.definition;
  const [, kind, rest = ""] = /^(skill|mcp|agent):(.+)$/.exec(name) ?? [];
  const listed =
    kind === "skill"
      ? skills?.map((one) => (typeof one === "string" ? one : one.name))
      : kind === "mcp"
        ? mcp
        : kind === "agent"
          ? delegates
          : [];
  if (listed?.some((one) => one === rest || (kind === "mcp" && one.startsWith(`${rest}__`)))) return `has \`${name}\`, which is forbidden`;
  const tool = agent.tools.find((one) => one.name === name || one.effects.some((effect) => effect === name));
  if (tool === undefined) return null;
  return tool.name === name ? `has \`${name}\`, which is forbidden` : `has \`${tool.name}\`, which does \`${name}\`: that is forbidden`;
}

/** Due times that are compared: a repeating pattern shows within them. */
const MOST_DUE = 400;

function judgeSchedules(symbi: SymbiFile, { constraints: { max_cron_frequency: least }, calendar, now }: AgentCheck): readonly Finding[] {
  if (least === undefined) return [];
  return symbi.schedules.flatMap(({ name, when, timezone, jitterMs, place }) => {
    if (when.kind === "at") return [];
    const time = readTime({ cron: when.expression, at: null, timezone }, calendar);
    let [last, closest]: [number | null, number] = [null, Number.POSITIVE_INFINITY];
    for (let i = 0; i < MOST_DUE; i += 1) {
      const due = calendar.next(time, millis(last ?? now));
      if (due === null) break;
      if (last !== null) closest = Math.min(closest, due - last);
      last = due;
    }
    const apart = closest - jitterMs;
    return apart >= least
      ? []
      : [
          {
            ...place,
            detail: `schedule \`${name}\` may fire again after ${Math.max(0, apart) / 1_000} s, and ${least / 1_000} s is the least`,
            hint: SETTING("max_cron_frequency"),
          },
        ];
  });
}
