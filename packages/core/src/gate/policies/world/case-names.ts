/**
 * G-14 names in a case that nothing has: a record of a type that no tool makes, a field that none declares, a fact about an argument that is not marked.
 * No policy could read it, so the case would say less than it seems to, and where it expects a denial it would pass whatever the policies say.
 */
import { type Json, suggestNearest } from "../../../vocab/index.ts";
import type { CedarType, RecordType } from "../../arguments/arg-types.ts";
import type { PolicyWorld } from "../vocabulary.ts";
import { toWorldTypes } from "./world-types.ts";

type Named = Readonly<Record<string, unknown>>;
type NamingCase = Readonly<{
  action: string;
  records?: Readonly<Record<string, Named | readonly Named[]>> | undefined;
  subject?: Named | undefined;
  facts?: Readonly<Record<string, Readonly<{ record?: Named | undefined }>>> | undefined;
}>;
type Cast = Pick<PolicyWorld, "tools" | "subject" | "unknown">;
type UnknownName = Readonly<{ detail: string; hint: string }>;

/** Null where every name is known, and where tools that could not be read may have it. */
export function findUnknownName(c: NamingCase, cast: Cast): UnknownName | null {
  if (c.records === undefined && c.subject === undefined && c.facts === undefined) return null;
  if (cast.unknown !== undefined && (cast.unknown.more || cast.unknown.named.length > 0)) return null;
  const { records, ofTargets, subject } = toWorldTypes(cast.tools, cast.subject);
  const tool = cast.tools.find(({ name }) => `tool:${name}` === c.action);
  const marked = tool === undefined ? null : [...new Set([...Object.keys(tool.targets), ...tool.outgoing])];
  const found: (UnknownName | null)[] = [
    ...Object.entries(c.records ?? {}).flatMap(([type, given]) => {
      const declared = records.get(type);
      if (declared === undefined)
        return [unknownName(`records.${type}`, `no tool makes records of \`${type}\``, type, [...records.keys()])];
      return [given].flat().map((one) => fieldIn(`records.${type}`, one, declared));
    }),
    ...(c.subject === undefined ? [] : [fieldIn("subject", c.subject, subject)]),
    ...Object.entries(c.facts ?? {}).map(([arg, { record }]) => {
      if (tool === undefined || marked === null) return null; // of a tool that is to come, nothing is known
      if (!marked.includes(arg))
        return unknownName(`facts.${arg}`, `\`${tool.name}\` marks no argument \`${arg}\` as a target or as outgoing`, arg, marked);
      const declared = ofTargets.get(tool.name)?.[arg];
      if (record === undefined) return null;
      return declared === undefined
        ? unknownName(`facts.${arg}.record`, `\`${arg}\` of \`${tool.name}\` stands for nothing that a tool makes records of`, arg, [])
        : fieldIn(`facts.${arg}.record`, record, declared);
    }),
  ];
  return found.find((one) => one !== null) ?? null;
}

function fieldIn(at: string, given: Named, { fields }: RecordType): UnknownName | null {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || (name === "ageSeconds" && value === 0)) continue; // what the decoder fills in
    const declared = fields.get(name);
    const why = at === "subject" ? `nothing gives the subject an attribute \`${name}\`` : `no such record has a field \`${name}\``;
    if (declared === undefined) return unknownName(`${at}.${name}`, why, name, [...fields.keys()]);
    const wanted = wantedBy(declared.type, value as Json);
    if (wanted !== null) return { detail: `\`${at}.${name}\` is ${JSON.stringify(value)}`, hint: `it is declared as ${wanted}` };
  }
  return null;
}

/** What a value of the type looks like, if this is none. */
function wantedBy({ kind }: CedarType, value: Json): string | null {
  switch (kind) {
    case "string":
      return typeof value === "string" ? null : "a text";
    case "long":
      return Number.isSafeInteger(value) ? null : "a whole number; a time is its seconds since 1970";
    case "decimal":
      return typeof value === "number" ? null : "a number";
    case "boolean":
      return typeof value === "boolean" ? null : "true or false";
    case "set":
      return Array.isArray(value) ? null : "a list of texts";
    case "record":
    case "opaque":
      return null;
  }
}

const unknownName = (at: string, why: string, name: string, known: readonly string[]): UnknownName => ({
  detail: `\`${at}\`: ${why}`,
  hint: known.length === 0 ? "`orgate tools suggest` proposes what a tool should declare" : suggestNearest(name, known),
});
