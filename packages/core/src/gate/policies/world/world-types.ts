/**
 * Cedar types of what is known of the world beside the arguments: records of things, whom the session serves, the time.
 * A field that some tool leaves out, or may leave out, is optional: `has` says whether it is there.
 */
import { type Json, RECORD_ATTRIBUTES, type RecordFieldType, type RecordRule, subjectRules, type Tool } from "../../../vocab/index.ts";
import { type CedarType, type RecordType, toSchemaType, type Untyped } from "../../arguments/arg-types.ts";
import { toListSchema } from "../../arguments/lists.ts";

export type WorldTypes = Readonly<{
  /** By the type of thing. */
  records: ReadonlyMap<string, RecordType>;
  /** By tool and argument: the record of what the argument stands for. */
  ofTargets: ReadonlyMap<string, Things>;
  subject: RecordType;
}>;
/** `isSomebodys`: things of this type have owners, are the subject, or are the subject's. */
export type Things = Readonly<Record<string, RecordType & Readonly<{ isSomebodys: boolean }>>>;
type WorldTool = Pick<Tool, "name" | "records"> & Readonly<{ targets: Readonly<Record<string, Readonly<{ of: string | null }>>> }>;
type Field = Readonly<{ type: CedarType; required: boolean }>;

const TEXT: CedarType = { kind: "string" };
const LONG: CedarType = { kind: "long" };
const TYPES: Readonly<Record<RecordFieldType, CedarType>> = {
  string: TEXT,
  integer: LONG,
  number: { kind: "decimal" },
  boolean: { kind: "boolean" },
  strings: { kind: "set", of: TEXT },
  time: LONG,
};

/** `attributes`: those of the subject that the project's settings declare, for callers that establish it. */
export function toWorldTypes(
  tools: readonly WorldTool[],
  attributes: Readonly<Record<string, RecordFieldType>> = {},
): WorldTypes & Readonly<{ untyped: readonly Readonly<Untyped & { tool: string }>[] }> {
  const untyped: (Untyped & { tool: string })[] = [];
  const declared = new Map<string, { readonly tool: string; readonly rule: RecordRule }[]>();
  for (const tool of tools)
    for (const rule of tool.records) declared.set(rule.type, [...(declared.get(rule.type) ?? []), { tool: tool.name, rule }]);
  const all = [...declared.values()].flat();
  const told = all.flatMap(({ tool, rule }) =>
    rule.establishes === null ? [] : Object.entries(rule.fields).map(([name, f]) => ({ tool, name, type: f.type })),
  );
  const given = Object.entries(attributes).map(([name, type]) => ({ tool: "the project", name, type }));
  const subject = fieldsOf([...given, ...told], "subject", untyped);
  const records = [...declared].map(([type, rules]): [string, RecordType] => {
    const fields = fieldsOf(
      rules.flatMap(({ tool, rule }) => Object.entries(rule.fields).map(([name, f]) => ({ tool, name, type: f.type }))),
      `records.${type}`,
      untyped,
    );
    const isAlways = (name: string): boolean => rules.every(({ rule }) => rule.fields[name]?.optional === false);
    const own: readonly [string, Field][] = [...fields].map(([name, kind]) => [name, { type: kind, required: isAlways(name) }]);
    const owner: readonly [string, Field][] = rules.some(({ rule }) => rule.owner !== null)
      ? [["owner", { type: TEXT, required: rules.every(({ rule }) => rule.owner !== null) }]]
      : [];
    return [type, recordOf([["id", { type: TEXT, required: true }], ["ageSeconds", { type: LONG, required: true }], ...owner, ...own])];
  });
  const optional = [...subject].map(([name, type]): [string, Field] => [name, { type, required: false }]);
  const types = new Map(records);
  return {
    records: types,
    ofTargets: new Map(
      tools.map(({ name, targets }) => [
        name,
        targetTypes(
          targets,
          types,
          all.map(({ rule }) => rule),
        ),
      ]),
    ),
    subject: recordOf([["id", { type: TEXT, required: true }], ...optional]),
    untyped,
  };
}

function targetTypes(targets: WorldTool["targets"], records: WorldTypes["records"], rules: readonly RecordRule[]): Things {
  const ofSubject = subjectRules(rules);
  const isSomebodys = (type: string): boolean =>
    rules.some((rule) => rule.type === type && rule.owner !== null) ||
    ofSubject.some((rule) => rule.type === type || Object.values(rule.fields).some(({ of }) => of === type));
  return Object.fromEntries(
    Object.entries(targets).flatMap(([arg, { of }]) => {
      const found = of === null ? undefined : records.get(of);
      return of === null || found === undefined ? [] : [[arg, { ...found, isSomebodys: isSomebodys(of) }]];
    }),
  );
}

const recordOf = (fields: readonly (readonly [string, Field])[]): RecordType => ({ kind: "record", fields: new Map(fields) });

/** Two that disagree about the type of a field leave it without one: a policy that reads it does not load. */
function fieldsOf(
  given: readonly Readonly<{ tool: string; name: string; type: RecordFieldType }>[],
  at: string,
  untyped: (Untyped & { tool: string })[],
): ReadonlyMap<string, CedarType> {
  const found = new Map<string, CedarType>();
  for (const name of new Set(given.map((one) => one.name))) {
    const same = given.filter((one) => one.name === name);
    const [first] = same;
    if (first === undefined || RECORD_ATTRIBUTES.some((own) => own === name)) continue;
    const other = same.find((one) => one.type !== first.type);
    if (other === undefined) found.set(name, TYPES[first.type]);
    else
      untyped.push({
        tool: other.tool,
        path: `${at}.${name}`,
        why: `${first.tool} says that it is ${first.type}, and ${other.tool} that it is ${other.type}`,
      });
  }
  return found;
}

type Shape = { readonly [key: string]: Json };
const record = (attributes: Shape): Shape => ({ type: "Record", attributes });
const REQUIRED = { type: "Long", required: true };
export const TIME_TYPE: Shape = record({
  epoch: REQUIRED,
  date: { type: "String", required: true },
  weekday: REQUIRED,
  hour: REQUIRED,
  minute: REQUIRED,
});
export const APPROVAL_TYPE: Shape = record({ ageSeconds: REQUIRED });

/**
 * Records that the arguments of a tool refer to, by the kind of thing that its targets stand for: the one thing's, there once it was read; and of all the
 * things that they name, each field as a list, there once every one of them was read.
 */
export const recordTypes = (tool: Pick<Tool, "targets">, world: WorldTypes): Shape => ({
  records: { ...byThing(tool, world, toSchemaType), required: true },
  allRecords: { ...byThing(tool, world, columnsType), required: true },
});

const columnsType = ({ fields }: RecordType): Shape =>
  record(
    Object.fromEntries([...fields].map(([name, { type, required }]) => [name, { ...toListSchema(toColumnType(type), true), required }])),
  );

/** Texts of several records are one set of texts. */
export const toColumnType = (type: CedarType): CedarType => (type.kind === "set" ? type.of : type);

function byThing({ targets }: Pick<Tool, "targets">, { records }: WorldTypes, shape: (one: RecordType) => Shape): Shape {
  const types = [...new Set(Object.values(targets).flatMap(({ of }) => of ?? []))].sort();
  return record(
    Object.fromEntries(
      types.flatMap((type) => {
        const found = records.get(type);
        return found === undefined ? [] : [[type, { ...shape(found), required: false }]];
      }),
    ),
  );
}
