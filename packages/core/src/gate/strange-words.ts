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

/** What the project's clocks can show. */
const between =
  (least: number, most: number) =>
  (value: unknown): boolean =>
    typeof value !== "number" || (value >= least && value <= most);
const CLOCK: Readonly<Record<string, Readonly<{ shows(value: unknown): boolean; hint: string }>>> = {
  "now.weekday": { shows: between(1, 7), hint: "1 is Monday, 7 is Sunday" },
  "now.hour": { shows: between(0, 23), hint: "an hour is 0 to 23" },
  "now.minute": { shows: between(0, 59), hint: "a minute is 0 to 59" },
  "now.date": { shows: (value) => typeof value !== "string" || /^\d{4}-\d{2}-\d{2}$/.test(value), hint: "a day is written 2026-11-18" },
};

/** `existing` tells which agents and groups there are, by the type of an entity. */
export function findUnknownNames(
  parsed: Parsed,
  cast: PolicyWorld,
  existing: (type: string) => Readonly<{ called: string; names: readonly string[] }> | undefined,
): readonly PolicyProblem[] {
  const found: PolicyProblem[] = [];
  const tell = (word: string, detail: string, hint: string, offset = findWord(parsed.piece.text, word)): void =>
    void found.push(toProblem(parsed, offset, detail, hint));

  const tellAt = (path: readonly string[], value: unknown, hint: string): void => {
    const at = `context.${path.join(".")}`;
    tell("", `\`${at}\` is never \`${String(value)}\``, hint, Math.max(0, parsed.piece.text.indexOf(at)));
  };
  function compared(chain: Chain | null, others: unknown): void {
    const clock = chain?.variable === "context" ? CLOCK[chain.path.join(".")] : undefined;
    for (const value of clock === undefined ? [] : literalsIn(others))
      if (clock !== undefined && !clock.shows(value)) tellAt(chain?.path ?? [], value, clock.hint);
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

/** Values that are written out, alone or in a set. */
function literalsIn(expr: unknown): readonly unknown[] {
  const { Value: value, Set: set } = (typeof expr === "object" && expr !== null ? expr : {}) as { Value?: unknown; Set?: unknown };
  if (value !== undefined) return [value];
  return Array.isArray(set) ? set.flatMap(literalsIn) : [];
}
const textsIn = (expr: unknown): readonly string[] => literalsIn(expr).filter((one) => typeof one === "string");

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
