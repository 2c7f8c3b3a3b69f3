/** Numbers as they were written. A JavaScript number may hold less than its text says; a decision on it has to know. */
import type { Json } from "../../vocab/index.ts";

/** Only such texts can hold a number that a double does not: many digits, or an exponent. */
const SUSPECT = /\d[\d.]{15,}|\d[eE]/;
const STRINGS = /"(?:[^"\\]|\\.)*"/g;
/** Words have digits too: only text outside them can be a number, and reading the text once more is expensive. */
const isSuspect = (text: string): boolean => SUSPECT.test(text) && SUSPECT.test(text.replace(STRINGS, ""));

class Written {
  readonly source: string;
  constructor(source: string) {
    this.source = source;
  }
}
type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;
const parseWith = JSON.parse as (text: string, reviver: Reviver) => unknown; // the third argument is newer than the library's types

/** JSON pointers to the numbers of `args` that are not what the text says. What a schema changed on purpose is taken as it is. */
export function findInexactNumbers(text: string, args: Json): readonly string[] {
  if (!isSuspect(text)) return [];
  const found: string[] = [];
  const walk = (written: unknown, value: Json | undefined, pointer: string): void => {
    if (written instanceof Written) {
      if (typeof value === "number" && Number(written.source) === value && !sameNumber(written.source, String(value))) found.push(pointer);
    } else if (Array.isArray(written)) {
      written.forEach((w, i) => void walk(w, Array.isArray(value) ? (value[i] as Json) : undefined, `${pointer}/${i}`));
    } else if (typeof written === "object" && written !== null) {
      const fields = isRecord(value) ? value : {};
      for (const [key, w] of Object.entries(written)) walk(w, fields[key], `${pointer}/${escapePointer(key)}`);
    }
  };
  walk(
    parseWith(text, (_, value, { source }) => (typeof value === "number" ? new Written(source ?? String(value)) : value)),
    args,
    "",
  );
  return found;
}

const isRecord = (value: Json | undefined): value is { readonly [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const escapePointer = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1");

function sameNumber(a: string, b: string): boolean {
  const [x, y] = [parseDecimal(a), parseDecimal(b)];
  return x !== null && y !== null && x.negative === y.negative && x.digits === y.digits && x.places === y.places;
}

/** `digits` × 10^-places, without zeros at either end; null for what is no decimal number. */
export function parseDecimal(text: string): { readonly negative: boolean; readonly digits: string; readonly places: number } | null {
  const m = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,6}))?$/.exec(text);
  if (m === null) return null;
  const [, sign, whole = "", fraction = "", exponent = "0"] = m;
  const all = (whole + fraction).replace(/^0+/, "");
  const digits = all.replace(/0+$/, "");
  if (digits === "") return { negative: false, digits: "0", places: 0 };
  return { negative: sign === "-", digits, places: fraction.length - Number(exponent) - (all.length - digits.length) };
}

/** As Cedar writes a decimal: at most four places; null when it would have to be rounded. */
export function toDecimal(value: number): string | null {
  const d = parseDecimal(String(value));
  if (d === null || d.places > 4) return null;
  const scaled = BigInt(d.digits) * 10n ** BigInt(Math.max(0, -d.places));
  const places = Math.max(0, d.places);
  const text = scaled.toString().padStart(places + 1, "0");
  const whole = text.slice(0, text.length - places);
  const fraction = places === 0 ? "0" : text.slice(text.length - places);
  const inTenThousandths = BigInt(whole + fraction.padEnd(4, "0"));
  if (inTenThousandths > 9_223_372_036_854_775_807n) return null;
  return `${d.negative ? "-" : ""}${whole}.${fraction}`;
}
