/**
 * The values of arguments that are targets, and when two spellings of one are the same. Exact, by tokens; nothing is interpreted.
 * G-27 a value that holds invisible characters, or is not in its normal form, is equal to nothing: what is acted on is not what a person reads.
 */
import {
  type Digest,
  digestJson,
  findAtPath,
  followSchema,
  type Hash,
  type Json,
  type JsonObject,
  type Target,
  type Targets,
  type Tool,
  targetCounterKind,
} from "../../vocab/index.ts";

const MOST_VALUES = 200;
const MAX_VALUE = 2_000;

/** Everything in an argument, texts and numbers, at any depth. Null: more than the limit, so nothing speaks for it. */
export function collectValues(value: Json | undefined): readonly string[] | null {
  const found = new Set<string>();
  const walk = (at: Json | undefined): void => {
    if (found.size > MOST_VALUES || at === null || at === undefined) return;
    if (typeof at === "string") found.add(at);
    else if (typeof at === "number" || typeof at === "boolean") found.add(String(at));
    else for (const inner of Object.values(at)) walk(inner as Json);
  };
  walk(value);
  return found.size > MOST_VALUES || [...found].some((v) => v.length > MAX_VALUE) ? null : [...found];
}

/** Of a target. Null: more than the limit. */
export const targetValues = (args: JsonObject, arg: string, { path }: Pick<Target, "path">): readonly string[] | null =>
  path === undefined ? (Object.hasOwn(args, arg) ? collectValues(args[arg]) : []) : collectValues(findAtPath(args, path));

/** Facts about such an argument are always there; about any other only when it is given, and holds something. */
export const isRequired = (inputSchema: JsonObject, arg: string, path: Target["path"] = [{ kind: "field", name: arg }]): boolean =>
  followSchema(inputSchema, path)?.required === true;

/** Characters that are not seen: a text that differs from another in these looks the same. In a text, line breaks and tabs are seen, as blanks. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u;
const UNSEEN_IN_TEXT = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/** A text as it is looked into: compatibility forms made plain, what is not seen taken out. */
export const plainText = (text: string): string => text.normalize("NFKC").replace(UNSEEN_IN_TEXT, "");

/** A value as it is searched for; null when it is no plain text itself. Paths, accounts and ids differ by case. */
export function plainValue(value: string): string | null {
  const trimmed = value.trim();
  return trimmed === "" || UNSEEN.test(trimmed) || trimmed.normalize("NFKC") !== trimmed ? null : trimmed;
}
export const isCaseSensitive = ({ kind }: Pick<Target, "kind">): boolean => kind === "path" || kind === "account" || kind === "id";

/** The name under which a value is counted and known: nothing of the value itself is kept. */
export function valueDigest(kind: Target["kind"], value: string, hash: Hash): Digest {
  const plain = plainValue(value) ?? value;
  return digestJson(isCaseSensitive({ kind }) ? plain : plain.toLowerCase(), hash);
}

/** Of every target but numbers, which have totals, by argument; and by `kind:KIND`, each value once. */
export function targetDigests(tool: Pick<Tool, "targets"> | null, args: JsonObject | null, hash: Hash): Record<string, readonly Digest[]> {
  const out: Record<string, readonly Digest[]> = {};
  if (tool === null || args === null) return out;
  for (const arg in tool.targets) {
    const { kind } = tool.targets[arg] as Target;
    if (kind === "number") continue;
    const values = targetValues(args, arg, tool.targets[arg] as Target);
    out[arg] = [...new Set((values ?? [TOO_MUCH]).map((v) => valueDigest(kind, v, hash)))].sort();
  }
  for (const [arg, target] of Object.entries(tool.targets)) {
    const together = `kind:${targetCounterKind(target)}`;
    const all = [...new Set([...(out[together] ?? []), ...(out[arg] ?? [])])].sort();
    if (all.length > 0) out[together] = all;
  }
  return out;
}
/** As they are shown to a person. Null: more than can be. */
export function listTargets(tool: Pick<Tool, "targets"> | null, args: JsonObject | null): Targets | null {
  if (tool === null || args === null) return null;
  const shown: Record<string, readonly string[]> = {};
  for (const arg in tool.targets) {
    const values = targetValues(args, arg, tool.targets[arg] as Target);
    if (values === null) return null;
    shown[arg] = values.toSorted();
  }
  return shown;
}

const TOO_MUCH = "\u0000too much";
