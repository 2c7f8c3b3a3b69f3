/** Cedar texts of a rule: one policy for all targets whose condition reads alike. */

import type { Expression } from "../tree.ts";
import type { Report } from "../values.ts";
import { cedarPattern, cedarText } from "./cedar-text.ts";
import type { ConditionScope } from "./condition-values.ts";
import { type Condition, compileCondition } from "./conditions.ts";
import type { ResourcePattern, RuleTarget } from "./rule-targets.ts";
import type { RuleWorld } from "./rule-world.ts";
import { type ScopeWorld, sharedScope, type ToolShape, toolScope } from "./scope.ts";

type About = Readonly<{ about: string; scope: ConditionScope }>;
/** An action that a rule covers, and what its condition can speak of there. */
type Cover = Readonly<{ action: string; about: About; resource: ResourcePattern | null; name: string; isEffectGroup?: boolean }>;
type Group = Readonly<{ scope: string; tag: string | null; when: string | null }>;

export const conditionOptions = (about: string, scope: ConditionScope, { draft, world, report }: RuleWorld) => ({
  about,
  scope,
  params: draft.params,
  userGroups: world.userGroups === null ? null : Object.keys(world.userGroups),
  report: (...[at, detail, hint, rests]: Parameters<Report>) => {
    if (rests === undefined || world.unknown?.more !== true) report(at, detail, hint);
  },
});

/** One policy for all targets whose condition reads alike; one each where it does not. */
export function groupTargets(
  targets: readonly RuleTarget[],
  condition: Expression | null,
  around: RuleWorld,
  write: (condition: Condition | null, about: About) => string | null,
): readonly Group[] {
  const texts = new Map<string, { actions: string[]; effects: string[]; when: string | null; name: string }>();
  const add = ({ action, about, resource, name, isEffectGroup = false }: Cover): void => {
    if (needsTool(condition) && around.world.unknown?.named.includes(name) === true) return;
    const made = condition === null ? null : compileCondition(condition, conditionOptions(about.about, about.scope, around));
    if (condition !== null && made === null) return;
    const said = write(made, about);
    const parts = [...(resource === null ? [] : [resourceText(resource)]), ...(said === null ? [] : [said])];
    const when = said === "" ? "" : parts.length === 0 ? null : parts.join(" && ");
    const key = `${isEffectGroup ? action : ""}\n${when ?? ""}`;
    const found = texts.get(key) ?? { actions: [], effects: [], when, name };
    (isEffectGroup ? found.effects : found.actions).push(action);
    texts.set(key, found);
  };
  for (const target of targets) for (const one of coversOf(target, condition, around.world)) add(one);
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

function coversOf(target: RuleTarget, condition: Expression | null, world: ScopeWorld): readonly Cover[] {
  const ofTool = (tool: ToolShape, resource: ResourcePattern | null): Cover => ({
    action: `tool:${tool.name}`,
    about: aboutTool(tool, world),
    resource,
    name: tool.name,
  });
  const scope = sharedScope(world);
  switch (target.kind) {
    case "tool":
      return [ofTool(target.tool, target.resource)];
    case "leave": {
      const about = { about: `running \`${target.tool.name}\` without a sandbox`, scope };
      return [{ action: "unsandboxed", about, resource: { type: "Tool", pattern: target.tool.name }, name: "unsandboxed" }];
    }
    case "act":
      return [{ action: target.act, about: { about: `\`${target.act}\``, scope }, resource: target.resource, name: target.act }];
    case "effect": {
      const { effect, resource } = target;
      if (target.tools.length > 0 && needsTool(condition)) return target.tools.map((tool) => ofTool(tool, resource));
      return [{ action: effect, about: { about: `\`${effect}\``, scope }, resource, name: effect, isEffectGroup: true }];
    }
  }
}

const aboutTool = (tool: ToolShape, world: ScopeWorld): About => ({
  about: `a call of \`${tool.name}\``,
  scope: toolScope(tool, world),
});

/** Whether it speaks of what only a call of a tool has. */
function needsTool(e: Expression | null): boolean {
  const words = ["args", "facts", "targets", "values", "lists", "records", "allRecords", "amount", "outgoing", "tool"];
  const inside = (value: unknown): boolean => {
    if (typeof value !== "object" || value === null) return false;
    if ("kind" in value && value.kind === "ident" && "name" in value && words.some((w) => w === value.name)) return true;
    return Object.values(value).some(inside);
  };
  return inside(e);
}

export function actionsText(actions: readonly string[]): string {
  const all = [...new Set(actions)].map((id) => `Action::${cedarText(id)}`);
  return all.length === 1 ? `action == ${all[0] ?? ""}` : `action in [${all.join(", ")}]`;
}

const resourceText = ({ type, pattern }: ResourcePattern): string =>
  pattern.includes("*")
    ? `resource is ${type} && resource.id like "${cedarPattern(pattern)}"`
    : `resource == ${type}::${cedarText(pattern)}`;

export const policyText = (effect: "permit" | "forbid", agent: string, scope: string, when: string | null): string =>
  `${effect}(principal == Agent::${cedarText(agent)}, ${scope}, resource)${when === null ? "" : ` when { ${when} }`};`;
