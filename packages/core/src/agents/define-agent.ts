/**
 * An agent is a definition: data and tools, frozen, with a digest that a session records.
 *
 * A1 An invalid definition is refused where it stands, with what to do, before anything runs.
 * A2 The digest covers everything a session depends on: name, instructions, model and its options, limits, groups, the facts of every tool.
 */
import {
  type ContextPlan,
  checkLimits,
  type Digest,
  digestOf,
  type Fault,
  FaultError,
  frozenCopy,
  type Hash,
  type JsonObject,
  KEEP,
  type Limits,
  PLAIN_WINDOW,
  type Prices,
  TOKENIZERS,
  type Tool,
  tokenizerOf,
  toolFacts,
} from "../vocab/index.ts";
import { inOrder } from "./define-tool.ts";
import { isName, NAME_RULE, strayKey } from "./name.ts";

export type AgentDefinition = Readonly<{
  name: string;
  instructions: string;
  /** `provider/name`. */
  model: string;
  /** What the model's adapter is told beside the request: the rules of an offline model, for one. */
  modelOptions?: JsonObject;
  tools?: readonly Tool[];
  limits?: Partial<Limits>;
  /** Of the model, in currency per million tokens. Without them what a run costs is unknown, and money cannot be limited. */
  prices?: Prices;
  /** What counts tokens: `estimate`, `o200k_base` or `cl100k_base`; by the model's name unless said. */
  tokenizer?: string;
  /** How a conversation is kept within `contextTokens`; the oldest go first unless said. */
  context?: ContextDefinition;
  /** `AgentGroup`s it is in, for policies to be written about; the project may put it into more. */
  groups?: readonly string[];
}>;

/** `keep` is how many of the newest units stay as they are; a unit is a call with its results, or a message. */
export type ContextDefinition = Readonly<
  | { kind: "window" }
  | { kind: "mask"; keep?: number }
  | { kind: "summarise"; keep?: number /** Another model than the agent's own. */; model?: string }
>;

/** Known by a symbol every copy of this module shares: an agent may come from the compiled package or from source. */
const AGENT = Symbol.for("orgate.agent");

export type Agent = Readonly<{
  name: string;
  instructions: string;
  model: string;
  modelOptions: JsonObject;
  /** By name. */
  tools: readonly Tool[];
  limits: Limits;
  prices: Prices | null;
  tokenizer: string;
  context: ContextPlan;
  groups: readonly string[];
  digest(hash: Hash): Digest;
}>;

const FIELDS = ["name", "instructions", "model", "modelOptions", "tools", "limits", "prices", "tokenizer", "context", "groups"];
const MODEL = /^[a-z0-9][a-z0-9-]*\/[\x21-\x7e]{1,128}$/;

export function defineAgent(given: AgentDefinition): Agent {
  const named: unknown = given.name;
  if (!isName(named)) throw invalid("an agent", `\`name\` is ${JSON.stringify(named) ?? "missing"}`, `a name is ${NAME_RULE}`);
  const where = `agent \`${named}\``;
  const stray = strayKey(given, FIELDS);
  if (stray !== null) throw invalid(where, `there is no field \`${stray}\``, `the fields are ${FIELDS.join(", ")}`);
  const { instructions, model } = given;
  if (typeof instructions !== "string" || instructions.trim() === "")
    throw invalid(where, "`instructions` is empty", "say what the agent is for");
  if (typeof model !== "string" || !MODEL.test(model))
    throw invalid(where, `\`model\` is ${JSON.stringify(model) ?? "missing"}`, "name it `provider/name`; `offline/echo` needs no key");
  const limits = checkLimits(given.limits ?? {}, where);
  if ("kind" in limits) throw new FaultError(limits);
  const tools = toolsOf(given.tools ?? [], where);
  const modelOptions = optionsOf(given.modelOptions ?? {}, where);

  const groups = groupsOf(given.groups ?? [], where);
  const prices = pricesOf(given.prices ?? null, where);
  const unpriced = unpricedLimit(limits, prices, where);
  if (unpriced !== null) throw new FaultError(unpriced);
  const tokenizer = given.tokenizer ?? tokenizerOf(model);
  if (!TOKENIZERS.includes(tokenizer))
    throw invalid(where, `\`tokenizer\` is ${JSON.stringify(tokenizer)}`, `known are ${TOKENIZERS.join(", ")}`);
  const context = contextOf(given.context ?? { kind: "window" }, where);
  if (limits.cents !== null && context.kind === "summarise" && context.model !== null)
    throw invalid(
      where,
      "`context` names another model, whose price is not known, and limit `cents` is given",
      "leave out `model`, or `cents`",
    );

  const facts = { name: named, instructions, model, modelOptions, limits, prices, tokenizer, context, groups, tools: tools.map(toolFacts) };
  const agent = {
    name: named,
    instructions,
    model,
    modelOptions,
    tools,
    limits: Object.freeze(limits),
    prices,
    tokenizer,
    context,
    groups,
  };
  return Object.freeze({ ...agent, digest: (hash: Hash) => digestOf(facts, hash), [AGENT]: true });
}

