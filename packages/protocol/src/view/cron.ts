/**
 * A cron expression in words, for people who do not read cron.
 * V-6 what is said in the same words is due at the same times; what cannot be said plainly is not said at all.
 */

/** Null: the expression itself is the plainest there is. */
export function cronWords(cron: string): string | null {
  const fields = cron.trim().toLowerCase().split(/\s+/);
  const [second, minute, hour, day, month, weekday] = fields.length === 5 ? ["0", ...fields] : fields;
  const time = timeWords(second ?? "", minute ?? "", hour ?? "");
  const date = dateWords(day ?? "", month ?? "", weekday ?? "");
  if (fields.length < 5 || fields.length > 6 || time === null || date === null) return null;
  return date === "" ? `${time.text}${time.isDaily ? " every day" : ""}` : `${time.text} ${date}`;
}

type Field = Readonly<{ kind: "any" } | { kind: "every"; n: number } | { kind: "some"; values: readonly number[]; isRange: boolean }>;
const ANY: Field = { kind: "any" };
/** More are not read, but counted. */
const MOST_SAID = 6;

/** Of a field that can be said; its names come in the order of their numbers, from `from` on. */
function fieldOf(text: string, from: number, to: number, names: readonly string[] = []): Field | null {
  if (text === "*") return ANY;
  const step = /^\*\/(\d{1,2})$/.exec(text);
  if (step !== null) {
    const n = Number(step[1]);
    return n === 1 ? ANY : n > 1 && n <= to - from && (to - from + 1) % n === 0 ? { kind: "every", n } : null;
  }
  const number = (word: string): number | null => {
    const named = names.indexOf(word);
    const value = named >= 0 ? named + from : /^\d{1,2}$/.test(word) ? Number(word) : null;
    return value === null || value < from || value > to ? null : value;
  };
  const values = new Set<number>();
  for (const piece of text.split(",")) {
    const [first = "", last] = piece.split("-");
    const [a, b] = [number(first), last === undefined ? number(first) : number(last)];
    if (a === null || b === null || b < a || piece.split("-").length > 2) return null;
    for (let value = a; value <= b; value += 1) values.add(value);
  }
  const sorted = [...values].sort((a, b) => a - b);
  if (sorted.length === to - from + 1) return ANY;
  return { kind: "some", values: sorted, isRange: sorted.length > 2 && (sorted.at(-1) ?? 0) - (sorted[0] ?? 0) === sorted.length - 1 };
}

const two = (n: number): string => String(n).padStart(2, "0");
const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;

type Time = Readonly<{ text: string; isDaily: boolean }>;

function timeWords(second: string, minute: string, hour: string): Time | null {
  const [s, m, h] = [fieldOf(second, 0, 59), fieldOf(minute, 0, 59), fieldOf(hour, 0, 23)];
  if (s === null || m === null || h === null) return null;
  if (s.kind !== "some") {
    if (m.kind !== "any" || h.kind !== "any") return null;
    return { text: s.kind === "any" ? "every second" : `every ${s.n} seconds`, isDaily: false };
  }
  const [at = 0] = s.values;
  if (s.values.length > 1) return null;
  const seconds = at === 0 ? "" : `:${two(at)}`;
  if (m.kind !== "some") return at === 0 ? often(m.kind === "any" ? "every minute" : `every ${m.n} minutes`, h) : null;
  const [past = 0] = m.values;
  if (h.kind === "some" && m.values.length * h.values.length <= MOST_SAID)
    return { text: `at ${listed(h.values.flatMap((a) => m.values.map((b) => `${two(a)}:${two(b)}${seconds}`)))}`, isDaily: true };
  if (m.values.length > 1) return null;
  if (h.kind === "any") return { text: `every hour at :${two(past)}${seconds}`, isDaily: false };
  if (h.kind === "every") return { text: `every ${h.n} hours at :${two(past)}${seconds}`, isDaily: false };
  const [first = 0, last = 0] = [h.values[0], h.values.at(-1)];
  return h.isRange
    ? { text: `every hour from ${two(first)}:${two(past)}${seconds} to ${two(last)}:${two(past)}${seconds}`, isDaily: true }
    : null;
}

function often(what: string, hour: Field): Time | null {
  if (hour.kind === "any") return { text: what, isDaily: false };
  if (hour.kind === "every") return null;
  const [first = 0, last = 0] = [hour.values[0], hour.values.at(-1)];
  return hour.isRange || hour.values.length === 1 ? { text: `${what} from ${two(first)}:00 to ${two(last)}:59`, isDaily: true } : null;
}

const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const short = (names: readonly string[]): readonly string[] => names.map((name) => name.slice(0, 3).toLowerCase());

/** Empty: on every day. */
function dateWords(day: string, month: string, weekday: string): string | null {
  const days = fieldOf(day, 1, 31);
  const months = fieldOf(month, 1, 12, short(MONTHS));
  const weekdays = fieldOf(weekday.replace(/^7$/, "0"), 0, 6, short(WEEKDAYS));
  if (days === null || months === null || weekdays === null) return null;
  if (days.kind === "every" || months.kind === "every" || weekdays.kind === "every") return null;
  const isEither = day !== "*" && weekday !== "*"; // a day that fits one of them is enough, also where that one fits every day
  if (isEither && (days.kind === "any" || weekdays.kind === "any")) return null;
  const parts: string[] = [];
  if (days.kind === "some") {
    if (days.values.length > MOST_SAID && !days.isRange) return null;
    const [first = 0, last = 0] = [days.values[0], days.values.at(-1)];
    parts.push(
      days.isRange ? `from the ${nth(first)} to the ${nth(last)} of the month` : `on the ${listed(days.values.map(nth))} of the month`,
    );
  }
  if (weekdays.kind === "some") {
    const of = (value: number): string => WEEKDAYS[value] ?? "";
    const [first = 0, last = 0] = [weekdays.values[0], weekdays.values.at(-1)];
    parts.push(weekdays.isRange ? `${of(first)} to ${of(last)}` : `on ${listed(weekdays.values.map((value) => `${of(value)}s`))}`);
  }
  const on = parts.join(", and ");
  const inMonths = months.kind === "any" ? "" : `in ${listed(months.values.map((value) => MONTHS[value - 1] ?? ""))}`;
  return on === "" && inMonths !== "" ? `every day ${inMonths}` : [on, inMonths].filter((part) => part !== "").join(" ");
}

const nth = (n: number): string => {
  const ending = n % 100 > 10 && n % 100 < 14 ? "th" : (["th", "st", "nd", "rd"][n % 10] ?? "th");
  return `${n}${ending}`;
};
