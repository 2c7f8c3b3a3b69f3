/** Values after a key, as plain values; and blocks of keys, read by their table. */
import { type Json, suggestNearest } from "@orgate/core/vocab";
import { type BLOCK_KEYS, type BlockKey, type Keys, REPLACEMENT_KEYS, UNSUPPORTED_KEYS } from "./keys.ts";
import type { EntryOrSection, Expression, Name, Section, TreeEntry } from "./tree.ts";

/** Collects what is wrong; `at` is an offset. */
/** `rests` on an absence: where part of a file could not be read, what is missing may stand in that part, and is not told. */
export type Report = (at: number, detail: string, hint: string, rests?: "on absence") => void;

const MOST_PROBLEMS = 100;
/** Each once, and not without end. */
export function limitReports(report: Report): Report {
  const told = new Set<string>();
  return (at, detail, hint) => {
    const key = `${at} ${detail}`;
    if (told.has(key) || told.size > MOST_PROBLEMS) return;
    told.add(key);
    if (told.size <= MOST_PROBLEMS) report(at, detail, hint);
    else report(at, `there are more than ${MOST_PROBLEMS} problems`, "correct these, then check again");
  };
}

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
  months: 30 * 86_400_000,
  y: 365 * 86_400_000,
};
const LONG: Readonly<Record<string, string>> = {
  millisecond: "ms",
  second: "s",
  minute: "m",
  hour: "h",
  day: "d",
  week: "w",
  month: "months",
  year: "y",
};

/** Null for what is no whole number of milliseconds that counts. */
export function toMilliseconds(amount: string, unit: string): number | null {
  const factor = UNITS[LONG[unit.replace(/s$/, "")] ?? unit] ?? null;
  const ms = factor === null ? Number.NaN : Math.round(Number(amount.replaceAll("_", "")) * factor * 1_000) / 1_000;
  return Number.isSafeInteger(ms) ? ms : null;
}

/** `1h 30m`, `45 seconds`, `30.seconds`. */
export function parseSpelledTime(text: string): number | null {
  const parts = [...text.matchAll(/\s*(\d+(?:\.\d+)?)\s*\.?([a-z]+)\s*,?/gy)];
  if (parts.length === 0 || parts.reduce((sum, [whole]) => sum + whole.length, 0) !== text.length) return null;
  const all = parts.map(([, amount = "", unit = ""]) => toMilliseconds(amount, unit));
  return all.reduce<number | null>((sum, ms) => (sum === null || ms === null ? null : sum + ms), 0);
}

/** The number that a text says, if a number can hold it exactly enough to say it again. */
export function parseNumber(text: string): number | null {
  const plain = text.replaceAll("_", "");
  const value = Number(plain);
  if (!Number.isFinite(value) || (!plain.includes(".") && !Number.isSafeInteger(value))) return null;
  return value;
}

export type PlainValue = Readonly<{ kind: "plain"; value: Json } | { kind: "not"; at: number; what: string }>;

/** Everything that JSON can hold; a bare word is no text. */
export function toPlainValue(e: Expression): PlainValue {
  const not = (what: string): PlainValue => ({ kind: "not", at: e.at, what });
  switch (e.kind) {
    case "string":
      return { kind: "plain", value: e.value };
    case "constant":
      return { kind: "plain", value: e.value };
    case "number": {
      const value = parseNumber(e.text);
      return value === null ? not("a number too large to be held exactly") : { kind: "plain", value };
    }
    case "unary": {
      const inner = e.op === "-" ? toPlainValue(e.of) : null;
      return inner?.kind === "plain" && typeof inner.value === "number" ? { kind: "plain", value: -inner.value } : not("an expression");
    }
    case "group":
      return toPlainValue(e.inner);
    case "array": {
      const items = e.items.map(toPlainValue);
      const wrong = items.find((one) => one.kind === "not");
      return wrong ?? { kind: "plain", value: items.flatMap((one) => (one.kind === "plain" ? [one.value] : [])) };
    }
    case "record":
      return recordOf(e);
    case "duration":
      return not("a time");
    case "vault":
      return not("a secret");
    case "ident":
      return not(`the word \`${e.name}\`, which is no text without quotes`);
    case "binary":
    case "member":
    case "call":
    case "index":
    case "choice":
    case "lambda":
    case "instance":
    case "propagate":
      return not("an expression");
  }
}

