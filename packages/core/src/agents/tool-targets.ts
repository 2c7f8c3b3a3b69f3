/** A tool's declarations about its arguments and output: targets, text that leaves, trusted values, names of things (T-4). */
import {
  type FaultError,
  type JsonObject,
  type LearnRule,
  type NameRule,
  TARGET_KINDS,
  type Target,
  type TargetKind,
  type Tool,
} from "../vocab/index.ts";
import { readThingName } from "./records/thing-name.ts";
import { type RecordDefinition, readRecords } from "./records/tool-records.ts";

export type TargetDefinition = Readonly<{ kind: TargetKind; known?: readonly string[]; of?: string }>;
export type TargetsDefinition = Readonly<{
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
  const targets = Object.entries(given.targets ?? {}).map(([arg, one]) => [known(arg, "targets"), targetOf(arg, one, refuse)] as const);
  const outgoing = (given.outgoing ?? []).map((arg) => known(arg, "outgoing"));
  const twice = outgoing.find((arg) => targets.some(([name]) => name === arg));
  if (twice !== undefined) throw refuse(`\`${twice}\` is a target or text that leaves, not both`);
  const learns = (given.learns ?? []).map(({ set, from }) => {
    if (!targets.some(([arg]) => arg === from)) throw refuse(`\`learns\` takes from \`${String(from)}\`, which is no target of it`);
    return Object.freeze({ set: readThingName(set, "learns", refuse), from });
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

function targetOf(arg: string, given: TargetKind | TargetDefinition, refuse: Refuse): Target {
  const { kind, known, of } = typeof given === "string" ? { kind: given, known: undefined, of: undefined } : given;
  if (!TARGET_KINDS.includes(kind)) throw refuse(`\`targets.${arg}\` must be one of ${TARGET_KINDS.join(", ")}`);
  if (of !== undefined && !STANDS_FOR.includes(kind))
    throw refuse(`\`targets.${arg}\`: only an id, an account or a recipient stands for a thing that others name or record`);
  const sets = (known ?? USUAL[kind]).map((set) => readThingName(set, `targets.${arg}`, refuse));
  return Object.freeze({ kind, known: Object.freeze(sets), of: of === undefined ? null : readThingName(of, `targets.${arg}`, refuse) });
}

function namesOf({ of, from }: NameRule, refuse: Refuse): NameRule {
  if (typeof from !== "function") throw refuse("`names.from` must be a function of the output");
  return Object.freeze({ of: readThingName(of, "names.of", refuse), from });
}
