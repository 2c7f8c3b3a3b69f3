/**
 * Facts about the arguments of a call that aim at something, worked out when a policy reads them and journalled with the decision.
 * G-27, G-28, G-29, G-30, G-31, G-32. Only what the user wrote in this turn is a request; what tools brought and what the agent said to itself never are.
 */
import { findAddresses, findLinks, isInRequest, isNameInRequest, MAX_LINKS, toHostName } from "../../gate/arguments/match.ts";
import { createSeenIndex, type SeenValues } from "../../gate/arguments/seen.ts";
import { isCaseSensitive, isRequired, plainText, plainValue, targetValues, valueDigest } from "../../gate/arguments/targets.ts";
import type { Message } from "../../reason/port.ts";
import {
  type Action,
  type ArgumentFacts,
  counterForValue,
  type Digest,
  type Facts,
  isKnowledgeTool,
  isPlainKind,
  type Json,
  type JsonObject,
  type Millis,
  NO_ARGUMENT_FACTS,
  type OutgoingFacts,
  type RecentCounts,
  type Target,
  type TargetFacts,
  targetCounterKind,
} from "../../vocab/index.ts";
import type { Ports } from "../ports.ts";
import { callsIn, nameKey, type State, type ToldName, type Turn, valueKey } from "../state.ts";
import { type CallMoment, numberFacts } from "./number-facts.ts";
import { targetThing } from "./record-facts.ts";
import { createSaidWords } from "./said-words.ts";

type Needs = CallMoment["p"];
type At = CallMoment;

/** What else a decision knows: the time it is made at, and how counters are read for it. */
export type DecisionMoment = Readonly<{ lately: Facts["lately"]; now: Millis }>;
export type ReadTargetFacts = (s: State, t: Turn | null, action: Action, at: DecisionMoment) => ArgumentFacts;

type Index = { readonly tools: Digest; at: number; known: number; readonly seen: SeenValues };
/** An index of the values seen in a conversation: it lives as long as the state, over several drives. */
const INDEXES = new WeakMap<readonly Message[], Index>();

/** One per drive: what was seen is indexed as it comes, and only for agents with a tool that aims at something. */
export function createTargetFacts(p: Needs): ReadTargetFacts {
  function seenIn(s: State): SeenValues {
    const kept = INDEXES.get(s.messages);
    const index: Index = kept?.tools === p.tools.digest ? kept : { tools: p.tools.digest, at: 0, known: 0, seen: createSeenIndex() }; // other tools have other labels
    if (index !== kept) INDEXES.set(s.messages, index);
    for (; index.at < s.messages.length; index.at += 1) {
      const message = s.messages[index.at];
      if (message?.role === "tool") index.seen.add(message.text, labelsOfTool(p, s, message.tool));
      else if (message?.role === "note") index.seen.add(message.text, [...s.labels]); // what came late, or from elsewhere
    }
    for (; index.known < s.recalledTexts.length; index.known += 1) {
      const item = s.recalledTexts[index.known];
      if (item !== undefined) index.seen.add(item.text, item.labels); // what was recalled was seen under what it carries
    }
    return index.seen;
  }

  return (s, t, action, { lately, now }) => {
    const tool = action.kind === "call" ? p.tools.find(action.tool) : null;
    if (action.kind !== "call" || tool === null || action.args === null) return NO_ARGUMENT_FACTS;
    const { args } = action;
    const at: At = { p, s, t, tool, action, args, now, lately, said: createSaidWords(s, t, now), seen: () => seenIn(s) };
    const all = Object.entries(tool.targets);
    const of = <T>(
      is: (kind: Target["kind"]) => boolean,
      facts: (at: At, arg: string, target: Target) => T | null,
    ): Readonly<Record<string, T>> =>
      Object.fromEntries(all.filter(([, { kind }]) => is(kind)).flatMap(([arg, target]) => given(facts(at, arg, target), arg)));
    const outgoing = tool.outgoing.flatMap((arg) =>
      given(args[arg] == null && !isRequired(tool.inputSchema, arg) ? null : outgoingFacts(at, args[arg] ?? null), arg),
    );
    return {
      targets: of((kind) => !isPlainKind(kind), targetFacts),
      texts: of((kind) => kind === "text", targetFacts),
      numbers: of((kind) => kind === "number", numberFacts),
      outgoing: Object.fromEntries(outgoing),
    };
  };
}
/** A lookup tool has no labels: the session has those of all it brought. */
const labelsOfTool = (p: Needs, s: State, tool: string): readonly string[] =>
  isKnowledgeTool(tool) ? [...s.labels] : (p.tools.find(tool)?.labels ?? [...s.labels]);