function recordOf(e: Extract<Expression, { kind: "record" }>): PlainValue {
  const found = new Map<string, Json>();
  for (const { key, value } of e.fields) {
    if (found.has(key.text)) return { kind: "not", at: key.at, what: `\`${key.text}\` for the second time` };
    if (key.text === "__proto__") return { kind: "not", at: key.at, what: "`__proto__`, which is no name for a field" };
    const plain = toPlainValue(value);
    if (plain.kind === "not") return plain;
    found.set(key.text, plain.value);
  }
  return { kind: "plain", value: Object.fromEntries(found) };
}

const HINTS: Readonly<Record<BlockKey["takes"], string>> = {
  text: 'write a text in quotes: "…"',
  word: "write a name",
  words: 'write a list of names: ["a", "b"]',
  "whole number": "write a whole number of at least 0",
  number: "write a number",
  "amount of money": "write an amount in the currency of the prices, such as 0.50",
  time: "write a time such as 30s, 15m, 2h or 30.seconds",
  "true or false": "write true or false",
  value: "write a text, a number, true, false, a list or a record",
  secret: 'write `vault://NAME`, or "$NAME" for one of the environment; a secret itself does not stand in a file',
};

/** As `orgate secrets` takes them. */
const SECRET_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** The one before, the one now, and the next. */
export const MAX_SECRETS = 3;

/** A secret's name, and where its value comes from. */
export type SecretName = Readonly<{ kind: "secret" | "env"; name: string }>;
export type Value = Readonly<{ at: number; keyAt: number; value: Json; secrets: readonly SecretName[] }>;
export type Values = ReadonlyMap<string, Value>;

export type BlockName = keyof typeof BLOCK_KEYS;

/** Each key once, each as its table says. */
export function readEntries(entries: readonly TreeEntry[], keys: Keys, block: BlockName, report: Report): Values {
  const found = new Map<string, Value>();
  const seen = new Set<string>();
  for (const { key, value } of entries) {
    if (isTwice(key, seen, block, report)) continue;
    const known = Object.hasOwn(keys, key.text) ? keys[key.text] : undefined;
    if (known === undefined) {
      reportUnknownKey(key, keys, block, report);
      continue;
    }
    const read = readValue(value, known);
    if (typeof read === "string") report(value.at, `\`${key.text}\` ${read}`, hintOf(known));
    else found.set(key.text, { ...read, at: value.at, keyAt: key.at });
  }
  return found;
}

function isTwice(key: Name, seen: Set<string>, block: BlockName, report: Report): boolean {
  if (seen.has(key.text)) {
    report(key.at, `\`${key.text}\` stands twice in this ${block}`, "say it once");
    return true;
  }
  seen.add(key.text);
  return false;
}

export function reportUnknownKey(key: Name, keys: Keys, block: BlockName, report: Report): void {
  if (UNSUPPORTED_KEYS[block]?.includes(key.text) === true)
    report(
      key.at,
      `not supported yet: \`${key.text}\` in ${block}`,
      REPLACEMENT_KEYS[`${block} ${key.text}`] ?? "take it out: it would have no effect",
    );
  else report(key.at, `there is no \`${key.text}\` in ${block}`, suggestNearest(key.text, Object.keys(keys)));
}

const hintOf = ({ takes, choices }: BlockKey): string => (choices === undefined ? HINTS[takes] : `one of ${choices.join(", ")}`);

type Read = Readonly<{ value: Json; secrets: readonly SecretName[] }> | string;
const plain = (value: Json): Read => ({ value, secrets: [] });

