/** `schedule` and `webhook` blocks as declarations, for the project that runs them. */
import {
  isName,
  type Json,
  NAME_RULE,
  type ScheduleDeclaration,
  type SourcePlace,
  WEBHOOK_PROVIDERS,
  type WebhookDeclaration,
  type WebhookFilter,
} from "@orgate/core/vocab";
import { BLOCK_KEYS } from "./keys.ts";
import type { EntryOrSection, Name, ScheduleBlock, Section, WebhookBlock } from "./tree.ts";
import { listEntries, listSections, type Report, readEntries, type Values } from "./values.ts";

type PlaceOf = (at: number) => SourcePlace;

export function readSchedule({ name, entries }: ScheduleBlock, report: Report, placeOf: PlaceOf): ScheduleDeclaration | null {
  checkName(name, "schedule", report);
  for (const { key } of listSections(entries)) report(key.at, `there is no \`${key.text}\` block in a schedule`, "write `key: value`");
  const values = readEntries(listEntries(entries), BLOCK_KEYS.schedule, "schedule", report);
  const { text, flag, number } = readers(values);
  const [agent, input, cron, at] = [text("agent"), text("input"), text("cron"), text("at")];
  const missing = missingIn({ name, entries }, "schedule", { agent }, report);
  if ((cron === null) === (at === null)) {
    const isTold = cron === null && (isSaid(entries, "cron") || isSaid(entries, "at"));
    if (!isTold)
      report(
        values.get("at")?.keyAt ?? name.at,
        `schedule \`${name.text}\` has ${cron === null ? "neither `cron` nor `at`" : "both `cron` and `at`"}`,
        "give exactly one of them",
        cron === null ? "on absence" : undefined,
      );
    return null;
  }
  const oneShot = flag("one_shot");
  if (at !== null && oneShot === false)
    report(values.get("one_shot")?.keyAt ?? name.at, "`one_shot` is false, and `at` fires once", "take it out, or give a `cron`");
  atMost(values, "retries", MOST_RETRIES, report);
  checkInput(values, report);
  if (missing || agent === null) return null;
  return {
    name: name.text,
    agent,
    input: input ?? `It is time for schedule \`${name.text}\`.`,
    when: cron !== null ? { kind: "cron", expression: cron } : { kind: "at", at: at ?? "" },
    timezone: text("timezone") ?? "UTC",
    oneShot: at !== null || oneShot === true,
    jitterMs: number("jitter") ?? 0,
    overlap: text("overlap") === "queue" ? "queue" : "skip",
    missed: MISSED.find((one) => one === text("missed")) ?? "once",
    session: text("session") === "shared" ? "shared" : "fresh",
    retries: number("retries") ?? 3,
    enabled: flag("enabled") ?? true,
    place: placeOf(name.at),
  };
}
const MISSED = ["skip", "once", "all"] as const;
/** As those of `orgate.toml`. */
const [MOST_RETRIES, MOST_BYTES, USUAL_BYTES, MOST_INPUT] = [20, 1_048_576, 262_144, 20_000];

function checkInput(values: Values, report: Report): void {
  const found = values.get("input");
  if (typeof found?.value === "string" && (found.value === "" || found.value.length > MOST_INPUT))
    report(
      found.at,
      found.value === "" ? "`input` says nothing" : `\`input\` is longer than ${MOST_INPUT}`,
      "say in a few words what is to be done",
    );
}

function atMost(values: Values, key: string, most: number, report: Report): void {
  const found = values.get(key);
  if (typeof found?.value === "number" && found.value > most) report(found.at, `\`${key}\` is more than ${most}`, `write at most ${most}`);
}

const PATH = /^\/[A-Za-z0-9/_.-]{0,199}$/;

