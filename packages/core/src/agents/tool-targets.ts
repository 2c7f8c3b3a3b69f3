/** A tool's declarations about its arguments and output: targets, values, text that leaves, trusted values, names of things (T-4). */
import {
  type FaultError,
  followSchema,
  type JsonObject,
  type LearnRule,
  type NameRule,
  type PathStep,
  parseJsonPath,
  TARGET_KINDS,
  type Target,
  type TargetKind,
  type Tool,
  toTargetName,
} from "../vocab/index.ts";
import { readThingName } from "./records/thing-name.ts";
import { type RecordDefinition, readRecords } from "./records/tool-records.ts";

/** `per`, for a number: the target for which totals are counted apart (`{ kind: "number", per: "to" }`). */
export type TargetDefinition = Readonly<{ kind: TargetKind; known?: readonly string[]; of?: string; per?: string }>;
export type TargetsDefinition = Readonly<{
  /** By argument, or by the path of values inside one: `passengers[].email`. Policies name the latter `passengers_email`. */
  targets?: Readonly<Record<string, TargetKind | TargetDefinition>>;
  outgoing?: readonly string[];
  learns?: readonly LearnRule[];
  names?: NameRule;
  records?: readonly RecordDefinition[];
  markup?: Tool["markup"];
  edits?: boolean;
}>;
type Aims = Pick<Tool, "targets" | "outgoing" | "learns" | "names" | "records" | "markup" | "edits">;
type Refuse = (detail: string) => FaultError;

/** Where a value of each kind is looked for unless the tool names other sets. */
const USUAL: Readonly<Record<TargetKind, readonly string[]>> = {
  recipient: ["people", "domains"],
  host: ["domains"],
  path: ["paths"],
  account: ["payees"],
  id: [],
  text: [],
  number: [],
};
/** Kinds whose values can be keys of things. */
const STANDS_FOR: readonly TargetKind[] = ["id", "account", "recipient"];

export function readTargets(given: TargetsDefinition, schema: JsonObject, refuse: Refuse): Aims {
  const properties = schema["properties"];
  const names = typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
  const known = (arg: unknown, field: string): string => {
    if (typeof arg !== "string" || !names.includes(arg)) throw refuse(`\`${field}\` names \`${String(arg)}\`, which is no argument of it`);
    if (arg.startsWith("__"))
      throw refuse(`\`${field}\` names \`${arg}\`: names that begin with two underscores mean something else to Cedar`);
    return arg;
  };
  const placed = Object.entries(given.targets ?? {}).map(([at, one]) => {
    const path = names.includes(at) ? null : pathIn(at, schema);
    const name = path === null ? known(at, "targets") : toTargetName(path);
    if (name.startsWith("__")) known(name, "targets");
    return { at, name, target: targetOf(at, one, path, refuse) };
  });
  const nameOf = (at: unknown): string | undefined => placed.find((one) => one.at === at || one.name === at)?.name;
  const targets = placed.map(({ at, name, target }) => {
    if (placed.some((one) => one.name === name && one.at !== at) || (target.path !== undefined && names.includes(name)))
      throw refuse(`\`targets.${at}\` is called \`${name}\` in policies, and so is another argument of it`);
    return [
      name,
      target.per === undefined ? target : Object.freeze({ ...target, per: perOf(at, nameOf(target.per), placed, refuse) }),
    ] as const;
  });
  const outgoing = (given.outgoing ?? []).map((arg) => known(arg, "outgoing"));
  const learns = (given.learns ?? []).map(({ set, from }) => {
    const name = nameOf(from);
    if (name === undefined) throw refuse(`\`learns\` takes from \`${String(from)}\`, which is no target of it`);
    return Object.freeze({ set: readThingName(set, "learns", refuse), from: name });
  });
  const markup = given.markup ?? "clean";
  if (markup !== "clean" && markup !== "keep") throw refuse("`markup` must be clean or keep");
  const edits = given.edits ?? false;
  if (typeof edits !== "boolean") throw refuse("`edits` must be true or false");
  return {
    targets: Object.freeze(Object.fromEntries(targets)),
    outgoing: Object.freeze([...new Set(outgoing)].sort()),
    learns: Object.freeze(learns),
    names: given.names === undefined ? null : namesOf(given.names, refuse),
    records: readRecords(given.records, schema, refuse),
    markup,
    edits,
  };
}

/** Null: it is no path, or the schema does not lead there. */
function pathIn(at: string, schema: JsonObject): readonly PathStep[] | null {
  const path = parseJsonPath(at);
  return path === null || path.length < 2 || followSchema(schema, path) === null ? null : path;
}

function targetOf(at: string, given: TargetKind | TargetDefinition, path: readonly PathStep[] | null, refuse: Refuse): Target {
  const { kind, known, of, per } = typeof given === "string" ? { kind: given, known: undefined, of: undefined, per: undefined } : given;
  if (!TARGET_KINDS.includes(kind)) throw refuse(`\`targets.${at}\` must be one of ${TARGET_KINDS.join(", ")}`);
  if (of !== undefined && !STANDS_FOR.includes(kind))
    throw refuse(`\`targets.${at}\`: only an id, an account or a recipient stands for a thing that others name or record`);
  if (per !== undefined && kind !== "number") throw refuse(`\`targets.${at}\`: only a number has totals that \`per\` could count apart`);
  if (kind === "number" && known !== undefined) throw refuse(`\`targets.${at}\`: a number is in no set of trusted values`);
  const sets = (known ?? USUAL[kind]).map((set) => readThingName(set, `targets.${at}`, refuse));
  return Object.freeze({
    kind,
    known: Object.freeze(sets),
    of: of === undefined ? null : readThingName(of, `targets.${at}`, refuse),
    ...(path === null ? {} : { path: Object.freeze(path) }),
    ...(per === undefined ? {} : { per }),
  });
}

type Placed = Readonly<{ name: string; target: Target }>;
function perOf(at: string, per: string | undefined, placed: readonly Placed[], refuse: Refuse): string {
  const found = placed.find(({ name }) => name === per);
  if (found === undefined || found.target.kind === "number")
    throw refuse(`\`targets.${at}\`: \`per\` must name another target of it that is no number`);
  return found.name;
}

function namesOf({ of, from }: NameRule, refuse: Refuse): NameRule {
  if (typeof from !== "function") throw refuse("`names.from` must be a function of the output");
  return Object.freeze({ of: readThingName(of, "names.of", refuse), from });
}
