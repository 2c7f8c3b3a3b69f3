/** The subject of a rule: tools, effects, or other acts of an agent. */
import { type Effect, suggestNearest } from "@orgate/core/vocab";
import type { Expression } from "../tree.ts";
import type { Report } from "../values.ts";
import type { CompileWorld, RuleWorld } from "./rule-world.ts";
import type { ToolShape } from "./scope.ts";

const EFFECTS: readonly Effect[] = ["read", "write", "execute", "network", "spend", "unsandboxed", "govern"];
const ACTS = ["model", "respond", "delegate", "recall", "remember"] as const;
type Act = (typeof ACTS)[number];
/** Cedar type of each act's object, where a rule names it. */
const ACT_TYPES: Readonly<Record<Act, string>> = { model: "Model", respond: "User", delegate: "Agent", recall: "Scope", remember: "Scope" };

export type RuleTarget = Readonly<
  | { kind: "tool"; tool: ToolShape; resource: ResourcePattern | null }
  | { kind: "effect"; effect: Effect; tools: readonly ToolShape[]; resource: ResourcePattern | null }
  | { kind: "act"; act: Act; resource: ResourcePattern | null }
  /** That it runs without a sandbox, which is decided beside the call itself. */
  | { kind: "leave"; tool: ToolShape }
>;
export type ResourcePattern = Readonly<{ type: string; pattern: string }>;
type Purpose = "allow" | "deny" | "audit" | "approval";

/** Null where something is wrong, which was reported. */
export function readTargets(subject: Expression, purpose: Purpose, around: RuleWorld): readonly RuleTarget[] | null {
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

function targetOf(e: Expression, purpose: Purpose, effects: readonly Effect[], around: RuleWorld): readonly RuleTarget[] | null {
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
  return toolsWithEffect({ effect, purpose, effects, resource, at: e.at }, around);
}

const knowsAllTools = ({ unknown }: CompileWorld): boolean => unknown === undefined || (!unknown.more && unknown.named.length === 0);

type EffectRule = Readonly<{
  effect: Effect;
  purpose: Purpose;
  /** All effects that the rule names. */
  effects: readonly Effect[];
  resource: ResourcePattern | null;
  at: number;
}>;

/** Y-11 an allowed effect covers tools with no effect beyond those of the rule; any other rule covers every tool that has the effect. */
function toolsWithEffect(
  { effect, purpose, effects, resource, at }: EffectRule,
  { world, report }: RuleWorld,
): readonly RuleTarget[] | null {
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
      ...covered.map((tool): RuleTarget => ({ kind: "tool", tool, resource })),
      ...leaves.map((tool): RuleTarget => ({ kind: "leave", tool })),
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