export function readWebhook({ name, entries }: WebhookBlock, report: Report, placeOf: PlaceOf): WebhookDeclaration | null {
  checkName(name, "webhook", report);
  const values = readEntries(listEntries(entries), BLOCK_KEYS.webhook, "webhook", report);
  const { text, number } = readers(values);
  const [agent, path, provider] = [text("agent"), text("path"), text("provider")];
  const secrets = values.get("secret")?.secrets ?? [];
  const filter = filterOf(listSections(entries), report);
  const missing = missingIn({ name, entries }, "webhook", { agent, path, secret: secrets[0] ?? null }, report);
  if (path !== null && (!PATH.test(path) || path.split("/").includes("..")))
    report(values.get("path")?.at ?? name.at, `\`path\` is \`${path}\``, "begin with `/`, and use letters, digits, `/`, `_`, `.` and `-`");
  atMost(values, "max_bytes", MOST_BYTES, report);
  checkInput(values, report);
  if (number("max_bytes") === 0)
    report(values.get("max_bytes")?.at ?? name.at, "`max_bytes` is 0: no delivery would fit", `${USUAL_BYTES} unless said`);
  if (missing || agent === null || path === null) return null;
  return {
    name: name.text,
    agent,
    path,
    provider: WEBHOOK_PROVIDERS.find((one) => one === provider) ?? "custom",
    secrets,
    filter,
    input: text("input"),
    replayWindowMs: number("replay_window") ?? 300_000,
    maxBytes: number("max_bytes") ?? USUAL_BYTES,
    place: placeOf(name.at),
  };
}

const JSON_PATH = /^\$(?:\.[A-Za-z_][A-Za-z0-9_-]*|\[\d{1,6}\])+$/;

function filterOf(sections: readonly Section[], report: Report): WebhookFilter | null {
  for (const { key } of sections.filter((s) => s.key.text !== "filter"))
    report(key.at, `there is no \`${key.text}\` block in a webhook`, "`filter { … }` is the only one");
  const [section, second] = sections.filter((s) => s.key.text === "filter");
  if (second !== undefined) report(second.at, "there is a second filter", "a webhook has one");
  if (section === undefined) return null;
  for (const { key } of listSections(section.entries))
    report(key.at, `there is no \`${key.text}\` block in a filter`, "write `key: value`");
  const values = readEntries(listEntries(section.entries), BLOCK_KEYS["webhook filter"], "webhook filter", report);
  const { text } = readers(values);
  const path = text("json_path");
  const [equals, contains] = [values.get("equals"), text("contains")];
  if (path === null || !JSON_PATH.test(path))
    report(
      values.get("json_path")?.at ?? section.at,
      "a filter needs a `json_path`",
      'names and places from `$` on: "$.action", "$.commits[0].id"',
      path === null ? "on absence" : undefined,
    );
  if ((equals === undefined) === (contains === null)) {
    report(
      section.at,
      "a filter has exactly one of `equals` and `contains`",
      "say which value the delivery must have there",
      equals === undefined ? "on absence" : undefined,
    );
    return null;
  }
  if (typeof equals?.value === "object")
    report(equals.at, "`equals` is no text, no number, no true or false", "name a place further inside with `json_path`");
  if (contains === "") report(values.get("contains")?.at ?? section.at, "`contains` is in everything", "say what stands there");
  return {
    path: path ?? "$",
    test: contains !== null ? { kind: "contains", text: contains } : { kind: "equals", value: equals?.value ?? null },
  };
}

function checkName({ text, at }: Name, what: string, report: Report): void {
  if (!isName(text)) report(at, `\`${text}\` is no name for a ${what}`, `a name is ${NAME_RULE}`);
}

/** A key that is present and wrong has been reported: it is not missing as well. */
function missingIn(
  { name, entries }: Pick<WebhookBlock, "name" | "entries">,
  what: string,
  wanted: Readonly<Record<string, unknown>>,
  report: Report,
): boolean {
  const missing = Object.keys(wanted).filter((key) => wanted[key] === null);
  for (const key of missing.filter((one) => !isSaid(entries, one)))
    report(name.at, `${what} \`${name.text}\` has no \`${key}\``, `add it: \`${key}: …\``, "on absence");
  return missing.length > 0;
}

const isSaid = (entries: readonly EntryOrSection[], key: string): boolean => listEntries(entries).some((one) => one.key.text === key);

type Readers = Readonly<{ text(key: string): string | null; number(key: string): number | null; flag(key: string): boolean | null }>;
function readers(values: Values): Readers {
  const get = (key: string): Json | undefined => values.get(key)?.value;
  return {
    text: (key) => {
      const value = get(key);
      return typeof value === "string" ? value : null;
    },
    number: (key) => {
      const value = get(key);
      return typeof value === "number" ? value : null;
    },
    flag: (key) => {
      const value = get(key);
      return typeof value === "boolean" ? value : null;
    },
  };
}