const given = <T>(facts: T | null, arg: string): readonly (readonly [string, T])[] => (facts === null ? [] : [[arg, facts]]);

/** Null for an argument that need not be given, and was not or holds nothing. */
function targetFacts(at: At, arg: string, target: Target): TargetFacts | null {
  const found = targetValues(at.args, arg, target);
  if (found?.length === 0 && !isRequired(at.tool.inputSchema, arg, target.path)) return null;
  const values = found ?? [];
  const names = values.map((v) => nameOf(at.s, target, v));
  const isNamed = (told: ToldName | null): boolean => told !== null && isNameInRequest(at.said.now(), told.name);
  const each = values.map((v, i) => {
    const [inRequest, known] = [isInRequest(at.said.now(), target.kind, v), isKnown(at.p, target, v)];
    return { inRequest, known, vouched: inRequest || known || (names[i]?.isTrusted === true && isNamed(names[i])) };
  });
  const all = (holds: (one: (typeof each)[number]) => boolean): boolean => each.length > 0 && each.every(holds);
  const only = names.length === 1 ? (names[0] ?? null) : null;
  const digests = found === null ? null : values.map((v) => valueDigest(target.kind, v, at.p.hash));
  const together = `kind:${targetCounterKind(target)}`;
  const lately = (of: string) => () => latelyOf(at, of, digests);
  return {
    inRequest: all((one) => one.inRequest),
    known: all((one) => one.known),
    vouched: all((one) => one.vouched),
    seenUnder:
      found === null
        ? [...at.s.labels].sort()
        : unionOf([...values.flatMap(partsOf), ...names.flatMap((one) => one?.name ?? [])].map((v) => at.seen().under(v))),
    calls: callsOf(at, arg, digests),
    lately: lately(arg),
    touched: callsOf(at, together, digests),
    touchedLately: lately(together),
    name: only?.name ?? null,
    nameInRequest: isNamed(only),
    said: () => (found === null ? null : at.said.each(values, (request, value) => isInRequest(request, target.kind, value))),
    ...targetThing(at, target, values),
  };
}

/** The host behind a value counts by itself: a stranger's host with another path, their address behind another name. */
function partsOf(value: string): readonly string[] {
  const text = plainText(value).toLowerCase();
  return [value, ...findLinks(text).flatMap((link) => toHostName(link) ?? []), ...findAddresses(text)];
}

const unionOf = (lists: readonly (readonly string[])[]): readonly string[] => [...new Set(lists.flat())].sort();
/** More values than the limit: none of them counts as below any bound. */
const TOO_MANY = 1_000_000_000;
function latelyOf({ lately, tool }: At, of: string, digests: readonly string[] | null): RecentCounts {
  if (digests === null) return { hour: TOO_MANY, day: TOO_MANY };
  return most(digests.map((value) => lately({ name: counterForValue(tool.name, of), value })));
}
const most = (all: readonly Readonly<{ hour: number; day: number }>[]) => ({
  hour: Math.max(0, ...all.map((one) => one.hour)),
  day: Math.max(0, ...all.map((one) => one.day)),
});

