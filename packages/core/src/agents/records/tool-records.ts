/** A tool's declaration of what its output says about things (`records`), read and checked (T-4). */
import {
  type FaultError,
  type JsonObject,
  parseJsonPath,
  RECORD_ATTRIBUTES,
  RECORD_FIELD_TYPES,
  type RecordField,
  type RecordFieldType,
  type RecordRule,
  SUBJECT_TYPE,
} from "../../vocab/index.ts";
import { findUnknownKey } from "../unknown-key.ts";
import { readThingName } from "./thing-name.ts";

/** A path, or a path with the type of what it leads to (text unless said). `of: "card"`: it says which cards; of the subject, those are theirs. */
export type RecordFieldDefinition = string | Readonly<{ path: string; type?: RecordFieldType; optional?: boolean; of?: string }>;

/**
 * `records: [{ type: "order", each: "orders[]", key: "id", fields: { status: "status", total: { path: "total", type: "number" } }, owner: "customer_id" }]`.
 * A later tool refers to it by a target: `targets: { order_id: { kind: "id", of: "order" } }`.
 */
export type RecordDefinition = Readonly<{
  type: string;
  /** A path to the items, `orders[]`; left out, the output is the one item. */
  each?: string;
  /** A path in the item; or, where the output does not repeat it, the argument by which the item was asked for. */
  key: string | Readonly<{ arg: string }>;
  fields?: Readonly<Record<string, RecordFieldDefinition>>;
  /** A path in the item to the id of whose it is. */
  owner?: string;
  /** `project`: every session of the project can read it; needs `maxAgeSeconds`. Default: this session. */
  set?: RecordRule["set"];
  maxAgeSeconds?: number;
  /** The one item is whom the session serves from now on: its key is the subject's id, its fields are the subject's attributes. */
  establishes?: "subject";
}>;

type Refuse = (detail: string) => FaultError;
const FIELDS = "type each key fields owner set maxAgeSeconds establishes".split(" ");
const FIELD_FIELDS = "path type optional of".split(" ");
const FIELD_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
const MOST_RULES = 20;
const MOST_FIELDS = 50;

export function readRecords(given: readonly RecordDefinition[] | undefined, schema: JsonObject, refuse: Refuse): readonly RecordRule[] {
  if (given === undefined) return Object.freeze([]);
  if (!Array.isArray(given) || given.length > MOST_RULES) throw refuse(`\`records\` must be a list of at most ${MOST_RULES}`);
  const rules = given.map((one: RecordDefinition) => ruleOf(one, schema, refuse));
  const twice = rules.find(({ type }, i) => rules.findIndex((other) => other.type === type) !== i);
  if (twice !== undefined) throw refuse(`\`records\` declares \`${twice.type}\` twice`);
  if (rules.filter(({ establishes }) => establishes !== null).length > 1)
    throw refuse("`records`: only one of them establishes the subject");
  return Object.freeze(rules);
}

function ruleOf(given: RecordDefinition, schema: JsonObject, refuse: Refuse): RecordRule {
  if (typeof given !== "object" || given === null) throw refuse("`records` holds objects: { type, key, fields }");
  const stray = findUnknownKey(given, FIELDS);
  if (stray !== null) throw refuse(`\`records\`: there is no field \`${stray}\`: the fields are ${FIELDS.join(", ")}`);
  const type = readThingName(given.type, "records.type", refuse);
  const at = (detail: string): FaultError => refuse(`\`records\` of \`${type}\`: ${detail}`);
  if (type === SUBJECT_TYPE) throw at("name the kind of thing that it is, such as `customer`, and say `establishes`");
  const { set = "session", maxAgeSeconds = null, establishes = null } = given;
  if (set !== "session" && set !== "project") throw at("`set` must be session or project");
  if (maxAgeSeconds !== null && !(Number.isSafeInteger(maxAgeSeconds) && maxAgeSeconds >= 1))
    throw at("`maxAgeSeconds` must be a whole number of at least 1");
  if (set === "project" && maxAgeSeconds === null) throw at("records of the whole project need `maxAgeSeconds`");
  if (establishes !== null && establishes !== "subject") throw at("`establishes` must be subject");
  const each = given.each === undefined ? "" : readPath(given.each, "each", "many", at);
  if (each !== "" && establishes !== null) throw at("a list establishes no subject: leave `each` out");
  return Object.freeze({
    type,
    each,
    key: keyOf(given.key, each, schema, at),
    fields: fieldsOf(given.fields ?? {}, at),
    owner: given.owner === undefined ? null : readPath(given.owner, "owner", "one", at),
    set,
    maxAgeSeconds,
    establishes,
  });
}

function keyOf(given: RecordDefinition["key"], each: string, schema: JsonObject, at: Refuse): RecordRule["key"] {
  if (typeof given !== "object" || given === null) return Object.freeze({ path: readPath(given, "key", "one", at) });
  const properties = schema["properties"];
  const names = typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
  if (typeof given.arg !== "string" || !names.includes(given.arg))
    throw at(`\`key\` names \`${String(given.arg)}\`, which is no argument of it`);
  if (each !== "") throw at("an argument is the key of one item: leave `each` out, or give a path");
  return Object.freeze({ arg: given.arg });
}

function fieldsOf(given: Readonly<Record<string, RecordFieldDefinition>>, at: Refuse): RecordRule["fields"] {
  const entries = Object.entries(given);
  if (entries.length > MOST_FIELDS) throw at(`at most ${MOST_FIELDS} fields`);
  return Object.freeze(
    Object.fromEntries(
      entries.map(([name, one]) => {
        if (!FIELD_NAME.test(name)) throw at(`\`${name}\` is no name of a field: use letters, digits and _, a letter first`);
        if (RECORD_ATTRIBUTES.some((own) => own === name))
          throw at(`\`${name}\` is an attribute of every record: give the field another name`);
        return [name, fieldOf(name, one, at)];
      }),
    ),
  );
}

function fieldOf(name: string, given: RecordFieldDefinition, at: Refuse): RecordField {
  const { path, type = "string", optional = false, of } = typeof given === "string" ? { path: given } : given;
  const stray = typeof given === "string" ? null : findUnknownKey(given, FIELD_FIELDS);
  if (stray !== null) throw at(`\`fields.${name}\` has no field \`${stray}\`: the fields are ${FIELD_FIELDS.join(", ")}`);
  if (!RECORD_FIELD_TYPES.includes(type)) throw at(`\`fields.${name}.type\` must be one of ${RECORD_FIELD_TYPES.join(", ")}`);
  if (typeof optional !== "boolean") throw at(`\`fields.${name}.optional\` must be true or false`);
  if (of !== undefined && type !== "string" && type !== "strings") throw at(`\`fields.${name}\`: only texts are keys of things (\`of\`)`);
  return Object.freeze({
    path: readPath(path, `fields.${name}`, type === "strings" ? "any" : "one", at),
    type,
    optional,
    ...(of === undefined ? {} : { of: readThingName(of, `fields.${name}.of`, at) }),
  });
}

function readPath(given: unknown, field: string, leads: "one" | "many" | "any", at: Refuse): string {
  const steps = typeof given === "string" ? parseJsonPath(given) : null;
  if (steps === null) throw at(`\`${field}\`: \`${String(given)}\` is no path: write \`customer.id\` or \`orders[].id\``);
  const isMany = steps.some(({ kind }) => kind === "each");
  if (leads === "one" && isMany) throw at(`\`${field}\` leads to one value: a path without \`[]\``);
  if (leads === "many" && !isMany) throw at(`\`${field}\` leads to a list: \`orders[]\``);
  return String(given);
}
