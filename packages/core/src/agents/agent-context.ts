/** The context plan of an agent, as its definition gives it. */
import { type ContextPlan, DEFAULT_KEEP, FaultError, isName, NAME_RULE, PLAIN_WINDOW } from "../vocab/index.ts";
import { isModelName } from "./model-name.ts";
import { findUnknownKey } from "./unknown-key.ts";

/** `keep` is how many of the newest units stay as they are; a unit is a call with its results, or a message. */
export type ContextDefinition = Readonly<
  | { kind: "window" }
  | { kind: "mask"; keep?: number }
  /** A plan of the runtime's `contextPlans`, by name. */
  | { kind: "own"; plan: string }
  | { kind: "summarise"; keep?: number /** Another model than the agent's own. */; model?: string }
>;

const HINT = 'use { kind: "window" }, { kind: "mask", keep }, { kind: "summarise", keep, model } or { kind: "own", plan }';

const CONTEXT_KEYS: Readonly<Record<ContextPlan["kind"], readonly string[]>> = {
  window: [],
  mask: ["keep"],
  summarise: ["keep", "model"],
  own: ["plan"],
};

export function readContextPlan(given: ContextDefinition, where: string): ContextPlan {
  const refuse = (detail: string): FaultError =>
    new FaultError({ kind: "agent-invalid", where, detail: `\`context\`: ${detail}`, hint: HINT });
  if (typeof given !== "object" || given === null) throw refuse("it is no plan");
  const { kind } = given;
  const known = Object.hasOwn(CONTEXT_KEYS, kind) ? CONTEXT_KEYS[kind] : undefined;
  if (known === undefined) throw refuse(`there is no kind ${JSON.stringify(kind) ?? "of it"}`);
  const stray = findUnknownKey(given, ["kind", ...known]);
  if (stray !== null) throw refuse(`${kind} has no \`${stray}\``);
  if (given.kind === "window") return PLAIN_WINDOW;
  if (given.kind === "own") {
    if (typeof given.plan !== "string" || !isName(given.plan)) throw refuse(`\`plan\` is no name of ${NAME_RULE}`);
    return Object.freeze({ kind: "own", plan: given.plan });
  }
  const keep = given.keep ?? DEFAULT_KEEP[given.kind];
  if (!Number.isSafeInteger(keep) || keep < 1) throw refuse("`keep` must be a whole number of at least 1");
  if (given.kind === "mask") return Object.freeze({ kind: "mask", keep });
  const named = given.model ?? null;
  if (named !== null && !isModelName(named)) throw refuse("`model` is not `provider/name`");
  return Object.freeze({ kind: "summarise", keep, model: named });
}