/** Started so far, plus reservations of the same session for calls that have not: this one is not counted. */
function callsOf({ p, s, t, tool, action }: At, of: string, digests: readonly string[] | null): TargetFacts["calls"] {
  if (digests === null) return { turn: TOO_MANY, session: TOO_MANY };
  const counts = digests.map((value) => {
    const key = valueKey(tool.name, of, value);
    const sought = { name: counterForValue(tool.name, of), agent: s.agent.name, value };
    const aside = p.counts.asideIn({ session: s.session, action: action.call }, sought);
    const own = callsIn(t).some((c) => c.proposed.id === action.call && c.starts > 0) === true ? 1 : 0;
    return { turn: (t?.values.get(key) ?? 0) + aside - own, session: (s.values.get(key) ?? 0) + aside - own };
  });
  return { turn: Math.max(0, ...counts.map((c) => c.turn)), session: Math.max(0, ...counts.map((c) => c.session)) };
}

/** The name behind an id, where a tool of this session has given it. */
const nameOf = (s: State, { of: kind }: Target, value: string): ToldName | null =>
  kind === null ? null : (s.names.get(nameKey(kind, value)) ?? null);

// ── what is known ──

export function isKnown(
  p: Readonly<{ journal: Pick<Ports["journal"], "isKnown"> }>,
  target: Pick<Target, "kind" | "known">,
  value: string,
): boolean {
  const plain = plainValue(value);
  if (plain === null) return false;
  const cased = isCaseSensitive(target);
  return target.known.some((set) => p.journal.isKnown(set, set === "domains" ? domainsOf(plain) : [plain], cased && set !== "domains"));
}

/** The host that a value leads to, and what would stand for all hosts below another. */
function domainsOf(value: string): readonly string[] {
  const folded = value.toLowerCase();
  // one address, and nothing beside it: of `a@evil.test,b@known.test` or `evil.test?b@known.test` nobody may take the last for the whole
  // a mark that routes (`name%other.example@own`, `other.example!name@own`), a quoted name or a comment: the mail goes on elsewhere
  const address = /^(?:mailto:)?[^\s@,;:<>()"/\\?#%!]+@([^\s@,;:<>()"/\\?#%!]+)$/.exec(folded)?.[1];
  const isOdd = /^[^/\\]*[\s,;<>]/.test(folded) || (folded.includes("@") && !/^[a-z][a-z0-9+.-]*:[\\/]{2}/.test(folded));
  const host = address ?? (isOdd ? folded : (toHostName(folded) ?? folded));
  const parts = host.split(".");
  return [host, ...parts.slice(1).map((_, i) => `*.${parts.slice(i + 1).join(".")}`)];
}

// ── text that leaves ──

const PEOPLE: Pick<Target, "kind" | "known"> = { kind: "recipient", known: ["people", "domains"] };
const PLACES: Pick<Target, "kind" | "known"> = { kind: "host", known: ["domains"] };

function outgoingFacts(at: At, value: Json): OutgoingFacts {
  const texts = textsIn(value);
  const text = plainText(texts.join("\n")).toLowerCase();
  const [links, addresses] = [findLinks(text), findAddresses(text)];
  const isAll = links.length + addresses.length <= MAX_LINKS;
  const isVouched = (one: string, as: typeof PEOPLE): boolean => isInRequest(at.said.now(), "recipient", one) || isKnown(at.p, as, one);
  return {
    links: links.slice(0, MAX_LINKS),
    addresses: addresses.slice(0, MAX_LINKS),
    vouched: isAll && links.every((one) => isVouched(one, PLACES)) && addresses.every((one) => isVouched(one, PEOPLE)),
    inRequest: texts.every((one) => one.trim() === "" || isInRequest(at.said.now(), "text", one)),
    seenUnder: isAll
      ? unionOf([...links, ...links.flatMap((one) => toHostName(one) ?? []), ...addresses].map((one) => at.seen().under(one)))
      : [...at.s.labels].sort(),
  };
}

const textsIn = (value: Json): readonly string[] =>
  typeof value === "string"
    ? [value]
    : typeof value === "object" && value !== null
      ? Object.values(value as JsonObject).flatMap(textsIn)
      : [];
