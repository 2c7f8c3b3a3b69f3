/**
 * Words in a policy's conditions that nothing can ever be: Cedar knows that a label is a text, and not which texts there are, so
 * `context.labels.contains("untrsted")` loads and never holds (G-18).
 */
import { type JsonObject, SURFACES, suggestNearest, UNTRUSTED } from "../vocab/index.ts";
import { findWord } from "./policies/policy-text.ts";
import { isUnder } from "./policies/reach.ts";
import { type Chain, toChain } from "./policies/slice.ts";
import type { PolicyWorld } from "./policies/vocabulary.ts";
import { type Parsed, type PolicyProblem, toProblem } from "./problem.ts";

/** `isClosed`: there are no others. Anybody may invent labels, so only one that is nearly a known one is reported. */
type Words = Readonly<{ known: readonly string[]; isClosed: boolean }>;

const CLOSED: Readonly<Record<string, readonly string[]>> = {
  "origin.surface": SURFACES,
  "tool.riskTier": ["low", "medium", "high"],
  "tool.sandbox": ["process", "none", "own"],
};

/** `existing` tells which agents and groups there are, by the type of an entity. */
export function findUnknownNames(
  parsed: Parsed,
  cast: PolicyWorld,
  existing: (type: string) => Readonly<{ called: string; names: readonly string[] }> | undefined,
): readonly PolicyProblem[] {
  const found: PolicyProblem[] = [];
  const tell = (word: string, detail: string, hint: string): void =>
    void found.push(toProblem(parsed, findWord(parsed.piece.text, word), detail, hint));

  function compared(chain: Chain | null, others: unknown): void {
    const words = chain === null || chain.variable !== "context" ? null : wordsAt(chain.path, parsed, cast);
    if (words === null) return;
    for (const word of textsIn(others)) {
      if (words.known.includes(word)) continue;
      const hint = suggestNearest(word, words.known);
      if (words.isClosed || hint.startsWith("did you mean"))
        tell(word, `\`context.${chain?.path.join(".")}\` ${words.isClosed ? "is never" : "knows no"} \`${word}\``, hint);
    }
  }

  function visit(expr: unknown): void {
    if (typeof expr !== "object" || expr === null) return;
    if (Array.isArray(expr)) {
      for (const one of expr) visit(one);
      return;
    }
    for (const [op, body] of Object.entries(expr)) {
      if (op === "__entity") {
        const { type = "", id = "" } = body as { type?: string; id?: string };
        const there = existing(type);
        if (there !== undefined && !there.names.includes(id))
          tell(id, `there is no ${there.called} \`${id}\``, suggestMember(id, there.names));
      } else if (COMPARING.has(op)) {
        const { left, right } = body as { left?: unknown; right?: unknown };
        compared(toChain(left), right);
        compared(toChain(right), left);
      }
      visit(body);
    }
  }
  for (const { body } of parsed.policy.json.conditions) visit(body);
  return found;
}

const COMPARING: ReadonlySet<string> = new Set(["==", "!=", "contains", "containsAny", "containsAll"]);

export const suggestMember = (id: string, names: readonly string[]): string =>
  names.length === 0 ? "there is none yet: name it under [groups] in orgate.toml" : suggestNearest(id, names);

/** Texts that are written out, alone or in a set. */
function textsIn(expr: unknown): readonly string[] {
  const { Value: value, Set: set } = (typeof expr === "object" && expr !== null ? expr : {}) as { Value?: unknown; Set?: unknown };
  if (typeof value === "string") return [value];
  return Array.isArray(set) ? set.flatMap(textsIn) : [];
}

function wordsAt(path: readonly string[], { policy }: Parsed, cast: PolicyWorld): Words | null {
  const closed = CLOSED[path.join(".")];
  if (closed !== undefined) return { known: closed, isClosed: true };
  if (path.join(".") === "labels" || path.at(-1) === "seenUnder")
    return { known: [...new Set([UNTRUSTED, ...USUAL, ...cast.tools.flatMap(({ labels }) => labels)])], isClosed: false };
  const [root, name, ...deeper] = path;
  if (root !== "args" || name === undefined || deeper.length > 0 || cast.unknown !== undefined) return null;
  const lists = cast.tools.filter((tool) => isUnder(policy.json, tool)).flatMap((tool) => enumOf(tool.inputSchema, name));
  return lists.length === 0 || lists.includes(null) ? null : { known: [...new Set(lists.flatMap((one) => one ?? []))], isClosed: true };
}

/** As the guide names them. */
const USUAL = ["secret", "pii", "private"];

/** One list where the tool takes the argument and says all it may be; null where it may be anything. */
function enumOf(schema: JsonObject, name: string): readonly (readonly string[] | null)[] {
  const property = (schema["properties"] as JsonObject | undefined)?.[name];
  if (property === undefined) return [];
  const { enum: all } = (typeof property === "object" && property !== null ? property : {}) as { enum?: unknown };
  return [Array.isArray(all) && all.every((one) => typeof one === "string") ? all : null];
}
