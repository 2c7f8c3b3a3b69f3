/** Records of the things that a call's arguments refer to: the session's own, or the project's, whichever is newer (G-38, G-39). */
import { plainValue, targetValues } from "../../gate/arguments/targets.ts";
import type {
  Action,
  Millis,
  RecordRule,
  StoredThing,
  Subject,
  Target,
  TargetFacts,
  ThingFacts,
  ThingsFacts,
  Tool,
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
  return found === null || hasAged(found, now) ? null : toThingFacts(found, now);
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
    owned() {
      const rules = recordRules(look.p, of);
      return values.length > 0 && values.every((one) => isOwned(look.s.subject, rules, one, find(one)));
    },
  };
}

/**
 * Whose a thing is, its record says, where a tool declares owners of its type: customers choose names and addresses, and numbers of orders and of
 * customers may be the same. A value of any other type is the subject's if it is the subject, or something that their account says of them: their
 * address, one of their payment methods.
 */
function isOwned(subject: Subject | null, rules: readonly RecordRule[], value: string, thing: ThingFacts | null): boolean {
  const plain = plainValue(value);
  if (subject === null || plain === null) return false;
  const isPerson = rules.some(({ establishes }) => establishes === "subject");
  if (isPerson && plain === subject.id) return true;
  if (thing !== null && thing.owner !== null) return thing.owner === subject.id;
  if (isPerson || rules.some(({ owner }) => owner !== null)) return false;
  return (
    plain === subject.id || Object.values(subject.attributes).some((own) => own === plain || (Array.isArray(own) && own.includes(plain)))
  );
}
