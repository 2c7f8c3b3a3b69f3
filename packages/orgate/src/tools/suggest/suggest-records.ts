/** What policies may learn from a tool's output: records of the things in it, by the words of its name and, where it has one, by its output's schema. */
import type { JsonObject } from "@orgate/core";
import { listSchemaArguments, type SchemaArgument, toSingular, toWords } from "./schema-arguments.ts";

export type SuggestedField = string | Readonly<{ path: string; type?: "number" | "boolean" | "time" | "integer"; optional?: true }>;
export type SuggestedRecord = Readonly<{
  type: string;
  key: string | Readonly<{ arg: string }>;
  each?: string;
  fields: Readonly<Record<string, SuggestedField>>;
  owner?: string;
  establishes?: "subject";
}>;
export type RecordTool = Readonly<{ name: string; describeOutput?: () => JsonObject | null }>;
/** `isLikely`: the words say so, and do not only allow it. */
export type FoundRecord = Readonly<{ record: SuggestedRecord; isLikely: boolean; because: string }>;

const TRUSTED = "Only a trusted output makes records";

/** A tool that reads one thing by its id, or lists several. `argOf` finds the argument that stands for things of a type. */
export function findRecord(tool: RecordTool, argOf: (type: string) => string | undefined): FoundRecord | null {
  const [verb = "", ...rest] = toWords(tool.name);
  const what = rest.at(-1);
  const served = findServed(tool);
  if (served !== null) return served;
  if (what === undefined || rest.includes("by")) return null;
  const type = toSingular(what);
  const arg = argOf(type);
  const isList = verb === "list" || verb === "search" || type !== what;
  if (arg === undefined && !isList) return null;
  const { each, fields, owner, key } = fieldsOf(tool, type, isList);
  const record: SuggestedRecord = {
    type,
    ...(isList ? { key, each: each ?? `${what}[]` } : { key: { arg: arg ?? "id" } }),
    fields,
    ...(owner === null ? {} : { owner }),
  };
  const isRead = Object.keys(fields).length > 0;
  const where = isList && each === null ? ", and where in the output they stand" : "";
  const because = isRead
    ? `it reads \`${what}\`, and its output has these; keep the fields that rules depend on. ${TRUSTED}`
    : `it reads \`${what}\`; name the fields that rules depend on (status, owner, amounts)${where}. ${TRUSTED}`;
  return { record, isLikely: false, because };
}

const SERVED = new Set("customer client member patient subscriber passenger guest account".split(" "));

/** A tool that says who somebody is: whom the session serves from then on. What merely reads an account says whose it is, not that they are here. */
function findServed(tool: RecordTool): FoundRecord | null {
  const [verb = "", ...rest] = toWords(tool.name);
  const isProof = ["authenticate", "identify", "verify"].includes(verb);
  const served = rest.map(toSingular).find((word) => SERVED.has(word));
  if (!isProof && (verb !== "find" || served === undefined)) return null;
  const type = served ?? "customer";
  const { fields, key } = fieldsOf(tool, type, false);
  const because = `it finds out who somebody is; keep \`establishes\` only if whoever this returns is who the session may serve (\`context.subject\`), and name the fields that rules depend on, with \`of\` where a field holds ids of what is theirs. ${TRUSTED}`;
  return { record: { type, key, fields, establishes: "subject" }, isLikely: isProof, because };
}

type FoundFields = Readonly<{ key: string; each: string | null; fields: SuggestedRecord["fields"]; owner: string | null }>;
const OWNER = new Set("owner customer client user member patient account holder".split(" "));
const MONEY = new Set("amount price cents euros dollars total fee cost sum budget balance".split(" "));
const MOST_FIELDS = 12;

/** Of one thing of the output: what is a state, an amount, a time or a flag. Prose is nothing that a rule compares. */
function fieldsOf({ describeOutput }: RecordTool, type: string, isList: boolean): FoundFields {
  const found = listSchemaArguments(describeOutput?.() ?? {});
  const list = isList ? found.find(({ path }) => path.includes("[]"))?.path : undefined;
  const each = list === undefined ? null : list.slice(0, list.indexOf("[]") + 2);
  const within = each === null ? "" : `${each}.`;
  const own = found.flatMap((one) => (one.path.startsWith(within) ? [{ ...one, path: one.path.slice(within.length) }] : []));
  const plain = own.filter(({ path }) => /^\w+(?:\.\w+)?$/.test(path));
  const isId = ({ words }: SchemaArgument): boolean => words.at(-1) === "id" || words.at(-1) === "number";
  const key = plain.find(({ path, words }) => path === "id" || (isIdOf(words, type) && !path.includes(".")))?.path ?? "id";
  const owner = plain.find(({ path, words, type: kind }) => path !== key && kind === "text" && isOwner(path, words))?.path ?? null;
  const fields = plain.flatMap((one) => {
    const field = one.path === key || one.path === owner || isId(one) ? null : fieldOf(one);
    return field === null ? [] : [[one.path.replaceAll(".", "_"), field] as const];
  });
  return { key, each, fields: Object.fromEntries(fields.slice(0, MOST_FIELDS)), owner };
}

const isIdOf = (words: readonly string[], type: string): boolean => words.length === 2 && words[0] === type && words[1] === "id";
/** `customer_id`, `customer.id`, `owner`. */
function isOwner(path: string, words: readonly string[]): boolean {
  const [outer = "", inner] = path.split(".");
  if (inner !== undefined) return inner === "id" && toWords(outer).some((word) => OWNER.has(toSingular(word)));
  return OWNER.has(toSingular(words[0] ?? "")) && (words.length === 1 || words.at(-1) === "id");
}

function fieldOf({ path, words, type, isChoice, format, isRequired }: SchemaArgument): SuggestedField | null {
  const optional = isRequired ? {} : ({ optional: true } as const);
  const short = (kind?: "number" | "boolean" | "time" | "integer"): SuggestedField =>
    kind === undefined && isRequired ? path : { path, ...(kind === undefined ? {} : { type: kind }), ...optional };
  if (type === "flag") return short("boolean");
  if (type === "number") return words.some((word) => MONEY.has(word)) ? short("number") : null;
  if (format === "date" || format === "date-time") return short("time");
  return type === "text" && (isChoice || words.some((word) => STATES.has(word))) ? short() : null;
}
const STATES = new Set("status state stage kind type category tier level class plan country currency".split(" "));
