/** Facts as a decision has journalled them: what others had counted by then, and what was said of arguments. To explain a decision, and to make it again. */
import {
  type ArgumentFacts,
  type Facts,
  type Json,
  type JsonObject,
  MICROS_PER_CENT,
  type NumberFacts,
  type OutgoingFacts,
  type RecentCounts,
  type Said,
  type TargetFacts,
} from "../../vocab/index.ts";
import { AMOUNT_PLACES, toExactNumber } from "../arguments/amounts.ts";
import { restoreThing, restoreWorld } from "./world/project-world.ts";

export function restoreFacts(read: JsonObject): Pick<Facts, "lately" | "aims" | "records" | "now" | "approval"> {
  return { lately: ({ name, value }) => latelyIn(read, name, value), aims: () => aimsIn(read), ...restoreWorld(read) };
}

const at = (from: Json | undefined, ...path: readonly string[]): Json | undefined =>
  path.reduce<Json | undefined>(
    (o, name) => (typeof o === "object" && o !== null && !Array.isArray(o) && Object.hasOwn(o, name) ? (o as JsonObject)[name] : undefined),
    from,
  );
const number = (value: Json | undefined): number => (typeof value === "number" ? value : 0);

function latelyIn(read: JsonObject, name: string, value: string): RecentCounts {
  if (value !== "") return { hour: 0, day: 0 }; // per value it stands with the argument
  const [counts, unit] =
    name === "tokens"
      ? [at(read, "spent", "tokens"), 1]
      : name === "micros"
        ? [at(read, "spent", "cents"), MICROS_PER_CENT]
        : [at(read, "calls", name.replace(/^calls:/, "")), 1];
  return { hour: number(at(counts, "hour")) * unit, day: number(at(counts, "day")) * unit };
}

/** Only what was read is there; what was not is as of a stranger. */
function aimsIn(read: JsonObject): ArgumentFacts {
  const fields = at(read, "facts");
  const all = typeof fields === "object" && fields !== null && !Array.isArray(fields) ? Object.entries(fields as JsonObject) : [];
  const hasAny = (names: readonly string[]) => (one: Json) => names.some((name) => at(one, name) !== undefined);
  const isOutgoing = hasAny(["links", "addresses"]);
  const isNumber = hasAny(["total", "totalPerTarget", "value"]);
  const isTarget = hasAny(["known", "said", "calls", "touched", "name", "nameInRequest", "record", "recorded", "owned"]);
  return {
    targets: Object.fromEntries(all.flatMap(([arg, one]) => (isOutgoing(one) && !isTarget(one) ? [] : [[arg, targetIn(one)]]))),
    texts: {},
    numbers: Object.fromEntries(all.flatMap(([arg, one]) => (isNumber(one) ? [[arg, numberIn(one)]] : []))),
    outgoing: Object.fromEntries(all.flatMap(([arg, one]) => (isOutgoing(one) ? [[arg, outgoingIn(one)]] : []))),
    sums: {
      targets: {
        ...aboutIn(at(read, "targets")),
        named: at(read, "targets", "named") === true,
        count: number(at(read, "targets", "count")),
      },
      values: {
        count: number(at(read, "values", "count")),
        inRequest: at(read, "values", "inRequest") === true,
        said: saidIn(at(read, "values")),
      },
      outgoing: outgoingIn(at(read, "outgoing")),
      amount: paidIn(at(read, "amount")),
    },
  };
}

const texts = (value: Json | undefined): readonly string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
const aboutIn = (one: Json | undefined) => ({
  inRequest: at(one, "inRequest") === true,
  known: at(one, "known") === true,
  vouched: at(one, "vouched") === true,
  seenUnder: texts(at(one, "seenUnder")),
  said: saidIn(one),
  recorded: () => at(one, "recorded") === true,
  owned: () => at(one, "owned") === true,
});

function saidIn(one: Json | undefined): () => Said | null {
  const said = at(one, "said");
  return () => (said === undefined ? null : { turnsAgo: number(at(said, "turnsAgo")), secondsAgo: number(at(said, "secondsAgo")) });
}

/** As the engine was told it: a decimal, in ten-thousandths again. */
function amountIn(one: Json | undefined): number | null {
  const text = at(one, "__extn", "arg");
  const exact = typeof text === "string" ? toExactNumber(text) : null;
  return exact === null ? null : Number(BigInt(exact.digits) * 10n ** BigInt(AMOUNT_PLACES - exact.places)) * (exact.negative ? -1 : 1);
}

function numberIn(one: Json): NumberFacts {
  const totals = (of: string): Pick<NumberFacts, "total" | "totalLately"> => {
    const sum = (name: string): number => amountIn(at(one, of, name)) ?? 0;
    return { total: { turn: sum("turn"), session: sum("session") }, totalLately: () => ({ hour: sum("hour"), day: sum("day") }) };
  };
  return {
    inRequest: at(one, "inRequest") === true,
    said: saidIn(one),
    recorded: () => at(one, "recorded") === true,
    amount: amountIn(at(one, "value")),
    ...totals("total"),
    perTarget: at(one, "totalPerTarget") === undefined ? null : totals("totalPerTarget"),
  };
}

/** Every one of them is counted for a target, whether or not that was read. */
function paidIn(one: Json | undefined): NumberFacts | null {
  if (one === undefined) return null;
  const found = numberIn(one);
  return found.perTarget === null ? { ...found, perTarget: { total: found.total, totalLately: found.totalLately } } : found;
}

function targetIn(one: Json): TargetFacts {
  const now = (of: string) => ({ turn: number(at(one, of, "turn")), session: number(at(one, of, "session")) });
  const late = (of: string) => () => ({ hour: number(at(one, of, "hour")), day: number(at(one, of, "day")) });
  const [name, record] = [at(one, "name"), at(one, "record")];
  return {
    ...aboutIn(one),
    calls: now("calls"),
    lately: late("calls"),
    touched: now("touched"),
    touchedLately: late("touched"),
    name: typeof name === "string" ? name : null,
    nameInRequest: at(one, "nameInRequest") === true,
    record: () => (record === undefined ? null : restoreThing(record)),
  };
}

const outgoingIn = (one: Json | undefined): OutgoingFacts => ({
  links: texts(at(one, "links")),
  addresses: texts(at(one, "addresses")),
  vouched: at(one, "vouched") === true,
  inRequest: at(one, "inRequest") === true,
  seenUnder: texts(at(one, "seenUnder")),
});