function readValue(e: Expression, { takes, choices }: BlockKey): Read {
  switch (takes) {
    case "text":
      return e.kind === "string" ? plain(e.value) : `takes a text, and this is ${kindOf(e)}`;
    case "word": {
      const word = e.kind === "string" ? e.value : e.kind === "ident" ? e.name : null;
      if (word === null) return `takes a name, and this is ${kindOf(e)}`;
      if (choices === undefined) return plain(word);
      const chosen = choices.find((one) => one === word.toLowerCase());
      return chosen === undefined ? `is \`${word}\`` : plain(chosen);
    }
    case "words": {
      const items = e.kind === "array" ? e.items : [];
      const words = items.flatMap((one) => (one.kind === "string" ? [one.value] : one.kind === "ident" ? [one.name] : []));
      if (e.kind !== "array" || words.length !== items.length) return "takes a list of names";
      return new Set(words).size === words.length ? plain(words) : "names one twice";
    }
    case "whole number": {
      const value = e.kind === "number" ? parseNumber(e.text) : null;
      return value !== null && Number.isSafeInteger(value) ? plain(value) : `takes a whole number, and this is ${kindOf(e)}`;
    }
    case "number": {
      const value = e.kind === "number" ? parseNumber(e.text) : null;
      return value === null ? `takes a number, and this is ${kindOf(e)}` : plain(value);
    }
    case "amount of money":
      return moneyOf(e);
    case "time":
      return timeOf(e);
    case "true or false":
      return e.kind === "constant" && e.value !== null ? plain(e.value) : `takes true or false, and this is ${kindOf(e)}`;
    case "value": {
      const read = toPlainValue(e);
      return read.kind === "plain" ? plain(read.value) : `holds ${read.what}`;
    }
    case "secret":
      return secretsOf(e);
  }
}

/** In cents. */
function moneyOf(e: Expression): Read {
  const match = e.kind === "number" ? /^(\d+)(?:\.(\d{1,2}))?$/.exec(e.text.replaceAll("_", "")) : null;
  if (match === null) return "takes an amount with at most two places";
  const cents = Number(match[1]) * 100 + Number((match[2] ?? "").padEnd(2, "0"));
  return Number.isSafeInteger(cents) && cents >= 1 ? plain(cents) : "is no amount that could be kept to";
}

/** In milliseconds; a bare number is seconds. */
function timeOf(e: Expression): Read {
  const ms =
    e.kind === "duration"
      ? toMilliseconds(e.amount, e.unit)
      : e.kind === "string"
        ? /^\d+$/.test(e.value)
          ? toMilliseconds(e.value, "s")
          : parseSpelledTime(e.value)
        : e.kind === "number"
          ? toMilliseconds(e.text, "s")
          : null;
  return ms === null ? `takes a time, and this is ${kindOf(e)}` : plain(ms);
}

/** One, or a list while one takes the place of another. */
function secretsOf(e: Expression): Read {
  const found = (e.kind === "array" ? e.items : [e]).map(secretOf);
  const secrets = found.filter((one) => typeof one !== "string");
  const wrong = found.find((one) => typeof one === "string");
  if (wrong !== undefined) return wrong;
  if (secrets.length === 0) return "names no secret";
  if (secrets.length > MAX_SECRETS) return `names more than ${MAX_SECRETS} secrets`;
  const names = secrets.map(({ kind, name }) => (kind === "env" ? `$${name}` : name));
  return new Set(names).size === names.length ? { value: names, secrets } : "names one twice";
}

function secretOf(e: Expression): SecretName | string {
  if (e.kind === "vault")
    return SECRET_NAME.test(e.path)
      ? { kind: "secret", name: e.path }
      : `is \`${e.path}\`, and a secret's name is of letters, digits, _, - and .`;
  const quoted = e.kind === "string" ? /^vault:\/\/([A-Za-z0-9_./-]+)$/.exec(e.value)?.[1] : undefined;
  if (quoted !== undefined) return secretOf({ kind: "vault", at: e.at, path: quoted });
  const env = e.kind === "string" ? /^\$\{?([A-Za-z_][A-Za-z0-9_]{0,99})\}?$/.exec(e.value)?.[1] : undefined;
  return env === undefined ? "is not the name of a secret" : { kind: "env", name: env };
}

function kindOf(e: Expression): string {
  switch (e.kind) {
    case "string":
      return "a text";
    case "number":
      return `the number ${e.text}`;
    case "duration":
      return "a time";
    case "constant":
      return String(e.value);
    case "array":
      return "a list";
    case "record":
      return "a record";
    case "vault":
      return "a secret";
    case "ident":
      return `the word \`${e.name}\``;
    default:
      return "an expression";
  }
}

export const listEntries = (all: readonly EntryOrSection[]): readonly TreeEntry[] => all.filter((one) => one.kind === "entry");
export const listSections = (all: readonly EntryOrSection[]): readonly Section[] => all.filter((one) => one.kind === "section");
