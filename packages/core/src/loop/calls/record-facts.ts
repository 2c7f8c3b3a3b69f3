/** Records of the things that a call's arguments refer to: the session's own, or the project's, whichever is newer (G-38, G-39). */
import { plainValue, targetValues } from "../../gate/arguments/targets.ts";
import {
  type Action,
  type Millis,
  type RecordRule,
  type StoredThing,
  SUBJECT_TYPE,
  type Subject,
  subjectRules,
  type Target,
  type TargetFacts,
  type ThingFacts,
  type ThingsFacts,
  type Tool,
} from "../../vocab/index.ts";
import type { Ports } from "../ports.ts";
import { nameKey, type State } from "../state.ts";

type Needs = Readonly<{ journal: Pick<Ports["journal"], "recorded"> }>;
type Look = Readonly<{ p: Needs; s: Pick<State, "things" | "doubted" | "subject">; now: Millis }>;
type Call = Extract<Action, { kind: "call" }>;

/** By type. Of a type of which the arguments name one thing that nobody has read there is none: what is known of the others speaks for them only. */
export function findRecords(look: Look, tool: Tool | null, action: Action): Readonly<Record<string, ThingsFacts>> {
  const args = action.kind === "call" ? (action as Call).args : null;
  if (tool === null || args === null) return {};
  const keys = new Map<string, Set<string>>();
  for (const [arg, target] of Object.entries(tool.targets)) {
    const { of } = target;
    if (of === null) continue;
    const named = targetValues(args, arg, target)?.map((value) => plainValue(value) ?? "") ?? [""]; // more than can be looked at
    keys.set(of, new Set([...(keys.get(of) ?? []), ...named]));
  }
  return Object.fromEntries(
    [...keys].flatMap(([type, all]) => {
      const each = [...all].flatMap((key) => findThing(look, type, key) ?? []);
      return each.length === 0 || each.length < all.size ? [] : [[type, { each }]];
    }),
  );
}

/** Null for what nobody has read, and for what was read too long ago. */
function findThing({ p, s, now }: Look, type: string, value: string): ThingFacts | null {
  const key = plainValue(value);
  if (key === null) return null;
  const [own, theirs] = [s.things.get(nameKey(type, key)) ?? null, p.journal.recorded(type, key)];
  const shared = theirs !== null && theirs.at <= (s.doubted.get(type) ?? -1) ? null : theirs;
  const found = own === null || (shared !== null && shared.at > own.at) ? shared : own;
  return found === null || "hasEnded" in found || hasAged(found, now) ? null : toThingFacts(found, now);
}

const hasAged = ({ at, maxAgeSeconds }: StoredThing, now: Millis): boolean => maxAgeSeconds !== null && now - at > maxAgeSeconds * 1000;

const toThingFacts = ({ key, owner, fields, at }: StoredThing, now: Millis): ThingFacts => ({
  id: key,
  owner,
  ageSeconds: ageOf(at, now),
  fields,
});

/** In whole seconds; of what lies ahead, because a clock was set back, none. */
export const ageOf = (at: Millis, now: Millis): number => Math.max(0, Math.floor((now - at) / 1000));

type TargetLook = Look & Readonly<{ p: Pick<Ports, "tools"> }>;

/** What the agent's tools declare of things of one type. */
export const recordRules = (p: Pick<Ports, "tools">, type: string | null): readonly RecordRule[] =>
  p.tools.offered.flatMap(({ name }) => p.tools.find(name)?.records ?? []).filter((rule) => rule.type === type);

/** Of one argument. */
export function targetThing(
  look: TargetLook,
  { of }: Target,
  values: readonly string[],
): Pick<TargetFacts, "record" | "recorded" | "owned"> {
  const find = (one: string): ThingFacts | null => (of === null ? null : findThing(look, of, one));
  return {
    record: () => (values.length === 1 ? find(values[0] ?? "") : null),
    recorded: () => values.length > 0 && values.every((one) => find(one) !== null),
    owned: () => of !== null && values.length > 0 && isOwned(look, of, values),
  };
}

/**
 * Whose a thing is, its record says, where a tool declares owners of its type: customers choose names and addresses, and numbers of orders and of
 * customers may be the same. A value of any other type is the subject's only if it was declared what it has to do with them: it refers to the subject, or
 * a field of theirs says which things of this type they have.
 */
function isOwned(look: TargetLook, of: string, values: readonly string[]): boolean {
  const { subject } = look.s;
  if (subject === null) return false;
  const rules = recordRules(look.p, of);
  const isPerson = of === SUBJECT_TYPE || rules.some(({ establishes }) => establishes === "subject");
  const hasOwners = isPerson || rules.some(({ owner }) => owner !== null);
  const theirs = hasOwners ? [] : thingsOfSubject(look, subject, of);
  return values.every((value) => {
    if (isPerson && plainValue(value) === subject.id) return true;
    const owner = findThing(look, of, value)?.owner ?? null;
    return owner === null ? theirs.includes(plainValue(value) ?? "") : owner === subject.id;
  });
}

/**
 * What is on record of them now, or was said of them when the session began to serve them, in fields of which every tool says that they hold such keys.
 * A record that could have such a field and has none says that there are none, whatever was said before.
 */
function thingsOfSubject(look: TargetLook, subject: Subject, of: string): readonly string[] {
  const rules = subjectRules(look.p.tools.offered.flatMap(({ name }) => look.p.tools.find(name)?.records ?? []));
  const known = [...new Set(rules.map(({ type }) => type))].flatMap((type) => {
    const fields = findThing(look, type, subject.id)?.fields;
    return fields === undefined ? [] : [{ fields, rules: rules.filter((rule) => rule.type === type) }];
  });
  const names = [...new Set(rules.flatMap(({ fields }) => Object.keys(fields)))];
  return names
    .filter((name) => rules.every(({ fields }) => fields[name] === undefined || fields[name].of === of))
    .flatMap((name) => {
      const found = known.find((one) => Object.hasOwn(one.fields, name) || one.rules.every(({ fields }) => fields[name] !== undefined));
      const said = found?.fields ?? subject.attributes;
      return Object.hasOwn(said, name) ? [said[name] ?? ""].flat() : [];
    })
    .filter((value) => typeof value === "string" && value !== "")
    .map(String);
}