export const isAgent = (value: unknown): value is Agent => typeof value === "object" && value !== null && AGENT in value;

function toolsOf(given: readonly Tool[], where: string): readonly Tool[] {
  if (!Array.isArray(given)) throw invalid(where, "`tools` is not a list", "list what `defineTool` returned");
  const seen = new Set<string>();
  for (const [i, tool] of given.entries()) {
    const made: unknown = tool;
    if (typeof made !== "object" || made === null || !("check" in made) || !("resource" in made))
      throw invalid(where, `\`tools[${i}]\` is no tool`, "make it with `defineTool`");
    if (seen.has(tool.name)) throw invalid(where, `two tools are named \`${tool.name}\``, "rename one of them");
    seen.add(tool.name);
  }
  return Object.freeze(inOrder(given));
}

/** In order, each once: the same groups are the same digest. */
function groupsOf(given: readonly string[], where: string): readonly string[] {
  const wrong = Array.isArray(given) ? given.find((group) => !isName(group)) : given;
  if (wrong !== undefined) throw invalid(where, `\`groups\` holds ${JSON.stringify(wrong)}`, `list names of ${NAME_RULE}`);
  return Object.freeze([...new Set(given)].sort());
}

function contextOf(given: ContextDefinition, where: string): ContextPlan {
  const refuse = (detail: string): FaultError =>
    invalid(where, `\`context\`: ${detail}`, 'use { kind: "window" }, { kind: "mask", keep } or { kind: "summarise", keep, model }');
  if (typeof given !== "object" || given === null) throw refuse("it is no plan");
  const { kind } = given;
  if (kind !== "window" && kind !== "mask" && kind !== "summarise") throw refuse(`there is no kind ${JSON.stringify(kind) ?? "of it"}`);
  const stray = strayKey(given, ["kind", ...(kind === "window" ? [] : ["keep"]), ...(kind === "summarise" ? ["model"] : [])]);
  if (stray !== null) throw refuse(`${kind} has no \`${stray}\``);
  if (given.kind === "window") return PLAIN_WINDOW;
  const keep = given.keep ?? KEEP[given.kind];
  if (!Number.isSafeInteger(keep) || keep < 1) throw refuse("`keep` must be a whole number of at least 1");
  if (given.kind === "mask") return Object.freeze({ kind: "mask", keep });
  const named = given.model ?? null;
  if (named !== null && (typeof named !== "string" || !MODEL.test(named))) throw refuse("`model` is not `provider/name`");
  return Object.freeze({ kind: "summarise", keep, model: named });
}

function pricesOf(given: Prices | null, where: string): Prices | null {
  if (given === null) return null;
  const stray = strayKey(given, ["input", "output"]);
  const isPrice = (value: unknown) => typeof value === "number" && Number.isFinite(value) && value >= 0;
  if (typeof given !== "object" || stray !== null || !isPrice(given.input) || !isPrice(given.output))
    throw invalid(
      where,
      "`prices` is not a price of input and of output",
      "give both, in currency per million tokens: { input: 3, output: 15 }",
    );
  return Object.freeze({ input: given.input, output: given.output });
}

/** What cannot be counted cannot be limited. Also asked when a run brings limits of its own. */
export const unpricedLimit = ({ cents }: Limits, prices: Prices | null, where: string): Fault | null =>
  cents === null || prices !== null
    ? null
    : {
        kind: "agent-invalid",
        where,
        detail: "limit `cents` is given, and the price of the model is not known",
        hint: "give `prices`, in currency per million tokens: { input: 3, output: 15 }",
      };

function optionsOf(given: JsonObject, where: string): JsonObject {
  try {
    return frozenCopy(given);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    throw invalid(where, `\`modelOptions\` is not plain JSON: ${detail}`, "use text, numbers, true, false, null, lists and objects");
  }
}

const invalid = (where: string, detail: string, hint: string): FaultError => new FaultError({ kind: "agent-invalid", where, detail, hint });
