/** Facts that later decisions take from a completed call: trusted values, and names of things (G-30, G-32). */
import { isCaseSensitive, plainValue, targetValues } from "../../gate/arguments/targets.ts";
import {
  type JournalEvent,
  type Json,
  type NamedThing,
  type NameRule,
  type Outcome,
  type Target,
  type Tool,
  UNTRUSTED,
} from "../../vocab/index.ts";
import type { Call } from "../state.ts";

const MOST_NAMES = 500;
const MAX_NAME = 200;

/** In the commit of its ending. */
export function learnedEvents(tool: Tool, call: Call, outcome: Outcome): readonly JournalEvent[] {
  if (outcome.kind !== "done" || (tool.learns.length === 0 && tool.names === null)) return [];
  const { id } = call.proposed;
  const action = "decided" in call.run ? call.run.decided.action : null;
  const args = action?.kind === "call" ? (action.args ?? {}) : {};
  const learnt = tool.learns.flatMap(({ set, from }): readonly JournalEvent[] => {
    const target: Pick<Target, "kind" | "path"> = tool.targets[from] ?? { kind: "id" };
    const cased = isCaseSensitive(target);
    const plain = (targetValues(args, from, target) ?? []).flatMap((value) => plainValue(value) ?? []);
    const values = [...new Set(plain.map((value) => (cased ? value : value.toLowerCase())))];
    return values.length === 0 ? [] : [{ kind: "known.learned", call: id, set, values }];
  });
  const names = tool.names === null ? [] : namesIn(tool.names, outcome.output);
  if (names.length === 0) return learnt;
  const trusted = tool.labels.includes(UNTRUSTED) ? {} : ({ trusted: true } as const);
  return [...learnt, { kind: "names.told", call: id, of: tool.names?.of ?? "", names, ...trusted }];
}

/** The tool's own code: what it throws, or says that is no list of names, tells nothing. */
function namesIn({ from }: NameRule, output: Json): readonly NamedThing[] {
  try {
    const told: unknown = from(output);
    if (!Array.isArray(told)) return [];
    return told.slice(0, MOST_NAMES).flatMap((one: Readonly<{ id?: unknown; name?: unknown }> | null) => {
      const [id, name] = [one?.id, one?.name];
      if ((typeof id !== "string" && typeof id !== "number") || typeof name !== "string") return [];
      return [{ id: String(id).slice(0, MAX_NAME).toWellFormed(), name: name.slice(0, MAX_NAME).toWellFormed() }];
    });
  } catch {
    return [];
  }
}
